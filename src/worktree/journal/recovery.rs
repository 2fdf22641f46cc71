//! Settles an interrupted transaction: undoes or completes it.
//!
//! Both decide per file by object id, so both can be interrupted and repeated.
//!
//! # Authority of a journal
//! None. An agent that can write the git directory can forge a journal, also for a work tree that
//! it cannot write. A secret would not help: the agent could read it. The journal only says where
//! to look:
//! - Undoing changes files only if temporary files of the transaction lie in the work tree. Their
//!   author could have written the targets directly.
//! - Completing moves such temporary files into place. Content from the object store, and an
//!   unfinished deletion, need an event that names path and content.
//!
//! Names are resolved beneath the work tree, never through symlinks or into a repository. Changes
//! are reported.

use std::io::ErrorKind;
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::record::{BlobKey, JournalEntry, JournalRecord};
use super::{EventBlobs, FetchBlob, SkippedFile};
use crate::beneath::{Content, Dir, DirectoryLookup, Stamp};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::worktree::directories::{Directories, parent};
use crate::worktree::write::{Flush, cannot_remove, make_directory, remove_empty};
use crate::worktree::{Worktree, cannot_read, cannot_write, mode};

/// A journal of an unknown author is not believed by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Author {
    Ourselves,
    Unknown,
}

#[derive(Debug, Default)]
pub struct SettleResult {
    pub changed: Vec<RepoPath>,
    pub left: Vec<SkippedFile>,
}

/// `fetch` supplies content whose waiting file is lost.
pub fn undo(
    worktree: &Worktree,
    record: &JournalRecord,
    fetch: FetchBlob<'_>,
    author: Author,
) -> Result<SettleResult> {
    let nothing = EventBlobs::new();
    let mut run = Settlement::new(worktree, record, fetch, &nothing);
    run.believed = author == Author::Ourselves || run.has_temporary_files()?;
    // New files go before their directories, so that a file can return where a directory was, and
    // the reverse. Last to first: the mark of a transaction that only creates files lies beside its
    // first.
    run.each(|entry| entry.before.is_none(), true, Settlement::remove_new)?;
    let mut made: Vec<(&BStr, &BStr)> = record
        .entries
        .iter()
        .filter(|entry| entry.before.is_none())
        .map(|entry| (parent(entry.path.as_bstr()), entry.home.as_bstr()))
        .collect();
    made.dedup();
    for (directory, home) in made.into_iter().rev().filter(|_| run.believed) {
        remove_empty(&mut run.directories, directory, home);
    }
    run.each(|entry| entry.before.is_some(), false, Settlement::restore_old)?;
    Ok(run.done)
}

/// `fetch` supplies lost content that the event (`named`) names.
pub fn finish(
    worktree: &Worktree,
    record: &JournalRecord,
    fetch: FetchBlob<'_>,
    named: &EventBlobs,
) -> Result<SettleResult> {
    let mut run = Settlement::new(worktree, record, fetch, named);
    run.each(|entry| entry.after.is_none(), false, Settlement::complete_deletion)?;
    for entry in record.entries.iter().filter(|entry| entry.after.is_none()) {
        remove_empty(&mut run.directories, parent(entry.path.as_bstr()), BStr::new(""));
    }
    run.each(|entry| entry.after.is_some(), false, Settlement::complete_file)?;
    Ok(run.done)
}

struct Settlement<'a> {
    worktree: &'a Worktree,
    record: &'a JournalRecord,
    fetch: FetchBlob<'a>,
    directories: Directories<'a>,
    named: &'a EventBlobs,
    /// Temporary files of the transaction lie in the work tree.
    believed: bool,
    done: SettleResult,
}

#[derive(PartialEq, Eq)]
enum EntryContent {
    Nothing,
    File {
        blob: BlobKey,
        /// Empty or zeros: a power loss leaves this of unflushed content.
        torn: bool,
    },
    /// Not a regular file.
    Other,
}

impl EntryContent {
    fn is(&self, blob: Option<&BlobKey>) -> bool {
        matches!(self, Self::File { blob: found, .. } if Some(found) == blob)
    }
}

const UNPROVEN: &str =
    "stays as it is: a journal names it, but no temporary file of that transaction lies there";

struct EntryState {
    home: Option<Rc<Dir>>,
    target: EntryContent,
    slot: EntryContent,
    old: EntryContent,
    /// Target and slot are hard links of one file.
    linked: bool,
}

impl<'a> Settlement<'a> {
    fn new(
        worktree: &'a Worktree,
        record: &'a JournalRecord,
        fetch: FetchBlob<'a>,
        named: &'a EventBlobs,
    ) -> Self {
        let directories = Directories::new(&worktree.root);
        Self {
            worktree,
            record,
            fetch,
            directories,
            named,
            believed: false,
            done: SettleResult::default(),
        }
    }

    fn each(
        &mut self,
        which: impl Fn(&JournalEntry) -> bool,
        backwards: bool,
        settle: impl Fn(&mut Self, usize, &JournalEntry) -> Result<()>,
    ) -> Result<()> {
        let (record, count) = (self.record, self.record.entries.len());
        for step in 0..count {
            let index = if backwards { count - 1 - step } else { step };
            let entry = &record.entries[index];
            if which(entry) {
                crate::failpoint!("journal.settle");
                settle(self, index, entry)?;
            }
        }
        Ok(())
    }

    fn has_temporary_files(&mut self) -> Result<bool> {
        let record = self.record;
        for (index, entry) in record.entries.iter().enumerate() {
            if let DirectoryLookup::Directory(home) = self.directories.at(entry.home.as_bstr())?
                && [record.new_name(index), record.old_name(index)]
                    .iter()
                    .any(|name| home.stat(name.as_bstr()).is_ok())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn remove_new(&mut self, index: usize, entry: &JournalEntry) -> Result<()> {
        let seen = self.inspect_entry(index, entry)?;
        let after = entry.after.as_ref();
        // While the new content waits, the target is another program's. A hard link is the
        // exception: the content was just being moved.
        let waiting = seen.slot.is(after) && !seen.linked;
        match &seen.target {
            // A directory here is the one that the file was to replace.
            EntryContent::Nothing | EntryContent::Other => {}
            _ if waiting => {}
            found if found.is(after) || self.is_torn(found) => {
                if self.believed {
                    self.unlink(&entry.path)?
                } else {
                    self.leave(entry, UNPROVEN)
                }
            }
            _ => self.leave(entry, "was edited since; the new file stays"),
        }
        self.clear(index, &seen);
        Ok(())
    }

    fn restore_old(&mut self, index: usize, entry: &JournalEntry) -> Result<()> {
        let seen = self.inspect_entry(index, entry)?;
        let (before, after) = (entry.before.as_ref(), entry.after.as_ref());
        let waiting = self.waiting(index, before, &seen);
        // The exchange never happened.
        let untouched = after.is_some() && seen.slot.is(after) && waiting.is_none();
        let ours = match &seen.target {
            found if found.is(before) || untouched => {
                self.clear(index, &seen);
                return Ok(());
            }
            EntryContent::Nothing => waiting.is_some(),
            found => (after.is_some() && found.is(after)) || self.is_torn(found),
        };
        if !ours {
            return self.leave_with_old(index, entry, &seen);
        }
        let back = match (&seen.home, &waiting) {
            (Some(home), Some(name)) => self.move_back(home, name.as_bstr(), entry, &seen)?,
            _ if !self.believed => {
                self.leave(entry, UNPROVEN);
                return Ok(());
            }
            _ => self.write_fetched(entry, before)?,
        };
        if !back {
            return self.leave_with_old(index, entry, &seen);
        }
        self.done.changed.push(entry.path.clone());
        self.clear(index, &seen);
        Ok(())
    }

    /// Name of the file that waits with the content `before`.
    fn waiting(
        &self,
        index: usize,
        before: Option<&BlobKey>,
        seen: &EntryState,
    ) -> Option<BString> {
        if seen.slot.is(before) {
            Some(self.record.new_name(index))
        } else if seen.old.is(before) {
            Some(self.record.old_name(index))
        } else {
            None
        }
    }

    /// `false` if another program wrote the target at that moment.
    fn move_back(
        &mut self,
        home: &Rc<Dir>,
        name: &BStr,
        entry: &JournalEntry,
        seen: &EntryState,
    ) -> Result<bool> {
        let path = &entry.path;
        let directory = make_directory(&mut self.directories, path)?;
        let failed = |error| cannot_write(path, &error);
        if seen.target == EntryContent::Nothing {
            return match home.rename_new(name, &directory, path.file_name()) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
                other => other.map(|()| true).map_err(failed),
            };
        }
        if !home.exchange(name, &directory, path.file_name()).map_err(failed)? {
            home.rename(name, &directory, path.file_name()).map_err(failed)?;
            return Ok(true);
        }
        if read_content(home, name, path, self.record.sums)? == seen.target {
            home.unlink(name).map_err(failed)?;
            return Ok(true);
        }
        home.exchange(name, &directory, path.file_name()).map_err(failed)?;
        Ok(false)
    }

    fn complete_deletion(&mut self, index: usize, entry: &JournalEntry) -> Result<()> {
        let seen = self.inspect_entry(index, entry)?;
        match &seen.target {
            EntryContent::Nothing => {}
            found if found.is(entry.before.as_ref()) => match self.named.get(&entry.path) {
                Some(None) => self.unlink(&entry.path)?,
                _ => self.leave(entry, "was to be deleted, but no event says so; it stays"),
            },
            // A directory has replaced the file as intended.
            EntryContent::Other => {}
            _ => self.leave(entry, "was edited since; it stays"),
        }
        self.clear(index, &seen);
        Ok(())
    }

    fn complete_file(&mut self, index: usize, entry: &JournalEntry) -> Result<()> {
        let seen = self.inspect_entry(index, entry)?;
        let (before, after) = (entry.before.as_ref(), entry.after.as_ref());
        let unwritten = match &seen.target {
            EntryContent::Nothing => before.is_none(),
            found => found.is(before) || self.is_torn(found),
        };
        if seen.target.is(after) {
            // Already complete.
        } else if !unwritten {
            self.leave(entry, "was edited since; it stays as it is");
        } else if let (Some(home), true) = (&seen.home, seen.slot.is(after)) {
            let directory = make_directory(&mut self.directories, &entry.path)?;
            home.rename(self.record.new_name(index).as_bstr(), &directory, entry.path.file_name())
                .map_err(|error| cannot_write(&entry.path, &error))?;
            self.done.changed.push(entry.path.clone());
        } else if !self.is_named(entry) {
            self.leave(entry, "is not complete, and no event names its content; see `git status`");
        } else if self.write_fetched(entry, after)? {
            self.done.changed.push(entry.path.clone());
        } else {
            self.leave(entry, "is not complete, and its content is not in the object store");
        }
        self.clear(index, &seen);
        Ok(())
    }

    /// Writes `blob` from the object store; `false` if missing.
    fn write_fetched(&mut self, entry: &JournalEntry, blob: Option<&BlobKey>) -> Result<bool> {
        let Some(blob) = blob else { return Ok(false) };
        if self.record.sums {
            return Ok(false);
        }
        let Some(bytes) = (self.fetch)(&blob.id)? else { return Ok(false) };
        self.worktree.write_file(&entry.path, &bytes, blob.mode(), Flush::Yes)?;
        Ok(true)
    }

    fn is_named(&self, entry: &JournalEntry) -> bool {
        let id = entry.after.as_ref().map(|blob| &blob.id);
        id.is_some() && self.named.get(&entry.path).is_some_and(|named| named.as_ref() == id)
    }

    fn inspect_entry(&mut self, index: usize, entry: &JournalEntry) -> Result<EntryState> {
        let (path, sums) = (&entry.path, self.record.sums);
        let (target, place) = match self.directories.parent_of(path)? {
            DirectoryLookup::Directory(directory) => {
                read_with_stamp(&directory, path.file_name(), path, sums)?
            }
            DirectoryLookup::Missing(_) | DirectoryLookup::Blocked(_) => {
                (EntryContent::Nothing, None)
            }
        };
        let DirectoryLookup::Directory(home) = self.directories.at(entry.home.as_bstr())? else {
            let (slot, old) = (EntryContent::Nothing, EntryContent::Nothing);
            return Ok(EntryState { home: None, target, slot, old, linked: false });
        };
        let (slot, waits) =
            read_with_stamp(&home, self.record.new_name(index).as_bstr(), path, sums)?;
        let old = read_content(&home, self.record.old_name(index).as_bstr(), path, sums)?;
        let linked = place.zip(waits).is_some_and(|(place, waits)| place.is_same_file(&waits));
        Ok(EntryState { home: Some(home), target, slot, old, linked })
    }

    /// True for a possible result of a power loss.
    fn is_torn(&self, found: &EntryContent) -> bool {
        !self.record.flushed && matches!(found, EntryContent::File { torn: true, .. })
    }

    fn unlink(&mut self, path: &RepoPath) -> Result<()> {
        match self.directories.parent_of(path)? {
            DirectoryLookup::Directory(directory) => directory
                .unlink(path.file_name())
                .map_err(|error| cannot_remove(path.as_bstr(), &error))?,
            DirectoryLookup::Missing(_) | DirectoryLookup::Blocked(_) => return Ok(()),
        }
        self.done.changed.push(path.clone());
        Ok(())
    }

    fn leave(&mut self, entry: &JournalEntry, why: &str) {
        self.done.left.push(SkippedFile { path: entry.path.clone(), why: why.into() });
    }

    /// Leaves an edited file alone. Its old version keeps the waiting name, unless the object store
    /// has it.
    fn leave_with_old(
        &mut self,
        index: usize,
        entry: &JournalEntry,
        seen: &EntryState,
    ) -> Result<()> {
        let before = entry.before.as_ref();
        let waiting = self.waiting(index, before, seen);
        match (waiting, before) {
            (Some(name), Some(blob)) if self.record.sums || (self.fetch)(&blob.id)?.is_none() => {
                let place = if entry.home.is_empty() {
                    name.to_string()
                } else {
                    format!("{}/{name}", entry.home.as_bstr())
                };
                let why =
                    format!("was edited since; it stays, and the former version is in {place}");
                self.leave(entry, &why);
            }
            _ => {
                self.leave(entry, "was edited since; it stays as it is");
                self.clear(index, seen);
            }
        }
        Ok(())
    }

    fn clear(&self, index: usize, seen: &EntryState) {
        let Some(home) = &seen.home else { return };
        if seen.slot != EntryContent::Nothing {
            let _ = home.unlink(self.record.new_name(index).as_bstr());
        }
        if seen.old != EntryContent::Nothing {
            let _ = home.unlink(self.record.old_name(index).as_bstr());
        }
    }
}

pub fn holds(
    directory: &Dir,
    name: &BStr,
    path: &RepoPath,
    blob: Option<&BlobKey>,
    sums: bool,
) -> Result<bool> {
    Ok(read_content(directory, name, path, sums)?.is(blob))
}

fn read_content(directory: &Dir, name: &BStr, path: &RepoPath, sums: bool) -> Result<EntryContent> {
    Ok(read_with_stamp(directory, name, path, sums)?.0)
}

fn read_with_stamp(
    directory: &Dir,
    name: &BStr,
    path: &RepoPath,
    sums: bool,
) -> Result<(EntryContent, Option<Stamp>)> {
    let content = directory.read(name, u64::MAX).map_err(|error| cannot_read(path, &error))?;
    Ok(match content {
        Content::Missing => (EntryContent::Nothing, None),
        Content::Other(_) | Content::TooLarge(_) => (EntryContent::Other, None),
        Content::File(bytes, stamp) => {
            let blank = bytes.iter().all(|byte| *byte == 0);
            let blob = BlobKey::of(&bytes, mode(&stamp), sums)?;
            (EntryContent::File { blob, torn: blank }, Some(stamp))
        }
    })
}
