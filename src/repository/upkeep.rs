//! Loose objects, packed before git's automatic gc starts for them.
//!
//! A decided proposal leaves a commit and its trees that nothing names any more. `git gc --auto`
//! counts them among the loose objects, packs only what is named, and deletes the rest after two
//! weeks: with some 1,700 of them a day it starts at every git command, without effect. `git
//! maintenance run --task=loose-objects` packs named and unnamed ones alike (and deletes the loose
//! copies when it is run next), so a command that has written objects starts it at half of what
//! git's automatic gc waits for. It runs on its own, under git's own lock; whether it succeeds is
//! nobody's concern but git's.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use chrono::{DateTime, Utc};

use super::Repository;
use crate::git::Git;
use crate::private::Directory;

/// Least time between two starts, in seconds: a start that cannot succeed must not be repeated by
/// every command.
const PAUSE: i64 = 3;

/// In aye's own directory: when git was last started, in seconds since 1970.
const STAMP: &str = "packing";

/// `gc.auto` where it is not set (git-gc(1)).
const AUTOMATIC: i64 = 6700;

/// What one command has written to, if it has.
#[derive(Clone, Debug, Default)]
pub struct Upkeep(Rc<RefCell<Option<Packing>>>);

/// All that it takes to start git once the store is closed.
#[derive(Debug)]
struct Packing {
    common_dir: PathBuf,
    /// How many loose objects in one of 256 directories make git's automatic gc start, less one.
    threshold: usize,
    git: Git,
}

impl Upkeep {
    /// Notes that objects were written to `repository`.
    pub(crate) fn wrote(&self, repository: &Repository) {
        if let Ok(mut noted) = self.0.try_borrow_mut()
            && noted.is_none()
        {
            *noted = Packing::of(repository);
        }
    }

    /// Starts git where something was written and there are many loose objects now. Called at the
    /// end of a command, when no lock is held that git could inherit.
    pub fn start(&self, now: DateTime<Utc>) {
        let noted = self.0.try_borrow_mut().map(|mut noted| noted.take());
        let Ok(Some(packing)) = noted else { return };
        if packing.is_wanted() && packing.is_due(now) {
            let _ = packing.git.detached();
        }
    }
}

impl Packing {
    /// `None` where git's automatic maintenance is turned off: whoever does that looks after it.
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

    /// True at half of what git's automatic gc waits for, by the estimate that it goes by
    /// (`too_many_loose_objects` in its `builtin/gc.c`).
    fn is_wanted(&self) -> bool {
        let objects = self.common_dir.join("objects");
        // Held by a run of another process.
        count(&objects.join("17")) * 2 > self.threshold
            && !objects.join("maintenance.lock").exists()
    }

    /// True where no process has started git just now; says so to the next.
    fn is_due(&self, now: DateTime<Utc>) -> bool {
        let Ok(Some(private)) = Directory::open(&self.common_dir.join("aye")) else {
            return false;
        };
        let last = private.read(STAMP).ok().flatten();
        let last = last.and_then(|text| String::from_utf8(text).ok()?.trim().parse::<i64>().ok());
        // A clock that was set back has no say.
        if last.is_some_and(|last| (0..PAUSE).contains(&(now.timestamp().saturating_sub(last)))) {
            return false;
        }
        private.replace(STAMP, format!("{}\n", now.timestamp()).as_bytes(), false).is_ok()
    }
}

/// The number of loose objects in `directory`.
fn count(directory: &Path) -> usize {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let is_object = |name: &[u8]| name.len() >= 38 && name.iter().all(u8::is_ascii_hexdigit);
    entries.filter(|entry| is_object(entry.file_name().as_encoded_bytes())).count()
}
