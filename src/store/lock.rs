//! The lock under which refs of this clone move: a file lock in the common directory, shared by
//! linked work trees. The kernel releases it however its holder ends.
//!
//! While it is held the file lists the refs and files that its holder has still to update. If the
//! holder is killed, the next one does that.

use std::fs::{File, TryLockError};
use std::io::{Read as _, Seek as _, Write as _};
use std::time::{Duration, Instant};

use super::{Store, codes};
use crate::beneath::Access;
use crate::error::{Error, Result};
use crate::private::PrivateDirectory;
use crate::process_wait::Wait;

/// Longest wait for one writer. A write takes milliseconds, so this one hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Longest wait in all, however many writers take turns.
const MOST_PATIENCE: Duration = Duration::from_secs(600);

const NAME: &str = "lock";

/// Held until dropped.
#[derive(Debug)]
pub struct Lock {
    file: File,
}

impl Store {
    /// Takes the store's lock, which the caller holds until it drops the value.
    ///
    /// # Errors
    /// `private_dir_unsafe`, `busy`, `io_error`.
    pub fn lock(&self) -> Result<Lock> {
        Lock::acquire(&self.repository().make_private()?)
    }
}

/// Bytes of a note that are read.
const MOST_NOTED: u64 = 1 << 16;

impl Lock {
    /// Takes the lock in `directory`, waiting with jitter.
    ///
    /// # Errors
    /// `private_dir_unsafe`; `busy` if one writer has it for longer than [`PATIENCE`], or many for
    /// longer than [`MOST_PATIENCE`]; `io_error` if the file cannot be created.
    pub(super) fn acquire(directory: &PrivateDirectory) -> Result<Self> {
        let file = directory.file(NAME.into(), Access::Lock)?;
        let path = || directory.path().join(NAME);
        let mut wait = Wait::begin();
        let (mut turn, mut taken) = (Instant::now(), None);
        let mut pause = Duration::from_micros(300);
        loop {
            match file.try_lock() {
                Ok(()) => {
                    mark_turn(&file);
                    return Ok(Self { file });
                }
                Err(TryLockError::WouldBlock)
                    if turn.elapsed() < PATIENCE && wait.elapsed() < MOST_PATIENCE =>
                {
                    wait.report_once(|| format!("{} holds {}", holder(&file), path().display()));
                    let latest = file.metadata().and_then(|facts| facts.modified()).ok();
                    if latest != taken {
                        (turn, taken) = (Instant::now(), latest);
                    }
                    // Jitter separates processes that started together.
                    let jitter = crate::beneath::random_id() % 1024;
                    std::thread::sleep(pause + pause * (jitter as u32) / 1024);
                    pause = (pause * 2).min(Duration::from_millis(8));
                }
                Err(TryLockError::WouldBlock) => {
                    let holder = holder(&file);
                    return Err(Error::new(
                        &codes::STORE_BUSY,
                        format!(
                            "{holder} holds {} since {} s",
                            path().display(),
                            turn.elapsed().as_secs()
                        ),
                    )
                    .hint("try again; if it persists, end that process"));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(Error::io(format_args!("lock {}", path().display()), &error));
                }
            }
        }
    }

    /// The note of a holder that was stopped; usually empty.
    pub(super) fn left_over(&mut self) -> String {
        text(&self.file)
    }

    /// Replaces the note. It is not flushed, and an error is ignored: a repair does the same work.
    pub(super) fn note(&mut self, text: &str) {
        // Truncated last: after a crash in between the note lists too much rather than too little.
        let _ = self.file.rewind();
        let _ = self.file.write_all(text.as_bytes());
        let _ = self.file.set_len(text.len() as u64);
    }
}

fn holder(file: &File) -> String {
    process(file).unwrap_or_else(|| "another process".to_owned())
}

/// The process that holds the lock on `file`, if the system tells.
///
/// Source: proc_locks(5).
#[cfg(target_os = "linux")]
fn process(file: &File) -> Option<String> {
    use std::os::unix::fs::MetadataExt as _;
    let inode = format!(":{}", file.metadata().ok()?.ino());
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    let pid = locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_it = fields.get(1) == Some(&"FLOCK") && fields.get(5)?.ends_with(&inode);
        is_it.then(|| fields[4].to_owned())
    })?;
    Some(match std::fs::read_to_string(format!("/proc/{pid}/comm")) {
        Ok(name) => format!("process {pid} ({})", name.trim()),
        // The process has ended, and its children have the file open.
        Err(_) => format!("a process that {pid} left running"),
    })
}

#[cfg(not(target_os = "linux"))]
fn process(_file: &File) -> Option<String> {
    None
}

/// Shows waiting processes that the lock has changed hands.
fn mark_turn(file: &File) {
    use rustix::fs::{Timespec, Timestamps, UTIME_NOW};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let _ = rustix::fs::futimens(file, &Timestamps { last_access: now, last_modification: now });
}

/// The last holder's note; unchanged as long as nobody has worked on it.
pub(super) fn noted(directory: &PrivateDirectory) -> String {
    directory.file(NAME.into(), Access::Read).map(|file| text(&file)).unwrap_or_default()
}

fn text(file: &File) -> String {
    let mut bytes = Vec::new();
    let _ = file.take(MOST_NOTED).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_holder_of_a_lock_is_named() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let file = File::create(&path).unwrap();
        assert_eq!(process(&file), None);
        file.lock().unwrap();
        let other = File::open(&path).unwrap();
        let expected = format!("process {} (", std::process::id());
        assert!(process(&other).unwrap().starts_with(&expected));
    }

    #[test]
    fn a_holder_that_is_gone_has_left_something_running() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("lock");
        let mut left = std::process::Command::new("sh")
            .args(["-c", "exec 9>\"$0\"; flock -n 9 && { sleep 60 9>&9 >/dev/null & echo $!; }"])
            .arg(&path)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut sleeper = String::new();
        std::io::Read::read_to_string(left.stdout.as_mut().unwrap(), &mut sleeper).unwrap();
        left.wait().unwrap();
        let Ok(sleeper) = sleeper.trim().parse() else { return };
        let found = process(&File::open(&path).unwrap());
        let sleeper = rustix::process::Pid::from_raw(sleeper).unwrap();
        rustix::process::kill_process(sleeper, rustix::process::Signal::KILL).unwrap();
        assert!(found.unwrap().starts_with("a process that "));
    }
}
