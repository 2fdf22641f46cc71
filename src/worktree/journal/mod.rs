//! All files or none: several files written as one step, recoverable after a crash.
//!
//! # Order
//! 1. Every file is compared with what the plan saw; any difference ends it (`file_changed`). What
//!    the plan has read a moment ago is looked at in 3, before anything is written for it.
//! 2. The journal is written and flushed: work tree, paths, object ids before and after.
//! 3. Every new content goes to a temporary file beside its target. A full disk shows here, with
//!    no file touched yet.
//! 4. Each temporary file is exchanged with its target in one step, so the old file itself, with
//!    its times and attributes, waits under the temporary name. What came out is compared with
//!    what was looked at in 1: an edit saved in between is noticed and swapped back.
//! 5. The caller's commit runs (the event is recorded).
//! 6. The old files are removed, then the journal. Meanwhile the caller makes its answer.
//!
//! Many files go through 3, 4 and 6 on a few threads, each file by itself.
//!
//! A failure before 5 is done swaps everything back at once. After a crash [`recover`] does the
//! same, or goes on with 6 where the event was recorded. It trusts nothing but object ids: a
//! waiting file is used only if its content has the id in the journal, else the content comes
//! from the object store. A file that somebody has edited meanwhile is left alone and reported.
//!
//! # What survives a power loss
//! The journal is on the disk before the first file is touched, and up to [`FLUSHED_FILES`] files
//! are before they take their place. Where the file system commits names in order (see
//! `crate::flush`) only contents are written out; the event, which is flushed, is the barrier.
//! Without an event nothing says that the files stand, so they may be the old ones, all of them.
//! Larger transactions are written as git writes a checkout, without a flush per file: after a
//! power loss within the seconds the system takes to write back, files may be empty although the
//! event says applied. Nothing is lost then, the objects are flushed; recovery, where the journal is
//! still there, writes them anew. Without an event there are no objects, and a large patch is as
//! safe in those seconds as one that `git apply` has written.
//!
//! The lock is per journal folder, so per clone: linked work trees take turns.

mod files;
mod forward;
mod record;
mod settle;
#[cfg(test)]
mod tests;

use std::fs::{self, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Reader, Worktree, codes};
use crate::changeset::{File, RepoPath};
use crate::error::{Error, Result};
use record::Record;

/// Up to this many files in one transaction are flushed one by one.
pub const FLUSHED_FILES: usize = 16;

pub(super) use record::Sum;

/// One file of a transaction.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Where.
    pub path: &'a RepoPath,
    /// What the plan saw there; the write is refused if it is not there any more.
    pub now: Option<&'a File>,
    /// What shall be there; `None` deletes.
    pub after: Option<&'a File>,
}

/// How [`recover`] dealt with one left-over journal.
#[derive(Debug, PartialEq, Eq)]
pub struct Recovered {
    /// What the journal was for, as given to [`Journal::apply`].
    pub subject: Option<String>,
    /// The work tree it was about.
    pub root: PathBuf,
    /// What was done.
    pub action: Action,
    /// Files that were left alone.
    pub left: Vec<Left>,
}

/// What became of an interrupted transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Its event is recorded, so its files were completed.
    Finished,
    /// Its event is not recorded, so its files were put back.
    Undone,
    /// Its work tree is gone; there was nothing to do.
    WorktreeGone,
}

/// A file that was left alone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Which.
    pub path: RepoPath,
    /// Why, as the end of a sentence that starts with the path.
    pub why: String,
}

/// Fetches a blob by its hex id; `None` if there is no such object.
pub type Fetch<'a> = &'a dyn Fn(&str) -> Result<Option<Vec<u8>>>;

/// The right to write files of this clone: one process at a time holds it.
#[derive(Debug)]
pub struct Journal {
    folder: PathBuf,
    flush: bool,
    _lock: fs::File,
}

/// True if an interrupted transaction may have left a journal in `folder`; costs one look.
pub fn pending(folder: &Path) -> bool {
    records(folder).is_ok_and(|found| !found.is_empty())
}

/// Finishes or undoes what a process that is gone left half done. Does nothing, and does not
/// wait, while another process is at work.
///
/// `recorded(subject, transaction)` says whether the event that [`Journal::apply`] was to record
/// exists.
///
/// # Errors
/// `journal_invalid`, or the first refusal of the system; the journal then stays.
pub fn recover(
    folder: &Path,
    recorded: &dyn Fn(&str, &str) -> Result<bool>,
    fetch: Fetch<'_>,
) -> Result<Vec<Recovered>> {
    if !pending(folder) {
        return Ok(Vec::new());
    }
    match Journal::open(folder, Duration::ZERO) {
        Err(error) if error.is(&codes::APPLY_BUSY) => Ok(Vec::new()),
        Err(error) => Err(error),
        Ok(journal) => journal.recover(recorded, fetch),
    }
}

impl Journal {
    /// Takes the lock of `folder` (made if need be), waiting at most `wait` for another process.
    ///
    /// # Errors
    /// `apply_busy`; the system's refusal.
    pub fn open(folder: &Path, wait: Duration) -> Result<Self> {
        let failed =
            |error| Error::io(format_args!("open the journal {}", folder.display()), &error);
        let path = folder.join("lock");
        let open = || fs::File::options().create(true).append(true).open(&path);
        let lock = match open() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                fs::create_dir_all(folder).and_then(|()| open())
            }
            other => other,
        }
        .map_err(failed)?;
        let (mut waited, mut pause) = (Duration::ZERO, Duration::from_millis(2));
        loop {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { folder: folder.into(), flush: true, _lock: lock }),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if waited >= wait => {
                    return Err(Error::new(
                        &codes::APPLY_BUSY,
                        "another process is writing files of this repository",
                    )
                    .hint("run the command again when it is done"));
                }
                Err(TryLockError::WouldBlock) => {
                    std::thread::sleep(pause);
                    waited += pause;
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
            }
        }
    }

    /// Whether to flush at all; off follows `core.fsync=none`.
    #[must_use]
    pub fn flushing(mut self, flush: bool) -> Self {
        self.flush = flush;
        self
    }

    /// Writes all of `steps` or none, and runs `commit` in between (see the module's order). What
    /// `reader` has read is only looked at again.
    ///
    /// `commit` gets the transaction's id. With a `subject` (a proposal's id), recovery after a
    /// crash asks whether the event of that subject and transaction was recorded; without one
    /// the files themselves are the result, and `commit` only runs before it stands.
    ///
    /// # Errors
    /// `file_changed` and all that [`Worktree::check_writable`] refuses; `folder_not_empty`; the
    /// system's refusals; whatever `commit` returns. All files are then as they were, but for
    /// those named in the detail `left_alone`, which somebody edited at that very moment.
    pub fn apply<T>(
        &self,
        reader: &Reader<'_>,
        steps: &[Step<'_>],
        subject: Option<&str>,
        commit: impl FnOnce(&str) -> Result<T>,
    ) -> Result<T> {
        self.apply_while(reader, steps, subject, commit, |value| value)
    }

    /// As [`Journal::apply`], and calls `answer` with what `commit` returned: all stands then, and
    /// only the old files are still to be removed, which goes on meanwhile where they are many.
    ///
    /// # Errors
    /// As [`Journal::apply`]; `answer` is not called then.
    pub fn apply_while<T, R>(
        &self,
        reader: &Reader<'_>,
        steps: &[Step<'_>],
        subject: Option<&str>,
        commit: impl FnOnce(&str) -> Result<T>,
        answer: impl FnOnce(T) -> R,
    ) -> Result<R> {
        forward::apply(self, reader, steps, subject, commit, answer)
    }

    /// As the function [`recover`], with the lock already held.
    ///
    /// # Errors
    /// As [`recover`].
    pub fn recover(
        &self,
        recorded: &dyn Fn(&str, &str) -> Result<bool>,
        fetch: Fetch<'_>,
    ) -> Result<Vec<Recovered>> {
        let failed = |error| Error::io("read the journal of an interrupted apply", &error);
        let mut done = Vec::new();
        for path in records(&self.folder).map_err(failed)? {
            let Some(record) = Record::read(&path)? else {
                // Never completed, so no file had been touched.
                fs::remove_file(&path).map_err(failed)?;
                continue;
            };
            let root = record.root();
            let mut outcome = Recovered {
                subject: record.subject.clone(),
                root: root.clone(),
                action: Action::WorktreeGone,
                left: Vec::new(),
            };
            if root.is_dir() {
                let worktree = Worktree::open(&root)?.with_size_limit(u64::MAX);
                let finish = match &record.subject {
                    Some(subject) => recorded(subject, &record.transaction)?,
                    None => path.extension().is_some_and(|e| e == record::DONE),
                };
                if finish {
                    outcome.action = Action::Finished;
                    outcome.left = settle::finish(&worktree, &record, fetch)?;
                } else {
                    outcome.action = Action::Undone;
                    outcome.left = settle::undo(&worktree, &record, fetch)?;
                }
            }
            fs::remove_file(&path).map_err(failed)?;
            done.push(outcome);
        }
        Ok(done)
    }

    /// Sets journals aside that [`recover`] cannot read, by renaming them to `*.bad`; returns
    /// their new paths.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn set_aside_invalid(&self) -> Result<Vec<PathBuf>> {
        let failed = |error| Error::io("set a broken journal aside", &error);
        let mut moved = Vec::new();
        for path in records(&self.folder).map_err(failed)? {
            if Record::read(&path).is_err() {
                let aside = path.with_extension("bad");
                fs::rename(&path, &aside).map_err(failed)?;
                moved.push(aside);
            }
        }
        Ok(moved)
    }
}

/// The journals in `folder`, by name.
fn records(folder: &Path) -> std::io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => other?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_some_and(|e| e == record::UNDER_WAY || e == record::DONE) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
