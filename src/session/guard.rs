//! The checkout before and after a shell command that runs in it: what the command wrote goes into the session's
//! tree, and is put back.
//!
//! Nobody can tell for certain who wrote a file. The command counts as its author where its text names the file;
//! whatever else has changed meanwhile may be the person's, and is only reported.

use std::collections::BTreeSet;
use std::path::Path;

use bstr::{BString, ByteSlice as _};
use serde::{Deserialize, Serialize};

use super::staged::Staged;
use super::tree::{self, Base};
use super::untracked::Untracked;
use super::{follow, read};
use crate::changeset::codes;
use crate::changeset::{File, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::proposal::Entry;
use crate::repository::Repository;

/// Files as they are; those that are `None` are gone.
pub type Files = Vec<(RepoPath, Option<File>)>;

/// The checkout before a command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Before {
    /// The commit that is checked out.
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
    /// Files that have changed and stay as they are, and why, in words. Untrusted.
    pub left: Vec<(String, String)>,
    /// Those among them that git does not track, that the command names, and of which nobody has a copy.
    pub lost: Vec<(String, String)>,
    /// There are too many untracked files to compare them.
    pub is_over_limit: bool,
}

/// Which of what has changed is to be the work of a command.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The command.
    pub command: &'a str,
    /// Others that may still run: what they name, and the command does not, is looked at when they have ended.
    pub others: &'a [String],
    /// Nothing is put back any more of what has changed since: the command may have ended long ago.
    pub is_late: bool,
}

impl Before {
    /// Looks at the checkout of `repository`.
    ///
    /// # Errors
    /// As [`tree::base`]; those of git.
    pub fn look(repository: &Repository) -> Result<Self> {
        let commit = tree::base(repository, Base::Worktree)?;
        let head = tree::base(repository, Base::Head)?;
        let staged = Staged::of(repository, &head)?;
        Ok(Self { head, commit, untracked: Untracked::of(repository)?, staged })
    }

    /// Whether it is what [`Before::look`] makes. It may have been written by anybody.
    pub fn is_sound(&self) -> bool {
        [&self.commit, &self.head].iter().all(|id| tree::is_id(id)) && self.staged.is_sound()
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
        above: impl FnOnce(&str, Files) -> Result<String>,
    ) -> Result<Found> {
        let mut found = Found::default();
        let Some(top) = repository.work_dir() else { return Ok(found) };
        let now = Self::look(repository)?;
        let differs = ["diff-tree", "-r", "-z", "--no-renames", "--name-only"];
        let changed =
            tree::git(repository)?.args(differs).args([&self.commit, &now.commit]).run()?;
        let changed = changed.split(|byte| *byte == 0).filter(|path| !path.is_empty());
        let changed = changed.map(BString::from);
        let untracked = self.untracked.changed(&now.untracked, &top);
        found.is_over_limit = self.untracked.is_too_many() || now.untracked.is_too_many();
        let is_named = |path: &BString| names(claim.command, &path.to_str_lossy());
        let is_for_others = |path: &BString| {
            let names = |other: &String| names(other, &path.to_str_lossy());
            !is_named(path) && (claim.is_late || claim.others.iter().any(names))
        };
        let (mut named, mut others) = (Vec::new(), Vec::new());
        let mut staged = match self.head == now.head {
            true => self.staged.differing(&now.staged),
            false => BTreeSet::new(),
        };
        let lost: BTreeSet<&BString> = untracked.lost.iter().map(|(path, _)| path).collect();
        for path in changed.chain(untracked.new) {
            staged.remove(&path);
            if is_for_others(&path) || lost.contains(&path) {
                continue;
            }
            // What was untracked and is not any more was staged, by whomever.
            let is_taken = is_named(&path) && !self.untracked.has(&path) && !claim.is_late;
            if is_taken { named.push(path) } else { others.push(path) }
        }
        if self.head != now.head {
            // Commits and other branches are seen in git, and are not taken back here.
            others.append(&mut named);
        }
        let maybe = if claim.is_late {
            "changed after a command that names it, of which no end was reported"
        } else {
            "changed while the command ran"
        };
        found.left.extend(others.iter().map(|path| (path.to_string(), maybe.to_owned())));
        for (path, how) in untracked.lost.iter().filter(|(path, _)| !is_for_others(path)) {
            if is_named(path) && !claim.is_late {
                let why = format!(
                    "is not tracked, and was {how} by the command; aye has no copy of what it held"
                );
                found.left.push((path.to_string(), why));
                found.lost.push((path.to_string(), (*how).to_owned()));
            } else {
                found.left.push((path.to_string(), format!("is not tracked, and was {how}")));
            }
        }
        for (path, was) in untracked.moved.iter().filter(|(path, _)| !is_for_others(path)) {
            let why = format!("is not tracked, and was named {was}");
            found.left.push((path.to_string(), why));
        }
        staged.retain(|path| !is_for_others(path));
        if claim.is_late {
            return Ok(found);
        }
        self.unstage(repository, &now, claim.command, staged, &mut found);
        if named.is_empty() {
            return Ok(found);
        }
        let inside = repository.at(&top)?;
        let worktree = inside.worktree()?;
        let mut files = Files::new();
        for path in std::mem::take(&mut named) {
            let place = RepoPath::from_tree(&path);
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
        let followed = follow::follow(repository, tree, &self.commit, &after)?;
        let [from, to] = [&after, &self.commit].map(|commit| read::index(repository, commit));
        let (from, to) = (read::entries(&from?), read::entries(&to?));
        let stored = |entries: &read::Entries, path: &BString| -> Result<Option<File>> {
            let Some((mode, id)) = entries.get(path) else { return Ok(None) };
            let entry = Entry::new(id.to_string(), read::mode_of(*mode).unwrap_or_default());
            Ok(Some(File { bytes: repository.blob(&entry.id)?, mode: entry.file_mode() }))
        };
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
                let (wrote, was) = (stored(&from, &path)?, stored(&to, &path)?);
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
        found.taken.extend(taken.into_iter().map(|path| path.to_string()));
        Ok(found)
    }

    /// What is staged otherwise than before, of `staged`, files that are as they were: the person's next commit
    /// would have what they do not show. What `command` names is as before again; all of it is said.
    fn unstage(
        &self,
        repository: &Repository,
        now: &Self,
        command: &str,
        staged: BTreeSet<BString>,
        found: &mut Found,
    ) {
        let (named, others): (Vec<BString>, Vec<BString>) =
            staged.into_iter().partition(|path| names(command, &path.to_str_lossy()));
        let why = match self.staged.put_back(repository, &now.staged, &named) {
            Ok(()) => {
                "was staged otherwise by the command; in the index it is as before".to_owned()
            }
            Err(error) => format!("was staged otherwise by the command: {}", error.message()),
        };
        found.left.extend(named.iter().map(|path| (path.to_string(), why.clone())));
        const MAYBE: &str = "was staged otherwise while the command ran: git diff --cached";
        found.left.extend(others.iter().map(|path| (path.to_string(), MAYBE.to_owned())));
    }
}

/// Whether `command` names the file `path`: by its last name, as a word of its own.
fn names(command: &str, path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    !name.is_empty()
        && command.match_indices(name).any(|(at, _)| {
            let (before, after) = (&command[..at], &command[at + name.len()..]);
            !before.chars().next_back().is_some_and(is_part) && !after.starts_with(is_part)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_names_a_file_by_its_last_name_as_a_word() {
        for command in
            ["echo x >b.txt", "sed -i s/a/b/ ./src/b.txt", "cp a 'b.txt'", "x>/r/src/b.txt;"]
        {
            assert!(names(command, "src/b.txt"), "{command}");
        }
        for command in
            ["make", "echo x >ab.txt", "cat b.txt.bak", "cat b-txt", "prettier --write ."]
        {
            assert!(!names(command, "src/b.txt"), "{command}");
        }
    }

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
