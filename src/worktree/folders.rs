//! The folders of a run of paths, each opened once while the run stays near it.

use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use crate::beneath::{Folder, Place, Root};
use crate::changeset::RepoPath;
use crate::error::Result;

/// How many stay open: paths come sorted, but a transaction goes over them several times.
const OPEN: usize = 32;

/// Opens folders beneath a root, and remembers the last few.
#[derive(Debug)]
pub struct Folders<'root> {
    root: &'root Root,
    recent: Vec<(BString, Rc<Folder>)>,
}

impl<'root> Folders<'root> {
    /// No folder is open yet.
    pub fn new(root: &'root Root) -> Self {
        Self { root, recent: Vec::new() }
    }

    /// The folder that `path` lies in.
    ///
    /// # Errors
    /// `symlink_in_way`, `in_submodule`, or the system's refusal to open it.
    pub fn of(&mut self, path: &RepoPath) -> Result<Place> {
        if self.root.is_submodule(path.as_bstr()) {
            return Err(super::in_submodule(path));
        }
        self.at(parent(path.as_bstr()))
    }

    /// The folder at `path` (empty: the root).
    ///
    /// # Errors
    /// As [`Folders::of`].
    pub fn at(&mut self, path: &BStr) -> Result<Place> {
        if let Some(index) = self.recent.iter().rposition(|(known, _)| known == path) {
            // What is asked for again and again is found at once.
            let last = self.recent.len() - 1;
            self.recent[index..].rotate_left(1);
            return Ok(Place::Folder(Rc::clone(&self.recent[last].1)));
        }
        let place = self.root.folder(path)?;
        if let Place::Folder(folder) = &place {
            if self.recent.len() == OPEN {
                self.recent.remove(0);
            }
            self.recent.push((path.into(), Rc::clone(folder)));
        }
        Ok(place)
    }

    /// Forgets `path` and what lies beneath it, after it was removed.
    pub fn forget(&mut self, path: &BStr) {
        self.recent.retain(|(known, _)| {
            !(known.starts_with(path) && matches!(known.get(path.len()), None | Some(b'/')))
        });
    }
}

/// The folder part of a path; empty for a file at the top.
pub fn parent(path: &BStr) -> &BStr {
    path[..path.rfind_byte(b'/').unwrap_or(0)].as_bstr()
}
