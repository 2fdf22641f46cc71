//! What a decision left out and is pending: the session that it came from goes on with it.

use crate::error::Result;
use crate::proposal::{Proposal, Status};
use crate::store::Filter;

use super::Session;

/// What a decision left out (`--split-rest`).
pub(super) struct LeftOut {
    /// The pending proposal that was made of it.
    pub proposal: Proposal,
    /// The commit that it starts from: with what a person has in its files.
    pub without: String,
    /// The commit with it.
    pub with: String,
}

/// What the decision on `proposal` left out, above the commit `base`.
///
/// # Errors
/// Those of the store.
pub(super) fn left_out(
    session: &Session<'_>,
    proposal: &Proposal,
    base: &str,
) -> Result<Option<LeftOut>> {
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
            return Ok(Some(LeftOut { proposal: rest, without, with }));
        }
    }
    Ok(None)
}
