//! Steps for one file of a transaction; threads run them for many.

use std::fs;
use std::io::{self, ErrorKind};
use std::rc::Rc;

use bstr::ByteSlice;

use super::record::JournalRecord;
use super::{FileWrite, recovery};
use crate::beneath::{Dir, DirectoryLookup, NewFile, Stamp};
use crate::changeset::{File, RepoPath};
use crate::error::Result;
use crate::worktree::directories::{Directories, parent};
use crate::worktree::write::{cannot_remove, make_directory, new_file};
use crate::worktree::{cannot_read, cannot_write, changed, unplanned};

#[derive(Clone, Copy)]
pub struct FileOperations<'a> {
    pub steps: &'a [FileWrite<'a>],
    /// Stamps from the comparison.
    pub stamps: &'a [Option<Stamp>],
    /// Bytes to write, where they differ from git's.
    pub written: &'a [Option<File>],
    pub record: &'a JournalRecord,
}

impl FileOperations<'_> {
    /// Verifies that the file is unchanged, then writes the temporary file, returned if it needs a
    /// flush.
    pub fn prepare(
        &self,
        directories: &mut Directories<'_>,
        index: usize,
    ) -> Result<Option<fs::File>> {
        let path = self.steps[index].path;
        if let Some(expected) = self.stamps[index] {
            let same = match directories.parent_of(path)? {
                DirectoryLookup::Directory(directory) => {
                    directory.stat(path.file_name()).is_ok_and(|s| s == expected)
                }
                DirectoryLookup::Missing(_) | DirectoryLookup::Blocked(_) => false,
            };
            if !same {
                return Err(unplanned(path));
            }
        }
        let Some(after) = self.steps[index].after else { return Ok(None) };
        let home = self.home(directories, index)?;
        let after = self.written[index].as_ref().unwrap_or(after);
        let new = new_file(self.stamps[index].as_ref(), after.mode);
        let slot = self.record.new_name(index);
        if self.record.is_marked(index) {
            let mark = NewFile { permissions: None, executable: false };
            home.create(self.record.old_name(index).as_bstr(), b"", mark)
                .map_err(|error| cannot_write(path, &error))?;
        }
        let file = crate::failpoint!("worktree.create", io)
            .and_then(|()| home.create(slot.as_bstr(), &after.bytes, new))
            .map_err(|error| cannot_write(path, &error))?;
        Ok(Some(file).filter(|_| self.record.flushed))
    }

    pub fn move_old_aside(&self, directories: &mut Directories<'_>, index: usize) -> Result<()> {
        if self.steps[index].after.is_some() {
            return Ok(());
        }
        let path = self.steps[index].path;
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => changed(path, "was removed while the change was written"),
            _ => cannot_remove(path.as_bstr(), &error),
        };
        let old = self.record.old_name(index);
        let home = self.home(directories, index)?;
        let directory = match directories.parent_of(path)? {
            DirectoryLookup::Directory(directory) => directory,
            DirectoryLookup::Missing(_) | DirectoryLookup::Blocked(_) => {
                return Err(vanished(path));
            }
        };
        crate::failpoint!("worktree.remove", io)
            .and_then(|()| directory.rename_new(path.file_name(), &home, old.as_bstr()))
            .map_err(failed)?;
        if Some(home.stat(old.as_bstr()).map_err(failed)?) != self.stamps[index] {
            let _ = home.rename_new(old.as_bstr(), &directory, path.file_name());
            return Err(changed(path, "changed while the change was written"));
        }
        Ok(())
    }

    pub fn exchange_new(&self, directories: &mut Directories<'_>, index: usize) -> Result<()> {
        if self.steps[index].after.is_none() {
            return Ok(());
        }
        let path = self.steps[index].path;
        let slot = self.record.new_name(index);
        let slot = slot.as_bstr();
        let home = self.home(directories, index)?;
        let directory = make_directory(directories, path)?;
        let name = path.file_name();
        let failed = |error: io::Error| match error.kind() {
            ErrorKind::NotFound => changed(path, "was removed while the change was written"),
            ErrorKind::AlreadyExists => changed(path, "appeared while the change was written"),
            _ => cannot_write(path, &error),
        };
        crate::failpoint!("worktree.rename", io).map_err(failed)?;
        let Some(expected) = self.stamps[index] else {
            return home.rename_new(slot, &directory, name).map_err(failed);
        };
        if home.exchange(slot, &directory, name).map_err(failed)? {
            if home.stat(slot).map_err(failed)? != expected {
                home.exchange(slot, &directory, name).map_err(failed)?;
                // A second edit in between is the newer one.
                let after = self.record.entries[index].after.as_ref();
                if !recovery::holds(&home, slot, path, after, self.record.sums)? {
                    home.exchange(slot, &directory, name).map_err(failed)?;
                }
                return Err(changed(path, "changed while the change was written"));
            }
            return Ok(());
        }
        let old = self.record.old_name(index);
        let old = old.as_bstr();
        if directory.link(name, &home, old).is_err() {
            directory.rename_new(name, &home, old).map_err(failed)?;
        }
        // Our own hard link counts.
        let found = Stamp { links: expected.links, ..home.stat(old).map_err(failed)? };
        if found != expected {
            if directory.stat(name).is_err() {
                let _ = home.rename_new(old, &directory, name);
            }
            return Err(changed(path, "changed while the change was written"));
        }
        crate::failpoint!("worktree.replace", io)
            .and_then(|()| home.rename(slot, &directory, name))
            .map_err(failed)
    }

    /// Refuses if a program wrote to its open file after the move.
    pub fn check_old_unchanged(
        &self,
        directories: &mut Directories<'_>,
        index: usize,
    ) -> Result<()> {
        let Some(expected) = self.stamps[index] else { return Ok(()) };
        let home = self.home(directories, index)?;
        // An exchanged file has the first name, a moved one the second.
        let found = match home.stat(self.record.new_name(index).as_bstr()) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                home.stat(self.record.old_name(index).as_bstr())
            }
            other => other,
        };
        let path = self.steps[index].path;
        let found = found.map_err(|error| cannot_read(path, &error))?;
        if (Stamp { links: expected.links, ..found }) != expected {
            return Err(changed(path, "changed while the change was written"));
        }
        Ok(())
    }

    pub fn remove_old(&self, directories: &mut Directories<'_>, index: usize) -> bool {
        if self.steps[index].now.is_none() {
            let mark = self.record.old_name(index);
            return !self.record.is_marked(index)
                || self
                    .home(directories, index)
                    .is_ok_and(|home| home.unlink(mark.as_bstr()).is_ok());
        }
        crate::failpoint!("worktree.clean");
        self.home(directories, index).is_ok_and(|home| {
            let deleted = self.steps[index].after.is_none();
            let first = home.unlink(self.record.new_name(index).as_bstr());
            (first.is_ok() && !deleted)
                || home.unlink(self.record.old_name(index).as_bstr()).is_ok()
        })
    }

    fn home(&self, directories: &mut Directories<'_>, index: usize) -> Result<Rc<Dir>> {
        match directories.at(self.record.entries[index].home.as_bstr())? {
            DirectoryLookup::Directory(directory) => Ok(directory),
            DirectoryLookup::Missing(_) | DirectoryLookup::Blocked(_) => {
                Err(vanished(self.steps[index].path))
            }
        }
    }
}

fn vanished(path: &RepoPath) -> crate::error::Error {
    let directory = parent(path.as_bstr());
    changed(path, &format!("cannot be written: the directory '{directory}' vanished"))
}
