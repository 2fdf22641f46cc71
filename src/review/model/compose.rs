//! Changes that hold exactly the taken parts.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::Range;

use super::review::{Decision, FileReview, Review, Unit, UnitKind};
use crate::changeset::change_entry::EntryKind;
use crate::changeset::hunks::{Choice, Diff, Hunk, LineEdit, compose};
use crate::changeset::{File, FileChange, RepoPath};

type FileStates = BTreeMap<RepoPath, Option<File>>;

impl Review {
    /// Undecided units count as left. If everything is taken, exactly the proposed changes. May be
    /// empty.
    pub fn changes(&self) -> Vec<FileChange> {
        if self.is_all_taken() {
            let originals = self.files().iter().flat_map(|file| file.originals.clone());
            let mut changes: Vec<FileChange> = originals.collect();
            changes.sort_unstable_by(|a, b| a.path.cmp(&b.path));
            return changes;
        }
        let taken = |_, unit: &Unit| unit.decision.clone().unwrap_or(Decision::Leave);
        self.difference(&self.start(), &self.state(taken), |place| place)
    }

    /// File `file` with edits, everything else taken. `None` without edits, or if the file is gone.
    pub fn edited(&self, file: usize) -> Option<File> {
        let units = &self.units()[self.units_of(file)];
        let decided = units.iter().map(|unit| match &unit.decision {
            Some(edit @ Decision::Edit { .. }) => (unit, edit.clone()),
            _ => (unit, Decision::Take),
        });
        let decided: Vec<(&Unit, Decision)> = decided.collect();
        if decided.iter().all(|(_, decision)| *decision == Decision::Take) {
            return None;
        }
        let mut state = FileStates::new();
        let file = &self.files()[file];
        file.write_into(&mut state, &decided);
        state.remove(&file.path)?
    }

    pub fn is_all_taken(&self) -> bool {
        self.units().iter().all(|unit| unit.decision == Some(Decision::Take))
    }

    /// Units that together result in `files`, a commit's content. `None` if no subset does, or the
    /// empty one.
    pub fn leading_to(&self, files: &BTreeMap<RepoPath, Option<File>>) -> Option<BTreeSet<usize>> {
        let mut taken = BTreeSet::new();
        for (at, file) in self.files().iter().enumerate() {
            let edits = file.edits_to(files);
            let is_in = |unit: &usize| match &self.units()[*unit].part {
                UnitKind::Hunk(hunk) => {
                    let mut own = file.diff.edits()[hunk.edits.clone()].iter();
                    own.all(|edit| edits.contains(&named(&file.diff, edit)))
                }
                UnitKind::Whole => {
                    file.is_placed_in(files) && files.get(&file.path) == Some(&file.after)
                }
                UnitKind::Place => file.is_placed_in(files),
            };
            taken.extend(self.units_of(at).filter(is_in));
        }
        let is_taken = |at| if taken.contains(&at) { Decision::Take } else { Decision::Leave };
        let together = self.state(|at, _| is_taken(at));
        (!taken.is_empty() && together == *files).then_some(taken)
    }

    fn start(&self) -> FileStates {
        let originals = self.files().iter().flat_map(|file| &file.originals);
        originals.map(|change| (change.path.clone(), change.before.clone())).collect()
    }

    fn state(&self, decision: impl Fn(usize, &Unit) -> Decision) -> FileStates {
        let mut state = self.start();
        for (at, file) in self.files().iter().enumerate() {
            let units = self.units_of(at).map(|at| (at, &self.units()[at]));
            let decided: Vec<(&Unit, Decision)> =
                units.map(|(at, unit)| (unit, decision(at, unit))).collect();
            file.write_into(&mut state, &decided);
        }
        state
    }

    /// Changes between two states. `moves` selects the step in which a file moves: only that step
    /// names the origin.
    fn difference(
        &self,
        from: &FileStates,
        to: &FileStates,
        moves: impl Fn(bool) -> bool,
    ) -> Vec<FileChange> {
        let mut changes = Vec::new();
        for (path, before) in from {
            let after = to.get(path).cloned().flatten();
            if *before == after {
                continue;
            }
            let origin = self.files().iter().enumerate().find_map(|(at, file)| {
                let arrives = file.path == *path && before.is_none() && after.is_some();
                let placed = self.units()[self.units_of(at)].iter().all(|unit| {
                    unit.part != UnitKind::Place || moves(unit.decision == Some(Decision::Take))
                });
                let origin = file.originals.iter().find(|c| c.path == *path)?.origin.clone();
                origin.filter(|_| arrives && placed)
            });
            changes.push(FileChange {
                path: path.clone(),
                before: before.clone(),
                after,
                origin,
                snippets: Vec::new(),
            });
        }
        changes
    }
}

/// Replaced lines, and their replacement.
fn named(diff: &Diff<'_>, edit: &LineEdit) -> (Range<usize>, Vec<u8>) {
    (edit.before.clone(), diff.after().lines(edit.after.clone()).to_vec())
}

/// Changes left out, on top of [`Review::changes`]. Edited units count as answered. May be empty.
pub fn rest(review: &Review) -> Vec<FileChange> {
    let taken = review.state(|_, unit| unit.decision.clone().unwrap_or(Decision::Leave));
    let everything = review.state(|_, unit| match &unit.decision {
        Some(Decision::Edit { bytes }) => Decision::Edit { bytes: bytes.clone() },
        // Taking the unit would write conflict markers.
        _ if unit.conflict.is_some() => Decision::Leave,
        _ => Decision::Take,
    });
    review.difference(&taken, &everything, |placed| !placed)
}

impl FileReview {
    /// True if the path and mode in `files` are the new ones.
    fn is_placed_in(&self, files: &BTreeMap<RepoPath, Option<File>>) -> bool {
        let mode = |file: &File| file.mode;
        let found = files.get(&self.path).and_then(Option::as_ref).map(mode);
        let has_left = || files.get(&self.old_path).is_none_or(Option::is_none);
        found == self.after.as_ref().map(mode) && (self.kind != EntryKind::Renamed || has_left())
    }

    /// Edits from the old content to that in `files`, at the new or the old path.
    fn edits_to(
        &self,
        files: &BTreeMap<RepoPath, Option<File>>,
    ) -> HashSet<(Range<usize>, Vec<u8>)> {
        let at = |path| files.get(path).and_then(Option::as_ref);
        let Some(file) = at(&self.path).or_else(|| at(&self.old_path)) else {
            return HashSet::new();
        };
        let diff = Diff::new(self.diff.before().bytes(), &file.bytes[..]);
        diff.edits().iter().map(|edit| named(&diff, edit)).collect()
    }

    /// Changes only `hunk`, to `bytes`.
    pub fn with_edited(&self, hunk: &Hunk, bytes: &[u8]) -> Vec<u8> {
        let before = &self.diff.editable(hunk).0;
        compose(&self.diff, [(hunk, Choice::Replace { before, bytes })])
    }

    fn write_into(&self, state: &mut FileStates, units: &[(&Unit, Decision)]) {
        let whole = units.iter().find(|(unit, _)| unit.part == UnitKind::Whole);
        if let Some((_, decision)) = whole {
            match decision {
                Decision::Leave => {}
                Decision::Take => {
                    if self.kind == EntryKind::Renamed {
                        state.insert(self.old_path.clone(), None);
                    }
                    state.insert(self.path.clone(), self.after.clone());
                }
                Decision::Edit { bytes } => {
                    let mode = self.after.as_ref().map(|file| file.mode).unwrap_or_default();
                    state.insert(self.path.clone(), Some(File { bytes: bytes.clone(), mode }));
                }
            }
            return;
        }
        let (Some(before), Some(after)) = (&self.before, &self.after) else { return };
        let place = units.iter().find(|(unit, _)| unit.part == UnitKind::Place);
        // Without a question, path and mode are equal on both sides.
        let placed = place.is_none_or(|(_, decision)| *decision == Decision::Take);
        let ranges: Vec<_> = units
            .iter()
            .filter_map(|(unit, decision)| match &unit.part {
                UnitKind::Hunk(hunk) => Some((hunk, self.diff.editable(hunk).0, decision)),
                _ => None,
            })
            .collect();
        let choices = ranges.iter().map(|(hunk, lines, decision)| {
            let choice = match decision {
                Decision::Take => Choice::Take,
                Decision::Leave => Choice::Leave,
                Decision::Edit { bytes } => Choice::Replace { before: lines, bytes },
            };
            (*hunk, choice)
        });
        let bytes = compose(&self.diff, choices);
        let mode = if placed { after.mode } else { before.mode };
        if placed && self.path != self.old_path {
            state.insert(self.old_path.clone(), None);
        }
        let path = if placed { &self.path } else { &self.old_path };
        state.insert(path.clone(), Some(File { bytes, mode }));
    }
}
