//! Records and locks in `.git/aye/sessions/`, trees in the state directory.

use std::fs::File;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice as _};
use schemars::JsonSchema;
use serde::Serialize;

use super::codes;
use super::record::SessionRecord;
use crate::beneath::{Access, Content, Dir, FileKind, clear, open_last};
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

    /// Directory of all trees of the repository.
    pub fn trees(&self) -> &Path {
        &self.trees
    }

    /// The slot of the session. Without one, a path that no tree ever has: slots are numbers, and
    /// names begin with a letter.
    pub fn tree(&self, name: &str) -> PathBuf {
        self.trees.join(self.slot(name).map_or_else(|| name.to_owned(), |slot| slot.to_string()))
    }

    /// # Errors
    /// `session_tree_gone`.
    pub fn require_tree(&self, name: &str) -> Result<PathBuf> {
        let tree = self.tree(name);
        if tree.symlink_metadata().is_ok() { Ok(tree) } else { Err(self.gone(name, &tree)) }
    }

    fn gone(&self, name: &str, tree: &Path) -> Error {
        let shown = tree.display();
        let error = Error::new(
            &codes::SESSION_TREE_GONE,
            format!("the session's tree {shown} was removed, with what no proposal had of it"),
        );
        error.hint(match self.tree_of_moved_checkout(name) {
            Some(other) => format!(
                "a tree of that session lies in {}; if the checkout was moved, or copied, and this is the \
                 session's: mkdir -p {} && mv {} {}",
                other.display(),
                shell::quote(&self.trees.to_string_lossy()),
                shell::quote(&other.to_string_lossy()),
                shell::quote(&tree.to_string_lossy())
            ),
            None => format!(
                "what was proposed is still there (aye list); aye run --name {name} -- CMD makes the tree \
                 again, aye session end {name} forgets the session"
            ),
        })
    }

    /// A tree of that name for a checkout at another path. Several are ambiguous.
    fn tree_of_moved_checkout(&self, name: &str) -> Option<PathBuf> {
        let slot = self.slot(name)?.to_string();
        let line = format!("session = {name}");
        let is_its = |tree: &PathBuf| {
            let config = open_last(tree).and_then(|tree| tree.open_directory(".git".into()));
            match config.and_then(|git| git.read("config".into(), 1 << 20)) {
                Ok(Content::File(bytes, _)) => bytes.lines().any(|it| it.trim() == line.as_bytes()),
                _ => false,
            }
        };
        let checkouts = std::fs::read_dir(self.trees.parent()?).ok()?.flatten();
        let trees = checkouts.map(|checkout| checkout.path()).filter(|at| *at != self.trees);
        let mut found: Vec<PathBuf> = trees.map(|at| at.join(&slot)).filter(is_its).collect();
        found.pop().filter(|_| found.is_empty())
    }

    /// Each slot has one owner, so that no two sessions share a tree.
    pub fn slot(&self, name: &str) -> Option<u32> {
        self.slots().into_iter().find_map(|(slot, owner)| (owner == name).then_some(slot))
    }

    /// By number.
    fn slots(&self) -> Vec<(u32, String)> {
        let found = self.records.dir().names().unwrap_or_default();
        let slot = |file: &BString| file.strip_suffix(SLOT.as_bytes())?.to_str().ok()?.parse().ok();
        let mut slots: Vec<u32> = found.iter().filter_map(slot).collect();
        slots.sort_unstable();
        slots.into_iter().filter_map(|slot| Some((slot, self.owner(slot)?))).collect()
    }

    /// Slot of the client's last run: its conversations belong to that path.
    pub fn last_slot(&self, client: &str) -> Option<u32> {
        let bytes = self.records.read(&last_name(client)).ok()??;
        bytes.to_str().ok()?.parse().ok()
    }

    /// True once for each word in the repository.
    pub fn is_first(&self, word: &str) -> bool {
        let mut text = self.records.read(NAMED).ok().flatten().unwrap_or_default();
        if text.lines().any(|line| line == word.as_bytes()) {
            return false;
        }
        text.extend_from_slice(format!("{word}\n").as_bytes());
        self.records.replace(NAMED, &text, false).is_ok()
    }

    pub fn note_slot(&self, client: &str, slot: u32) {
        // Without it, a conversation is begun where it might have been resumed.
        drop(self.records.replace(&last_name(client), slot.to_string().as_bytes(), false));
    }

    pub fn owner(&self, slot: u32) -> Option<String> {
        let name = String::from_utf8(self.records.read(&slot_name(slot)).ok()??).ok()?;
        is_name(&name).then_some(name)
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
        let slot = directory.strip_prefix(trees).ok()?.components().next()?;
        let name = self.owner(slot.as_os_str().to_str()?.parse().ok()?)?;
        self.record(&name).ok().map(|_| name)
    }

    pub fn names(&self) -> Vec<String> {
        let found = self.records.dir().names().unwrap_or_default();
        let name = |file: &BString| {
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
        Ok(RecordLock { name: name.to_owned(), _lock: self.lock(name)? })
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

    /// Gives the session the lowest free slot: clients remember trust, conversations and caches by
    /// path. Marks the tree as being created: `SessionStore::clear` may now remove it, also after a
    /// crash. Returns trees in lower slots that this clone did not make: another clone may have been
    /// at this path, and its agent's work there may be in no proposal.
    ///
    /// `wanted` comes first, if it is free.
    ///
    /// # Errors
    /// The system's.
    pub fn begin(&self, held: &SessionLock, wanted: Option<u32>) -> Result<Vec<PathBuf>> {
        let (name, making) = (&held.name, making_name(&held.name));
        let lock = self.lock("slots")?;
        if let Some(slot) = self.slot(name)
            && self.tree(name).symlink_metadata().is_ok()
        {
            if self.records.read(&making)?.is_some() {
                self.clear_tree(slot);
            }
            // Its record is lost, and there may be work in it.
            self.records.remove(&slot_name(slot));
        }
        let mut unknown = Vec::new();
        let wanted = wanted.filter(|slot| self.is_free(*slot, name, &mut Vec::new()));
        let mut slot = self.slot(name).or(wanted).unwrap_or(1);
        while !self.is_free(slot, name, &mut unknown) {
            slot += 1;
        }
        self.records.replace(&slot_name(slot), name.as_bytes(), false)?;
        self.records.replace(&making, b"", false)?;
        drop(lock);
        Ok(unknown)
    }

    fn is_free(&self, slot: u32, name: &str, unknown: &mut Vec<PathBuf>) -> bool {
        let tree = self.trees.join(slot.to_string());
        let is_there = tree.symlink_metadata().is_ok();
        let is_removed = self.trees.join(removing_name(slot)).symlink_metadata().is_ok();
        let owner = self.owner(slot);
        if is_there && owner.is_none() {
            unknown.push(tree);
        }
        let is_other = |owner: &String| {
            // The slot of a session whose beginning was stopped is free.
            let is_gone =
                self.record(owner).is_err_and(|error| error.is(&codes::SESSION_NOT_FOUND));
            owner != name && (!is_gone || self.hold(owner).is_err())
        };
        !is_there && !is_removed && !owner.as_ref().is_some_and(is_other)
    }

    fn lock(&self, name: &str) -> Result<File> {
        let file = format!("{name}.change");
        let lock = self.records.file(file.as_bytes().as_bstr(), Access::Lock)?;
        let path = self.records.path().join(&file);
        process_wait::lock(&lock, || format!("another process holds {}", path.display()))
            .map_err(|error| Error::io(format_args!("lock {}", path.display()), &error))?;
        Ok(lock)
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
        let slot = self.slot(&held.name);
        self.clear(&held);
        let removing = slot.map(|slot| self.trees.join(removing_name(slot)));
        let places = slot.map(|slot| self.trees.join(slot.to_string())).into_iter().chain(removing);
        match places.into_iter().find(|place| place.symlink_metadata().is_ok()) {
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
        let (name, slot) = (&held.name, self.slot(&held.name));
        if slot.is_some_and(|slot| !self.clear_tree(slot)) {
            return;
        }
        self.records.remove(&format!("{name}.json"));
        self.records.remove(&format!("{name}.change"));
        self.records.remove(&making_name(name));
        slot.iter().for_each(|slot| self.records.remove(&slot_name(*slot)));
        self.records.remove(&lock_name(name));
    }

    /// False if something remains.
    fn clear_tree(&self, slot: u32) -> bool {
        let Ok(home) = open_last(&self.trees) else { return true };
        let tree = slot.to_string();
        let tree = BStr::new(tree.as_str());
        match home.stat(tree).map(|stamp| stamp.kind) {
            Ok(FileKind::Directory) => drop(move_to_removing(&home, slot)),
            Ok(_) => drop(home.unlink(tree)),
            Err(_) => {}
        }
        remove_moved_aside(&home, slot) && home.stat(tree).is_err()
    }

    /// Finishes interrupted removals; returns the sessions' names.
    pub fn finish_removals(&self) -> Vec<String> {
        let Ok(home) = open_last(&self.trees) else { return Vec::new() };
        let slot =
            |entry: BString| entry.strip_suffix(REMOVING.as_bytes())?.to_str().ok()?.parse().ok();
        let slots = home.names().unwrap_or_default().into_iter().filter_map(slot);
        let finish = |slot: u32| {
            let Some(name) = self.owner(slot) else {
                remove_moved_aside(&home, slot);
                return None;
            };
            let held = self.hold(&name).ok()?;
            // A tree created since then is another session's.
            if home.stat(BStr::new(slot.to_string().as_str())).is_ok() {
                remove_moved_aside(&home, slot);
                return None;
            }
            self.clear(&held);
            self.record(&name).is_err().then_some(name)
        };
        slots.filter_map(finish).collect()
    }
}

fn move_to_removing(home: &Dir, slot: u32) -> std::io::Result<()> {
    let (tree, aside) = (slot.to_string(), removing_name(slot));
    let (tree, aside) = (BStr::new(tree.as_str()), BStr::new(aside.as_str()));
    if let Err(error) = home.mkdir(aside)
        && error.kind() != std::io::ErrorKind::AlreadyExists
    {
        return Err(error);
    }
    let place = home.open_directory(aside)?;
    let new = format!("{:016x}", crate::beneath::random_id());
    rename_entry(home, tree, &place, BStr::new(new.as_str()))
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
fn remove_moved_aside(home: &Dir, slot: u32) -> bool {
    let aside = removing_name(slot);
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

/// Words of [`SessionStore::is_first`], a line each.
const NAMED: &str = "named";

const REMOVING: &str = ".removing";

fn removing_name(slot: u32) -> String {
    format!("{slot}{REMOVING}")
}

/// Session names contain no dot.
const SLOT: &str = ".slot";

/// File with the name of the session that has the slot.
fn slot_name(slot: u32) -> String {
    format!("{slot}{SLOT}")
}

/// Session names contain no dot.
fn last_name(client: &str) -> String {
    format!("{client}.last")
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
        assert_eq!(home.begin(&held, None).unwrap(), [] as [PathBuf; 0]);
        let tree = home.tree("one");
        assert!(
            tree.ends_with("1")
                && tree
                    .parent()
                    .unwrap()
                    .file_name()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .starts_with("work-")
        );
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
        let aside = |slot: u32| home.trees.join(removing_name(slot));
        for (slot, name) in [(1, "one"), (2, "two"), (3, "three")] {
            let held = home.hold(name).unwrap();
            home.begin(&held, None).unwrap();
            assert!(home.tree(name).ends_with(slot.to_string()));
            std::fs::create_dir_all(aside(slot).join("0123/deep")).unwrap();
        }
        std::fs::create_dir_all(home.tree("two")).unwrap();
        let _held = home.hold("three").unwrap();
        assert_eq!(home.finish_removals(), ["one"]);
        assert!(!aside(1).exists() && !aside(2).exists() && aside(3).exists());
        assert!(home.tree("two").exists());
    }

    #[test]
    fn the_lowest_free_slot_is_taken_and_an_unknown_tree_left_alone() {
        let directory = tempfile::tempdir().unwrap();
        let (git, state) = (directory.path().join("work/.git"), directory.path().join("state"));
        std::fs::create_dir_all(&git).unwrap();
        let home = SessionStore::make(&git, &state).unwrap();
        let begin = |name: &str| {
            let held = home.hold(name).unwrap();
            let unknown = home.begin(&held, None).unwrap();
            std::fs::create_dir_all(home.tree(name)).unwrap();
            (held, home.tree(name).file_name().unwrap().to_owned(), unknown)
        };
        std::fs::create_dir_all(home.trees.join("2")).unwrap();
        let (a, at_a, _) = begin("a");
        let (_b, at_b, unknown) = begin("b");
        assert_eq!((at_a, at_b, unknown), ("1".into(), "3".into(), vec![home.trees.join("2")]));
        home.remove(a).unwrap();
        let (_c, at_c, _) = begin("c");
        assert_eq!(at_c, "1");
    }
}
