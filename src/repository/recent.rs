//! Objects that this process has read or written lately, for whoever asks for them again; and the small
//! loose ones, read with three system calls where gix takes six, and ten more for the first.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix::ObjectId;
use gix::objs::Kind;
use gix::odb::pack::cache::Object;
use gix::odb::pack::cache::object::MemoryCappedHashmap;

/// Bytes that are kept: enough for the trees and blobs of one command. What gix takes by default is
/// sized for history walks.
const MOST: usize = 1 << 20;

/// Bytes of the file of a loose object that is read here: one block of a file system. Deflate makes
/// 1,032 bytes of one at most.
const ONE_BLOCK: usize = 4 << 10;

/// An object cache of gix's that its owner can add to: content that was just hashed need not be
/// inflated to be read. Says nothing about what the repository has.
#[derive(Clone)]
pub(super) struct Recent {
    kept: Arc<Mutex<Kept>>,
    /// The repository's own directory of objects.
    objects: Arc<Path>,
}

struct Kept {
    objects: MemoryCappedHashmap,
    /// The last object that was no small loose one: whoever asks for its size asks for it next.
    missed: Option<ObjectId>,
}

impl Recent {
    /// Adds a cache to `repo` and its clones.
    pub(super) fn of(repo: &mut gix::Repository) -> Self {
        let kept = Kept { objects: MemoryCappedHashmap::new(MOST), missed: None };
        let objects = repo.objects.store_ref().path().into();
        let recent = Self { kept: Arc::new(Mutex::new(kept)), objects };
        let shared = recent.clone();
        repo.objects.set_object_cache(move || Box::new(shared.clone()));
        recent
    }

    /// Keeps the object `id`.
    pub(super) fn keep(&self, id: ObjectId, kind: Kind, data: &[u8]) {
        // One that takes all the room is more likely in the way than read again.
        if data.len() <= MOST / 2 {
            self.held().objects.put(id, kind, data);
        }
    }

    /// The object `id`, read into `out`, if it is kept or a small loose one.
    pub(super) fn find(&self, id: &ObjectId, out: &mut Vec<u8>) -> Option<Kind> {
        let mut kept = self.held();
        let found = kept.objects.get(id, out);
        if found.is_some() || kept.missed.take() == Some(*id) {
            return found;
        }
        match self.loose(id, out) {
            Some(kind) => kept.objects.put(*id, kind, out),
            None => kept.missed = Some(*id),
        }
        kept.objects.get(id, out)
    }

    fn held(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a file of the loose object `id`: gix would look at all packs first.
    pub(super) fn is_loose(&self, id: &ObjectId) -> bool {
        super::object::loose_path(&self.objects, id).exists()
    }

    /// Reads a loose object in a file of one block into `out`.
    fn loose(&self, id: &ObjectId, out: &mut Vec<u8>) -> Option<Kind> {
        let mut packed = [0; ONE_BLOCK + 1];
        let length = File::open(super::object::loose_path(&self.objects, id))
            .ok()?
            .read(&mut packed)
            .ok()?;
        let packed = packed.get(..length).filter(|packed| packed.len() <= ONE_BLOCK)?;
        let mut whole = Vec::new();
        flate2::bufread::ZlibDecoder::new(packed).read_to_end(&mut whole).ok()?;
        let (kind, size, begin) = gix::objs::decode::loose_header(&whole).ok()?;
        let data = whole.get(begin..).filter(|data| data.len() as u64 == size)?;
        out.clear();
        out.extend_from_slice(data);
        Some(kind)
    }
}

impl Object for Recent {
    fn put(&mut self, id: ObjectId, kind: Kind, data: &[u8]) {
        self.held().objects.put(id, kind, data);
    }

    fn get(&mut self, id: &ObjectId, out: &mut Vec<u8>) -> Option<Kind> {
        self.find(id, out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_can_be_read_and_is_not_there() {
        let directory = tempfile::tempdir().unwrap();
        let mut repo = gix::init_bare(directory.path()).unwrap();
        let recent = Recent::of(&mut repo);
        let (small, large) = (b"kept".to_vec(), vec![b'x'; MOST]);
        for blob in [&small, &large] {
            let id = gix::objs::compute_hash(repo.object_hash(), Kind::Blob, blob).unwrap();
            recent.keep(id, Kind::Blob, blob);
            let found = repo.clone().find_object(id).ok().map(|object| object.data.clone());
            assert_eq!(found.as_ref(), Some(blob).filter(|blob| blob.len() < MOST));
            assert!(!repo.has_object(id), "only the repository says what it has");
        }
    }
}
