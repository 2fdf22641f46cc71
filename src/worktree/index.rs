//! The lock of git's index, held while files are exchanged.
//!
//! `git checkout`, `stash`, `reset` and `rebase` hold `index.lock` while they rewrite the work
//! tree. Without it they would overwrite a file exchanged meanwhile. aye holds it for milliseconds.
//!
//! # After a crash
//! The lock names its owner; the next aye command settles the files and removes it. Until then git
//! rightly refuses to write the index: some files are old, some new. The lock is a dangling symlink
//! with its owner as target. One step creates it, so no crash leaves a lock without an owner. git
//! creates its lock exclusively and follows no symlink.
//!
//! # Locks of a commit in progress
//! `git commit -a` and `git commit FILE` write the new index into the lock before hooks and editor
//! run, which may take long. They have read the work tree by then, so aye does not wait for them.

use std::fs;
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::codes;
use crate::error::{Error, Result};

const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct IndexLock(PathBuf);

impl Drop for IndexLock {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

impl IndexLock {
    /// `None` if a commit in progress holds the lock.
    ///
    /// # Errors
    /// `index_locked`.
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

    /// Removes the lock of the finished `transaction`.
    pub fn remove_stale(path: &Path, transaction: &str) {
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

/// True if git has written the new index but not renamed it yet.
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
        IndexLock::remove_stale(&path, "two");
        assert!(there());
        IndexLock::remove_stale(&path, "one");
        assert!(!there());
        for content in ["", "DIRC", "aye-two", "aye-one and more"] {
            fs::write(&path, content).unwrap();
            IndexLock::remove_stale(&path, "one");
            assert!(there(), "{content}");
        }
        fs::write(&path, "aye-one").unwrap();
        IndexLock::remove_stale(&path, "one");
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
