//! What a decision says was written, held to its revision: the plan is made again on the files that
//! the decision says were there, and has to lead to the same contents.

use std::collections::{BTreeMap, HashSet};

use bstr::ByteSlice as _;

use super::subject;
use crate::changeset::{File, FileChange, RepoPath};
use crate::error::Result;
use crate::memory::markdown;
use crate::proposal::event::Subject;
use crate::proposal::steps::{Own, Step};
use crate::proposal::{ChangeRecord, Proposal};
use crate::store::Store;

/// The first of `steps`, which a decision on `revision` of `proposal` says were written, that is not
/// what its plan comes to on the files before them. `beside` are files that were there already as the
/// revision makes them. Contents are read only where a file was not what the revision starts from.
///
/// # Errors
/// `object_missing`, `proposal_archived` where contents are not here, and as [`Store::sides`]: then
/// nothing can be said of the steps.
pub(super) fn first_other<'s>(
    store: &Store,
    proposal: &Proposal,
    revision: &str,
    steps: &'s [Step],
    beside: &[Step],
) -> Result<Option<&'s Step>> {
    let own = Own::of(proposal, revision);
    let Some(first) = steps.iter().find(|step| !own.is(step)) else { return Ok(None) };
    let Some(revision) = proposal.revision(revision) else { return Ok(Some(first)) };
    let changes = store.changeset(&revision.changes)?;
    let others: Vec<&Step> = steps.iter().filter(|step| !own.is(step)).collect();
    if proposal.subject == Subject::Memory {
        let found = first_with_other_lines(store, changes.changes(), &others)?;
        return Ok(others.into_iter().find(|step| found.as_ref() == Some(&step.path)));
    }
    let before = |step: &Step| ChangeRecord { after: None, ..record(step) };
    let before: Vec<ChangeRecord> = steps.iter().chain(beside).map(before).collect();
    let files = store.sides(&before)?.into_iter();
    let files: BTreeMap<RepoPath, File> =
        files.filter_map(|change| Some((change.path, change.before?))).collect();
    let plan = subject::lines(changes.changes(), proposal, &files)?;
    let planned: BTreeMap<_, _> =
        plan.files.iter().map(|file| (&file.path, file.after.as_ref())).collect();
    for step in others {
        let Some(after) = planned.get(&step.path) else { return Ok(Some(step)) };
        if after.map(|file| store.entry_of(file)).transpose()? != step.after {
            return Ok(Some(step));
        }
    }
    Ok(None)
}

/// The file of the first of `steps` with a line that neither was there nor stands in `changes`, those of
/// the revision. How memory is planned depends on settings, and on files that no decision names; but it
/// puts together the lines of both, and adds none but the ids of sections.
fn first_with_other_lines(
    store: &Store,
    changes: &[FileChange],
    steps: &[&Step],
) -> Result<Option<RepoPath>> {
    let files = changes.iter().filter_map(|change| change.after.as_ref());
    let proposed: HashSet<&[u8]> = files.flat_map(|file| file.bytes.lines()).collect();
    let records: Vec<ChangeRecord> = steps.iter().map(|step| record(step)).collect();
    for made in store.sides(&records)? {
        let before = made.before.iter().flat_map(|file| file.bytes.lines());
        let there: HashSet<&[u8]> = before.collect();
        let is_other = |line: &[u8]| {
            !line.trim().is_empty()
                && !proposed.contains(line)
                && !there.contains(line)
                && line.to_str().ok().and_then(markdown::parse_marker).is_none()
        };
        if made.after.iter().flat_map(|file| file.bytes.lines()).any(is_other) {
            return Ok(Some(made.path));
        }
    }
    Ok(None)
}

fn record(step: &Step) -> ChangeRecord {
    ChangeRecord {
        path: step.path.clone(),
        before: step.before.clone(),
        after: step.after.clone(),
        origin: None,
        snippets: Vec::new(),
    }
}
