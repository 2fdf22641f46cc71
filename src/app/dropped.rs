//! Changes that the next revision of a proposal drops.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Serialize;

use crate::changeset::hunks::Diff;
use crate::changeset::{Changeset, FileChange, anchor};

/// Changes to one file that are no longer made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "DroppedItem")]
pub struct Dropped {
    /// The file.
    pub file_path: String,
    /// The hunks, without context, as in a unified diff: `@@ -1 +1 @@`; none if the whole file is
    /// no longer in the proposal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub hunks: Vec<String>,
}

/// Files and hunks of `earlier` that `later` does not replace. Hunks whose lines have changed
/// meanwhile are omitted.
pub fn dropped(earlier: &[FileChange], later: &Changeset) -> Vec<Dropped> {
    let of = |change: &FileChange| {
        let is_of = |later: &&FileChange| {
            later.path == change.path || later.origin.as_ref() == Some(&change.path)
        };
        let hunks = match later.changes().iter().find(is_of) {
            Some(later) => hunks(change, later),
            None => Some(Vec::new()),
        };
        hunks.map(|hunks| Dropped { file_path: change.path.display().to_string(), hunks })
    };
    earlier.iter().filter_map(of).collect()
}

/// `None` if all hunks are in `later`.
fn hunks(earlier: &FileChange, later: &FileChange) -> Option<Vec<String>> {
    let text = |change: &FileChange| {
        let sides = change.before.clone().zip(change.after.clone());
        sides.filter(|(before, after)| !before.is_binary() && !after.is_binary())
    };
    let ((old, had), (new, has)) = (text(earlier)?, text(later)?);
    let (had, has) = (Diff::new(&*old.bytes, &*had.bytes), Diff::new(&*new.bytes, &*has.bytes));
    let is_left = |lines: &Range<usize>| {
        let now = anchor::follow(&old.bytes, &new.bytes, lines.clone());
        now.is_some_and(|now| !has.edits().iter().any(|edit| meet(&edit.before, &now)))
    };
    let edits = had.edits().iter().enumerate().filter(|(_, edit)| is_left(&edit.before));
    let left: Vec<String> = edits.map(|(at, _)| had.hunk(at..at + 1, 0).to_string()).collect();
    (!left.is_empty()).then_some(left)
}

/// True if two line ranges overlap. An empty range, an insertion, also touches its neighbours.
fn meet(one: &Range<usize>, other: &Range<usize>) -> bool {
    if one.is_empty() || other.is_empty() {
        one.start <= other.end && other.start <= one.end
    } else {
        one.start < other.end && other.start < one.end
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changeset::{File, RepoPath};

    fn change(path: &str, before: Option<&str>, after: Option<&str>) -> FileChange {
        let file = |text: &str| File::regular(text.as_bytes().to_vec());
        FileChange {
            path: RepoPath::new(path).unwrap(),
            before: before.map(file),
            after: after.map(file),
            origin: None,
            snippets: Vec::new(),
        }
    }

    fn said(earlier: &[FileChange], later: Vec<FileChange>) -> Vec<String> {
        let dropped = dropped(earlier, &Changeset::new(later).unwrap());
        let shown = |it: Dropped| format!("{} {}", it.file_path, it.hunks.join(" "));
        dropped.into_iter().map(shown).collect()
    }

    #[test]
    fn files_and_hunks_that_nothing_replaces_are_dropped() {
        let earlier = [
            change("a", Some("1\n2\n3\n4\n"), Some("one\n2\n3\nfour\n")),
            change("b", None, Some("new\n")),
        ];
        let a = |after| change("a", Some("1\n2\n3\n4\n"), Some(after));
        assert_eq!(said(&earlier, vec![a("1\nzwei\n3\n4\n")]), ["a @@ -1 +1 @@ @@ -4 +4 @@", "b "]);
        let other = change("b", None, Some("other\n"));
        assert_eq!(said(&earlier, vec![a("eins\n2\n3\n4\n"), other]), ["a @@ -4 +4 @@"]);
        let all = vec![a("eins\n2\n3\nvier\n"), change("b", Some("x\n"), None)];
        assert!(said(&earlier, all).is_empty());
    }

    #[test]
    fn lines_that_have_moved_are_found_and_those_that_have_changed_are_not_said() {
        let earlier = [change("a", Some("1\n2\n3\n"), Some("1\n2\nthree\n"))];
        let now = |before, after| vec![change("a", Some(before), Some(after))];
        assert_eq!(said(&earlier, now("0\n1\n2\n3\n", "0\none\n2\n3\n")), ["a @@ -3 +3 @@"]);
        assert!(said(&earlier, now("0\n1\n2\n3\n", "0\n1\n2\ndrei\n")).is_empty());
        assert!(said(&earlier, now("1\n2\nthree\n", "one\n2\nthree\n")).is_empty());
    }

    #[test]
    fn a_rename_is_no_loss_of_the_old_name() {
        let earlier = [change("a", Some("1\n"), Some("one\n"))];
        let moved = FileChange {
            origin: Some(RepoPath::new("a").unwrap()),
            ..change("b", None, Some("one\n"))
        };
        assert!(said(&earlier, vec![change("a", Some("1\n"), None), moved]).is_empty());
    }
}
