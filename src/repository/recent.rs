//! Objects that this process has read or written lately, for whoever asks for them again.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use gix::ObjectId;
use gix::objs::Kind;
use gix::odb::pack::cache::Object;
use gix::odb::pack::cache::object::MemoryCappedHashmap;

/// Bytes that are kept: enough for the trees and blobs of one command. What gix takes by default is
/// sized for history walks.
const MOST: usize = 1 << 20;

/// An object cache of gix's that its owner can add to: content that was just hashed need not be
/// inflated to be read. Says nothing about what the repository has.
#[derive(Clone)]
pub(super) struct Recent(Arc<Mutex<MemoryCappedHashmap>>);

impl Recent {
    /// Adds a cache to `repo` and its clones.
    pub(super) fn of(repo: &mut gix::Repository) -> Self {
        let recent = Self(Arc::new(Mutex::new(MemoryCappedHashmap::new(MOST))));
        let shared = recent.clone();
        repo.objects.set_object_cache(move || Box::new(shared.clone()));
        recent
    }

    /// Keeps a blob whose id is `id`.
    pub(super) fn keep(&self, id: ObjectId, blob: &[u8]) {
        // One that takes all the room is more likely in the way than read again.
        if blob.len() <= MOST / 2 {
            self.held().put(id, Kind::Blob, blob);
        }
    }

    fn held(&self) -> MutexGuard<'_, MemoryCappedHashmap> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Object for Recent {
    fn put(&mut self, id: ObjectId, kind: Kind, data: &[u8]) {
        self.held().put(id, kind, data);
    }

    fn get(&mut self, id: &ObjectId, out: &mut Vec<u8>) -> Option<Kind> {
        self.held().get(id, out)
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
            recent.keep(id, blob);
            let found = repo.clone().find_object(id).ok().map(|object| object.data.clone());
            assert_eq!(found.as_ref(), Some(blob).filter(|blob| blob.len() < MOST));
            assert!(!repo.has_object(id), "only the repository says what it has");
        }
    }
}
