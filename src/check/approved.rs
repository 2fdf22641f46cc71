//! What exactly applied proposals approved, and whether a commit holds it.

use super::commits::{self, Commit};
use crate::changeset::RepoPath;
use crate::decide::steps::{self, Step};
use crate::error::Result;
use crate::proposal::{Entry, Proposal, Status};
use crate::store::{Store, View};

/// A file as approved: its content, or `None` where it was to be deleted.
pub type Approved = (RepoPath, Option<Entry>);

/// The approved files: what the apply wrote (merged results included), or what the revision
/// decided on says, where the apply only marked. Empty unless applied, and where the record of the
/// decision cannot be believed.
pub fn files(store: &Store, proposal: &Proposal) -> Vec<Approved> {
    let mut files: Vec<Approved> = Vec::new();
    for Step { path, after, .. } in steps::of(store, proposal).unwrap_or_default() {
        if !files.iter().any(|(known, _)| *known == path) {
            files.push((path, after));
        }
    }
    files
}

/// The first file of the applied `proposal` that `lookup` gives neither as it was approved nor as
/// proposals that were applied on top of it, one after the other, have made it.
///
/// # Errors
/// `internal_error` if the cache cannot be read.
pub fn first_difference<'a>(
    store: &Store,
    view: &View,
    proposal: &Proposal,
    approved: &'a [Approved],
    lookup: impl Fn(&RepoPath) -> Option<Entry>,
) -> Result<Option<&'a Approved>> {
    for file in approved {
        let (path, content) = file;
        let found = lookup(path);
        if found != *content && !became(store, view, proposal, path, content, &found)? {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// True if proposals that were applied after `proposal` made `found` of its `content`.
fn became(
    store: &Store,
    view: &View,
    proposal: &Proposal,
    path: &RepoPath,
    content: &Option<Entry>,
    found: &Option<Entry>,
) -> Result<bool> {
    let Some(decided) = proposal.decision() else { return Ok(false) };
    let mut later = steps::applied(view, proposal, path)?;
    let at = |later: &Proposal| later.decision().map(|decision| decision.at);
    later.retain(|later| at(later) >= Some(decided.at));
    Ok(reaches(store, &later, path, content, found))
}

/// True where the steps of `proposals`, in this order, lead `path` from one content to another.
fn reaches(
    store: &Store,
    proposals: &[Proposal],
    path: &RepoPath,
    from: &Option<Entry>,
    to: &Option<Entry>,
) -> bool {
    let mut reached = vec![from.clone()];
    for proposal in proposals.iter().filter(|proposal| counts(proposal)) {
        for step in steps::of(store, proposal).unwrap_or_default() {
            if step.path == *path && reached.contains(&step.before) {
                reached.push(step.after);
            }
        }
    }
    reached.contains(to)
}

/// True for decisions that checks count: a person's, not contested; or what the memory manifest
/// let pass, whose files lie in the memory directory.
pub fn counts(proposal: &Proposal) -> bool {
    let by_manifest = || {
        proposal.subject == crate::proposal::event::Subject::Memory
            && proposal
                .current()
                .changes
                .iter()
                .all(|change| crate::memory::disk::store_path(&change.path).is_some())
    };
    !proposal.contested
        && proposal.decision().is_some_and(|decision| {
            decision.effect.is_some() && (decision.is_by_a_person() || by_manifest())
        })
}

/// True where `commit` changes `path` only as applied proposals have approved it: each step from
/// what its parent has to what it has itself.
///
/// # Errors
/// `internal_error` if the cache cannot be read.
pub fn is_covered(
    store: &Store,
    view: &View,
    commit: &Commit,
    path: &RepoPath,
    now: chrono::DateTime<chrono::Utc>,
) -> Result<bool> {
    let from = commits::entry_at(store, commit.parent_tree, path);
    let to = commits::entry_at(store, Some(commit.tree), path);
    let filter = crate::store::Filter {
        status: Some(Status::Applied),
        path: Some(path.as_bstr().to_string()),
        ..Default::default()
    };
    let mut proposals = Vec::new();
    for summary in view.proposals(&filter, now)? {
        proposals.push(view.proposal(&summary.id)?);
    }
    proposals.sort_by_key(|proposal| proposal.decision().map(|decision| decision.at));
    Ok(reaches(store, &proposals, path, &from, &to))
}
