//! Files that have one name in the tree of a session and another one in what it follows: what is to come goes to
//! where its file is, as git's own merge has it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::{BString, ByteSlice as _};

use super::read::{self, Entries, mode_of};
use crate::changeset::moves::{RENAMED, is_apart, name_origins, similarity};
use crate::changeset::{File, FileChange, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::proposal::Entry;
use crate::repository::Repository;
use crate::worktree::Worktree;

/// Where a file is: what leads from the one to the other is done to what the tree has of it now.
#[derive(Clone, Debug)]
pub(super) struct Way {
    pub from: BString,
    pub to: BString,
    pub now: BString,
    /// Where it is to be.
    pub at: BString,
}

impl Way {
    /// Of a file that has kept its name.
    pub fn straight(path: &BString) -> Self {
        let [from, to, now, at] = std::array::from_fn(|_| path.clone());
        Self { from, to, now, at }
    }
}

/// The files that were renamed, by what they were called before.
#[derive(Default)]
pub(super) struct Renamed {
    ways: BTreeMap<BString, Way>,
    unclear: BTreeMap<BString, Vec<String>>,
}

impl Renamed {
    /// Where the file that was at `path` is.
    pub fn way(&self, path: &BString) -> Way {
        self.ways.get(path).cloned().unwrap_or_else(|| Way::straight(path))
    }

    /// The files of the tree that the one at `path` may have become, where nobody can say which.
    pub fn unclear(&self, path: &BString) -> Option<&[String]> {
        self.unclear.get(path).map(Vec::as_slice)
    }
}

/// What leads from one commit to another, and the tree that it is done in.
pub(super) struct Sides<'a> {
    pub repository: &'a Repository,
    pub tree: &'a Path,
    pub worktree: &'a Worktree,
    /// The commit of `from`.
    pub commit: &'a str,
    pub from: &'a Entries,
    pub to: &'a Entries,
    /// Where they differ.
    pub paths: &'a BTreeSet<&'a BString>,
}

impl Sides<'_> {
    /// The files that the tree has under another name, or what is to come.
    ///
    /// # Errors
    /// Those of [`read::left`].
    pub fn renamed(&self) -> Result<Renamed> {
        let mut found = Renamed::default();
        let here = self.here()?;
        let there = self.there(&here)?;
        for (path, at) in &here.clear {
            let (is_to_come, is_taken) = (self.to.contains_key(path), self.to.contains_key(at));
            let way = |to: &BString| {
                let [from, to, now, at] = [path, to, at, at].map(Clone::clone);
                Way { from, to, now, at }
            };
            let found = &mut found;
            match there.clear.get(path) {
                Some(to) if to == at || !is_taken && !self.is_there(to) => {
                    found.ways.insert(path.clone(), way(to));
                }
                None if !is_taken => {
                    found.ways.insert(path.clone(), way(path));
                }
                // There is another file of that name elsewhere.
                None if is_to_come => {
                    drop(found.unclear.insert(path.clone(), vec![at.to_string()]))
                }
                _ => {}
            }
        }
        for (path, at) in &there.clear {
            if self.is_there(path) && !self.is_there(at) && !self.is_another(path) {
                let [from, to, now, at] = [path, at, path, at].map(Clone::clone);
                found.ways.insert(path.clone(), Way { from, to, now, at });
            }
        }
        let is_to_come = |(path, _): &(BString, Vec<String>)| self.to.contains_key(path);
        found.unclear.extend(here.unclear.into_iter().filter(is_to_come));
        Ok(found)
    }

    /// The renames in the tree. It is read only where one of the files is gone, or has made way for another.
    fn here(&self) -> Result<Moves> {
        let is_gone = |path: &&&BString| {
            is_file(self.from, path)
                && if self.is_there(path) {
                    !self.to.contains_key(**path) && self.is_another(path)
                } else {
                    !self.repository.is_left_out(&path.to_string())
                }
        };
        let gone: BTreeSet<&BString> = self.paths.iter().filter(is_gone).copied().collect();
        if gone.is_empty() {
            return Ok(Moves::default());
        }
        let mut changes = read::left(self.repository, self.tree, None, self.commit)?.changes;
        let mut others = Vec::new();
        for change in &mut changes {
            if change.after.is_some() && gone.contains(&change.path.as_bstr().to_owned()) {
                let gone = FileChange { after: None, ..change.clone() };
                change.before = None;
                others.push(gone);
            }
        }
        changes.extend(others);
        Ok(Moves::of(changes, |path| gone.contains(path)))
    }

    /// The renames in what is to come, of files that are renamed in the tree, too, or edited there.
    fn there(&self, here: &Moves) -> Result<Moves> {
        let mut wanted = BTreeSet::new();
        for path in self.paths.iter().copied() {
            if !is_file(self.from, path) || self.to.contains_key(path) {
                continue;
            }
            let is_edited = || -> Result<bool> {
                let now = self.worktree.file(&RepoPath::from_tree(path)?)?;
                Ok(now.is_some() && now != stored(self.repository, self.from, path)?)
            };
            // What cannot be read is said of it later.
            if here.clear.contains_key(path) || is_edited().unwrap_or(false) {
                wanted.insert(path);
            }
        }
        if wanted.is_empty() {
            return Ok(Moves::default());
        }
        let mut changes = Vec::new();
        for path in self.paths.iter().copied() {
            let [before, after] = [self.from, self.to].map(|side| is_file(side, path));
            if before != after && self.from.contains_key(path) != self.to.contains_key(path) {
                changes.push(FileChange {
                    path: RepoPath::from_tree(path)?,
                    before: before
                        .then(|| stored(self.repository, self.from, path))
                        .transpose()?
                        .flatten(),
                    after: after
                        .then(|| stored(self.repository, self.to, path))
                        .transpose()?
                        .flatten(),
                    origin: None,
                    snippets: Vec::new(),
                });
            }
        }
        Ok(Moves::of(changes, |path| wanted.contains(path)))
    }

    /// Whether the tree has another file at `path`, which is too little like the one of `from` to be its next state.
    fn is_another(&self, path: &BString) -> bool {
        let now = RepoPath::from_tree(path).and_then(|path| self.worktree.file(&path));
        // What cannot be read is said of it later.
        let (Ok(Some(now)), Ok(Some(before))) = (now, stored(self.repository, self.from, path))
        else {
            return false;
        };
        let (before, now) = (before.bytes.as_slice(), now.bytes.as_slice());
        before != now
            && (is_apart(before.len(), now.len(), RENAMED) || similarity(before, now) < RENAMED)
    }

    /// Whether the tree has anything at `path`.
    fn is_there(&self, path: &BString) -> bool {
        path.to_path().is_ok_and(|path| self.tree.join(path).symlink_metadata().is_ok())
    }
}

fn is_file(entries: &Entries, path: &BString) -> bool {
    entries.get(path).is_some_and(|(mode, _)| mode_of(*mode).is_some())
}

/// The file that `entries` have at `path`.
///
/// # Errors
/// `object_missing`.
pub(super) fn stored(
    repository: &Repository,
    entries: &Entries,
    path: &BString,
) -> Result<Option<File>> {
    let Some((mode, id)) = entries.get(path) else { return Ok(None) };
    let entry = Entry::new(id.to_string(), mode_of(*mode).unwrap_or_default());
    Ok(Some(File { bytes: repository.blob(&entry.id)?, mode: entry.file_mode() }))
}

/// Renames among changes.
#[derive(Default)]
struct Moves {
    /// Where a file is now.
    clear: BTreeMap<BString, BString>,
    /// Where it may be.
    unclear: BTreeMap<BString, Vec<String>>,
}

/// Most pairs of files whose likeness is compared with that of a rename; beyond it, only equal ones compete.
const MOST_PAIRS: usize = 10_000;

impl Moves {
    /// The renames among `changes` of the files that are `wanted`.
    fn of(mut changes: Vec<FileChange>, wanted: impl Fn(&BString) -> bool) -> Self {
        let mut moves = Self::default();
        name_origins(&mut changes);
        let gone: Vec<&FileChange> = changes.iter().filter(|it| it.after.is_none()).collect();
        let made: Vec<&FileChange> = changes.iter().filter(|it| it.before.is_none()).collect();
        let origin = |to: &FileChange| gone.iter().find(|it| to.origin.as_ref() == Some(&it.path));
        let renames: Vec<(&FileChange, &FileChange)> =
            made.iter().filter_map(|to| Some((*origin(to)?, *to))).collect();
        let is_large = renames.len() * (gone.len() + made.len()) > MOST_PAIRS;
        // As `name_origins` has it: what is most alike, then what has the same name.
        let score = |(from, to): (&FileChange, &FileChange)| {
            let (Some(before), Some(after)) = (&from.before, &to.after) else { return None };
            let (before, after) = (before.bytes.as_slice(), after.bytes.as_slice());
            let is_other = before != after && is_large;
            if is_other || is_apart(before.len(), after.len(), RENAMED) {
                return None;
            }
            Some((similarity(before, after), from.path.file_name() == to.path.file_name()))
        };
        for (from, to) in &renames {
            let path = from.path.as_bstr().to_owned();
            if !wanted(&path) {
                continue;
            }
            let own = score((from, to));
            // Another pair competes unless one of it belongs to what is more like it.
            let competes = |pair: (&FileChange, &FileChange)| {
                let of = |it: &&(&FileChange, &FileChange)| {
                    let is_one = it.0.path == pair.0.path || it.1.path == pair.1.path;
                    is_one && !(it.0.path == from.path && it.1.path == to.path)
                };
                let theirs = score(pair);
                theirs.is_some()
                    && theirs >= own
                    && renames.iter().filter(of).all(|it| score(*it) <= theirs)
            };
            let rivals: Vec<&&FileChange> =
                made.iter().filter(|it| it.path != to.path && competes((from, it))).collect();
            let is_shared = gone.iter().any(|it| it.path != from.path && competes((it, to)));
            if rivals.is_empty() && !is_shared {
                moves.clear.insert(path, to.path.as_bstr().to_owned());
                continue;
            }
            let names = rivals.into_iter().chain([to]).map(|it| it.path.display().to_string());
            moves.unclear.insert(path, names.collect());
        }
        moves
    }
}
