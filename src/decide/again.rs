//! What a decision says was written, held to its revision: the plan is made again on the files that
//! the decision says were there, and has to lead to the same contents.

use std::collections::{BTreeMap, HashSet};

use bstr::ByteSlice as _;

use super::subject;
use crate::changeset::plan::{Resolved, inverse};
use crate::changeset::{Changeset, File, FileChange, RepoPath};
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
    let others: Vec<&Step> = steps.iter().filter(|step| !own.is(step)).collect();
    // All contents in one call, which limits what they take together.
    let mut records = revision.changes.clone();
    if proposal.subject == Subject::Memory {
        records.extend(others.iter().map(|step| record(step)));
        let mut changes = store.sides(&records)?;
        let made = changes.split_off(revision.changes.len());
        let found = first_with_other_lines(&changes, &made);
        return Ok(others.into_iter().find(|step| found == Some(&step.path)));
    }
    let before = |step: &Step| ChangeRecord { after: None, ..record(step) };
    records.extend(steps.iter().chain(beside).map(before));
    let mut changes = store.sides(&records)?;
    let files = files_before(changes.split_off(revision.changes.len()));
    let plan = subject::lines(Changeset::new(changes)?.changes(), proposal, &files)?;
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

/// The first of `steps`, which an undo says it made, that does not take back what its apply `approved` and
/// `wrote`, both proven. Contents are read only where a file had changed since.
///
/// # Errors
/// As [`first_other`].
pub(super) fn first_not_back<'s>(
    store: &Store,
    proposal: &Proposal,
    (approved, wrote): (&[Step], &[Step]),
    steps: &'s [Step],
) -> Result<Option<&'s Step>> {
    let is_inverse = |step: &&Step| {
        let is_it = |made: &Step| {
            made.path == step.path && made.before == step.after && made.after == step.before
        };
        approved.iter().any(is_it)
    };
    let others: Vec<&Step> = steps.iter().filter(|step| !is_inverse(step)).collect();
    if others.is_empty() || proposal.subject == Subject::Memory {
        return Ok(others.first().copied());
    }
    let before = |step: &Step| ChangeRecord { after: None, ..record(step) };
    let records: Vec<_> = wrote.iter().map(record).chain(steps.iter().map(before)).collect();
    let mut changes = store.sides(&records)?;
    let files = files_before(changes.split_off(wrote.len()));
    let plan = subject::lines(&inverse(&changes), proposal, &files)?;
    for step in others {
        let planned = plan.files.iter().find(|file| file.path == step.path);
        let planned = planned.filter(|file| !matches!(file.outcome, Resolved::Conflict(_)));
        let Some(planned) = planned else { return Ok(Some(step)) };
        if planned.after.as_ref().map(|file| store.entry_of(file)).transpose()? != step.after {
            return Ok(Some(step));
        }
    }
    Ok(None)
}

/// What `changes` start from.
fn files_before(changes: Vec<FileChange>) -> BTreeMap<RepoPath, File> {
    changes.into_iter().filter_map(|change| Some((change.path, change.before?))).collect()
}

/// The path of the first of `made` with a line that neither was there nor stands in `changes`, those of
/// the revision. How memory is planned depends on settings, and on files that no decision names; but it
/// puts together the lines of both, and adds none but the ids of sections.
fn first_with_other_lines<'m>(
    changes: &[FileChange],
    made: &'m [FileChange],
) -> Option<&'m RepoPath> {
    let files = changes.iter().filter_map(|change| change.after.as_ref());
    let proposed: HashSet<&[u8]> = files.flat_map(|file| file.bytes.lines()).collect();
    let has_others = |made: &&FileChange| {
        let before = made.before.iter().flat_map(|file| file.bytes.lines());
        let there: HashSet<&[u8]> = before.collect();
        let is_other = |line: &[u8]| {
            !line.trim().is_empty()
                && !proposed.contains(line)
                && !there.contains(line)
                && line.to_str().ok().and_then(markdown::parse_marker).is_none()
        };
        made.after.iter().flat_map(|file| file.bytes.lines()).any(is_other)
    };
    made.iter().find(has_others).map(|made| &made.path)
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
