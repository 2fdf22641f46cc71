//! Object ids of an apply's files.

use std::collections::HashMap;

use crate::changeset::plan::{ApplyPlan, MergeStatus};
use crate::changeset::{File, RepoPath};
use crate::error::Result;
use crate::proposal::event::{FileOutcome, Written};
use crate::proposal::{ChangeRecord, Entry};
use crate::store::Store;

/// Entry before and after; `None` is a missing file.
pub type EntryPair = [Option<Entry>; 2];

/// Records every file of `plan`. `known` has the proposal's ids, `hashed` those computed for the
/// manifest. Other content (a merge result, an edited file) is stored durably first: recovery and
/// undo need it.
pub fn written(
    store: &Store,
    known: &[ChangeRecord],
    plan: &ApplyPlan,
    hashed: impl Fn(&RepoPath) -> Option<EntryPair>,
) -> Result<Vec<Written>> {
    let mut written = Vec::with_capacity(plan.files.len());
    let mut unknown = Vec::new();
    let known: HashMap<_, _> = known.iter().map(|change| (&change.path, change)).collect();
    for (index, file) in plan.files.iter().enumerate() {
        let (before, after) = match (&file.outcome, known.get(&file.path)) {
            (MergeStatus::Clean, Some(change)) => (change.before.clone(), change.after.clone()),
            _ => {
                unknown.push(index);
                (None, None)
            }
        };
        let outcome = FileOutcome::from(file.outcome.as_str().to_owned());
        written.push(Written { path: file.path.clone(), before, after, outcome });
    }
    let entry = |file: &Option<File>| file.as_ref().map(|file| store.entry_of(file)).transpose();
    for index in &unknown {
        let file = &plan.files[*index];
        let [before, after] = match hashed(&file.path) {
            Some(sides) => sides,
            None => [entry(&file.now)?, entry(&file.after)?],
        };
        (written[*index].before, written[*index].after) = (before, after);
    }
    if !unknown.is_empty() {
        let sides = |index: &usize| {
            let (file, written) = (&plan.files[*index], &written[*index]);
            let sides = [(&written.before, &file.now), (&written.after, &file.after)];
            sides.map(|(entry, file)| Some((entry.as_ref()?, file.as_ref()?)))
        };
        store.keep_as(unknown.iter().flat_map(sides).flatten())?;
    }
    // Undo regenerates generated files.
    written.retain(|file| file.outcome != FileOutcome::Derived);
    Ok(written)
}
