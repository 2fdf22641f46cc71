//! The checkout before and after a shell command that runs in it: what the command wrote goes into the session's
//! tree, and is put back.
//!
//! Nobody can tell for certain who wrote a file. The command counts as its author where its text names the file, its
//! end was reported, and aye itself did not write the file meanwhile; whatever else has changed may be the person's,
//! and is only reported.

mod comparison;
mod whose;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::BString;
use serde::{Deserialize, Serialize};

use self::comparison::Comparison;
use self::whose::Whose;
use super::read;
use super::staged::Staged;
use super::tree::{self, Base};
use super::untracked::Untracked;
use crate::changeset::{File, RepoPath};
use crate::error::Result;
use crate::proposal::Entry;
use crate::repository::Repository;

/// Files as they are; those that are `None` are gone.
pub type Files = Vec<(RepoPath, Option<File>)>;

/// What the decisions of this clone have written meanwhile, apply and undo: the objects that each file had before
/// the first of them, and after the last.
pub type Decided = BTreeMap<BString, (Option<String>, Option<String>)>;

/// The checkout before a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Before {
    /// The commit that is checked out, or the empty tree.
    head: String,
    /// A commit of the tracked files as they are.
    commit: String,
    /// Untracked files that git does not ignore.
    untracked: Untracked,
    /// What is staged.
    #[serde(default)]
    staged: Staged,
}

/// What became of the checkout.
#[derive(Debug, Default)]
pub struct Found {
    /// Files that the command wrote: they are in the session's tree, and as before in the checkout. Untrusted.
    pub taken: Vec<String>,
    /// Files in the session's tree in which earlier edits have made way for what the command wrote. Untrusted.
    pub met: Vec<String>,
    /// Those that are taken, and those that are as before in the index alone.
    pub back: BTreeSet<BString>,
    /// Files that have changed and stay as they are, and why, in words. Untrusted.
    pub left: Vec<(String, String)>,
    /// Those that git does not track, that are not there any more or that the command names, and what became of
    /// them: nobody has a copy.
    pub lost: Vec<(String, String)>,
    /// The commit that the session's tree is compared with from now on, where the command has found its files
    /// otherwise; the tree has followed.
    pub base: Option<String>,
    /// Files in which edits in the session's tree stand where those had others, and why. Untrusted.
    pub kept: Vec<(String, String)>,
    /// There are too many untracked files to compare them.
    pub is_over_limit: bool,
    /// Git has pruned what the checkout was, and nothing can be compared.
    pub is_pruned: bool,
}

/// Which of what has changed is to be the work of a command.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The command.
    pub command: &'a str,
    /// Others that may still run: what they name, and the command does not, is looked at when they have ended.
    pub others: &'a [String],
    /// Nobody has reported its end: it may have ended long ago, or never have begun. Nothing is put back.
    pub is_late: bool,
    /// What aye itself has written since.
    pub decided: &'a Decided,
    /// The commit that the session's tree is compared with.
    pub base: &'a str,
}

impl Before {
    /// Looks at the checkout of `repository`.
    ///
    /// # Errors
    /// As [`tree::base`] and [`tree::head`]; those of git.
    pub fn look(repository: &Repository) -> Result<Self> {
        let commit = tree::base(repository, Base::Unsettled, &[])?;
        let head = tree::head(repository)?;
        let staged = Staged::of(repository, &head)?;
        Ok(Self { head, commit, untracked: Untracked::of(repository)?, staged })
    }

    /// Whether it is what [`Before::look`] makes. It may have been written by anybody.
    pub fn is_sound(&self) -> bool {
        [&self.commit, &self.head].iter().all(|id| tree::is_id(id)) && self.staged.is_sound()
    }

    /// Has of the files `paths`, which were put back, what the checkout was before another command: what that one had
    /// written of them until then is nobody's edit. `above` is as for [`Before::compare`].
    ///
    /// # Errors
    /// `object_missing`, and those of the objects.
    pub fn take(
        &mut self,
        repository: &Repository,
        earlier: &Self,
        paths: &BTreeSet<BString>,
        above: impl Fn(&str, Files) -> Result<String>,
    ) -> Result<()> {
        let files = differing(repository, (&self.commit, &earlier.commit), paths.iter())?;
        if !files.is_empty() {
            self.commit = above(&self.commit, files)?;
        }
        self.staged.take(&earlier.staged, paths);
        self.untracked.forget(paths);
        Ok(())
    }

    /// Compares the checkout of `repository` with what it was, after a command has run. What its `claim` names goes
    /// into the session's `tree`. `above` makes a commit above another with some files as they are given.
    ///
    /// # Errors
    /// Those of git, of the objects and of the file system.
    pub fn compare(
        &self,
        repository: &Repository,
        tree: &Path,
        claim: Claim<'_>,
        above: impl Fn(&str, Files) -> Result<String>,
    ) -> Result<Found> {
        let Some(top) = repository.work_dir() else { return Ok(Found::default()) };
        let now = Self::look(repository)?;
        let Some(changed) = self.changed(repository, &now)? else {
            return Ok(Found { is_pruned: true, ..Found::default() });
        };
        let inside = repository.at(&top)?;
        let mut comparison = Comparison {
            repository,
            inside: &inside,
            worktree: inside.worktree()?,
            whose: Whose::new(claim, &top),
            before: self,
            now: &now,
            staged: self.staged_otherwise(&now),
            found: Found::default(),
        };
        let untracked = self.untracked.changed(&now.untracked, &top);
        let named = comparison.sort(changed, &untracked)?;
        comparison.say_lost(&untracked);
        if !claim.is_late {
            comparison.unstage();
            comparison.take(tree, named, &above)?;
        }
        Ok(comparison.found)
    }

    /// The tracked files that are otherwise in `now`, or nothing where git has pruned what they were.
    fn changed(&self, repository: &Repository, now: &Self) -> Result<Option<Vec<BString>>> {
        let differs = ["diff-tree", "-r", "-z", "--no-renames", "--name-only"];
        let changed = tree::git(repository)?.args(differs).args([&self.commit, &now.commit]).run();
        let changed = match changed {
            // Nothing else leads to it, so that its loss is nothing to repair.
            Err(_) if read::index(repository, &self.commit).is_err() => return Ok(None),
            changed => changed?,
        };
        let changed = changed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        Ok(Some(changed.map(BString::from).collect()))
    }

    /// Whether nobody has committed, changed branches or merged until `now`: what does is seen in git, and is not
    /// taken back here.
    fn is_same_state(&self, now: &Self) -> bool {
        self.head == now.head && self.staged.unmerged() == now.staged.unmerged()
    }

    /// The files that are staged otherwise in `now`, in the same state.
    fn staged_otherwise(&self, now: &Self) -> BTreeSet<BString> {
        match self.is_same_state(now) {
            true => self.staged.differing(&now.staged),
            false => BTreeSet::new(),
        }
    }
}

/// Those of `paths` that are not the same in the two commits, as they are in the second.
fn differing<'p>(
    repository: &Repository,
    commits: (&str, &str),
    paths: impl Iterator<Item = &'p BString>,
) -> Result<Files> {
    let [from, to] = [commits.0, commits.1].map(|id| read::index(repository, id));
    let (from, to) = (read::entries(&from?), read::entries(&to?));
    paths
        .filter(|path| from.get(*path) != to.get(*path))
        .map(|path| Ok((RepoPath::from_tree(path)?, stored(repository, &to, path)?)))
        .collect()
}

/// What git stores of the file `path`, of which `entries` are.
fn stored(
    repository: &Repository,
    entries: &read::Entries,
    path: &BString,
) -> Result<Option<File>> {
    let Some((mode, id)) = entries.get(path) else { return Ok(None) };
    let entry = Entry::new(id.to_string(), read::mode_of(*mode).unwrap_or_default());
    Ok(Some(File { bytes: repository.blob(&entry.id)?, mode: entry.file_mode() }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_a_commit_is_not_sound() {
        let before = Before {
            head: "a".repeat(40),
            commit: "b".repeat(40),
            untracked: Untracked::default(),
            staged: Staged::default(),
        };
        assert!(before.is_sound());
        assert!(!Before { commit: "--help".to_owned(), ..before }.is_sound());
    }
}
