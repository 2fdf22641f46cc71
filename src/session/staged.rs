//! What is staged in the checkout before a command, and the index as it was, once the files are again.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice as _};
use serde::{Deserialize, Serialize};

use super::tree;
use crate::error::Result;
use crate::repository::Repository;

/// Mode and object of a path, in git's spelling; the mode `000000` where there is none.
type Entry = (String, String);

/// The paths whose entry in the index is not that of HEAD.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Staged {
    /// What HEAD has of each, and what the index has.
    entries: Vec<(BString, Entry, Entry)>,
    /// Those that a merge has left unmerged.
    unmerged: BTreeSet<BString>,
}

impl Staged {
    /// What is staged in the checkout of `repository` beside the commit `head`.
    ///
    /// # Errors
    /// Those of git.
    pub fn of(repository: &Repository, head: &str) -> Result<Self> {
        let Some(top) = repository.work_dir() else { return Ok(Self::default()) };
        let args = ["diff-index", "--cached", "-z", "--raw", "--no-renames", "--no-abbrev"];
        let raw = tree::git(repository)?.directory(top).args(args);
        // What is only meant to be added has nothing that could be committed.
        let raw = raw.args(["--ita-invisible-in-index", "--ignore-submodules=none", head]).run()?;
        let mut fields = raw.split(|byte| *byte == 0);
        let mut staged = Self::default();
        while let (Some(facts), Some(path)) = (fields.next(), fields.next()) {
            // `:100644 100755 <id> <id> M`
            let facts = facts.to_str_lossy();
            let words: Vec<&str> = facts.trim_start_matches(':').split(' ').collect();
            let entry = |mode: &str, id: &str| (mode.to_owned(), id.to_owned());
            match words[..] {
                [.., "U"] => drop(staged.unmerged.insert(path.into())),
                [from, to, old, new, _] => {
                    staged.entries.push((path.into(), entry(from, old), entry(to, new)));
                }
                _ => {}
            }
        }
        Ok(staged)
    }

    /// The paths that a merge has left unmerged.
    pub fn unmerged(&self) -> &BTreeSet<BString> {
        &self.unmerged
    }

    /// Has of `paths` what `other` has.
    pub fn take(&mut self, other: &Self, paths: &BTreeSet<BString>) {
        self.entries.retain(|(path, ..)| !paths.contains(path));
        let taken = other.entries.iter().filter(|(path, ..)| paths.contains(path));
        self.entries.extend(taken.cloned());
    }

    /// Whether it is what [`Staged::of`] makes. It may have been written by anybody.
    pub fn is_sound(&self) -> bool {
        let is_entry = |(mode, id): &Entry| {
            mode.len() == 6
                && mode.bytes().all(|byte| (b'0'..b'8').contains(&byte))
                && tree::is_id(id)
        };
        let is_path = |path: &BString| !path.is_empty() && !path.contains(&0);
        self.unmerged.iter().all(is_path)
            && self
                .entries
                .iter()
                .all(|(path, head, index)| is_path(path) && is_entry(head) && is_entry(index))
    }

    /// The paths that the index, which is `now`, has otherwise than before.
    pub fn differing(&self, now: &Self) -> BTreeSet<BString> {
        let [before, now] = [self, now].map(|staged| {
            let entries = staged.entries.iter().map(|(path, _, index)| (path, index));
            entries.collect::<BTreeSet<_>>()
        });
        before.symmetric_difference(&now).map(|(path, _)| (*path).clone()).collect()
    }

    /// Gives the index, which is `now`, the entries again that it had of `paths`.
    ///
    /// # Errors
    /// Those of git, as where another process holds the index.
    pub fn put_back(&self, repository: &Repository, now: &Self, paths: &[BString]) -> Result<()> {
        let (mut gone, mut put) = (Vec::new(), Vec::new());
        let [before, now] = [self, now].map(|staged| {
            let entries = staged.entries.iter();
            entries.map(|(path, head, index)| (path, (head, index))).collect::<BTreeMap<_, _>>()
        });
        for path in paths {
            let (mode, id) = match (before.get(path), now.get(path)) {
                (Some((_, was)), Some((_, is))) if was == is => continue,
                (Some((_, was)), _) => was,
                (None, Some((head, _))) => head,
                (None, None) => continue,
            };
            let lines = if mode == "000000" { &mut gone } else { &mut put };
            lines.extend_from_slice(format!("{mode} {id}\t").as_bytes());
            lines.extend_from_slice(path);
            lines.push(0);
        }
        // A file in the place of a directory comes after what was in it.
        gone.extend_from_slice(&put);
        if gone.is_empty() {
            return Ok(());
        }
        let args = ["update-index", "-z", "--index-info"];
        tree::git(repository)?.args(args).stdin(gone).run().map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_git_would_not_print_is_not_read() {
        let entry = |mode: &str, id: &str| (mode.to_owned(), id.to_owned());
        let staged = |path: &str, index: Entry| {
            let entries = vec![(BString::from(path), entry("000000", &"0".repeat(40)), index)];
            Staged { entries, ..Staged::default() }
        };
        assert!(staged("a", entry("100644", &"a".repeat(40))).is_sound());
        for (path, mode, id) in [
            ("", "100644", "a".repeat(40)),
            ("a\0b", "100644", "a".repeat(40)),
            ("a", "100644 ", "a".repeat(40)),
            ("a", "10064x", "a".repeat(40)),
            ("a", "100644", "HEAD".to_owned()),
        ] {
            assert!(!staged(path, entry(mode, &id)).is_sound(), "{path:?} {mode} {id}");
        }
    }
}
