//! Subjects of `aye check`: undecided proposals and staged changes.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use gix::ObjectId;

use crate::changeset::RepoPath;
use crate::check::conflict_check::ConflictCheck;
use crate::check::pending_findings::CheckedProposal;
use crate::check::pending_paths::PendingPaths;
use crate::check::{
    FailOn, Scope, approvals, codes, commits, contested, is_of_its_thread, relations,
};
use crate::error::{Error, Result};
use crate::proposal::{ProposalId, Status};
use crate::report::Finding;
use crate::store::{Filter, Store, View};

/// Refuses to answer in a clone that has no event and may not have fetched any. Without `ids` that
/// is one in which nobody has set aye up; otherwise, one where a commit names a proposal.
///
/// # Errors
/// `no_events`, `private_dir_unsafe`.
pub fn require_events(store: &Store, view: &View, ids: Option<&[ObjectId]>) -> Result<()> {
    let remotes = store.sync_remotes();
    let Some(remote) = remotes.first().filter(|_| !view.has_events()) else { return Ok(()) };
    let is_due = match ids {
        None => store.clone_id().is_none(),
        Some(ids) => {
            let read = |id: &ObjectId| commits::read(store.repository(), *id);
            ids.iter().any(|id| read(id).is_ok_and(|commit| !commit.proposal_ids.is_empty()))
        }
    };
    if !is_due || store.has_fetched_nothing()? {
        return Ok(());
    }
    let message = "no event is in this clone, so nothing is known of any proposal";
    Err(Error::new(&codes::NO_EVENTS, message)
        .hint(format!("fetch them: aye sync --fetch {remote}")))
}

/// Includes contested proposals.
pub fn waiting(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
    scope: &Scope,
) -> Result<Vec<CheckedProposal>> {
    let kind = scope.kind;
    let pending = Filter { subject: kind, status: Some(Status::Pending), ..Filter::default() };
    if scope.paths.is_empty() {
        store.fetch_pending(view)?;
    }
    let mut summaries = view.proposals(&pending, now)?;
    let contested = view.contested(now)?;
    summaries.extend(contested.into_iter().filter(|s| kind.is_none_or(|kind| s.subject == kind)));
    let fit = ConflictCheck::new(store);
    let (mut subjects, mut related) = (Vec::new(), None);
    let mut known = BTreeSet::new();
    for summary in summaries {
        if !known.insert(summary.id.clone()) {
            continue;
        }
        let proposal = match view.proposal(&summary.id) {
            Ok(proposal) => proposal,
            // The view reports it as a trouble.
            Err(error) if is_of_its_thread(&error) => continue,
            Err(error) => return Err(error),
        };
        if !scope.takes(&proposal) {
            continue;
        }
        let conflict = match proposal.status(now) {
            Status::Pending => fit.conflict(view, &proposal)?,
            _ => None,
        };
        if conflict.is_some() && related.is_none() {
            related = Some(relations::relations(store, view, now)?);
        }
        let found = related.as_ref().filter(|_| conflict.is_some());
        let found = found.and_then(|related| related.get(&proposal.id));
        let standing = found.and_then(|found| relations::stack_text(&found.depends_on));
        let is_binding = contested::is_binding(store, &proposal)?;
        let subject = CheckedProposal::new(&summary, &proposal, now, is_binding);
        subjects.push(CheckedProposal { conflict, standing, ..subject });
    }
    Ok(subjects)
}

/// Skips staged content that was approved.
pub fn staged(
    store: &Store,
    view: &View,
    pending: &PendingPaths<'_>,
    fail_on: &FailOn,
) -> Result<Vec<Finding>> {
    let staged = commits::staged(store.repository())?;
    let touched = staged.keys().map(|path| path.as_slice());
    let mut found = pending.findings(touched, "the staged changes", fail_on)?;
    let head = store.repository().head_tree();
    let entry = |path: &RepoPath| match staged.get(path.as_bstr()) {
        Some(entry) => entry.clone(),
        None => store.repository().entry_at(head, path),
    };
    let is_held = |finding: &Finding| {
        let Some(id) = &finding.proposal_id else { return Ok(false) };
        let proposal = view.proposal(&ProposalId::parse(id)?)?;
        Ok(proposal.approvals_in_force().next().is_some()
            && approvals::is_held(view, &proposal, entry)?)
    };
    let held: Vec<bool> = found.iter().map(is_held).collect::<Result<_>>()?;
    let mut held = held.into_iter();
    found.retain(|_| !held.next().unwrap_or_default());
    Ok(found)
}
