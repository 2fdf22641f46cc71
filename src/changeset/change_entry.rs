//! The files of a changeset as a person sees them: a rename is one entry.

use std::collections::BTreeMap;

use super::{FileChange, RepoPath, file::File, hunks, moves};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EntryKind {
    Added,
    Deleted,
    Modified,
    /// It moves, and may change.
    Renamed,
    /// New file with the content of another, perhaps changed.
    Copied,
}

impl EntryKind {
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Deleted => 'D',
            Self::Modified => 'M',
            Self::Renamed => 'R',
            Self::Copied => 'C',
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Self::Added => "new file",
            Self::Deleted => "deleted",
            Self::Modified => "modified",
            Self::Renamed => "renamed",
            Self::Copied => "copied",
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub struct ChangeEntry<'a> {
    pub kind: EntryKind,
    /// Equals `path` unless the file moves or is copied.
    pub old_path: &'a RepoPath,
    pub path: &'a RepoPath,
    pub before: Option<&'a File>,
    pub after: Option<&'a File>,
}

impl<'a> ChangeEntry<'a> {
    pub fn old_bytes(&self) -> &'a [u8] {
        self.before.map_or(&[], |file| &file.bytes)
    }

    pub fn new_bytes(&self) -> &'a [u8] {
        self.after.map_or(&[], |file| &file.bytes)
    }

    /// True if a side is binary by git's test.
    pub fn is_binary(&self) -> bool {
        self.before.is_some_and(File::is_binary) || self.after.is_some_and(File::is_binary)
    }

    /// True if too large for a line diff by default ([`hunks::is_large`]).
    pub fn is_large(&self) -> bool {
        hunks::is_large(self.old_bytes(), self.new_bytes())
    }

    /// True if shown without lines.
    pub fn is_whole(&self) -> bool {
        self.is_binary() || self.is_large()
    }

    /// True if bytes change, not only mode or path.
    pub fn changes_content(&self) -> bool {
        self.old_bytes() != self.new_bytes()
    }

    /// In percent ([`moves::similarity`]). `None` unless moved or copied from a source at hand.
    pub fn similarity(&self) -> Option<u8> {
        let is_it =
            matches!(self.kind, EntryKind::Renamed | EntryKind::Copied) && self.before.is_some();
        is_it.then(|| moves::similarity(self.old_bytes(), self.new_bytes()))
    }

    /// Zero for a binary or large file.
    pub fn counts(&self) -> hunks::Counts {
        if self.is_whole() {
            return hunks::Counts::default();
        }
        let bytes = [self.before, self.after].map(|file| file.map(|file| file.bytes.as_slice()));
        hunks::measure(bytes[0], bytes[1]).0
    }
}

/// Pairs deletions and creations that are renames, in the order of `changes`; a rename is at its
/// new path. An unchanged file is only the source of its copies.
pub fn entries(changes: &[FileChange]) -> Vec<ChangeEntry<'_>> {
    let by_path: BTreeMap<&RepoPath, &FileChange> = match changes.iter().any(|c| c.origin.is_some())
    {
        true => changes.iter().map(|change| (&change.path, change)).collect(),
        false => BTreeMap::new(),
    };
    let origin_of = |change: &FileChange| match change.before {
        None => change.origin.as_ref().and_then(|origin| by_path.get(origin).copied()),
        Some(_) => None,
    };
    // The first creation that names a deleted path is the move; others are copies.
    let mut moved: BTreeMap<&RepoPath, &RepoPath> = BTreeMap::new();
    for change in changes {
        if let Some(source) = origin_of(change).filter(|source| source.after.is_none()) {
            moved.entry(&source.path).or_insert(&change.path);
        }
    }
    let is_copied = |path: &RepoPath| changes.iter().any(|c| c.origin.as_ref() == Some(path));
    let mut out = Vec::with_capacity(changes.len());
    for change in changes {
        let FileChange { path, before, after, origin, .. } = change;
        let (before, after) = (before.as_ref(), after.as_ref());
        let same = |kind| ChangeEntry { kind, old_path: path, path, before, after };
        match (before, after) {
            (None, _) => match (origin, origin_of(change)) {
                (None, _) => out.push(same(EntryKind::Added)),
                (Some(old_path), source) => {
                    let renames = moved.get(old_path) == Some(&path);
                    out.push(ChangeEntry {
                        kind: if renames { EntryKind::Renamed } else { EntryKind::Copied },
                        old_path,
                        path,
                        // A copy starts from its source, if at hand.
                        before: source.and_then(|source| source.before.as_ref()),
                        after,
                    });
                }
            },
            (Some(_), None) if moved.contains_key(path) => {}
            (Some(_), None) => out.push(same(EntryKind::Deleted)),
            (before, after) if before == after && is_copied(path) => {}
            (Some(_), Some(_)) => out.push(same(EntryKind::Modified)),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(path: &str, before: Option<&str>, after: Option<&str>, origin: &str) -> FileChange {
        FileChange {
            path: RepoPath::new(path).unwrap(),
            before: before.map(File::regular),
            after: after.map(File::regular),
            origin: RepoPath::new(origin).ok(),
            snippets: Vec::new(),
        }
    }

    #[test]
    fn the_first_taker_of_a_deleted_path_renames_it_and_the_next_copies_it() {
        let changes = [
            change("b", None, Some("x\n"), "old"),
            change("c", None, Some("x\ny\n"), "old"),
            change("d", None, Some("z\n"), "elsewhere"),
            change("old", Some("x\n"), None, ""),
            change("plain", Some("x\n"), Some("y\n"), ""),
            change("e", None, Some("x\ny\n"), "template"),
            change("template", Some("x\n"), Some("x\n"), ""),
        ];
        let seen: Vec<String> = entries(&changes)
            .iter()
            .map(|e| {
                let (from, to) = (e.old_path.display(), e.path.display());
                format!("{} {from} {to} {}", e.kind.letter(), e.counts())
            })
            .collect();
        assert_eq!(
            seen,
            [
                "R old b +0 −0", "C old c +1 −0", "C elsewhere d +1 −0", "M plain plain +1 −1",
                "C template e +1 −0"
            ]
        );
    }
}
