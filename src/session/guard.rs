//! The checkout before and after a shell command that runs in it: what the command wrote goes into the session's
//! tree, and is put back.
//!
//! Nobody can tell for certain who wrote a file. The command counts as its author where its text names the file, its
//! end was reported, and aye itself did not write the file meanwhile; whatever else has changed may be the person's,
//! and is only reported.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::{BString, ByteSlice as _};
use serde::{Deserialize, Serialize};

use super::named::names;
use super::staged::Staged;
use super::tree::{self, Base};
use super::untracked::{Lost, Untracked};
use super::{follow, read};
use crate::changeset::codes;
use crate::changeset::{File, RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::ordered::Ordered as _;
use crate::proposal::Entry;
use crate::repository::Repository;
use crate::repository::codes::FILTERED_FILE;
use crate::worktree::Worktree;

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
        let mut found = Found::default();
        let Some(top) = repository.work_dir() else { return Ok(found) };
        let now = Self::look(repository)?;
        let differs = ["diff-tree", "-r", "-z", "--no-renames", "--name-only"];
        let changed = tree::git(repository)?.args(differs).args([&self.commit, &now.commit]).run();
        let changed = match changed {
            // Nothing else leads to it, so that its loss is nothing to repair.
            Err(_) if read::index(repository, &self.commit).is_err() => {
                return Ok(Found { is_pruned: true, ..found });
            }
            changed => changed?,
        };
        let changed = changed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let changed = changed.map(BString::from);
        let untracked = self.untracked.changed(&now.untracked, &top);
        found.is_over_limit = self.untracked.is_too_many() || now.untracked.is_too_many();
        let shown_top = top.to_string_lossy();
        let is_named = |path: &BString| names(claim.command, &path.to_str_lossy(), &shown_top);
        let is_for_others = |path: &BString| {
            let names = |other: &String| names(other, &path.to_str_lossy(), &shown_top);
            !is_named(path) && (claim.is_late || claim.others.iter().any(names))
        };
        let (mut named, mut others) = (Vec::new(), Vec::new());
        let unmerged = self.staged.unmerged();
        // Commits, other branches and merges are seen in git, and are not taken back here.
        let is_same_state = self.head == now.head && unmerged == now.staged.unmerged();
        let mut staged = match is_same_state {
            true => self.staged.differing(&now.staged),
            false => BTreeSet::new(),
        };
        let inside = repository.at(&top)?;
        let worktree = inside.worktree()?;
        let decided = claim.decided;
        let is_decided = |path: &BString| decided.contains_key(path);
        let was = match decided.is_empty() {
            true => read::Entries::new(),
            false => read::entries(&read::index(repository, &self.commit)?),
        };
        let lost: BTreeSet<&BString> = untracked.lost.iter().map(|(path, _)| path).into_set();
        for path in changed.chain(untracked.new) {
            staged.remove(&path);
            if is_for_others(&path) || lost.contains(&path) {
                continue;
            }
            if let Some((before, after)) = decided.get(&path) {
                let is_alone = was.get(&path).map(|(_, id)| id.to_string()) == *before;
                if !is_alone || !is_as_written(&worktree, &path, after.as_deref()) {
                    let why = "was applied or undone meanwhile, and was edited as well";
                    found.left.push((path.to_string(), why.to_owned()));
                }
                continue;
            }
            // What was untracked and is not any more was staged, by whomever.
            let is_taken = is_named(&path)
                && is_same_state
                && !claim.is_late
                && !unmerged.contains(&path)
                && !self.untracked.has(&path);
            if is_taken { named.push(path) } else { others.push(path) }
        }
        let maybe = if claim.is_late {
            "changed after a command that names it, of which no end was reported"
        } else {
            "changed while the command ran"
        };
        found.left.extend(others.iter().map(|path| (path.to_string(), maybe.to_owned())));
        let is_others = |path: &BString| is_for_others(path) || is_decided(path);
        for (path, how) in untracked.lost.iter().filter(|(path, _)| !is_others(path)) {
            let by = match is_named(path) && !claim.is_late {
                true => " by the command; aye has no copy of what it held",
                false => "",
            };
            found
                .left
                .push((path.to_string(), format!("is not tracked, and was {}{by}", how.word())));
            // What the command does not name and is still there may be the person's own next save.
            if !claim.is_late && (*how == Lost::Removed || is_named(path)) {
                found.lost.push((path.to_string(), how.word().to_owned()));
            }
        }
        for (path, was) in &untracked.moved {
            if is_others(path) && is_others(was) {
                continue;
            }
            let why = format!("is not tracked, and was named {was}");
            found.left.push((path.to_string(), why));
            if !claim.is_late {
                found.lost.push((was.to_string(), format!("renamed to {path}")));
            }
        }
        staged.retain(|path| !is_others(path));
        if claim.is_late {
            return Ok(found);
        }
        let (of_command, others) = staged.into_iter().partition(is_named);
        self.unstage(repository, &now, (of_command, others), &mut found);
        if named.is_empty() {
            return Ok(found);
        }
        let mut files = Files::new();
        for path in std::mem::take(&mut named) {
            let place = RepoPath::from_tree(&path).and_then(|place| {
                let foreign = inside.foreign([&place])?.pop().flatten();
                foreign.map_or(Ok(place), |why| Err(Error::new(&FILTERED_FILE, why)))
            });
            let file = |place: &RepoPath| match worktree.file(place) {
                // What is in the directory is among the new files.
                Err(error) if error.is(&codes::FOLDER) => Ok(None),
                file => file,
            };
            match place.and_then(|place| Ok((file(&place)?, place))) {
                Ok((file, place)) => {
                    files.push((place, file));
                    named.push(path);
                }
                // A symlink, or what cannot be read.
                Err(error) => found.left.push((path.to_string(), error.message().to_owned())),
            }
        }
        let after = above(&self.commit, files)?;
        // What the command found in its files is where its edits start, and none of them.
        let ground = differing(repository, (claim.base, &self.commit), named.iter())?;
        if !ground.is_empty() {
            let base = above(claim.base, ground)?;
            found.kept = follow::follow(repository, tree, claim.base, &base)?.kept;
            found.base = Some(base);
        }
        // The files did not have what was put back: what this command has made of them comes later.
        let followed = follow::overrule(repository, tree, &self.commit, &after)?;
        let [from, to] = [&after, &self.commit].map(|commit| read::index(repository, commit));
        let (from, to) = (read::entries(&from?), read::entries(&to?));
        found.met = followed.met;
        let mut taken = Vec::new();
        // A file in the place of a directory comes after what was in it.
        named.sort_by_key(|path| to.contains_key(path));
        for path in named {
            let shown = path.to_string();
            if let Some((_, why)) = followed.kept.iter().find(|(kept, _)| *kept == shown) {
                found.left.push((shown, format!("is not in the session's work tree: {why}")));
                continue;
            }
            let put_back = || -> Result<bool> {
                let place = RepoPath::from_tree(&path)?;
                let (wrote, was) =
                    (stored(repository, &from, &path)?, stored(repository, &to, &path)?);
                // Whatever came in between is somebody else's.
                if worktree.file(&place)? != wrote {
                    return Ok(false);
                }
                match was {
                    Some(file) => worktree.write_stored(&place, &file)?,
                    None => drop(worktree.remove_file(&place)?),
                }
                Ok(true)
            };
            match put_back() {
                Ok(true) => taken.push(path),
                Ok(false) => found.left.push((shown, "was edited again since".to_owned())),
                Err(error) => found.left.push((shown, error.message().to_owned())),
            }
        }
        // Or the person's next commit has what the files do not show.
        if let Err(error) = self.staged.put_back(repository, &now.staged, &taken) {
            let why =
                format!("is as before, but what the command staged is not: {}", error.message());
            found.left.extend(taken.iter().map(|path| (path.to_string(), why.clone())));
        }
        found.taken.extend(taken.iter().map(ToString::to_string));
        found.back.extend(taken);
        Ok(found)
    }

    /// What is staged otherwise than before, of files that are as they were: the person's next commit
    /// would have what they do not show. What is `named` is as before again; all of it is said.
    fn unstage(
        &self,
        repository: &Repository,
        now: &Self,
        (named, others): (Vec<BString>, Vec<BString>),
        found: &mut Found,
    ) {
        let done = self.staged.put_back(repository, &now.staged, &named);
        let why = match &done {
            Ok(()) => {
                "was staged otherwise by the command; in the index it is as before".to_owned()
            }
            Err(error) => format!("was staged otherwise by the command: {}", error.message()),
        };
        found.left.extend(named.iter().map(|path| (path.to_string(), why.clone())));
        if done.is_ok() {
            found.back.extend(named);
        }
        const MAYBE: &str = "was staged otherwise while the command ran: git diff --cached";
        found.left.extend(others.iter().map(|path| (path.to_string(), MAYBE.to_owned())));
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

/// Whether the file `path` is the object `id`, or is not there if it is to be none.
fn is_as_written(worktree: &Worktree, path: &BString, id: Option<&str>) -> bool {
    let file = RepoPath::from_tree(path).and_then(|place| worktree.file(&place));
    let is_it = |bytes: &[u8], id: &str| {
        let id = gix::ObjectId::from_hex(id.as_bytes()).ok();
        id.is_some_and(|id| {
            let hash = gix::objs::compute_hash(id.kind(), gix::objs::Kind::Blob, bytes);
            hash.is_ok_and(|hash| hash == id)
        })
    };
    match (file, id) {
        (Ok(None), None) => true,
        (Ok(Some(file)), Some(id)) => is_it(&file.bytes, id),
        _ => false,
    }
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
