//! What an apply writes, by object id: for the event, for recovery and for undo.

use chrono::{DateTime, Utc};

use crate::changeset::File;
use crate::changeset::plan::{Outcome, Plan};
use crate::error::Result;
use crate::proposal::event::Written;
use crate::proposal::{Actor, ChangeRecord, Entry};
use crate::store::Store;

/// The record of every file of `plan`; `known` has the ids of what the proposal holds. Content that no proposal has brought (a merge's result, a
/// file with changes of its own) becomes an object first, durably: recovery and undo need it.
pub fn written(
    store: &Store,
    actor: &Actor,
    now: DateTime<Utc>,
    known: &[ChangeRecord],
    plan: &Plan,
) -> Result<Vec<Written>> {
    let mut written = Vec::with_capacity(plan.files.len());
    let mut unknown = Vec::new();
    for (index, file) in plan.files.iter().enumerate() {
        let change = known.iter().find(|change| change.path == file.path);
        let (before, after) = match (&file.outcome, change) {
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
        let entries = store.write(actor, now, |writer| {
            let mut entry = |file: &Option<File>| -> Result<Option<Entry>> {
                file.as_ref().map(|file| writer.blob(file)).transpose()
            };
            let mut entries = Vec::with_capacity(unknown.len());
            for index in &unknown {
                let file = &plan.files[*index];
                entries.push((entry(&file.now)?, entry(&file.after)?));
            }
            writer.flush_objects()?;
            Ok(entries)
        })?;
        for (index, (before, after)) in unknown.into_iter().zip(entries) {
            (written[index].before, written[index].after) = (before, after);
        }
    }
    Ok(written)
}
