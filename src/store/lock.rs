//! The lock under which a lane tip moves: a file lock in the common dir, shared by linked work
//! trees, given back by the kernel however its holder ends.

use std::fs::{File, OpenOptions, TryLockError};
use std::path::Path;
use std::time::{Duration, Instant};

use super::codes;
use crate::error::{Error, Result};

/// Longest wait for another writer. One write takes milliseconds, so this is dozens of writers
/// in a row, or one that hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Held until dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Takes the lock `path`, waiting with jitter.
    ///
    /// # Errors
    /// `busy` after [`PATIENCE`]; `io_error` where the file cannot be made.
    pub(super) fn acquire(path: &Path) -> Result<Self> {
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .open(path)
            .map_err(|error| Error::io(format_args!("open {}", path.display()), &error))?;
        let started = Instant::now();
        let mut pause = Duration::from_micros(300);
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Self { _file: file }),
                Err(TryLockError::WouldBlock) if started.elapsed() < PATIENCE => {
                    // Processes that started together must not come back together.
                    let jitter = crate::worktree::random() % 1024;
                    std::thread::sleep(pause + pause * (jitter as u32) / 1024);
                    pause = (pause * 2).min(Duration::from_millis(8));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::new(
                        &codes::STORE_BUSY,
                        format!(
                            "another process holds {} since {} s",
                            path.display(),
                            PATIENCE.as_secs()
                        ),
                    )
                    .hint("try again; if it persists, look for an aye process that hangs"));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(Error::io(format_args!("lock {}", path.display()), &error));
                }
            }
        }
    }
}
