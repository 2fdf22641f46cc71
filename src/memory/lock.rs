//! The lock of processes that write the store: `meta/lock`, with its holder in `meta/lock.info`,
//! compatible with agent-memory.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::Write as _;
use std::path::Path;
use std::time::Duration;

use super::{DIR, codes};
use crate::error::{Error, Result};
use crate::process_wait::Wait;
use crate::proposal::Actor;
use crate::proposal::event::timestamp;

/// Relative to the store.
pub const PATH: &str = "meta/lock";
/// Describes the holder; relative to the store.
pub const INFO: &str = "meta/lock.info";

/// Pause between attempts.
const PAUSE: Duration = Duration::from_millis(5);

/// Held until dropped. [`INFO`] stays behind and means nothing: the kernel releases the lock
/// however its holder ends.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// # Errors
/// `lock_held` if another program keeps the lock longer than `wait`; `lock_unusable` if the lock
/// file is not a regular file or cannot be opened.
pub fn take(
    root: &Path,
    wait: Duration,
    actor: &Actor,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<Lock> {
    let path = root.join(DIR).join(PATH);
    if path.symlink_metadata().is_ok_and(|facts| !facts.is_file()) {
        return Err(unusable("it is not a regular file"));
    }
    for directory in [root.join(DIR), root.join(DIR).join("meta")] {
        if directory.symlink_metadata().is_ok_and(|facts| facts.is_symlink()) {
            return Err(unusable("a symlink leads to it"));
        }
    }
    let file = open(&path).map_err(|error| unusable(&error.to_string()))?;
    let mut waiting = Wait::begin();
    loop {
        match file.try_lock() {
            Ok(()) => break,
            Err(TryLockError::WouldBlock) if waiting.elapsed() < wait => {
                waiting.report_once(|| format!("{} holds {DIR}/{PATH}", holder(root)));
                std::thread::sleep(PAUSE.min(wait));
            }
            Err(TryLockError::WouldBlock) => return Err(held(root, wait)),
            Err(TryLockError::Error(error)) => return Err(unusable(&error.to_string())),
        }
    }
    note(&root.join(DIR).join(INFO), actor, now);
    Ok(Lock { _file: file })
}

fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(false);
    use std::os::unix::fs::OpenOptionsExt as _;
    options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    options.open(path)
}

/// Writes [`INFO`]; the lock holds without it.
fn note(path: &Path, actor: &Actor, now: chrono::DateTime<chrono::Utc>) {
    if path.symlink_metadata().is_ok_and(|facts| !facts.is_file()) {
        return;
    }
    let facts = serde_json::json!({
        "owner": actor.name,
        "pid": std::process::id(),
        "acquired_at": timestamp(now),
    });
    let Ok(mut file) = open(path) else { return };
    let _ = file.set_len(0).and_then(|()| writeln!(file, "{facts}"));
}

/// The description in [`INFO`].
fn holder(root: &Path) -> String {
    let info = std::fs::read_to_string(root.join(DIR).join(INFO)).unwrap_or_default();
    let line: String = info.split_whitespace().collect::<Vec<_>>().join(" ");
    let holder: String = line.chars().filter(|c| !c.is_control()).take(200).collect();
    if holder.is_empty() {
        "another program".to_owned()
    } else {
        format!("another program ({holder})")
    }
}

fn held(root: &Path, wait: Duration) -> Error {
    let holder = holder(root);
    Error::new(
        &codes::LOCK_HELD,
        format!("{holder} has held {DIR}/{PATH} for more than {} s", wait.as_secs()),
    )
    .hint("try again in a moment; concurrency.wait_timeout_seconds of the manifest says how long to wait")
}

fn unusable(why: &str) -> Error {
    Error::new(&codes::LOCK_UNUSABLE, format!("{DIR}/{PATH} cannot be locked: {why}"))
        .hint("look at it, and remove it if no program is writing the store")
}
