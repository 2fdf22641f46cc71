//! Caches objects of this process, and reads small loose ones with three system calls where gix
//! takes six, and ten more the first time.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix::ObjectId;
use gix::objs::Kind;
use gix::odb::pack::cache::Object;
use gix::odb::pack::cache::object::MemoryCappedHashmap;

/// Cached bytes: a list without a memo reads the content of some hundred proposals twice. gix's default is for
/// history walks.
const MOST: usize = 8 << 20;

/// Largest loose object file read here: one file system block. Deflate expands it at most 1,032
/// times.
const ONE_BLOCK: usize = 4 << 10;

/// A gix object cache that the owner can fill, so that just hashed content need not be inflated. It
/// does not prove that the repository has the object.
#[derive(Clone)]
pub(super) struct ObjectCache {
    kept: Arc<Mutex<CachedObjects>>,
    objects: Arc<Path>,
}

struct CachedObjects {
    objects: MemoryCappedHashmap,
    /// An object not found here: the caller that asked for its size reads it next.
    missed: Option<ObjectId>,
}

impl ObjectCache {
    pub(super) fn of(repo: &mut gix::Repository) -> Self {
        let kept = CachedObjects { objects: MemoryCappedHashmap::new(MOST), missed: None };
        let objects = repo.objects.store_ref().path().into();
        let recent = Self { kept: Arc::new(Mutex::new(kept)), objects };
        let shared = recent.clone();
        repo.objects.set_object_cache(move || Box::new(shared.clone()));
        recent
    }

    pub(super) fn keep(&self, id: ObjectId, kind: Kind, data: &[u8]) {
        // An object that fills the cache is rarely read again.
        if data.len() <= MOST / 2 {
            self.held().objects.put(id, kind, data);
        }
    }

    /// Reads a cached or small loose object into `out`.
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

    fn held(&self) -> MutexGuard<'_, CachedObjects> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tests for the loose object first: gix would search all packs.
    pub(super) fn is_loose(&self, id: &ObjectId) -> bool {
        super::object::loose_path(&self.objects, id).exists()
    }

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

impl Object for ObjectCache {
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
        let recent = ObjectCache::of(&mut repo);
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
