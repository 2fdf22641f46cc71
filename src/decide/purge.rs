//! Purge requests, where the policy wants two people.

use chrono::{DateTime, Utc};

use crate::error::Result;
use crate::proposal::event::Purge;
use crate::proposal::{Authority, ProposalId};
use crate::store::Store;

/// Records the request only.
///
/// # Errors
/// `proposal_not_found`, `proposal_purged`.
pub fn ask(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    ids: &[&ProposalId],
    reason: &str,
    blob: Option<&str>,
) -> Result<()> {
    store.write(authority.actor(), now, |writer| {
        for id in ids {
            let purge = Purge {
                thread: writer.proposal(id)?.first_event,
                reason: reason.to_owned(),
                blob: blob.map(str::to_owned),
                asked: true,
                evidence: authority.evidence().clone(),
            };
            writer.ask_purge(authority, id, purge)?;
        }
        Ok(())
    })
}
