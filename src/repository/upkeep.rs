//! Packs loose objects before git's automatic gc starts for them.
//!
//! A decided proposal leaves a commit and trees without a ref. `git gc --auto` counts these among
//! the loose objects, packs only objects with a ref, and deletes the others after two weeks. With
//! some 1,700 of them a day it would start at every git command, without effect. `git maintenance
//! run --task=loose-objects` packs both kinds, and deletes the loose copies at its next run. A
//! command that has written objects starts it at half of the number that git's automatic gc waits
//! for. It runs on its own under git's own lock, and aye ignores its result.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use chrono::{DateTime, Utc};

use super::Repository;
use crate::git::Git;
use crate::private::PrivateDirectory;

/// Shortest time between two starts, in seconds: a start that cannot succeed must not be repeated
/// by every command.
const PAUSE: i64 = 3;

/// A file in `.git/aye` with the time of the last start, in seconds since 1970.
const STAMP: &str = "packing";

/// Default of `gc.auto` (git-gc(1)).
const AUTOMATIC: i64 = 6700;

/// The repository that one command has written to.
#[derive(Clone, Debug, Default)]
pub struct Upkeep(Rc<RefCell<Option<Packing>>>);

/// Everything that a start needs once the store is closed.
#[derive(Debug)]
struct Packing {
    common_dir: PathBuf,
    /// Loose objects in one of 256 directories at which git's automatic gc starts, less one.
    threshold: usize,
    git: Git,
}

impl Upkeep {
    pub(crate) fn wrote(&self, repository: &Repository) {
        if let Ok(mut noted) = self.0.try_borrow_mut()
            && noted.is_none()
        {
            *noted = Packing::of(repository);
        }
    }

    /// Starts git if objects were written and many are loose. Called at the end of a command, when
    /// there is no lock that git could inherit.
    pub fn start(&self, now: DateTime<Utc>) {
        let noted = self.0.try_borrow_mut().map(|mut noted| noted.take());
        let Ok(Some(packing)) = noted else { return };
        if packing.is_wanted() && packing.is_due(now) {
            let _ = packing.git.detached();
        }
    }
}

impl Packing {
    /// `None` if git's automatic maintenance is turned off.
    fn of(repository: &Repository) -> Option<Self> {
        let config = repository.repo().config_snapshot();
        let limit = config.integer("gc.auto").unwrap_or(AUTOMATIC);
        if limit <= 0 || config.boolean("maintenance.auto") == Some(false) {
            return None;
        }
        let git = repository.git().ok()?;
        Some(Self {
            common_dir: repository.common_dir.clone(),
            threshold: usize::try_from(limit).ok()?.div_ceil(256),
            git: git.args(["maintenance", "run", "--task=loose-objects", "--quiet"]),
        })
    }

    /// True at half of the number that git's automatic gc waits for, by git's estimate
    /// (`too_many_loose_objects` in `builtin/gc.c`).
    fn is_wanted(&self) -> bool {
        let objects = self.common_dir.join("objects");
        // Another process's run holds the lock.
        count(&objects.join("17")) * 2 > self.threshold
            && !objects.join("maintenance.lock").exists()
    }

    /// True if no process has just started git; notes the time.
    fn is_due(&self, now: DateTime<Utc>) -> bool {
        let Ok(Some(private)) = PrivateDirectory::open(&self.common_dir.join("aye")) else {
            return false;
        };
        let last = private.read(STAMP).ok().flatten();
        let last = last.and_then(|text| String::from_utf8(text).ok()?.trim().parse::<i64>().ok());
        // A time in the future does not count: the clock was set back.
        if last.is_some_and(|last| (0..PAUSE).contains(&(now.timestamp().saturating_sub(last)))) {
            return false;
        }
        private.replace(STAMP, format!("{}\n", now.timestamp()).as_bytes(), false).is_ok()
    }
}

fn count(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_object = |name: &[u8]| name.len() >= 38 && name.iter().all(u8::is_ascii_hexdigit);
    entries.filter(|entry| is_object(entry.file_name().as_encoded_bytes())).count()
}
