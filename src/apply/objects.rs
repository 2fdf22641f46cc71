//! What an apply writes, by object id: for the event, for recovery and for undo.

use std::collections::HashMap;

use crate::changeset::plan::{Resolution, Resolved};
use crate::changeset::{File, RepoPath};
use crate::error::Result;
use crate::proposal::event::{FileOutcome, Written};
use crate::proposal::{ChangeRecord, Entry};
use crate::store::Store;

/// Mode and id of one file now and afterwards; `None` is no file.
pub type Sides = [Option<Entry>; 2];

/// The record of every file of `plan`; `known` has the ids of what the proposal holds, and `hashed`
/// those of what was hashed for the manifest. Content that no proposal has brought (a merge's result,
/// a file with changes of its own) becomes an object first, durably: recovery and undo need it.
pub fn written(
    store: &Store,
    known: &[ChangeRecord],
    plan: &Resolution,
    hashed: impl Fn(&RepoPath) -> Option<Sides>,
) -> Result<Vec<Written>> {
    let mut written = Vec::with_capacity(plan.files.len());
    let mut unknown = Vec::new();
    let known: HashMap<_, _> = known.iter().map(|change| (&change.path, change)).collect();
    for (index, file) in plan.files.iter().enumerate() {
        let (before, after) = match (&file.outcome, known.get(&file.path)) {
            (Resolved::Clean, Some(change)) => (change.before.clone(), change.after.clone()),
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
    // Generated files are nobody's change; undo generates them again.
    written.retain(|file| file.outcome != FileOutcome::Derived);
    Ok(written)
}
