//! Contradictory decisions, weighed by evidence: anyone with push access can publish a second one.

use crate::changeset::sensitive;
use crate::decide;
use crate::error::Result;
use crate::proposal::event::{Evidence, Subject};
use crate::proposal::{Proposal, State};
use crate::store::Store;

/// True if two different decisions both reach the evidence of the policy in HEAD. Without a policy
/// none does.
///
/// # Errors
/// `invalid_policy`.
pub fn is_binding(store: &Store, proposal: &Proposal) -> Result<bool> {
    let repository = store.repository();
    if !proposal.contested || repository.policy()?.blob.is_none() {
        return Ok(false);
    }
    let changes = &proposal.current().changes;
    let is_memory = proposal.subject == Subject::Memory
        || changes.iter().any(|change| decide::is_of_memory(&change.path));
    let is_sensitive =
        !sensitive::sensitive_changes(changes, &store.repository().instructions()).is_empty();
    let takes_terminal = repository.permits()?.wants_terminal(is_memory, is_sensitive);
    let reaches = |state: &&State| {
        let is_shown = |evidence: &Evidence| !takes_terminal || *evidence == Evidence::Terminal;
        state.decision().is_some_and(|made| made.is_by_a_person() && is_shown(&made.evidence))
    };
    let states = || std::iter::once(&proposal.state).chain(&proposal.concurrent).filter(reaches);
    let first = states().next();
    Ok(first.is_some_and(|first| states().any(|other| !proposal.is_like(first, other))))
}
