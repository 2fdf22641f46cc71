//! What an apply writes, by object id: for the event, for recovery and for undo.

use std::collections::HashMap;

use crate::changeset::File;
use crate::changeset::plan::{Outcome, Plan};
use crate::error::Result;
use crate::proposal::ChangeRecord;
use crate::proposal::event::Written;
use crate::store::Store;

/// The outcome of a generated file, as [`Outcome::as_str`] has it.
const DERIVED: &str = "derived";

/// The record of every file of `plan`; `known` has the ids of what the proposal holds. Content that
/// no proposal has brought (a merge's result, a file with changes of its own) becomes an object
/// first, durably: recovery and undo need it.
pub fn written(store: &Store, known: &[ChangeRecord], plan: &Plan) -> Result<Vec<Written>> {
    let mut written = Vec::with_capacity(plan.files.len());
    let mut unknown = Vec::new();
    let known: HashMap<_, _> = known.iter().map(|change| (&change.path, change)).collect();
    for (index, file) in plan.files.iter().enumerate() {
        let (before, after) = match (&file.outcome, known.get(&file.path)) {
            (Outcome::Clean, Some(change)) => (change.before.clone(), change.after.clone()),
            _ => {
                unknown.push(index);
                (None, None)
            }
        };
        let outcome = file.outcome.as_str().to_owned();
        written.push(Written { path: file.path.clone(), before, after, outcome });
    }
    if !unknown.is_empty() {
        let files: Vec<Option<&File>> = unknown
            .iter()
            .map(|index| &plan.files[*index])
            .flat_map(|file| [file.now.as_ref(), file.after.as_ref()])
            .collect();
        let mut entries = store.keep(&files)?.into_iter();
        for index in unknown {
            written[index].before = entries.next().flatten();
            written[index].after = entries.next().flatten();
        }
    }
    // Generated files are nobody's change; undo generates them again.
    written.retain(|file| file.outcome != DERIVED);
    Ok(written)
}
