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
use super::{follow, read};
use crate::changeset::{File, RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::proposal::Entry;
use crate::repository::Repository;

/// Untracked files that are compared, at most; of a checkout with more of them none is.
const MOST: usize = 20_000;

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
    untracked: BTreeSet<BString>,
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
        Ok(Self { head, commit, untracked: untracked(repository)?, staged })
    }

    /// Its bytes.
    ///
    /// # Errors
    /// None that a caller can bring about.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::bug(error.to_string()))
    }

    /// Reads it; `None` for what is not one.
    pub fn read(bytes: &[u8]) -> Option<Self> {
        let before: Self = serde_json::from_slice(bytes).ok()?;
        let ids = [&before.commit, &before.head];
        let is_sound = ids.iter().all(|id| tree::is_id(id)) && before.staged.is_sound();
        is_sound.then_some(before)
    }

    /// Compares the checkout of `repository` with what it was, after `command` has run. What the command names goes
    /// into the session's `tree`. `above` makes a commit above another with some files as they are given.
    ///
    /// # Errors
    /// Those of git, of the objects and of the file system.
    pub fn compare(
        &self,
        repository: &Repository,
        tree: &Path,
        command: &str,
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
        let new = now.untracked.difference(&self.untracked).cloned();
        let is_known = |path: &BString| self.untracked.contains(path);
        let (mut named, mut others) = (Vec::new(), Vec::new());
        let mut staged = match self.head == now.head {
            true => self.staged.differing(&now.staged),
            false => BTreeSet::new(),
        };
        for path in changed.chain(new) {
            staged.remove(&path);
            // What was untracked and is not any more was staged, by whomever.
            let is_named = names(command, &path.to_str_lossy()) && !is_known(&path);
            if is_named { named.push(path) } else { others.push(path) }
        }
        if self.head != now.head {
            // Commits and other branches are seen in git, and are not taken back here.
            others.append(&mut named);
        }
        const MAYBE: &str = "changed while the command ran";
        found.left.extend(others.iter().map(|path| (path.to_string(), MAYBE.to_owned())));
        self.unstage(repository, &now, command, staged, &mut found);
        if named.is_empty() {
            return Ok(found);
        }
        let inside = repository.at(&top)?;
        let worktree = inside.worktree()?;
        let mut files = Files::new();
        for path in std::mem::take(&mut named) {
            let place = RepoPath::from_tree(&path);
            match place.and_then(|place| Ok((worktree.file(&place)?, place))) {
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

fn untracked(repository: &Repository) -> Result<BTreeSet<BString>> {
    let args = ["ls-files", "-z", "--others", "--exclude-standard"];
    let Some(top) = repository.work_dir() else { return Ok(BTreeSet::new()) };
    let list = tree::git(repository)?.directory(top).args(args).run()?;
    let paths = list.split(|byte| *byte == 0).filter(|path| !path.is_empty());
    let paths: BTreeSet<BString> = paths.take(MOST + 1).map(BString::from).collect();
    Ok(if paths.len() > MOST { BTreeSet::new() } else { paths })
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
    fn what_is_not_a_record_is_none() {
        let before = Before {
            head: "a".repeat(40),
            commit: "b".repeat(40),
            untracked: [BString::from("x")].into(),
            staged: Staged::default(),
        };
        assert_eq!(Before::read(&before.to_bytes().unwrap()), Some(before.clone()));
        let other = Before { commit: "--help".to_owned(), ..before };
        assert_eq!(Before::read(&other.to_bytes().unwrap()), None);
        assert_eq!(Before::read(b"{"), None);
    }
}
