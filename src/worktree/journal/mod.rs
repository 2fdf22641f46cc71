//! Transactions on several files: all are written or none, also across a crash.
//!
//! # Order
//! 1. Every file is compared with the plan's version (`file_changed`). Files that the plan has just
//!    read are compared in step 3, before any write.
//! 2. The journal is written and flushed: work tree, paths, object ids before and after.
//! 3. New contents are written to temporary files beside their targets. A full disk shows here,
//!    with every target untouched.
//! 4. Git's index lock is taken (`worktree::index`). Each temporary file is exchanged with its
//!    target in one step. The old file, with its times and attributes, now waits under the
//!    temporary name. It is compared with its stamp from step 1: an edit saved in between is
//!    swapped back.
//! 5. The caller's commit records the event; then the index lock is released.
//! 6. The old files are removed, then the journal. Meanwhile the caller computes its result.
//!
//! Recovery acts only where temporary files of the transaction lie (`recovery`). A transaction that
//! only creates files therefore keeps an empty one until step 6.
//!
//! A failure before the end of step 5 swaps everything back. After a crash `recover` does the same,
//! or continues with step 6 if the event was recorded. Recovery trusts object ids alone: a waiting
//! file must have the journal's id, else the object store's content is used. A file edited
//! meanwhile is left alone and reported.
//!
//! # Power loss
//! The journal reaches the disk before the first change. Up to `FLUSHED_FILES` files are flushed
//! before they take their place. File systems that commit names in order (`crate::flush`) only
//! write contents out, and the event's flush is the barrier. Without an event all files may be the
//! old ones.
//!
//! Larger transactions are not flushed per file, like a checkout by git. A power loss within
//! seconds may leave files empty although the event says applied. Their objects are flushed, and
//! recovery rewrites the files if the journal survives. Without an event there are no objects: such
//! a patch is as safe as one by `git apply`.
//!
//! The lock is per clone: linked work trees take turns.

mod file_operations;
mod record;
mod recovery;
#[cfg(test)]
mod tests;
mod transaction;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::fs::{self, TryLockError};
use std::io::{Read as _, Seek as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BStr, BString, ByteSlice};

use super::index::IndexLock;
use super::{Reader, Worktree, codes};
use crate::beneath::Access;
use crate::changeset::{File, RepoPath};
use crate::error::{Error, Result};
use crate::private::PrivateDirectory;
use crate::process_wait::Wait;
use record::JournalRecord;

/// Transactions up to this size flush each file.
pub const FLUSHED_FILES: usize = 16;

pub(super) use record::Checksum;

#[derive(Clone, Copy, Debug)]
pub struct FileWrite<'a> {
    pub path: &'a RepoPath,
    /// The plan's version; a different file is refused.
    pub now: Option<&'a File>,
    /// `None` deletes.
    pub after: Option<&'a File>,
}

#[derive(Debug, PartialEq, Eq)]
pub struct RecoveredTransaction {
    /// From `Journal::apply`.
    pub subject: Option<String>,
    pub root: PathBuf,
    pub action: RecoveryOutcome,
    pub changed: Vec<RepoPath>,
    pub skipped: Vec<SkippedFile>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecoveryOutcome {
    /// The event is recorded: the files were completed.
    Finished,
    /// No event: the files were restored.
    Undone,
    WorktreeGone,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SkippedFile {
    pub path: RepoPath,
    /// Completes a sentence that starts with the path.
    pub why: String,
}

#[derive(Debug, Default)]
pub struct RecoveryReport {
    pub transactions: Vec<RecoveredTransaction>,
    /// Journals that stay: `journal_foreign`, `journal_invalid`, or not completed (`index_locked`).
    pub refused: Vec<Error>,
}

/// Unverified claims of a journal; only the work tree exists.
#[derive(Debug)]
pub struct JournalClaim<'a> {
    pub root: &'a Worktree,
    /// The proposal of the event.
    pub subject: Option<&'a str>,
    pub transaction: &'a str,
    paths: &'a [record::JournalEntry],
}

impl<'a> JournalClaim<'a> {
    /// Unconverted content to be written: path and SHA-1 blob id, `None` for a deletion.
    pub fn after(&self) -> impl Iterator<Item = (&'a RepoPath, Option<&'a str>)> + use<'a> {
        let id =
            |entry: &'a record::JournalEntry| entry.after.as_ref().map(|blob| blob.id.as_str());
        self.paths.iter().map(move |entry| (&entry.path, id(entry)))
    }

    pub fn paths(&self) -> impl Iterator<Item = &'a RepoPath> + use<'a> {
        self.paths.iter().map(|entry| &entry.path)
    }
}

/// An event's files: object ids, `None` for a deletion.
pub type EventBlobs = HashMap<RepoPath, Option<String>>;

type FetchBlob<'a> = &'a dyn Fn(&str) -> Result<Option<Vec<u8>>>;

/// The repository's answers for recovery, which does not believe a journal.
pub trait RecoveryOracle {
    /// Why no transaction of this repository can be the claimed one.
    fn refusal(&self, claim: &JournalClaim<'_>) -> Result<Option<String>>;

    /// Files named by the transaction's event, if it was recorded.
    fn recorded(&self, claim: &JournalClaim<'_>, subject: &str) -> Result<Option<EventBlobs>>;

    /// Called after files were restored for lack of an event. Returns files left alone.
    ///
    /// # Errors
    /// `index_locked` keeps the journal for another call.
    fn undone(&self, _claim: &JournalClaim<'_>, _subject: &str) -> Result<Vec<SkippedFile>> {
        Ok(Vec::new())
    }

    /// A blob by its hex id; `None` if missing.
    fn content(&self, id: &str) -> Result<Option<Vec<u8>>>;
}

/// The right to write files of this clone, for one process.
#[derive(Debug)]
pub struct Journal {
    directory: PrivateDirectory,
    flush: bool,
    lock: fs::File,
    /// A child process has inherited the lock; the file holds its id.
    lock_inherited: Cell<bool>,
    /// Git's index lock, `held` by a transaction.
    index: Option<PathBuf>,
    index_lock: RefCell<Option<IndexLock>>,
}

const MOST_NOTED: u64 = 16;

/// Unlocks even if a hook's leftover process has the file open.
impl Drop for Journal {
    fn drop(&mut self) {
        if self.lock_inherited.get() {
            let _ = self.lock.set_len(0);
        }
        let _ = self.lock.unlock();
    }
}

/// True if an interrupted transaction may have left a journal. A symlink counts as missing.
pub fn has_journals(directory: &Path) -> bool {
    matches!(open(directory), Ok(Some(directory)) if pending_in(&directory))
}

/// For the parent of the journal directory.
pub(crate) fn is_pending(above: &PrivateDirectory) -> bool {
    matches!(above.inside("journal"), Ok(Some(directory)) if pending_in(&directory))
}

fn pending_in(directory: &PrivateDirectory) -> bool {
    records(directory).is_ok_and(|found| !found.is_empty())
}

/// Settles transactions of dead processes. Returns at once while another process writes. On an
/// error the journal stays.
pub fn recover(directory: &Path, judge: &dyn RecoveryOracle) -> Result<RecoveryReport> {
    if !open(directory)?.is_some_and(|directory| pending_in(&directory)) {
        return Ok(RecoveryReport::default());
    }
    match Journal::open(directory, Duration::ZERO) {
        Err(error) if error.is(&codes::APPLY_BUSY) => Ok(RecoveryReport::default()),
        Err(error) => Err(error),
        Ok(journal) => journal.recover(judge),
    }
}

/// Opens `directory` in aye's own, without following symlinks.
fn open(directory: &Path) -> Result<Option<PrivateDirectory>> {
    let (above, name) = split(directory)?;
    match PrivateDirectory::open(above)? {
        Some(above) => above.inside(name),
        None => Ok(None),
    }
}

fn split(directory: &Path) -> Result<(&Path, &str)> {
    let name = directory.file_name().and_then(|name| name.to_str());
    directory
        .parent()
        .zip(name)
        .ok_or_else(|| Error::bug(format!("{} cannot hold a journal", directory.display())))
}

impl Journal {
    /// Takes the lock of `directory`, created if missing.
    ///
    /// # Errors
    /// `apply_busy`, `private_dir_unsafe`.
    pub fn open(directory: &Path, wait: Duration) -> Result<Self> {
        let failed =
            |error| Error::io(format_args!("open the journal {}", directory.display()), &error);
        let (above, name) = split(directory)?;
        let directory = match open(directory)? {
            Some(directory) => directory,
            None => PrivateDirectory::make(above)?.make_inside(name)?,
        };
        let lock = directory.file("lock".into(), Access::Lock)?;
        let (mut waiting, mut pause) = (Wait::begin(), Duration::from_millis(2));
        loop {
            match lock.try_lock() {
                Ok(()) => {
                    let shared = Cell::new(false);
                    let held = RefCell::default();
                    return Ok(Self {
                        directory,
                        flush: true,
                        lock,
                        lock_inherited: shared,
                        index: None,
                        index_lock: held,
                    });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if waiting.elapsed() >= wait => {
                    return Err(busy(&lock));
                }
                Err(TryLockError::WouldBlock) => {
                    waiting.report_once(|| busy(&lock).message().to_owned());
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
            }
        }
    }

    /// The lock, for a child to inherit: no other process gets it while the child lives, even if
    /// this process is killed. Dropping the journal still releases it.
    pub(crate) fn inheritable(&self) -> Result<fs::File> {
        let failed = |error| Error::io("share the lock of the journal", &error);
        // `dup` survives `exec`; `try_clone` does not.
        let file = rustix::io::dup(&self.lock).map(fs::File::from).map_err(std::io::Error::from);
        self.lock_inherited.set(true);
        file.map_err(failed)
    }

    /// Git's index lock to hold from the first exchange until the commit has run.
    #[must_use]
    pub fn with_index_lock(mut self, index: PathBuf) -> Self {
        self.index = Some(index);
        self
    }

    /// Releases the index lock early, for git's commit.
    pub fn release_index(&self) {
        self.index_lock.take();
    }

    /// `false` as for `core.fsync=none`.
    #[must_use]
    pub fn with_flush(mut self, flush: bool) -> Self {
        self.flush = flush;
        self
    }

    /// Writes all of `steps` or none, and runs `commit` in between (see the module's order). A file
    /// read by `reader` is compared by its stamp only.
    ///
    /// `commit` gets the transaction's id. With a `subject` (a proposal's id), recovery asks for an
    /// event with both. Without one the files themselves are the result, final after `commit`.
    ///
    /// # Errors
    /// `file_changed`, `directory_not_empty`, `Worktree::check_writable`, `commit`. All files are
    /// then as before, except those in the detail `left_alone`, edited at that moment.
    pub fn apply<T>(
        &self,
        reader: &Reader<'_>,
        steps: &[FileWrite<'_>],
        subject: Option<&str>,
        commit: impl FnOnce(&str) -> Result<T>,
    ) -> Result<T> {
        self.apply_with(reader, steps, subject, &mut || (), commit, |value| value)
    }

    pub fn recover(&self, judge: &dyn RecoveryOracle) -> Result<RecoveryReport> {
        let failed = |error| Error::io("read the journal of an interrupted apply", &error);
        let mut settled = RecoveryReport::default();
        for name in records(&self.directory).map_err(failed)? {
            match self.settle(name.as_bstr(), judge) {
                Ok(done) => settled.transactions.extend(done),
                Err(error) if is_refusal(&error) || error.is(&codes::INDEX_LOCKED) => {
                    settled.refused.push(error);
                    continue;
                }
                Err(error) => return Err(error),
            }
            self.directory.dir().unlink(name.as_bstr()).map_err(failed)?;
        }
        Ok(settled)
    }

    /// `None` if no file was touched.
    fn settle(
        &self,
        name: &BStr,
        judge: &dyn RecoveryOracle,
    ) -> Result<Option<RecoveredTransaction>> {
        let Some(record) = JournalRecord::read(&self.directory, name)? else { return Ok(None) };
        let fetch = |id: &str| judge.content(id);
        let mut outcome = RecoveredTransaction {
            subject: record.subject.clone(),
            root: record.root(),
            action: RecoveryOutcome::WorktreeGone,
            changed: Vec::new(),
            skipped: Vec::new(),
        };
        let Some(worktree) = self.root(name, &record, judge)? else { return Ok(Some(outcome)) };
        let named = match &record.subject {
            Some(subject) => judge.recorded(&claim(&worktree, &record), subject)?,
            None => name.ends_with(record::DONE.as_bytes()).then(EventBlobs::new),
        };
        let done = match named {
            Some(named) => {
                outcome.action = RecoveryOutcome::Finished;
                recovery::finish(&worktree, &record, &fetch, &named)?
            }
            None => {
                outcome.action = RecoveryOutcome::Undone;
                let mut done =
                    recovery::undo(&worktree, &record, &fetch, recovery::Author::Unknown)?;
                // `Judge::undone` runs git, which needs the index lock.
                record.unlock_index();
                if let Some(subject) = &record.subject {
                    done.left.extend(judge.undone(&claim(&worktree, &record), subject)?);
                }
                done
            }
        };
        record.unlock_index();
        outcome.changed = done.changed;
        outcome.skipped = done.left;
        Ok(Some(outcome))
    }

    /// `None` if the work tree is gone.
    fn root(
        &self,
        name: &BStr,
        record: &JournalRecord,
        judge: &dyn RecoveryOracle,
    ) -> Result<Option<Worktree>> {
        let root = record.root();
        if !root.is_dir() {
            return Ok(None);
        }
        let worktree = Worktree::open(&root)?.with_size_limit(u64::MAX);
        match judge.refusal(&claim(&worktree, record))? {
            None => Ok(Some(worktree)),
            Some(why) => Err(record::foreign(&self.directory, name, &why)),
        }
    }

    /// Renames refused journals to `*.bad`; returns the new paths.
    pub fn set_aside_refused(&self, judge: &dyn RecoveryOracle) -> Result<Vec<PathBuf>> {
        let failed = |error| Error::io("set a journal aside", &error);
        let mut moved = Vec::new();
        for name in records(&self.directory).map_err(failed)? {
            let read =
                JournalRecord::read(&self.directory, name.as_bstr()).and_then(
                    |record| match record {
                        Some(record) => self.root(name.as_bstr(), &record, judge).map(drop),
                        None => Ok(()),
                    },
                );
            match read {
                Err(error) if is_refusal(&error) => {}
                _ => continue,
            }
            let end = name.rfind_byte(b'.').unwrap_or(name.len());
            let stem = name[..end].as_bstr();
            let directory = self.directory.dir();
            // An earlier journal may have the name.
            let aside = [
                format!("{stem}.bad"),
                format!("{stem}-{:08x}.bad", crate::beneath::random_id() as u32),
            ];
            let mut done = Err(std::io::ErrorKind::AlreadyExists.into());
            for aside in &aside {
                done = directory.rename_new(name.as_bstr(), directory, aside.as_str().into());
                if done.is_ok() {
                    moved.push(self.directory.path().join(aside));
                    break;
                }
            }
            done.map_err(failed)?;
        }
        Ok(moved)
    }
}

fn claim<'a>(root: &'a Worktree, record: &'a JournalRecord) -> JournalClaim<'a> {
    JournalClaim {
        root,
        subject: record.subject.as_deref(),
        transaction: &record.transaction,
        paths: &record.entries,
    }
}

/// The holder is aye, or the git of a killed aye.
fn busy(mut lock: &fs::File) -> Error {
    let mut noted = String::new();
    let _ = lock.rewind();
    let _ = lock.take(MOST_NOTED).read_to_string(&mut noted);
    let error = |message: &str| Error::new(&codes::APPLY_BUSY, message.to_owned());
    let hint = "run the command again when it is done";
    match noted.trim().parse::<i32>().ok().filter(|pid| is_alive(*pid)) {
        Some(pid) => {
            let what = format!("git (process {pid}) is committing files of this repository");
            error(&what).hint(hint).with("pid", pid)
        }
        None => error("another process is writing files of this repository").hint(hint),
    }
}

fn is_alive(pid: i32) -> bool {
    let pid = Some(pid).filter(|pid| *pid > 0).and_then(rustix::process::Pid::from_raw);
    pid.is_some_and(|pid| {
        // `EPERM`: another user's process is alive.
        !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
    })
}

fn is_refusal(error: &Error) -> bool {
    error.is(&codes::JOURNAL_FOREIGN) || error.is(&codes::JOURNAL_INVALID)
}

fn records(directory: &PrivateDirectory) -> std::io::Result<Vec<BString>> {
    let mut found = directory.dir().names()?;
    found.retain(|name| {
        let end = name.rfind_byte(b'.').map(|dot| &name[dot + 1..]);
        end.is_some_and(|e| e == record::UNDER_WAY.as_bytes() || e == record::DONE.as_bytes())
    });
    found.sort_unstable();
    Ok(found)
}
