//! What a look saw of HEAD and of files, told by their facts: size, times, inode. While these are the
//! same another look would see the same, as git believes of the files in its index.

use std::fmt::Write as _;
use std::path::Path;

use chrono::{DateTime, Utc};

use crate::changeset::RepoPath;

/// More files than this are looked at again instead.
const MOST: usize = 256;

/// How long a file must have been as it is, in milliseconds: one that changes twice within one tick of
/// its file system's clock shows the same time for both. A tick is 10 ms at most where times have
/// fractions of a second, and 2 s where they have none.
const TICKS: [i64; 2] = [100, 3_000];

/// What was seen, file by file. Each is added before it is read: what is written to it later shows in
/// its facts.
#[derive(Debug)]
pub struct Sight {
    now: DateTime<Utc>,
    top: String,
    text: String,
    files: usize,
    /// All of it can be told by facts.
    is_sound: bool,
}

impl Sight {
    /// HEAD, as it is in the work tree at `top`. `None` where that cannot be told from a file.
    pub fn begin(
        git_dir: &Path,
        common_dir: &Path,
        top: &Path,
        now: DateTime<Utc>,
    ) -> Option<Self> {
        let top = top.to_str().filter(|top| !top.contains('\n'))?.to_owned();
        let text = format!("{top}\n{}\n", head(git_dir, common_dir)?);
        Some(Self { now, top, text, files: 0, is_sound: true })
    }

    /// Adds the file at `path`, or that there is none.
    pub fn add(&mut self, path: &RepoPath) {
        self.files += 1;
        let name = path.to_path().to_str().filter(|name| !name.contains('\n')).map(str::to_owned);
        let found = name.as_ref().and_then(|name| Facts::of(&Path::new(&self.top).join(name)));
        let (Some(name), Some(facts)) = (name, found) else {
            self.is_sound = false;
            return;
        };
        self.is_sound &= facts.is_old(self.now) && self.files <= MOST;
        self.text += &format!("{} {name}\n", facts.text());
    }

    /// What was seen goes by something else, too, so that another look has to be taken each time.
    pub fn doubt(&mut self) {
        self.is_sound = false;
    }

    /// The same as text; `None` where a file was written only now, or there are too many.
    pub fn text(&self) -> Option<&str> {
        self.is_sound.then_some(&self.text)
    }

    /// Whether what another one said as `text` is what there is now.
    pub fn is_same(text: &str, git_dir: &Path, common_dir: &Path, top: &Path) -> bool {
        let mut lines = text.lines();
        let is_here = lines.next().is_some_and(|seen| Path::new(seen) == top)
            && lines.next() == head(git_dir, common_dir).as_deref();
        is_here
            && lines.all(|line| {
                line.split_once(' ').is_some_and(|(seen, name)| {
                    Facts::of(&top.join(name)).is_some_and(|now| now.text() == seen)
                })
            })
    }
}

/// The branch that is checked out with its commit, or the commit. `packed` stands for what
/// `packed-refs` says, whose own facts are held against it elsewhere.
fn head(git_dir: &Path, common_dir: &Path) -> Option<String> {
    let is_id = |text: &str| {
        matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let text = std::fs::read_to_string(git_dir.join("HEAD")).ok()?;
    let text = text.trim_end();
    let Some(branch) = text.strip_prefix("ref: ") else {
        return is_id(text).then(|| text.to_owned());
    };
    if !branch.starts_with("refs/heads/") || branch.split('/').any(|part| part == "..") {
        return None;
    }
    match std::fs::read_to_string(common_dir.join(branch)) {
        Ok(id) => Some(id.trim_end()).filter(|id| is_id(id)).map(|id| format!("{branch} {id}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            Some(format!("{branch} packed"))
        }
        Err(_) => None,
    }
}

/// What tells one state of a file from another.
pub(super) struct Facts {
    /// Mode, device, inode, size, and the seconds and nanoseconds of the last change of its content
    /// and of itself; `None` where there is no file.
    state: Option<[u64; 8]>,
    /// When they changed last, and how long nothing may have changed since to say so, in milliseconds;
    /// `None` where there is no file.
    changed: Option<(i64, i64)>,
}

impl Facts {
    /// Those of what is at `path`, a symlink included, or that there is nothing. `None` where they
    /// cannot be told.
    pub(super) fn of(path: &Path) -> Option<Self> {
        asked::current(path)
    }

    /// The same as text, without spaces.
    pub(super) fn text(&self) -> String {
        let Some(state) = &self.state else { return "none".to_owned() };
        let [mode, rest @ ..] = state;
        let mut text = format!("{mode:o}");
        for number in rest {
            let _ = write!(text, ":{number}");
        }
        text
    }

    /// Adds them to what is hashed: of the same length for every file.
    pub(super) fn put(&self, bytes: &mut Vec<u8>) {
        bytes.push(u8::from(self.state.is_some()));
        for number in self.state.unwrap_or_default() {
            bytes.extend(number.to_le_bytes());
        }
    }

    /// Whether it has been so for long enough at `now` that a later change would show.
    pub(super) fn is_old(&self, now: DateTime<Utc>) -> bool {
        self.changed
            .is_none_or(|(changed, tick)| now.timestamp_millis().saturating_sub(changed) >= tick)
    }
}

/// A directory beneath which many files are asked for their facts: the way to it is gone once.
pub struct Above(asked::Directory);

impl Above {
    /// That at `path`; `None` where it cannot be opened.
    pub fn open(path: &Path) -> Option<Self> {
        asked::Directory::open(path).map(Self)
    }

    /// As [`Facts::of`], of `name` in it.
    pub(super) fn facts(&self, name: &Path) -> Option<Facts> {
        self.0.facts(name)
    }
}

mod asked {
    use std::path::Path;

    use rustix::fd::{AsFd, OwnedFd};
    use rustix::fs::{AtFlags, CWD, Mode, OFlags};
    use rustix::io::Errno;

    use super::{Facts, TICKS};

    pub(super) struct Directory(OwnedFd);

    impl Directory {
        pub(super) fn open(path: &Path) -> Option<Self> {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
            rustix::fs::open(path, flags, Mode::empty()).ok().map(Self)
        }

        pub(super) fn facts(&self, name: &Path) -> Option<Facts> {
            facts(&self.0, name)
        }
    }

    pub(super) fn current(path: &Path) -> Option<Facts> {
        facts(CWD, path)
    }

    #[allow(clippy::unnecessary_cast, clippy::cast_sign_loss)] // Widths differ between systems.
    fn facts(at: impl AsFd, path: &Path) -> Option<Facts> {
        let file = match rustix::fs::statat(at, path, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(file) => file,
            Err(Errno::NOENT) => return Some(Facts { state: None, changed: None }),
            Err(_) => return None,
        };
        let (seconds, nanoseconds) = (file.st_ctime as i64, file.st_ctime_nsec as i64);
        let changed = seconds.saturating_mul(1_000).saturating_add(nanoseconds / 1_000_000);
        let state = [
            file.st_mode as u64,
            file.st_dev as u64,
            file.st_ino as u64,
            file.st_size as u64,
            file.st_mtime as u64,
            file.st_mtime_nsec as u64,
            file.st_ctime as u64,
            file.st_ctime_nsec as u64,
        ];
        let tick = TICKS[usize::from(nanoseconds == 0)];
        Some(Facts { state: Some(state), changed: Some((changed, tick)) })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    struct Place {
        directory: tempfile::TempDir,
        now: DateTime<Utc>,
    }

    impl Place {
        fn new() -> Self {
            let directory = tempfile::tempdir().unwrap();
            fs::create_dir_all(directory.path().join(".git/refs/heads")).unwrap();
            fs::write(directory.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
            let place =
                Self { directory, now: DateTime::<Utc>::from(std::time::SystemTime::now()) };
            place.write(".git/refs/heads/main", &"a".repeat(40));
            place.write("a.txt", "one\n");
            place
        }

        fn write(&self, path: &str, text: &str) {
            fs::write(self.directory.path().join(path), text).unwrap();
        }

        /// A look at `a.txt` and `gone.txt`, so many milliseconds after they were written.
        fn look(&self, later: i64) -> Option<String> {
            let (top, git) = (self.directory.path(), self.directory.path().join(".git"));
            let now = self.now + chrono::Duration::milliseconds(later);
            let mut sight = Sight::begin(&git, &git, top, now)?;
            for name in ["a.txt", "gone.txt"] {
                sight.add(&RepoPath::new(name).unwrap());
            }
            sight.text().map(str::to_owned)
        }

        fn is_same(&self, text: &str) -> bool {
            let (top, git) = (self.directory.path(), self.directory.path().join(".git"));
            Sight::is_same(text, &git, &git, top)
        }
    }

    #[test]
    fn whatever_changes_is_another_sight() {
        let changes: [fn(&Place); 8] = [
            |place| place.write("a.txt", "two\n"),
            |place| place.write("gone.txt", ""),
            |place| fs::remove_file(place.directory.path().join("a.txt")).unwrap(),
            |place| place.write(".git/refs/heads/main", &"b".repeat(40)),
            |place| place.write(".git/HEAD", "ref: refs/heads/other\n"),
            |place| place.write(".git/HEAD", &"a".repeat(40)),
            |place| fs::remove_file(place.directory.path().join(".git/refs/heads/main")).unwrap(),
            |place| {
                let top = place.directory.path();
                fs::copy(top.join("a.txt"), top.join("b.txt")).unwrap();
                fs::rename(top.join("b.txt"), top.join("a.txt")).unwrap();
            },
        ];
        for change in changes {
            let place = Place::new();
            let seen = place.look(10_000).unwrap();
            assert!(place.is_same(&seen));
            // The clock that files get their times from is slow.
            std::thread::sleep(std::time::Duration::from_millis(20));
            change(&place);
            assert!(!place.is_same(&seen), "{seen}");
        }
    }

    #[test]
    fn what_was_written_only_now_is_looked_at_again() {
        let place = Place::new();
        assert_eq!(place.look(0), None);
        assert_eq!(place.look(-10_000), None);
        assert!(place.look(10_000).is_some());
    }

    #[test]
    fn a_head_that_leads_on_is_not_told_by_facts() {
        let place = Place::new();
        for head in ["", "ref: refs/heads/../x\n", "ref: refs/bisect/bad\n", "0123\n"] {
            place.write(".git/HEAD", head);
            assert_eq!(place.look(10_000), None, "{head}");
        }
        place.write(".git/HEAD", "ref: refs/heads/main\n");
        place.write(".git/refs/heads/main", "ref: refs/heads/other\n");
        assert_eq!(place.look(10_000), None);
    }

    #[test]
    fn a_damaged_sight_is_none() {
        let place = Place::new();
        let seen = place.look(10_000).unwrap();
        let elsewhere = seen.replace(" a.txt", " b.txt");
        for broken in ["", "\n", "/\n", &seen[1..], &elsewhere, &format!("{seen}x\n")] {
            assert!(!place.is_same(broken), "{broken:?}");
        }
    }
}
