//! What several staged proposals are held against: files and blobs, each read once.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::Service;
use crate::changeset::{File, Mode};
use crate::error::Result;
use crate::memory::disk::Disk;
use crate::memory::plan::Files;
use crate::proposal::Entry;
use crate::store::Store;

/// Files of the store as they are now, and blobs of proposals.
pub(super) struct Held<'s> {
    disk: Disk<'s>,
    read: RefCell<BTreeMap<String, Option<Vec<u8>>>>,
    listed: RefCell<BTreeMap<String, Vec<String>>>,
    ids: RefCell<BTreeMap<String, Option<String>>>,
    blobs: RefCell<BTreeMap<String, File>>,
}

impl<'s> Held<'s> {
    pub(super) fn new(service: &'s Service<'_>) -> Self {
        Self {
            disk: service.disk(),
            read: RefCell::default(),
            listed: RefCell::default(),
            ids: RefCell::default(),
            blobs: RefCell::default(),
        }
    }

    /// The blob id, hex, of the file at `path`, relative to the store; `None` where there is none.
    ///
    /// # Errors
    /// Where it cannot be read.
    pub(super) fn id(&self, store: &Store, path: &str) -> Result<Option<String>> {
        if let Some(known) = self.ids.borrow().get(path) {
            return Ok(known.clone());
        }
        let file = self.read(path)?.map(|bytes| File { bytes, mode: Mode::Regular });
        let id = file.map(|file| store.entry_of(&file)).transpose()?.map(|entry| entry.id);
        self.ids.borrow_mut().insert(path.to_owned(), id.clone());
        Ok(id)
    }

    /// The content that `entry` names.
    ///
    /// # Errors
    /// `object_missing` and its kin.
    pub(super) fn blob(&self, store: &Store, entry: &Entry) -> Result<File> {
        if let Some(known) = self.blobs.borrow().get(&entry.id) {
            return Ok(File { mode: entry.file_mode(), ..known.clone() });
        }
        let file = store.file(entry)?;
        self.blobs.borrow_mut().insert(entry.id.clone(), file.clone());
        Ok(file)
    }
}

impl Files for Held<'_> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        if let Some(known) = self.read.borrow().get(path) {
            return Ok(known.clone());
        }
        let bytes = self.disk.read(path)?;
        self.read.borrow_mut().insert(path.to_owned(), bytes.clone());
        Ok(bytes)
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        if let Some(known) = self.listed.borrow().get(dir) {
            return Ok(known.clone());
        }
        let names = self.disk.list(dir)?;
        self.listed.borrow_mut().insert(dir.to_owned(), names.clone());
        Ok(names)
    }
}
