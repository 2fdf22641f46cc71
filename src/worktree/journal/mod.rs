//! All files or none: several files written as one step, recoverable after a crash.
//!
//! # Order
//! 1. Every file is compared with what the plan saw; any difference ends it (`file_changed`). What
//!    the plan has read a moment ago is looked at in 3, before anything is written for it.
//! 2. The journal is written and flushed: work tree, paths, object ids before and after.
//! 3. Every new content goes to a temporary file beside its target. A full disk shows here, with
//!    no file touched yet.
//! 4. The lock of git's index is taken (`worktree::index`).
//!    Each temporary file is exchanged with its target in one step, so the old file itself, with
//!    its times and attributes, waits under the temporary name. What came out is compared with
//!    what was looked at in 1: an edit saved in between is noticed and swapped back.
//! 5. The caller's commit runs (the event is recorded), then the index is given back.
//! 6. The old files are removed, then the journal. Meanwhile the caller makes its answer.
//!
//! Of a transaction that only creates files nothing would lie in the work tree after 4, so it leaves
//! an empty file under a temporary name until 6: recovery acts only where the transaction's own
//! files are (see `settle`).
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
//! The lock is per journal directory, so per clone: linked work trees take turns.

mod files;
mod forward;
mod record;
mod settle;
#[cfg(test)]
mod tests;

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
use crate::patience::Wait;
use crate::private::Directory;
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
    /// Files that were put back, removed or completed.
    pub changed: Vec<RepoPath>,
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

/// What recovery has come to.
#[derive(Debug, Default)]
pub struct Settled {
    /// Transactions that were settled.
    pub done: Vec<Recovered>,
    /// Journals that were not carried out: `journal_foreign` and `journal_invalid`; or not to their end,
    /// `index_locked`. They stay.
    pub refused: Vec<Error>,
}

/// What a journal says, for [`Judge::refusal`]. The work tree is open, the rest is a mere claim.
#[derive(Debug)]
pub struct Claim<'a> {
    /// The work tree, as the journal names it.
    pub root: &'a Worktree,
    /// The event that would stand for it.
    pub subject: Option<&'a str>,
    /// Names the transaction in that event.
    pub transaction: &'a str,
    paths: &'a [record::Entry],
}

impl<'a> Claim<'a> {
    /// What it was to write, as it lies on the disk: path and SHA-1 blob id, `None` for a deletion.
    pub fn after(&self) -> impl Iterator<Item = (&'a RepoPath, Option<&'a str>)> + use<'a> {
        let id = |entry: &'a record::Entry| entry.after.as_ref().map(|blob| blob.id.as_str());
        self.paths.iter().map(move |entry| (&entry.path, id(entry)))
    }

    /// The files that it is about.
    pub fn paths(&self) -> impl Iterator<Item = &'a RepoPath> + use<'a> {
        self.paths.iter().map(|entry| &entry.path)
    }
}

/// What an event says about files: the object id of each, `None` where it was deleted.
pub type Named = HashMap<RepoPath, Option<String>>;

/// Fetches a blob by its hex id; `None` if there is no such object.
type Fetch<'a> = &'a dyn Fn(&str) -> Result<Option<Vec<u8>>>;

/// What recovery must know of the repository, because nothing that a journal says is believed.
pub trait Judge {
    /// Why no transaction of this repository can be the one that is claimed; `None` if one can.
    ///
    /// # Errors
    /// If that cannot be found out.
    fn refusal(&self, claim: &Claim<'_>) -> Result<Option<String>>;

    /// What the event that [`Journal::apply`] was to record says, if it was recorded.
    ///
    /// # Errors
    /// Those of the store.
    fn recorded(&self, claim: &Claim<'_>, subject: &str) -> Result<Option<Named>>;

    /// Called once the files of a transaction that did not come to its event are as they were.
    /// Returns what was left alone, in words.
    ///
    /// # Errors
    /// `index_locked` where it is to be called again: the journal stays so long.
    fn undone(&self, _claim: &Claim<'_>, _subject: &str) -> Result<Vec<Left>> {
        Ok(Vec::new())
    }

    /// A blob by its hex id; `None` if there is no such object.
    ///
    /// # Errors
    /// Those of the store.
    fn content(&self, id: &str) -> Result<Option<Vec<u8>>>;
}

/// The right to write files of this clone: one process at a time holds it.
#[derive(Debug)]
pub struct Journal {
    directory: Directory,
    flush: bool,
    lock: fs::File,
    /// A child process has inherited the lock, and its id stands in the file.
    shared: Cell<bool>,
    /// The lock of the index, and whether a transaction holds it.
    index: Option<PathBuf>,
    held: RefCell<Option<IndexLock>>,
}

/// Most bytes of the lock file that are read: a process id.
const MOST_NOTED: u64 = 16;

/// Also where a program that a hook left behind has the file open.
impl Drop for Journal {
    fn drop(&mut self) {
        if self.shared.get() {
            let _ = self.lock.set_len(0);
        }
        let _ = self.lock.unlock();
    }
}

/// True if an interrupted transaction may have left a journal in `directory`; costs one look. Symlinks
/// are not followed: nothing is there then.
pub fn pending(directory: &Path) -> bool {
    matches!(open(directory), Ok(Some(directory)) if pending_in(&directory))
}

/// As [`pending`], for the directory that the journal's lies in.
pub(crate) fn is_pending(above: &Directory) -> bool {
    matches!(above.inside("journal"), Ok(Some(directory)) if pending_in(&directory))
}

fn pending_in(directory: &Directory) -> bool {
    records(directory).is_ok_and(|found| !found.is_empty())
}

/// Finishes or undoes what a process that is gone left half done. Does nothing, and does not
/// wait, while another process is at work.
///
/// # Errors
/// `private_dir_unsafe`, or the first refusal of the system; the journal then stays.
pub fn recover(directory: &Path, judge: &dyn Judge) -> Result<Settled> {
    if !open(directory)?.is_some_and(|directory| pending_in(&directory)) {
        return Ok(Settled::default());
    }
    match Journal::open(directory, Duration::ZERO) {
        Err(error) if error.is(&codes::APPLY_BUSY) => Ok(Settled::default()),
        Err(error) => Err(error),
        Ok(journal) => journal.recover(judge),
    }
}

/// Opens `directory`, a directory in aye's own; neither is followed if it is a symlink.
fn open(directory: &Path) -> Result<Option<Directory>> {
    let (above, name) = split(directory)?;
    match Directory::open(above)? {
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
    /// Takes the lock of `directory` (made if need be), waiting at most `wait` for another process.
    ///
    /// # Errors
    /// `apply_busy`; `private_dir_unsafe`; the system's refusal.
    pub fn open(directory: &Path, wait: Duration) -> Result<Self> {
        let failed =
            |error| Error::io(format_args!("open the journal {}", directory.display()), &error);
        let (above, name) = split(directory)?;
        let directory = match open(directory)? {
            Some(directory) => directory,
            None => Directory::make(above)?.make_inside(name)?,
        };
        let lock = directory.file("lock".into(), Access::Lock)?;
        let (mut waiting, mut pause) = (Wait::begin(), Duration::from_millis(2));
        loop {
            match lock.try_lock() {
                Ok(()) => {
                    let shared = Cell::new(false);
                    let held = RefCell::default();
                    return Ok(Self { directory, flush: true, lock, shared, index: None, held });
                }
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if waiting.elapsed() >= wait => {
                    return Err(busy(&lock));
                }
                Err(TryLockError::WouldBlock) => {
                    waiting.goes_on(|| busy(&lock).message().to_owned());
                    std::thread::sleep(pause);
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
            }
        }
    }

    /// The lock, for a child process to inherit: while the child lives nobody else gets the lock,
    /// even where this process is killed. Dropping the journal gives it back all the same.
    ///
    /// # Errors
    /// The system's refusal.
    pub(crate) fn inheritable(&self) -> Result<fs::File> {
        let failed = |error| Error::io("share the lock of the journal", &error);
        // A duplicate is open across `exec`, other than what `try_clone` makes.
        let file = rustix::io::dup(&self.lock).map(fs::File::from).map_err(std::io::Error::from);
        self.shared.set(true);
        file.map_err(failed)
    }

    /// Holds `index`, the lock of git's index, from the first file that is exchanged until the
    /// commit of a transaction has run.
    #[must_use]
    pub fn locking(mut self, index: PathBuf) -> Self {
        self.index = Some(index);
        self
    }

    /// Gives the lock of the index back before the commit has run, for git to take it.
    pub fn release_index(&self) {
        self.held.take();
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
    /// `file_changed` and all that [`Worktree::check_writable`] refuses; `directory_not_empty`; the
    /// system's refusals; whatever `commit` returns. All files are then as they were, but for
    /// those named in the detail `left_alone`, which somebody edited at that very moment.
    pub fn apply<T>(
        &self,
        reader: &Reader<'_>,
        steps: &[Step<'_>],
        subject: Option<&str>,
        commit: impl FnOnce(&str) -> Result<T>,
    ) -> Result<T> {
        self.apply_while(reader, steps, subject, &mut || (), commit, |value| value)
    }

    /// As [`Journal::apply`]. Calls `meanwhile` once, if anything is written, while the drive writes
    /// the new content; and `answer` with what `commit` returned: all stands then, and only the old
    /// files are still to be removed, which goes on meanwhile where they are many.
    ///
    /// # Errors
    /// As [`Journal::apply`]; `answer` is not called then.
    pub fn apply_while<T, R>(
        &self,
        reader: &Reader<'_>,
        steps: &[Step<'_>],
        subject: Option<&str>,
        meanwhile: &mut dyn FnMut(),
        commit: impl FnOnce(&str) -> Result<T>,
        answer: impl FnOnce(T) -> R,
    ) -> Result<R> {
        forward::apply(self, reader, steps, subject, meanwhile, commit, answer)
    }

    /// As the function [`recover`], with the lock already held.
    ///
    /// # Errors
    /// As [`recover`].
    pub fn recover(&self, judge: &dyn Judge) -> Result<Settled> {
        let failed = |error| Error::io("read the journal of an interrupted apply", &error);
        let mut settled = Settled::default();
        for name in records(&self.directory).map_err(failed)? {
            match self.settle(name.as_bstr(), judge) {
                Ok(done) => settled.done.extend(done),
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

    /// Settles one journal, which may go then; `None` if no file had been touched.
    fn settle(&self, name: &BStr, judge: &dyn Judge) -> Result<Option<Recovered>> {
        let Some(record) = Record::read(&self.directory, name)? else { return Ok(None) };
        let fetch = |id: &str| judge.content(id);
        let mut outcome = Recovered {
            subject: record.subject.clone(),
            root: record.root(),
            action: Action::WorktreeGone,
            changed: Vec::new(),
            left: Vec::new(),
        };
        let Some(worktree) = self.root(name, &record, judge)? else { return Ok(Some(outcome)) };
        let named = match &record.subject {
            Some(subject) => judge.recorded(&claim(&worktree, &record), subject)?,
            None => name.ends_with(record::DONE.as_bytes()).then(Named::new),
        };
        let done = match named {
            Some(named) => {
                outcome.action = Action::Finished;
                settle::finish(&worktree, &record, &fetch, &named)?
            }
            None => {
                outcome.action = Action::Undone;
                let mut done = settle::undo(&worktree, &record, &fetch, settle::Author::Unknown)?;
                // Git needs it for what comes.
                record.unlock_index();
                if let Some(subject) = &record.subject {
                    done.left.extend(judge.undone(&claim(&worktree, &record), subject)?);
                }
                done
            }
        };
        record.unlock_index();
        outcome.changed = done.changed;
        outcome.left = done.left;
        Ok(Some(outcome))
    }

    /// The work tree that a journal is about; `None` if it is gone.
    fn root(&self, name: &BStr, record: &Record, judge: &dyn Judge) -> Result<Option<Worktree>> {
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

    /// Sets journals aside that [`Journal::recover`] refuses, by renaming them to `*.bad`; returns
    /// their new paths.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn set_aside_refused(&self, judge: &dyn Judge) -> Result<Vec<PathBuf>> {
        let failed = |error| Error::io("set a journal aside", &error);
        let mut moved = Vec::new();
        for name in records(&self.directory).map_err(failed)? {
            let read =
                Record::read(&self.directory, name.as_bstr()).and_then(|record| match record {
                    Some(record) => self.root(name.as_bstr(), &record, judge).map(drop),
                    None => Ok(()),
                });
            match read {
                Err(error) if is_refusal(&error) => {}
                _ => continue,
            }
            let end = name.rfind_byte(b'.').unwrap_or(name.len());
            let stem = name[..end].as_bstr();
            let directory = self.directory.dir();
            // One of that name may have been set aside before.
            let aside = [
                format!("{stem}.bad"),
                format!("{stem}-{:08x}.bad", crate::beneath::random() as u32),
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

fn claim<'a>(root: &'a Worktree, record: &'a Record) -> Claim<'a> {
    Claim {
        root,
        subject: record.subject.as_deref(),
        transaction: &record.transaction,
        paths: &record.entries,
    }
}

/// The lock is held: by a process of aye, or by the git that one has started and not survived.
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
        // Of another user it is alive as well.
        !matches!(rustix::process::test_kill_process(pid), Err(rustix::io::Errno::SRCH))
    })
}

fn is_refusal(error: &Error) -> bool {
    error.is(&codes::JOURNAL_FOREIGN) || error.is(&codes::JOURNAL_INVALID)
}

/// The names of the journals in `directory`, sorted.
fn records(directory: &Directory) -> std::io::Result<Vec<BString>> {
    let mut found = directory.dir().names()?;
    found.retain(|name| {
        let end = name.rfind_byte(b'.').map(|dot| &name[dot + 1..]);
        end.is_some_and(|e| e == record::UNDER_WAY.as_bytes() || e == record::DONE.as_bytes())
    });
    found.sort_unstable();
    Ok(found)
}
