//! Conflicts of proposals, alone or on top of each other.

use std::collections::BTreeMap;

use crate::changeset::plan::{MergeStatus, PlannedFile};
use crate::check::relations;
use crate::cli::Context;
use crate::decide::{self, DecisionPlan};
use crate::error::{Error, Result};
use crate::proposal::relations::Relations;
use crate::proposal::{Proposal, ProposalId};
use crate::store::Store;

pub fn refuse_conflicts(
    context: &Context,
    store: &Store,
    proposals: &[Proposal],
    shown: &[DecisionPlan],
) -> Result<()> {
    let related = read_relations(context, store, shown)?;
    for (at, proposal) in proposals.iter().enumerate() {
        let plan = shown.get(at).map(|shown| &shown.plan);
        let refusal = plan.and_then(|plan| decide::apply::conflict(plan, &proposal.id));
        let Some(error) = refusal else { continue };
        let Some(other) = collides_with(shown, at, &related) else {
            return Err(store
                .repository()
                .name_sparse(add_lower_hint(context, store, proposal, error)));
        };
        let (id, other) = (&proposal.id, other.to_string());
        let message = format!("{id} does not fit on top of {other}, which is to be applied first");
        return Err(Error::new(&crate::changeset::codes::CONFLICT, message)
            .with("proposal_id", id.as_str())
            .with("collides_with", other.clone())
            .hint(format!(
                "nothing was written; apply one of them alone: aye apply {other}, or aye apply {id}"
            )));
    }
    Ok(())
}

/// The hint of a conflict names the former lower proposal.
pub fn add_lower_hint(
    context: &Context,
    store: &Store,
    proposal: &Proposal,
    error: Error,
) -> Error {
    if !error.is(&crate::changeset::codes::CONFLICT) {
        return error;
    }
    let view = store.view();
    match view.and_then(|view| relations::lower_fate(store, &view, context.now, proposal)) {
        Ok(Some(lower)) => error.hint(format!(
            "nothing was written; it was made on {lower}: `aye revise {} …` gives it again on the present files",
            proposal.id
        )),
        _ => error,
    }
}

/// The earlier proposal that writes a file in which the one `at` conflicts: one with the same
/// lines, or else the last, unless the one `at` lacks a lower proposal.
pub(super) fn collides_with<'s>(
    shown: &'s [DecisionPlan],
    at: usize,
    related: &BTreeMap<ProposalId, Relations>,
) -> Option<&'s ProposalId> {
    let this = shown.get(at)?;
    let conflicts = |file: &&PlannedFile| matches!(file.outcome, MergeStatus::Conflict(_));
    let files: Vec<_> = this.plan.files.iter().filter(conflicts).collect();
    let writes = |before: &&DecisionPlan| {
        before.plan.refusal().is_none()
            && before.plan.writes().any(|written| files.iter().any(|f| f.path == written.path))
    };
    let ids: Vec<&ProposalId> =
        shown.iter().take(at).filter(writes).map(|before| &before.proposal.id).collect();
    let same_lines = related.get(&this.proposal.id).map(|found| &found.same_lines.named);
    let is_same = |id: &&&ProposalId| same_lines.is_some_and(|named| named.contains(id));
    let is_before = |id: &ProposalId| shown.iter().take(at).any(|other| other.proposal.id == *id);
    let lacks = related.get(&this.proposal.id).is_some_and(|found| {
        found.needed(|lower| is_before(&lower.id)).iter().any(|lower| !is_before(&lower.id))
    });
    ids.iter().rev().find(is_same).or(ids.last().filter(|_| !lacks)).copied()
}

/// Relations are read only if one of several proposals does not fit.
pub(super) fn read_relations(
    context: &Context,
    store: &Store,
    shown: &[DecisionPlan],
) -> Result<BTreeMap<ProposalId, Relations>> {
    if shown.len() > 1 && shown.iter().any(|shown| shown.plan.refusal().is_some()) {
        relations::relations(store, &store.view()?, context.now)
    } else {
        Ok(BTreeMap::new())
    }
}
