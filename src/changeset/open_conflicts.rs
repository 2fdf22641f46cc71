//! A conflicting plan as texts that a person can resolve. Pure.

use std::ops::Range;

use super::merge::{MergeLabels, merge_with_base};
use super::plan::{ApplyPlan, Conflict, ConflictReason, MergeStatus, PlannedFile};
use super::{File, FileChange, RepoPath};

/// Labels in conflict markers.
const SIDES: MergeLabels<'static> = MergeLabels { ours: "now", theirs: "proposed" };
const ANCESTOR: &str = "base: the version that the proposal was made on";

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConflictedFile {
    pub path: RepoPath,
    pub reason: ConflictReason,
    /// Lines (from 0) of the text in `OpenConflicts::changes` from marker to marker. Empty if lines cannot
    /// show the conflict: the whole file is unfit.
    pub regions: Vec<Range<usize>>,
    /// A person can write the result instead.
    pub is_editable: bool,
}

/// A plan with conflicts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenConflicts {
    /// Results have conflict markers.
    pub changes: Vec<FileChange>,
    pub unfit: Vec<ConflictedFile>,
}

/// Opens the conflicts of `plan`, made from `changes`. A conflict that neither lines nor a new file
/// can show keeps the proposed change.
pub fn open_conflicts(plan: &ApplyPlan, changes: &[FileChange]) -> OpenConflicts {
    let mut opened =
        OpenConflicts { changes: Vec::with_capacity(changes.len()), unfit: Vec::new() };
    for file in &plan.files {
        let Some(own) = changes.iter().find(|change| change.path == file.path) else { continue };
        let shown = match &file.outcome {
            MergeStatus::Clean | MergeStatus::Already | MergeStatus::Derived(_) => own.clone(),
            MergeStatus::Merged(_) => {
                file.change(own.origin.clone().filter(|_| file.now.is_none()))
            }
            MergeStatus::Conflict(conflict) => {
                let (change, unfit) = conflicting(file, own, conflict);
                opened.unfit.push(unfit);
                change
            }
        };
        opened.changes.push(shown);
    }
    opened
}

fn conflicting(
    file: &PlannedFile,
    own: &FileChange,
    conflict: &Conflict,
) -> (FileChange, ConflictedFile) {
    let unfit = |regions, is_editable| ConflictedFile {
        path: file.path.clone(),
        reason: conflict.reason,
        regions,
        is_editable,
    };
    let towards = |after: File| FileChange { after: Some(after), ..file.change(None) };
    let base = own.before.as_ref().map_or(&b""[..], |file| &file.bytes);
    match (&file.now, &own.after, &conflict.marked) {
        (Some(now), Some(theirs), Some(marked)) => {
            match merge_with_base(base, &now.bytes, &theirs.bytes, SIDES, ANCESTOR) {
                Some(text) => {
                    let after = File { bytes: text.marked, mode: marked.mode };
                    (towards(after), unfit(text.regions, true))
                }
                None => (own.clone(), unfit(Vec::new(), false)),
            }
        }
        // A person may still create the file again.
        (None, Some(theirs), _) if !theirs.is_binary() => {
            (towards(theirs.clone()), unfit(Vec::new(), true))
        }
        _ => (own.clone(), unfit(Vec::new(), false)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> File {
        File::regular(text)
    }

    fn change(before: Option<&str>, after: Option<&str>) -> FileChange {
        FileChange {
            path: RepoPath::new("f.txt").unwrap(),
            before: before.map(file),
            after: after.map(file),
            origin: None,
            snippets: Vec::new(),
        }
    }

    fn opened(now: Option<&str>, change: FileChange) -> OpenConflicts {
        let mut files = std::collections::BTreeMap::new();
        if let Some(now) = now {
            files.insert(change.path.clone(), file(now));
        }
        let changes = [change];
        let plan = super::super::plan::plan(&changes, &files, SIDES).unwrap();
        open_conflicts(&plan, &changes)
    }

    #[test]
    fn the_three_sides_of_a_conflict_stand_between_markers() {
        let change = change(Some("a\nb\nc\nd\ne\n"), Some("A\nb\nX\nd\ne\n"));
        let open = opened(Some("a\nb\nY\nd\nE\n"), change);
        let text = String::from_utf8(open.changes[0].after.clone().unwrap().bytes).unwrap();
        let expected = "A\nb\n<<<<<<< now\nY\n||||||| base: the version that the proposal was made on\nc\n\
                        =======\nX\n>>>>>>> proposed\nd\nE\n";
        assert_eq!(text, expected);
        assert_eq!(open.unfit[0].regions.first(), Some(&(2..9)));
        assert_eq!(open.changes[0].before, Some(file("a\nb\nY\nd\nE\n")));
    }

    #[test]
    fn a_file_that_is_gone_can_be_created_again() {
        let open = opened(None, change(Some("a\n"), Some("b\n")));
        assert_eq!((&open.changes[0].before, &open.changes[0].after), (&None, &Some(file("b\n"))));
        assert!(open.unfit[0].is_editable && open.unfit[0].reason == ConflictReason::Missing);
    }

    #[test]
    fn a_deletion_of_what_has_changed_stands_as_proposed() {
        let own = change(Some("a\n"), None);
        let open = opened(Some("b\n"), own.clone());
        assert_eq!(open.changes, [own]);
        assert!(!open.unfit[0].is_editable);
    }
}
