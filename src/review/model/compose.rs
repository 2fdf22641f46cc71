//! What results from decisions: changes that hold exactly what was taken.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use super::review::{Decision, FileReview, Part, Review, Unit};
use crate::changeset::entry::EntryKind;
use crate::changeset::hunks::{Choice, Diff, Hunk, compose};
use crate::changeset::{File, FileChange, RepoPath};

/// The files a review is about, and what is in them.
type State = BTreeMap<RepoPath, Option<File>>;

impl Review {
    /// The changes that hold what was taken and edited; what is left out or undecided is not in
    /// them. When everything is taken as proposed, exactly the proposed changes. May be empty.
    pub fn changes(&self) -> Vec<FileChange> {
        if self.is_all_taken() {
            let originals = self.files().iter().flat_map(|file| file.originals.clone());
            let mut changes: Vec<FileChange> = originals.collect();
            changes.sort_by(|a, b| a.path.cmp(&b.path));
            return changes;
        }
        let taken = |unit: &Unit| unit.decision.clone().unwrap_or(Decision::Leave);
        self.difference(&self.start(), &self.state(taken), |place| place)
    }

    /// What file `file` becomes when all of it is taken, as edited where it was edited. `None` if
    /// nothing of it was, or nothing is left of it.
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
        let mut state = State::new();
        let file = &self.files()[file];
        file.write_into(&mut state, &decided);
        state.remove(&file.path)?
    }

    /// True when every unit is taken as proposed.
    pub fn is_all_taken(&self) -> bool {
        self.units().iter().all(|unit| unit.decision == Some(Decision::Take))
    }

    /// The units that together lead to `files`, what a commit has of these files; `None` where it has anything else,
    /// or nothing of them.
    pub fn leading_to(&self, files: &BTreeMap<RepoPath, Option<File>>) -> Option<BTreeSet<usize>> {
        let start = self.start();
        let only = |wanted: &dyn Fn(&Unit) -> bool| {
            self.state(|unit| if wanted(unit) { Decision::Take } else { Decision::Leave })
        };
        let is_in = |unit: &Unit| {
            let alone = only(&|other| std::ptr::eq(other, unit));
            alone.iter().all(|(path, with)| {
                let before = start.get(path).and_then(Option::as_ref);
                let after = files.get(path).and_then(Option::as_ref);
                with.as_ref() == before || is_step(before, with.as_ref(), after)
            })
        };
        let taken: BTreeSet<usize> =
            (0..self.units().len()).filter(|at| is_in(&self.units()[*at])).collect();
        let at = |unit: &Unit| self.units().iter().position(|other| std::ptr::eq(other, unit));
        let together = only(&|unit| at(unit).is_some_and(|at| taken.contains(&at)));
        (!taken.is_empty() && together == *files).then_some(taken)
    }

    fn start(&self) -> State {
        let originals = self.files().iter().flat_map(|file| &file.originals);
        originals.map(|change| (change.path.clone(), change.before.clone())).collect()
    }

    fn state(&self, decision: impl Fn(&Unit) -> Decision) -> State {
        let mut state = self.start();
        for (at, file) in self.files().iter().enumerate() {
            let units = &self.units()[self.units_of(at)];
            let decided: Vec<(&Unit, Decision)> =
                units.iter().map(|unit| (unit, decision(unit))).collect();
            file.write_into(&mut state, &decided);
        }
        state
    }

    /// The changes from one state to another. `moves` says whether a unit decided so is the step
    /// in which a file moves, so that the result names where it came from.
    fn difference(
        &self,
        from: &State,
        to: &State,
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
                    unit.part != Part::Place || moves(unit.decision == Some(Decision::Take))
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

/// Whether all that `with` has otherwise than `before` is so in `after`, too.
fn is_step(before: Option<&File>, with: Option<&File>, after: Option<&File>) -> bool {
    let (Some(before), Some(with), Some(after)) = (before, with, after) else {
        return with == after;
    };
    let edits = |file: &File| -> Vec<(Range<usize>, Vec<u8>)> {
        let diff = Diff::new(&before.bytes[..], &file.bytes[..]);
        let edits = diff.edits().iter();
        edits
            .map(|edit| (edit.before.clone(), diff.after().lines(edit.after.clone()).to_vec()))
            .collect()
    };
    let all = edits(after);
    (with.mode == before.mode || with.mode == after.mode)
        && edits(with).iter().all(|edit| all.contains(edit))
}

/// What a decided review leaves out, as changes on top of [`Review::changes`]. Units that were
/// edited are answered and not in it. May be empty.
pub fn rest(review: &Review) -> Vec<FileChange> {
    let taken = review.state(|unit| unit.decision.clone().unwrap_or(Decision::Leave));
    let everything = review.state(|unit| match &unit.decision {
        Some(Decision::Edit { bytes }) => Decision::Edit { bytes: bytes.clone() },
        // It would be conflict markers.
        _ if unit.unfit.is_some() => Decision::Leave,
        _ => Decision::Take,
    });
    review.difference(&taken, &everything, |placed| !placed)
}

impl FileReview {
    /// The content with nothing changed but `hunk`, which becomes `bytes`.
    pub fn with_edited(&self, hunk: &Hunk, bytes: &[u8]) -> Vec<u8> {
        let before = &self.diff.editable(hunk).0;
        compose(&self.diff, [(hunk, Choice::Replace { before, bytes })])
    }

    /// Writes what results for this file into `state`.
    fn write_into(&self, state: &mut State, units: &[(&Unit, Decision)]) {
        let whole = units.iter().find(|(unit, _)| unit.part == Part::Whole);
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
        let place = units.iter().find(|(unit, _)| unit.part == Part::Place);
        // Without a question about it, path and mode stay as they are on both sides.
        let placed = place.is_none_or(|(_, decision)| *decision == Decision::Take);
        let ranges: Vec<_> = units
            .iter()
            .filter_map(|(unit, decision)| match &unit.part {
                Part::Hunk(hunk) => Some((hunk, self.diff.editable(hunk).0, decision)),
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
