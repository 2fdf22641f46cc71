//! The idle stamp: "at these times of the refs no proposal waits", read without opening the
//! repository.
//!
//! Hooks and scripts run `check` thousands of times while nothing is pending. The stamp, a small
//! file in `<git-common-dir>/aye/`, has the facts of `packed-refs` and of the directories below
//! `refs/aye` at a full look that found nothing. Git and aye move a ref by a rename in its
//! directory, so a write, a fetch or a repack outdates the stamp by itself. A directory that has
//! just changed could change again within the tick of its clock, so no stamp is left then.
//!
//! The pre-commit hook (`hooks/script.rs`) compares times without starting aye, and reads the first
//! line: [`VERSION`]. A shell knows no clock. The line is another one while a proposal has expired
//! only lately: with a clock that was set back it would be pending again.

use std::ffi::OsString;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use chrono::{DateTime, TimeDelta, Utc};

use super::facts::Facts;
use crate::private::PrivateDirectory;
use crate::worktree::journal;

/// The first line of a stamp that lasts.
pub const VERSION: &str = "aye idle 4";

const NAME: &str = "idle";

/// A full look takes a while, so it may follow a change sooner than other looks at files: the
/// command began before `now`.
const SPARED: TimeDelta = TimeDelta::milliseconds(90);

/// Directories below `refs/aye` without threads.
const OTHERS: [&str; 4] = ["pending", "session", "before", "broken"];

/// The times of the refs of a repository. Two equal values mean the same threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RefTimes {
    all: String,
    /// The last change is long enough ago for a later one to show.
    is_old: bool,
}

impl RefTimes {
    /// Reads the times below `common_dir`. `None` if refs are not kept in files (reftable) or
    /// cannot be read: then only a full look helps.
    pub fn read(common_dir: &Path, now: DateTime<Utc>) -> Option<Self> {
        if common_dir.join("reftable").exists() {
            return None;
        }
        let mut tips = Self { all: String::new(), is_old: true };
        let mut add = |path: &Path| {
            let facts = Facts::of(path)?;
            tips.is_old &= facts.is_old(now + SPARED);
            writeln!(tips.all, "{} {}", path.strip_prefix(common_dir).ok()?.display(), facts.text())
                .ok()
        };
        add(&common_dir.join("packed-refs"))?;
        let top = common_dir.join("refs/aye");
        let mut waiting = vec![top.clone()];
        while let Some(directory) = waiting.pop() {
            // Pending refs come and go right below the top, and are not threads.
            if directory != top {
                add(&directory)?;
            }
            let entries = match std::fs::read_dir(&directory) {
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
                entries => entries.ok()?,
            };
            let mut inside = Vec::new();
            for entry in entries {
                let entry = entry.ok()?;
                let is_other =
                    directory == top && OTHERS.iter().any(|name| entry.file_name() == *name);
                if entry.file_type().ok()?.is_dir() && !is_other {
                    inside.push(entry.path());
                }
            }
            inside.sort_unstable();
            waiting.extend(inside);
        }
        Some(tips)
    }
}

/// True if the stamp says that nothing waits, and nothing has happened since. False if the clock is
/// behind that look: a proposal that had expired then may be pending again. False in another user's
/// directory, which only a full opening may trust, and after an interrupted apply, which the next
/// command has to finish.
pub fn look(common_dir: &Path, now: DateTime<Utc>) -> bool {
    let stamped = || -> Option<bool> {
        let private = PrivateDirectory::open(&common_dir.join("aye")).ok()??;
        let text = String::from_utf8(private.read(NAME).ok()??).ok()?;
        if !is_ours(common_dir)? || journal::is_pending(&private) {
            return None;
        }
        let mut parts = text.splitn(3, '\n');
        parts.next()?.strip_prefix(VERSION)?;
        let looked: i64 = parts.next()?.strip_prefix("looked ")?.parse().ok()?;
        let tips = parts.next()?;
        Some(now.timestamp_millis() >= looked && RefTimes::read(common_dir, now)?.all == tips)
    };
    stamped().unwrap_or_default()
}

/// True if the present user owns `directory`.
fn is_ours(directory: &Path) -> Option<bool> {
    use std::os::unix::fs::MetadataExt as _;
    Some(std::fs::metadata(directory).ok()?.uid() == rustix::process::geteuid().as_raw())
}

/// Leaves a stamp after a full look at `now` that found nothing and began at the refs `before`.
/// With `lasting` an earlier clock would not change that. Does nothing if the stamp cannot be
/// written.
pub fn stamp(common_dir: &Path, now: DateTime<Utc>, before: &RefTimes, lasting: bool) {
    // A writer came in between.
    if !before.is_old || RefTimes::read(common_dir, now).as_ref() != Some(before) {
        return;
    }
    let line = if lasting { "" } else { " for now" };
    let text = format!("{VERSION}{line}\nlooked {}\n{}", now.timestamp_millis(), before.all);
    let _ = PrivateDirectory::make(&common_dir.join("aye"))
        .and_then(|private| private.replace(NAME, text.as_bytes(), false));
}

/// The common directory, found from `directory` as git finds it, for the ordinary cases. `var`
/// reads the environment. `None` leaves it to a full opening.
pub fn common_dir(directory: &Path, var: impl Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    if let Some(common) = var("GIT_COMMON_DIR") {
        return Some(directory.join(common));
    }
    let git_dir = match var("GIT_DIR") {
        Some(git_dir) => directory.join(git_dir),
        None => {
            let start = std::fs::canonicalize(directory).ok()?;
            // Ceilings and mount points limit a longer walk only.
            let limited = var("GIT_CEILING_DIRECTORIES").is_some();
            let reach = if limited { 1 } else { usize::MAX };
            let mut directories = start.ancestors().take(reach);
            // A directory that looks like a git directory, such as a bare repository, ends the
            // walk.
            let found = |directory: &Path| {
                let git_dir = git_dir_at(directory);
                (git_dir.is_some() || directory.join("HEAD").exists()).then_some(git_dir)
            };
            directories.find_map(found)??
        }
    };
    match std::fs::read_to_string(git_dir.join("commondir")) {
        Ok(text) => Some(git_dir.join(text.trim_end_matches('\n'))),
        Err(_) => git_dir.join("HEAD").is_file().then_some(git_dir),
    }
}

/// The git directory of the work tree whose top is `directory`.
pub fn git_dir_at(directory: &Path) -> Option<PathBuf> {
    let path = directory.join(".git");
    match std::fs::symlink_metadata(&path) {
        Ok(facts) if facts.is_file() => {
            let text = std::fs::read_to_string(&path).ok()?;
            Some(directory.join(text.strip_prefix("gitdir: ")?.trim_end_matches(['\n', '\r'])))
        }
        Ok(_) => Some(path),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn waits_for_none(dir: &Path, now: DateTime<Utc>) -> bool {
        super::look(dir, now)
    }

    fn at(second: i64) -> DateTime<Utc> {
        DateTime::from_timestamp(second, 0).unwrap()
    }

    fn repository() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir_all(directory.path().join("refs/aye/p")).unwrap();
        fs::write(directory.path().join("refs/aye/p/aaaa"), "aaaa\n").unwrap();
        fs::write(directory.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        directory
    }

    /// A time long after the refs were written.
    fn later() -> i64 {
        Utc::now().timestamp() + 60
    }

    fn note(dir: &Path) {
        let now = at(later());
        stamp(dir, now, &RefTimes::read(dir, now).unwrap(), true);
    }

    #[test]
    fn the_stamp_holds_until_a_ref_moves() {
        let directory = repository();
        let dir = directory.path();
        assert!(!waits_for_none(dir, at(later())));
        note(dir);
        assert!(waits_for_none(dir, at(later() + 5)) && waits_for_none(dir, at(9_000_000_000)));
        assert!(!waits_for_none(dir, at(4)));
        fs::write(dir.join("refs/aye/p/lock"), "bbbb\n").unwrap();
        fs::rename(dir.join("refs/aye/p/lock"), dir.join("refs/aye/p/aaaa")).unwrap();
        assert!(!waits_for_none(dir, at(later() + 5)));
    }

    #[test]
    fn fetched_threads_and_packed_refs_outdate_it() {
        let changes: [fn(&Path); 4] = [
            |dir| fs::create_dir_all(dir.join("refs/aye/remotes/origin/c")).unwrap(),
            |dir| fs::write(dir.join("packed-refs"), "# pack-refs\n").unwrap(),
            |dir| fs::remove_file(dir.join("refs/aye/p/aaaa")).unwrap(),
            |dir| fs::create_dir(dir.join("reftable")).unwrap(),
        ];
        for change in changes {
            let directory = repository();
            note(directory.path());
            assert!(waits_for_none(directory.path(), at(later() + 5)));
            change(directory.path());
            assert!(!waits_for_none(directory.path(), at(later() + 5)));
        }
    }

    #[test]
    fn a_look_that_a_writer_overtook_leaves_no_stamp() {
        let directory = repository();
        let now = at(later());
        let before = RefTimes::read(directory.path(), now).unwrap();
        fs::write(directory.path().join("refs/aye/p/bbbb"), "bbbb\n").unwrap();
        stamp(directory.path(), now, &before, true);
        let early = RefTimes::read(directory.path(), Utc::now()).unwrap();
        stamp(directory.path(), Utc::now(), &early, true);
        assert!(!directory.path().join("aye/idle").exists());
    }

    #[test]
    fn an_interrupted_apply_wants_a_proper_look() {
        let directory = repository();
        note(directory.path());
        let journal = directory.path().join("aye/journal");
        fs::create_dir(&journal).unwrap();
        fs::write(journal.join("lock"), "").unwrap();
        assert!(waits_for_none(directory.path(), at(later() + 5)));
        fs::write(journal.join("0123456789abcdef.journal"), "{}").unwrap();
        assert!(!waits_for_none(directory.path(), at(later() + 5)));
    }

    #[test]
    fn a_damaged_stamp_is_none() {
        let directory = repository();
        let dir = directory.path();
        note(dir);
        let good = fs::read_to_string(dir.join("aye/idle")).unwrap();
        for broken in ["", VERSION, "aye idle 3\nlooked 1\n", &good[..good.len() - 1]] {
            fs::write(dir.join("aye/idle"), broken).unwrap();
            assert!(!waits_for_none(dir, at(later() + 5)), "{broken:?}");
        }
    }

    #[test]
    fn the_common_dir_is_where_git_says() {
        let directory = tempfile::tempdir().unwrap();
        let top = directory.path().canonicalize().unwrap();
        let git = |dir: &Path, args: &[&str]| {
            crate::git::Git::new(dir).without_local_env().args(args).text().unwrap()
        };
        git(&top, &["init", "-q", "main"]);
        let main = top.join("main");
        git(
            &main,
            &[
                "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "--allow-empty", "-m",
                "x",
            ],
        );
        git(&main, &["worktree", "add", "-q", "../linked"]);
        fs::create_dir_all(top.join("linked/a/b")).unwrap();
        let none = |_: &str| None;
        for dir in ["main", "linked", "linked/a/b"] {
            let found = common_dir(&top.join(dir), none).unwrap();
            assert_eq!(found.canonicalize().unwrap(), main.join(".git"), "{dir}");
        }
        let var = |name: &str| (name == "GIT_DIR").then(|| OsString::from(".git"));
        assert_eq!(common_dir(&main, var), Some(main.join(".git")));
        assert_eq!(common_dir(Path::new("/"), none), None);
        git(&main, &["init", "-q", "--bare", "inner"]);
        assert_eq!(common_dir(&main.join("inner"), none), None);
        assert_eq!(common_dir(&main.join("inner/refs"), none), None);
    }
}
