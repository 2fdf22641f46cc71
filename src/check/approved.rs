//! What exactly an applied proposal approved, and whether a tree holds it.

use chrono::{DateTime, Utc};

use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::{Entry, Proposal, State, Status};
use crate::store::{Filter, View};

/// A file as approved: its content, or `None` where it was to be deleted.
pub type Approved = (RepoPath, Option<Entry>);

/// The approved files: what the apply wrote (merged results included), or what the revision
/// decided on says, where the apply only marked. Empty unless applied.
pub fn files(proposal: &Proposal) -> Vec<Approved> {
    steps(proposal).into_iter().map(|step| (step.path.clone(), step.after.clone())).collect()
}

/// What an apply made of one file.
struct Step<'p> {
    path: &'p RepoPath,
    before: &'p Option<Entry>,
    after: &'p Option<Entry>,
}

impl<'p> Step<'p> {
    fn new(path: &'p RepoPath, before: &'p Option<Entry>, after: &'p Option<Entry>) -> Self {
        Self { path, before, after }
    }
}

fn steps(proposal: &Proposal) -> Vec<Step<'_>> {
    let State::Applied(decision) = &proposal.state else { return Vec::new() };
    if !decision.written.is_empty() {
        let written = decision.written.iter();
        return written.map(|file| Step::new(&file.path, &file.before, &file.after)).collect();
    }
    let revision = proposal.revision(&decision.revision).unwrap_or_else(|| proposal.current());
    let changes = revision.changes.iter();
    changes.map(|change| Step::new(&change.path, &change.before, &change.after)).collect()
}

/// The first file of the applied `proposal` that `lookup` gives neither as it was approved nor as
/// proposals that were applied on top of it, one after the other, have made it.
///
/// # Errors
/// `internal_error` if the cache cannot be read.
pub fn first_difference<'a>(
    view: &View,
    now: DateTime<Utc>,
    proposal: &Proposal,
    approved: &'a [Approved],
    lookup: impl Fn(&RepoPath) -> Option<Entry>,
) -> Result<Option<&'a Approved>> {
    for file in approved {
        let (path, content) = file;
        let found = lookup(path);
        if found != *content && !became(view, now, proposal, path, content, &found)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// True if proposals that were applied after `proposal` made `found` of its `content`.
fn became(
    view: &View,
    now: DateTime<Utc>,
    proposal: &Proposal,
    path: &RepoPath,
    content: &Option<Entry>,
    found: &Option<Entry>,
) -> Result<bool> {
    let Some(decided) = proposal.decision() else { return Ok(false) };
    let filter = Filter {
        status: Some(Status::Applied),
        path: Some(path.as_bstr().to_string()),
        ..Filter::default()
    };
    let mut later = Vec::new();
    for summary in view.proposals(&filter, now)? {
        later.push(view.proposal(&summary.id)?);
    }
    // In the order they were applied, so that one pass finds whatever leads on from there.
    let decision = |later: &Proposal| later.decision().map(|decision| decision.at);
    later.retain(|later| later.id != proposal.id && decision(later) >= Some(decided.at));
    later.sort_by_key(decision);
    let mut reached = vec![content];
    for step in later.iter().flat_map(steps).filter(|step| step.path == path) {
        if reached.contains(&step.before) {
            reached.push(step.after);
        }
    }
    Ok(reached.contains(&found))
}
