//! Files renamed in a session's tree or in the commits it follows. As in git's merge, a change goes
//! to the renamed file.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::{BString, ByteSlice as _};

use super::read::{self, Entries, mode_of};
use crate::changeset::moves::{RENAMED, name_origins, similarity};
use crate::changeset::{File, FileChange, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::proposal::Entry;
use crate::repository::Repository;
use crate::worktree::Worktree;

/// The change from `from` to `to` applies to `now`.
#[derive(Clone, Debug)]
pub(super) struct FileMove {
    pub from: BString,
    pub to: BString,
    pub now: BString,
    /// Resulting path.
    pub at: BString,
}

pub(super) struct Sides<'a> {
    pub repository: &'a Repository,
    pub tree: &'a Path,
    pub worktree: &'a Worktree,
    /// The commit of `from`.
    pub commit: &'a str,
    pub from: &'a Entries,
    pub to: &'a Entries,
    /// Paths that differ.
    pub paths: &'a BTreeSet<&'a BString>,
}

/// Old name to new name.
type Names = BTreeMap<BString, BString>;

impl Sides<'_> {
    /// By the name in `from`, or in `to` if new.
    pub fn ways(&self) -> Result<Vec<FileMove>> {
        let (here, there) = (self.here()?, self.there()?);
        let way = |path: &BString| {
            let to = there.get(path).unwrap_or(path);
            let now = here.get(path).unwrap_or(path);
            // The tree keeps its own name, unless another file takes it.
            let at = if now == path { to } else { now };
            let is_clear = if now == path {
                to == path || !self.is_there(to) && !self.is_another(path)
            } else {
                to == at || !(self.to.contains_key(at) || to != path && self.is_there(to))
            };
            let [from, to, now, at] = if is_clear { [path, to, now, at] } else { [path; 4] };
            FileMove { from: from.clone(), to: to.clone(), now: now.clone(), at: at.clone() }
        };
        let mut ways: Vec<FileMove> = self.paths.iter().map(|path| way(path)).collect();
        let taken: BTreeSet<BString> =
            ways.iter().filter(|way| way.from != way.to).map(|way| way.to.clone()).collect();
        ways.retain(|way| way.from != way.to || !taken.contains(&way.from));
        Ok(ways)
    }

    /// Reads the tree only if a file is gone.
    fn here(&self) -> Result<Names> {
        let is_gone = |path: &&BString| {
            is_file(self.from, path)
                && !self.is_there(path)
                && !self.repository.is_excluded(&path.to_string())
        };
        let gone: BTreeSet<&BString> = self.paths.iter().copied().filter(is_gone).collect();
        if gone.is_empty() {
            return Ok(Names::new());
        }
        let changes = read::read_changes(self.repository, self.tree, None, self.commit)?.changes;
        Ok(names(changes, |path| gone.contains(path)))
    }

    /// Renames between the commits.
    fn there(&self) -> Result<Names> {
        let mut changes = Vec::new();
        for path in self.paths.iter().copied() {
            let is_one = self.from.contains_key(path) != self.to.contains_key(path);
            if is_one && (is_file(self.from, path) || is_file(self.to, path)) {
                changes.push(FileChange {
                    path: RepoPath::from_tree(path)?,
                    before: stored(self.repository, self.from, path)?,
                    after: stored(self.repository, self.to, path)?,
                    origin: None,
                    snippets: Vec::new(),
                });
            }
        }
        Ok(names(changes, |_| true))
    }

    /// True if the file at `path` is too different from the one in `from`.
    fn is_another(&self, path: &BString) -> bool {
        let now = RepoPath::from_tree(path).and_then(|path| self.worktree.file(&path));
        // A later step reports unreadable files.
        match (now, stored(self.repository, self.from, path)) {
            (Ok(Some(now)), Ok(Some(before))) => similarity(&before.bytes, &now.bytes) < RENAMED,
            _ => false,
        }
    }

    fn is_there(&self, path: &BString) -> bool {
        path.to_path().is_ok_and(|path| self.tree.join(path).symlink_metadata().is_ok())
    }
}

fn names(mut changes: Vec<FileChange>, wanted: impl Fn(&BString) -> bool) -> Names {
    name_origins(&mut changes);
    let gone: BTreeSet<RepoPath> =
        changes.iter().filter(|it| it.after.is_none()).map(|it| it.path.clone()).collect();
    let renames = changes.into_iter().filter_map(|made| {
        let origin = made.origin.filter(|origin| gone.contains(origin))?;
        Some((origin.as_bstr().to_owned(), made.path.as_bstr().to_owned()))
    });
    renames.filter(|(from, _)| wanted(from)).collect()
}

fn is_file(entries: &Entries, path: &BString) -> bool {
    entries.get(path).is_some_and(|(mode, _)| mode_of(*mode).is_some())
}

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
