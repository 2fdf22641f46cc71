//! What `aye check` looks at: all that waits for someone, and what is staged.

use std::collections::{BTreeSet, HashSet};

use chrono::{DateTime, Utc};

use crate::changeset::RepoPath;
use crate::check::fit::Fit;
use crate::check::touched::Pending;
use crate::check::undecided::Subject;
use crate::check::{Concern, FailOn, Scope, approved, commits, relations};
use crate::error::Result;
use crate::proposal::{ProposalId, Status};
use crate::report::Finding;
use crate::store::{Filter, Store, View};

/// How many lane commits a check walks, in all, to verify what it looks at: as many as for one decision.
const MOST_WALKED: usize = 256;

/// How many proposals are looked at in one look at the cache, which its writers wait for.
const HELD: usize = 100;

/// What waits for someone.
#[derive(Debug, Default)]
pub struct Waiting {
    /// Everything undecided, and what was decided twice.
    pub subjects: Vec<Subject>,
    /// Findings for those of which the cache says something else than their lanes.
    pub tampered: Vec<Finding>,
}

/// Looks at everything undecided in `scope`. What an earlier check has held against the lanes is told by the
/// rows of the cache as long as that is the same file: see [`Store::is_checked`].
///
/// # Errors
/// If the store or the work tree cannot be read.
pub fn waiting(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
    scope: &Scope,
    fail_on: &FailOn,
) -> Result<Waiting> {
    let kind = scope.kind;
    let pending = Filter { subject: kind, status: Some(Status::Pending), ..Filter::default() };
    if scope.paths.is_empty() {
        store.fetch_pending(view)?;
    }
    view.index_for_check();
    // The cache stays as it is until all that is told by its rows is read.
    let look = view.hold();
    let mut summaries = view.proposals(&pending, now)?;
    let facts = store.cache_facts(view, now);
    let is_checked = facts.as_ref().is_some_and(|facts| store.is_checked(facts, now));
    let contested = view.contested(now)?;
    summaries.extend(contested.into_iter().filter(|s| kind.is_none_or(|kind| s.subject == kind)));
    let tree = store
        .repository()
        .work_dir()
        .is_some()
        .then(|| store.repository().worktree())
        .transpose()?;
    let fit = Fit::new(store, tree.as_ref());
    let changed =
        if is_checked && scope.paths.is_empty() { Some(fit.changed(view)?) } else { None };
    drop(look);
    let verifier = store.verifier(view, MOST_WALKED).by_id();
    let mut waiting = Waiting::default();
    let mut known = BTreeSet::new();
    let (mut held, mut related) = (None, None);
    for (number, summary) in summaries.into_iter().enumerate() {
        if number % HELD == 0 {
            // The one before goes first, and lets writers in.
            drop(held.take());
            held = Some(view.hold());
        }
        if !known.insert(summary.id.clone()) {
            continue;
        }
        let is_told = |changed: &HashSet<String>| {
            let is_settled = summary.status != Status::Pending;
            Subject::is_told(&summary)
                && (is_settled || fit.is_told(&summary) && !changed.contains(summary.id.as_str()))
        };
        if changed.as_ref().is_some_and(is_told) {
            waiting.subjects.push(Subject::of(&summary));
            continue;
        }
        // What it is folded into is what the cache says, or a finding.
        let verified =
            if is_checked { view.proposal(&summary.id) } else { verifier.proposal(&summary.id) };
        let (proposal, wrong) = match verified {
            Ok(proposal) => (proposal, None),
            Err(error) if is_checked => return Err(error),
            Err(error) => (view.proposal(&summary.id)?, Some(error)),
        };
        if !scope.takes(&proposal) {
            continue;
        }
        if let Some(error) = wrong {
            let finding = fail_on.finding(Concern::CacheTampered, error.message());
            waiting
                .tampered
                .push(finding.hint("aye doctor --repair").proposal(summary.id.as_str()));
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
        let standing = found.and_then(|found| relations::stands_on(&found.stands_on));
        waiting.subjects.push(Subject { conflict, standing, ..Subject::new(&summary, &proposal) });
    }
    drop(held);
    // Everything was held against the lanes, and nothing was wrong.
    let is_sound = !is_checked && scope.is_everything() && waiting.tampered.is_empty();
    if let Some(facts) = facts.filter(|_| is_sound) {
        store.note_checked(&facts, now);
    }
    Ok(waiting)
}

/// Findings for the pending proposals whose files are staged otherwise than was approved.
///
/// # Errors
/// `git_failed`; if the store cannot be read.
pub fn staged(
    store: &Store,
    view: &View,
    pending: &Pending<'_>,
    fail_on: &FailOn,
) -> Result<Vec<Finding>> {
    let staged = commits::staged(store.repository())?;
    let touched = staged.keys().map(|path| path.as_slice());
    let mut found = pending.findings(touched, "the staged changes", fail_on)?;
    let head = commits::head_tree(store.repository());
    let entry = |path: &RepoPath| match staged.get(path.as_bstr()) {
        Some(entry) => entry.clone(),
        None => commits::entry_at(store.repository(), head, path),
    };
    let is_held = |finding: &Finding| {
        let Some(id) = &finding.proposal_id else { return Ok(false) };
        let proposal = view.proposal(&ProposalId::parse(id)?)?;
        Ok(proposal.approvals_in_force().next().is_some()
            && approved::is_held(store, view, &proposal, entry)?)
    };
    let held: Vec<bool> = found.iter().map(is_held).collect::<Result<_>>()?;
    let mut held = held.into_iter();
    found.retain(|_| !held.next().unwrap_or_default());
    Ok(found)
}
