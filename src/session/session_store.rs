//! Records and locks in `.git/aye/sessions/`, trees in the state directory.

use std::fs::File;
use std::path::{Path, PathBuf};

use bstr::{BStr, ByteSlice as _};
use schemars::JsonSchema;
use serde::Serialize;

use super::codes;
use super::record::SessionRecord;
use crate::beneath::{Access, Dir, FileKind, clear, open_last};
use crate::error::{Error, Result, codes as common};
use crate::private::PrivateDirectory;
use crate::process_wait;
use crate::sha256;
use crate::text::shell;

/// Bytes of a name.
const MOST: usize = 32;

/// Bytes of a test file.
const ENOUGH: usize = 64 << 10;

#[derive(Debug)]
pub struct SessionStore {
    records: PrivateDirectory,
    trees: PathBuf,
}

/// Exclusive hold on a session until dropped.
#[derive(Debug)]
pub struct SessionLock {
    pub name: String,
    lock: File,
}

impl SessionLock {
    /// A lock for the session's command to inherit across `exec`. If aye is killed, the session
    /// stays live while the command, or a descendant, has the file open.
    pub fn inheritable(&self) -> Result<File> {
        // `try_clone` would set close-on-exec.
        let file = rustix::io::dup(&self.lock).map(File::from).map_err(std::io::Error::from);
        file.map_err(|error| Error::io("share the lock of the session", &error))
    }
}

impl Drop for SessionLock {
    /// For every inheritor: a process that aye does not wait for keeps no session.
    fn drop(&mut self) {
        let _ = self.lock.unlock();
    }
}

/// Exclusive lock on a record, for a short read and write.
#[derive(Debug)]
pub struct RecordLock {
    name: String,
    // Held for its lock.
    _lock: File,
}

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum SessionState {
    /// Its command runs.
    Live,
    /// No process has the session; its tree is there.
    Left,
    /// Its tree is gone.
    Gone,
}

impl SessionState {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Left => "left",
            Self::Gone => "gone",
        }
    }
}

impl RecordLock {
    pub fn name(&self) -> &str {
        &self.name
    }
}

impl SessionStore {
    /// `None` if the repository never had a session.
    ///
    /// # Errors
    /// `private_dir_unsafe`; the system's.
    pub fn open(common_dir: &Path, state: &Path) -> Result<Option<Self>> {
        let Some(private) = PrivateDirectory::open(&common_dir.join("aye"))? else {
            return Ok(None);
        };
        let Some(records) = private.inside("sessions")? else { return Ok(None) };
        Ok(Some(Self { records, trees: trees(common_dir, state) }))
    }

    /// Creates missing directories.
    ///
    /// # Errors
    /// `no_state_directory` if trees cannot be stored; `SessionStore::open`'s.
    pub fn make(common_dir: &Path, state: &Path) -> Result<Self> {
        let records = PrivateDirectory::make(&common_dir.join("aye"))?.make_inside("sessions")?;
        let trees = trees(common_dir, state);
        std::fs::create_dir_all(&trees).map_err(|error| no_place(&trees, &error))?;
        Ok(Self { records, trees })
    }

    /// Tests writing: git reports failure without the cause.
    ///
    /// # Errors
    /// `disk_full`, `no_state_directory`; the system's.
    pub fn check_writable(&self) -> Result<()> {
        let write = |directory: &Path| {
            let mut file = tempfile::tempfile_in(directory)?;
            std::io::Write::write_all(&mut file, &[b'.'; ENOUGH])
        };
        let records = self.records.path();
        write(&self.trees).map_err(|error| no_place(&self.trees, &error))?;
        write(records).map_err(|error| {
            Error::io(format_args!("write to the directory {}", records.display()), &error)
        })
    }

    pub fn tree(&self, name: &str) -> PathBuf {
        self.trees.join(name)
    }

    /// The state directory around `tree`, if this repository's: some clients start a tool server
    /// without `XDG_STATE_HOME`.
    pub fn state_around(common_dir: &Path, tree: &Path) -> Option<PathBuf> {
        let below = trees(common_dir, Path::new("")).components().count() + 1;
        let state = tree.ancestors().nth(below)?;
        tree.starts_with(trees(common_dir, state)).then(|| state.to_owned())
    }

    /// The session whose tree contains `directory`.
    pub fn session_at(&self, directory: &Path) -> Option<String> {
        let directory = std::fs::canonicalize(directory).ok()?;
        let trees = std::fs::canonicalize(&self.trees).ok()?;
        let name = directory.strip_prefix(trees).ok()?.components().next()?;
        let name = name.as_os_str().to_str()?.to_owned();
        self.record(&name).ok().map(|_| name)
    }

    pub fn names(&self) -> Vec<String> {
        let found = self.records.dir().names().unwrap_or_default();
        let name = |file: &bstr::BString| {
            let name = file.strip_suffix(b".json")?.to_str().ok()?;
            is_name(name).then(|| name.to_owned())
        };
        let mut names: Vec<String> = found.iter().filter_map(name).collect();
        names.sort_unstable();
        names
    }

    /// # Errors
    /// `session_not_found`, `session_record_invalid`.
    pub fn record(&self, name: &str) -> Result<SessionRecord> {
        let missing = || not_found(name);
        if !is_name(name) {
            return Err(missing());
        }
        let bytes = self.records.read(&format!("{name}.json"))?.ok_or_else(missing)?;
        SessionRecord::read(name, &bytes)
    }

    /// Waits for other processes.
    ///
    /// # Errors
    /// `session_not_found` for an invalid name; the system's.
    pub fn change(&self, name: &str) -> Result<RecordLock> {
        if !is_name(name) {
            return Err(not_found(name));
        }
        let file = format!("{name}.change");
        let lock = self.records.file(file.as_bytes().as_bstr(), Access::Lock)?;
        let path = self.records.path().join(&file);
        process_wait::lock(&lock, || format!("another process holds {}", path.display()))
            .map_err(|error| Error::io(format_args!("lock {}", path.display()), &error))?;
        Ok(RecordLock { name: name.to_owned(), _lock: lock })
    }

    pub fn write(&self, changing: &RecordLock, record: &SessionRecord) -> Result<()> {
        crate::failpoint!("session.record", io)
            .map_err(|error| Error::io("write the record of a session", &error))?;
        self.records.replace(&format!("{}.json", changing.name), &record.to_bytes()?, true)
    }

    pub fn has(&self, name: &str) -> bool {
        self.state(name) != SessionState::Gone && self.record(name).is_ok()
    }

    pub fn state(&self, name: &str) -> SessionState {
        if self.tree(name).symlink_metadata().is_err() {
            return SessionState::Gone;
        }
        let lock = self.records.file(lock_name(name).as_bytes().as_bstr(), Access::Read);
        match lock.map(|file| file.try_lock().is_ok()) {
            Ok(false) => SessionState::Live,
            _ => SessionState::Left,
        }
    }

    /// # Errors
    /// `invalid_argument`; `session_live` if another process has the session.
    pub fn hold(&self, name: &str) -> Result<SessionLock> {
        if !is_name(name) {
            return Err(Error::new(
                &common::INVALID_ARGUMENT,
                format!("'{name}' is not a name for a session"),
            )
            .hint(format!(
                "use up to {MOST} lower-case letters, digits and -, beginning with a letter"
            )));
        }
        let lock = self.records.file(lock_name(name).as_bytes().as_bstr(), Access::Lock)?;
        if lock.try_lock().is_err() {
            return Err(Error::new(
                &codes::SESSION_LIVE,
                format!("the command of session '{name}' still runs"),
            )
            .hint(format!(
                "wait for its end, or give another name; lsof {} names its processes",
                shell::quote(&self.records.path().join(lock_name(name)).to_string_lossy())
            )));
        }
        Ok(SessionLock { name: name.to_owned(), lock })
    }

    pub fn hold_new(&self) -> Result<SessionLock> {
        loop {
            let random = crate::beneath::random_id();
            let letter =
                |at: u32| b"bcdfghjkmnpqrstvwxz23456789"[(random >> (6 * at)) as usize % 27];
            // Names begin with a letter.
            let first = b"bcdfghjkmnpqrstvwxz"[(random >> 50) as usize % 19];
            let name: String =
                [first].into_iter().chain((0..4).map(letter)).map(char::from).collect();
            let is_taken =
                self.record(&name).is_ok() || self.tree(&name).symlink_metadata().is_ok();
            if !is_taken && let Ok(held) = self.hold(&name) {
                return Ok(held);
            }
        }
    }

    /// Marks the tree as being created: `SessionStore::clear` may now remove it, also after a crash.
    ///
    /// # Errors
    /// `session_tree_exists` if the tree exists without this clone's mark. Another clone may have
    /// been at this path, and its agent's work there may be in no proposal.
    pub fn begin(&self, held: &SessionLock) -> Result<()> {
        let (tree, making) = (self.tree(&held.name), making_name(&held.name));
        if tree.symlink_metadata().is_ok() {
            if self.records.read(&making)?.is_none() {
                return Err(exists(&held.name, &tree));
            }
            self.clear(held);
        }
        self.records.replace(&making, b"", false)
    }

    /// Removes the mark: tree and record exist.
    pub fn begun(&self, held: &SessionLock) {
        self.records.remove(&making_name(&held.name));
    }

    /// Removes a session whatever its tree holds, through no symlink.
    ///
    /// # Errors
    /// `io_error` if part of the tree remains.
    pub fn remove(&self, held: SessionLock) -> Result<()> {
        self.clear(&held);
        let places = [self.tree(&held.name), self.trees.join(removing_name(&held.name))];
        match places.iter().find(|place| place.symlink_metadata().is_ok()) {
            None => Ok(()),
            Some(place) => {
                let error = std::io::Error::from(std::io::ErrorKind::PermissionDenied);
                Err(Error::io(format_args!("remove {}", place.display()), &error))
            }
        }
    }

    /// Like `SessionStore::remove`; the record stays while part of the tree does.
    ///
    /// One rename moves the tree aside before anything in it is removed. A crash therefore never
    /// leaves a partial tree that looks like the agent's work; `SessionStore::finish_removals` removes the rest.
    pub fn clear(&self, held: &SessionLock) {
        // Waits for readers of the tree.
        let _changing = self.change(&held.name);
        let name = BStr::new(held.name.as_str());
        if let Ok(home) = open_last(&self.trees) {
            match home.stat(name).map(|stamp| stamp.kind) {
                Ok(FileKind::Directory) => drop(move_to_removing(&home, &held.name)),
                Ok(_) => drop(home.unlink(name)),
                Err(_) => {}
            }
            let is_left = home.stat(name).is_ok();
            if !remove_moved_aside(&home, &held.name) || is_left {
                return;
            }
        }
        self.records.remove(&format!("{name}.json"));
        self.records.remove(&format!("{name}.change"));
        self.records.remove(&making_name(&held.name));
        self.records.remove(&lock_name(&held.name));
    }

    /// Finishes interrupted removals; returns the sessions' names.
    pub fn finish_removals(&self) -> Vec<String> {
        let Ok(home) = open_last(&self.trees) else { return Vec::new() };
        let name = |entry: bstr::BString| {
            let name = entry.strip_suffix(REMOVING.as_bytes())?.to_str().ok()?;
            is_name(name).then(|| name.to_owned())
        };
        let names = home.names().unwrap_or_default().into_iter().filter_map(name);
        let finish = |name: &String| {
            let Ok(held) = self.hold(name) else { return false };
            // A tree created since then is another session's.
            if home.stat(BStr::new(name.as_str())).is_ok() {
                remove_moved_aside(&home, name);
                return false;
            }
            self.clear(&held);
            self.record(name).is_err()
        };
        names.filter(finish).collect()
    }
}

fn move_to_removing(home: &Dir, name: &str) -> std::io::Result<()> {
    let aside = removing_name(name);
    let (name, aside) = (BStr::new(name), BStr::new(aside.as_str()));
    if let Err(error) = home.mkdir(aside)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    let place = home.open_directory(aside)?;
    let new = format!("{:016x}", crate::beneath::random_id());
    rename_entry(home, name, &place, BStr::new(new.as_str()))
}

/// Stays within the file system.
pub(super) fn rename_entry(from: &Dir, name: &BStr, to: &Dir, new: &BStr) -> std::io::Result<()> {
    let rename = || from.rename_new(name, to, new);
    rename().or_else(|error| match error.kind() {
        // The rename changes `..`, and the agent may have made the directory read-only.
        std::io::ErrorKind::PermissionDenied => from.unlock(name).and_then(|()| rename()),
        _ => Err(error),
    })
}

/// False if something remains.
fn remove_moved_aside(home: &Dir, name: &str) -> bool {
    let aside = removing_name(name);
    let aside = BStr::new(aside.as_str());
    if let Ok(place) = home.open_directory(aside) {
        for tree in place.names().unwrap_or_default() {
            clear::remove_all(&place, tree.as_bstr());
        }
        let _ = home.rmdir(aside);
    }
    home.stat(aside).is_err()
}

fn no_place(trees: &Path, error: &std::io::Error) -> Error {
    let failed = Error::io(format_args!("write to the directory {}", trees.display()), error);
    if failed.is(&common::DISK_FULL) {
        return failed;
    }
    let message = format!("there is no place for the trees of sessions: {}", failed.message());
    Error::new(&codes::NO_STATE_DIRECTORY, message)
        .hint("set XDG_STATE_HOME to a directory that you can write, outside the repository")
}

fn exists(name: &str, tree: &Path) -> Error {
    let at = tree.to_string_lossy();
    let message = format!("a session's tree that this clone knows nothing of lies in {at}");
    let quoted = shell::quote(&at);
    let hint = format!(
        "nothing was touched; what is in it may be proposed nowhere: look, then move it away (mv {quoted} \
         {quoted}.old), or take another name than {name}"
    );
    Error::new(&codes::SESSION_TREE_EXISTS, message).hint(hint)
}

pub fn not_found(name: &str) -> Error {
    let shown: String = name.chars().take(60).collect();
    Error::new(&codes::SESSION_NOT_FOUND, format!("there is no session '{shown}'"))
        .hint("`aye session list` names them")
}

/// A name for people, and a hash of the path.
fn trees(common_dir: &Path, state: &Path) -> PathBuf {
    let place = std::fs::canonicalize(common_dir).unwrap_or_else(|_| common_dir.to_owned());
    let top = if place.file_name().is_some_and(|name| name == ".git") {
        place.parent().and_then(Path::file_name)
    } else {
        place.file_name()
    };
    let name: String = top
        .unwrap_or_default()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._-".contains(c) { c } else { '-' })
        .take(40)
        .collect();
    let hash = sha256::hex(place.as_os_str().as_encoded_bytes());
    all_trees(state).join(format!("{name}-{}", &hash[..8]))
}

pub fn all_trees(state: &Path) -> PathBuf {
    state.join("aye").join("trees")
}

/// Judges by the path alone.
pub fn is_among_trees(directory: &Path) -> bool {
    let names: Vec<_> = directory.components().map(|part| part.as_os_str()).collect();
    names.windows(2).any(|pair| pair[0] == "aye" && pair[1] == "trees")
}

fn making_name(name: &str) -> String {
    format!("{name}.making")
}

/// Session names contain no dot.
const REMOVING: &str = ".removing";

fn removing_name(name: &str) -> String {
    format!("{name}{REMOVING}")
}

fn lock_name(name: &str) -> String {
    format!("{name}.lock")
}

fn is_name(name: &str) -> bool {
    let letters = name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
    name.len() <= MOST && letters && name.starts_with(|c: char| c.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_words_that_lead_nowhere() {
        for good in ["a", "fix-12", "bcd23"] {
            assert!(is_name(good), "{good}");
        }
        for bad in ["", "..", "a/b", "A", "-x", "1a", "a.b", "a\nb", &"a".repeat(33)] {
            assert!(!is_name(bad), "{bad}");
        }
    }

    #[test]
    fn a_session_is_held_by_one_and_removed_whole() {
        let directory = tempfile::tempdir().unwrap();
        let (git, state) = (directory.path().join("work/.git"), directory.path().join("state"));
        std::fs::create_dir_all(&git).unwrap();
        assert!(SessionStore::open(&git, &state).unwrap().is_none());
        let home = SessionStore::make(&git, &state).unwrap();
        let held = home.hold("one").unwrap();
        assert!(home.hold("one").unwrap_err().is(&codes::SESSION_LIVE));
        assert!(home.record("one").unwrap_err().is(&codes::SESSION_NOT_FOUND));
        let tree = home.tree("one");
        assert!(tree.parent().unwrap().file_name().unwrap().to_str().unwrap().starts_with("work-"));
        std::fs::create_dir_all(tree.join("deep/er")).unwrap();
        std::os::unix::fs::symlink(directory.path(), tree.join("deep/out")).unwrap();
        home.remove(held).unwrap();
        assert!(!tree.exists() && git.exists());
        assert_eq!(home.state("one"), SessionState::Gone);
        assert_eq!(std::fs::read_dir(tree.parent().unwrap()).unwrap().count(), 0);
    }

    #[test]
    fn what_a_removal_left_is_removed_and_no_tree_that_was_made_since() {
        let directory = tempfile::tempdir().unwrap();
        let (git, state) = (directory.path().join("work/.git"), directory.path().join("state"));
        std::fs::create_dir_all(&git).unwrap();
        let home = SessionStore::make(&git, &state).unwrap();
        let aside = |name: &str| home.trees.join(removing_name(name));
        for name in ["one", "two", "three"] {
            std::fs::create_dir_all(aside(name).join("0123/deep")).unwrap();
        }
        std::fs::create_dir_all(home.tree("two")).unwrap();
        let _held = home.hold("three").unwrap();
        assert_eq!(home.finish_removals(), ["one"]);
        assert!(!aside("one").exists() && !aside("two").exists() && aside("three").exists());
        assert!(home.tree("two").exists());
    }
}
