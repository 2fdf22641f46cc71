//! Writes a transaction.

use std::borrow::Cow;
use std::collections::{BTreeSet, HashMap, HashSet};
use std::fs;
use std::io::ErrorKind;

use bstr::{BStr, BString, ByteSlice, ByteVec};

use super::file_operations::FileOperations;
use super::record::{self, BlobKey, Checksum, JournalEntry, JournalRecord};
use super::recovery::Author;
use super::{FLUSHED_FILES, FileWrite, Journal, recovery};
use crate::beneath::{DirectoryLookup, Stamp, random_id};
use crate::changeset::{File, RepoPath};
use crate::error::{Error, Result};
use crate::flush::{FlushMethod, OPEN};
use crate::worktree::directories::{Directories, parent};
use crate::worktree::index::IndexLock;
use crate::worktree::write::{cannot_remove, remove_empty};
use crate::worktree::{
    ReadFile, Reader, Worktree, codes, mode, not_a_directory, refuse_shared, unplanned, workers,
};

struct FoundFile<'a> {
    raw: Cow<'a, [u8]>,
    stamp: Stamp,
    sum: Checksum,
}

impl Journal {
    /// [`Journal::apply`]; also runs `meanwhile` while the disk writes, and `answer` with the result of a
    /// successful `commit`, while old files are removed.
    pub fn apply_with<T, R>(
        &self,
        reader: &Reader<'_>,
        steps: &[FileWrite<'_>],
        subject: Option<&str>,
        meanwhile: &mut dyn FnMut(),
        commit: impl FnOnce(&str) -> Result<T>,
        answer: impl FnOnce(T) -> R,
    ) -> Result<R> {
        let transaction = format!("{:016x}", random_id());
        let Some((mut run, name)) = Transaction::begin(self, reader, steps, subject, &transaction)?
        else {
            return commit(&transaction).map(answer);
        };
        let done = run.write(self, meanwhile).and_then(|()| {
            crate::failpoint!("journal.commit");
            commit(&transaction)
        });
        match done {
            Ok(value) => {
                crate::failpoint!("journal.committed");
                self.release_index();
                // Compiled once for all types of `answer`.
                let (mut make, mut made) = (Some(|| answer(value)), None);
                run.clean(self, name.as_bstr(), &mut || made = make.take().map(|make| make()));
                made.ok_or_else(|| Error::bug("the files are written, but there is no answer"))
            }
            Err(error) => {
                let error = run.put_back(self, name.as_bstr(), error);
                self.release_index();
                Err(error)
            }
        }
    }
}

struct Transaction<'a> {
    worktree: &'a Worktree,
    seen: HashMap<RepoPath, ReadFile>,
    method: FlushMethod,
    directories: Directories<'a>,
    steps: Vec<FileWrite<'a>>,
    deleted: HashSet<&'a RepoPath>,
    created: HashSet<&'a RepoPath>,
    stamps: Vec<Option<Stamp>>,
    written: Vec<Option<File>>,
    record: JournalRecord,
}

impl<'a> Transaction<'a> {
    /// Compares every file and writes the journal; `None` without changes.
    fn begin(
        journal: &Journal,
        reader: &'a Reader<'_>,
        steps: &[FileWrite<'a>],
        subject: Option<&str>,
        transaction: &str,
    ) -> Result<Option<(Self, BString)>> {
        let mut steps = steps.to_vec();
        steps.retain(|step| step.now != step.after);
        steps.sort_unstable_by_key(|step| step.path);
        if steps.is_empty() {
            return Ok(None);
        }
        let worktree = reader.tree;
        let mut run = Transaction {
            worktree,
            seen: std::mem::take(&mut *reader.seen.borrow_mut()),
            method: if journal.flush {
                FlushMethod::durable(worktree.root(), journal.directory.path())
            } else {
                FlushMethod::No
            },
            directories: Directories::new(&worktree.root),
            deleted: steps.iter().filter(|s| s.after.is_none()).map(|s| s.path).collect(),
            created: steps.iter().filter(|s| s.now.is_none()).map(|s| s.path).collect(),
            stamps: Vec::with_capacity(steps.len()),
            written: Vec::with_capacity(steps.len()),
            record: JournalRecord::new(transaction.into(), worktree.root(), subject),
            steps,
        };
        run.compare()?;
        // No object holds converted content: recovery could not recreate it.
        let few = run.steps.len() <= FLUSHED_FILES || run.written.iter().any(Option::is_some);
        run.record.flushed = journal.flush && few;
        let index = journal.index.as_deref().map(Vec::from_path_lossy);
        run.record.index = index.unwrap_or_default().into_owned();
        let name = run.record.write(&journal.directory, run.method)?;
        Ok(Some((run, name)))
    }

    fn compare(&mut self) -> Result<()> {
        for index in 0..self.steps.len() {
            let step = self.steps[index];
            let found = self.present(&step)?;
            if let Some(found) = &found {
                refuse_shared(step.path, &found.stamp)?;
            }
            if found.is_some() != step.now.is_some() {
                return Err(unplanned(step.path));
            }
            let now = found.as_ref().zip(step.now);
            let written = match step.after {
                Some(after) => {
                    let now = now.map(|(found, now)| (&*found.raw, &*now.bytes));
                    let bytes = self.worktree.to_disk(step.path, now, &after.bytes)?;
                    bytes.map(|bytes| File { bytes, mode: after.mode })
                }
                None => None,
            };
            let sums = self.record.sums;
            let named = |file: &File| BlobKey::of(&file.bytes, file.mode, sums);
            let before = match &found {
                Some(found) if sums => Some(BlobKey::summed(found.sum, mode(&found.stamp))),
                Some(found) => Some(BlobKey::of(&found.raw, mode(&found.stamp), sums)?),
                None => None,
            };
            let after = written.as_ref().or(step.after).map(named).transpose()?;
            let home = match step.now {
                None => self.home_of_new(step.path)?,
                Some(_) => self.home_of_old(step.path),
            };
            self.stamps.push(found.map(|found| found.stamp));
            self.record.entries.push(JournalEntry {
                path: step.path.clone(),
                before,
                after,
                home: home.into(),
            });
            self.written.push(written);
        }
        Ok(())
    }

    /// The present file; an error if it differs from the plan's.
    ///
    /// A file that the plan has read is not read again. Its stamp is compared before its new
    /// content is written and after the exchange.
    fn present(&mut self, step: &FileWrite<'a>) -> Result<Option<FoundFile<'a>>> {
        if let (Some(now), Some(seen)) = (step.now, self.seen.remove(step.path))
            && now.mode == self.worktree.mode(step.path, &seen.stamp)
            && seen.sum == Checksum::of(&now.bytes)
        {
            let sum = seen.raw.as_deref().map_or(seen.sum, Checksum::of);
            let raw = seen.raw.map_or(Cow::Borrowed(&*now.bytes), Cow::Owned);
            return Ok(Some(FoundFile { raw, stamp: seen.stamp, sum }));
        }
        let Some((file, stamp)) = self.look(step)? else { return Ok(None) };
        let stored = self.worktree.to_git(step.path, &file.bytes)?;
        let same = step.now.is_some_and(|now| {
            (now.mode, &now.bytes) == (file.mode, stored.as_ref().unwrap_or(&file.bytes))
        });
        if same {
            let sum = Checksum::of(&file.bytes);
            Ok(Some(FoundFile { raw: Cow::Owned(file.bytes), stamp, sum }))
        } else {
            Err(unplanned(step.path))
        }
    }

    fn look(&mut self, step: &FileWrite<'_>) -> Result<Option<(File, Stamp)>> {
        match self.worktree.read(&mut self.directories, step.path) {
            // A directory gives way to a file if the same change empties it.
            Err(error)
                if error.is(&crate::changeset::codes::DIRECTORY)
                    && self.deleted.iter().any(|path| is_beneath(path, step.path)) =>
            {
                Ok(None)
            }
            other => other,
        }
    }

    /// Nearest existing directory above a new file.
    fn home_of_new(&mut self, path: &RepoPath) -> Result<BString> {
        let place = self.directories.parent_of(path)?;
        self.worktree.refuse_submodule(path, &place)?;
        match place {
            DirectoryLookup::Directory(_) => Ok(parent(path.as_bstr()).into()),
            DirectoryLookup::Missing(so_far) => Ok(so_far),
            DirectoryLookup::Blocked(file)
                if RepoPath::from_tree(&file).is_ok_and(|p| self.deleted.contains(&p)) =>
            {
                Ok(parent(file.as_bstr()).into())
            }
            DirectoryLookup::Blocked(file) => Err(not_a_directory(path, file.as_bstr())),
        }
    }

    /// Directory where an old file waits: its own, unless a file replaces that directory.
    fn home_of_old(&self, path: &RepoPath) -> BString {
        let gives_way = path.parents().filter(|directory| self.created.contains(directory)).last();
        parent(gives_way.as_ref().unwrap_or(path).as_bstr()).into()
    }

    fn write(&mut self, journal: &Journal, meanwhile: &mut dyn FnMut()) -> Result<()> {
        let (root, count) = (&self.worktree.root, self.steps.len());
        let files = self.files();
        let batch = if self.record.flushed { OPEN } else { count };
        for start in (0..count).step_by(batch) {
            let range = start..(start + batch).min(count);
            let new = workers::each(root, range, |directories, at| files.prepare(directories, at))?;
            let unflushed: Vec<fs::File> = new.into_iter().flatten().collect();
            let flushed = match start {
                0 => self.method.files_while(&unflushed, meanwhile),
                _ => self.method.files(&unflushed),
            };
            flushed.map_err(|error| Error::io("flush the new files", &error))?;
        }
        if let Some(index) = &journal.index {
            let held = IndexLock::take(index, &self.record.transaction)?;
            journal.index_lock.replace(held);
            crate::failpoint!("journal.index");
        }
        let mut directories = Directories::new(root);
        for at in 0..count {
            files.move_old_aside(&mut directories, at)?;
        }
        self.remove_emptied_directories()?;
        let files = self.files();
        workers::each(root, 0..count, |directories, at| files.exchange_new(directories, at))?;
        workers::each(root, 0..count, |directories, at| {
            files.check_old_unchanged(directories, at)
        })?;
        Ok(())
    }

    fn files(&self) -> FileOperations<'_> {
        let Self { steps, stamps, written, record, .. } = self;
        FileOperations { steps, stamps, written, record }
    }

    /// Directories replaced by files must be empty by now.
    fn remove_emptied_directories(&mut self) -> Result<()> {
        let gives_way = |directory: &RepoPath| self.created.contains(directory);
        let directories: BTreeSet<RepoPath> = self
            .deleted
            .iter()
            .flat_map(|path| path.parents())
            .filter(|directory| {
                gives_way(directory) || directory.parents().any(|above| gives_way(&above))
            })
            .collect();
        for path in directories.iter().rev() {
            self.directories.forget(path.as_bstr());
            let DirectoryLookup::Directory(directory) = self.directories.parent_of(path)? else {
                continue;
            };
            crate::failpoint!("worktree.rmdir", io)
                .and_then(|()| directory.rmdir(path.file_name()))
                .map_err(|error| match error.kind() {
                    ErrorKind::DirectoryNotEmpty | ErrorKind::AlreadyExists => Error::new(
                        &codes::DIRECTORY_NOT_EMPTY,
                        format!(
                            "the directory {} holds files that the change does not name",
                            path.display()
                        ),
                    )
                    .with("path", path.display().to_string())
                    .hint("move or remove them first"),
                    _ => cannot_remove(path.as_bstr(), &error),
                })?;
        }
        Ok(())
    }

    /// Removes the old files while `answer` runs. A failure leaves the journal for the next
    /// command.
    fn clean(mut self, journal: &Journal, name: &BStr, answer: &mut dyn FnMut()) {
        let directory = journal.directory.dir();
        let mut name = name.to_owned();
        if self.record.subject.is_none() {
            let done = BString::from(format!("{}.{}", self.record.transaction, record::DONE));
            if directory.rename(name.as_bstr(), directory, done.as_bstr()).is_err() {
                // Without the rename the next command would undo; a leftover old file is better.
                let _ = directory.unlink(name.as_bstr());
            }
            name = done;
        }
        let (root, files) = (&self.worktree.root, self.files());
        let remove = |directories: &mut Directories<'_>, at| Ok(files.remove_old(directories, at));
        let removed = workers::each_while(root, 0..self.steps.len(), remove, answer);
        let cleaned = removed.is_ok_and(|removed| removed.iter().all(|removed| *removed));
        for step in &self.steps {
            if step.after.is_none() {
                remove_empty(&mut self.directories, parent(step.path.as_bstr()), BStr::new(""));
            }
        }
        if cleaned {
            crate::failpoint!("journal.remove");
            let _ = directory.unlink(name.as_bstr());
        }
    }

    /// Restores everything; the error also names files that stay changed.
    fn put_back(self, journal: &Journal, name: &BStr, error: Error) -> Error {
        let none = |_: &str| Ok(None);
        match recovery::undo(self.worktree, &self.record, &none, Author::Ourselves) {
            Ok(done) => {
                let _ = journal.directory.dir().unlink(name);
                if done.left.is_empty() {
                    return error;
                }
                let left: Vec<String> = done
                    .left
                    .iter()
                    .map(|file| format!("{} {}", file.path.display(), file.why))
                    .collect();
                error.with("left_alone", left)
            }
            Err(second) => error.with("undo_failed", second.message().to_owned()),
        }
    }
}

fn is_beneath(path: &RepoPath, directory: &RepoPath) -> bool {
    path.as_bstr()
        .strip_prefix(directory.as_bstr().as_bytes())
        .is_some_and(|rest| rest.first() == Some(&b'/'))
}
