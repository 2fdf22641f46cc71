//! The lock of git's index, held while files are exchanged.
//!
//! `git checkout`, `stash`, `reset` and `rebase` hold `index.lock` while they read and rewrite the
//! work tree. Without it a file that aye exchanges at that moment is swept away with what they
//! replace. It is held for milliseconds; git refuses to run meanwhile, as beside any other git.
//!
//! # After a crash
//! The lock stays, and names its owner: the next command of aye, which settles the files, removes it.
//! Until then git refuses what would write the index, which is right: some of the files are old and
//! some are new. The lock is a symlink that leads nowhere, made in one step with its owner as the
//! target, so that neither a kill nor a power loss leaves one whose owner nobody knows. Git creates
//! its lock exclusively and follows no symlink.
//!
//! # Locks of a commit under way
//! `git commit -a` and `git commit FILE` write the new index into the lock before they run hooks and
//! editor, which may take as long as a person likes. Their work tree has been read by then, so a lock
//! with content is not waited for.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::codes;
use crate::error::{Error, Result};

/// Longest wait for git, in all.
const PATIENCE: Duration = Duration::from_secs(2);

/// Held until dropped.
#[derive(Debug)]
pub struct IndexLock(PathBuf);

impl Drop for IndexLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl IndexLock {
    /// Takes the lock `path` for `transaction`. `None` where a commit under way has it.
    ///
    /// # Errors
    /// `index_locked`; the system's refusal.
    pub fn take(path: &Path, transaction: &str) -> Result<Option<Self>> {
        let owner = owner(transaction);
        let (mut waited, mut pause) = (Duration::ZERO, Duration::from_millis(1));
        loop {
            match create(path, &owner) {
                Ok(()) => return Ok(Some(Self(path.into()))),
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(Error::io(format_args!("create {}", path.display()), &error));
                }
                Err(_) if has_content(path) => return Ok(None),
                Err(_) if waited >= PATIENCE => return Err(locked(path)),
                Err(_) => {
                    std::thread::sleep(pause);
                    waited += pause;
                    pause = (pause * 2).min(Duration::from_millis(50));
                }
            }
        }
    }

    /// Removes the lock `path` where `transaction`, which is over, has left it.
    pub fn remove_left(path: &Path, transaction: &str) {
        let owner = owner(transaction);
        let ours = match fs::read_link(path) {
            Ok(target) => target == Path::new(&owner),
            Err(_) => {
                let small = path
                    .symlink_metadata()
                    .is_ok_and(|found| found.is_file() && found.len() == owner.len() as u64);
                small && fs::read(path).is_ok_and(|content| content == owner.as_bytes())
            }
        };
        if ours {
            let _ = fs::remove_file(path);
        }
    }
}

/// The error for an index lock that somebody else holds.
pub fn locked(path: &Path) -> Error {
    Error::new(&codes::INDEX_LOCKED, "another git process holds the index")
        .with("path", path.display().to_string())
        .hint(format!("wait for it; if there is none, it crashed: remove {}", path.display()))
}

fn owner(transaction: &str) -> String {
    format!("aye-{transaction}")
}

fn create(path: &Path, owner: &str) -> io::Result<()> {
    match std::os::unix::fs::symlink(owner, path) {
        // Some file systems have no symlinks.
        Err(error) if error.kind() != ErrorKind::AlreadyExists && is_unsupported(&error) => {}
        done => return done,
    }
    fs::OpenOptions::new().write(true).create_new(true).open(path)?.write_all(owner.as_bytes())
}

fn is_unsupported(error: &io::Error) -> bool {
    use rustix::io::Errno;
    let known = [Errno::PERM, Errno::NOTSUP, Errno::NOSYS];
    error.raw_os_error().is_some_and(|raw| known.iter().any(|errno| errno.raw_os_error() == raw))
}

/// True for the lock of a git that has written the index and not yet put it in place.
fn has_content(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_lock_of_that_transaction_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index.lock");
        let there = || path.symlink_metadata().is_ok();
        std::mem::forget(IndexLock::take(&path, "one").unwrap().unwrap());
        IndexLock::remove_left(&path, "two");
        assert!(there());
        IndexLock::remove_left(&path, "one");
        assert!(!there());
        for content in ["", "DIRC", "aye-two", "aye-one and more"] {
            fs::write(&path, content).unwrap();
            IndexLock::remove_left(&path, "one");
            assert!(there(), "{content}");
        }
        fs::write(&path, "aye-one").unwrap();
        IndexLock::remove_left(&path, "one");
        assert!(!there());
    }

    #[test]
    fn a_lock_is_given_back_and_one_with_an_index_is_not_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("index.lock");
        drop(IndexLock::take(&path, "one").unwrap().unwrap());
        assert!(path.symlink_metadata().is_err());
        fs::write(&path, "DIRC").unwrap();
        assert!(IndexLock::take(&path, "one").unwrap().is_none());
        assert_eq!(fs::read(&path).unwrap(), b"DIRC");
    }
}
