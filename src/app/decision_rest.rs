//! The rest of a partially applied proposal, pending on its own: its session continues with it.

use crate::error::Result;
use crate::proposal::{Proposal, Status};
use crate::store::Filter;

use super::Session;

pub(super) struct DecisionRest {
    pub proposal: Proposal,
    /// Base commit, with a person's content of these files.
    pub without: String,
    pub with: String,
}

/// Finds the pending rest above the commit `base`.
pub(super) fn left_out(
    session: &Session<'_>,
    proposal: &Proposal,
    base: &str,
) -> Result<Option<DecisionRest>> {
    let Session { store, now, .. } = session;
    let Some(decision) = proposal.decision() else { return Ok(None) };
    let (by, status) = (Some(proposal.proposed_by.clone()), Some(Status::Pending));
    let view = store.view()?;
    let pending = view.proposals(&Filter { status, by, ..Filter::default() }, *now)?;
    for summary in pending {
        let Ok(rest) = view.proposal(&summary.id) else { continue };
        let is_rest = rest.instead_of.as_ref() == Some(&proposal.id)
            && rest.created_at >= decision.at
            && rest.revisions.len() == 1
            && store.clone_ids().contains(&rest.clone);
        if is_rest {
            let (current, message) = (rest.current(), "What a decision left out");
            let without = store.commit_below(base, current, message)?;
            let with = store.commit_above(&without, current, message)?;
            return Ok(Some(DecisionRest { proposal: rest, without, with }));
        }
    }
    Ok(None)
}
