//! What other clones' lanes have brought: proposals of which the projections here have to follow.

use std::collections::BTreeSet;

use rusqlite::{Connection, Transaction};

use crate::proposal::{Proposal, ProposalId, State};
use crate::store::traces::Traces;

/// At most `most` proposals that other clones' lanes have brought news of and that were not
/// [`followed`] since.
pub(super) fn fetched(
    connection: &Connection,
    most: usize,
) -> rusqlite::Result<BTreeSet<ProposalId>> {
    let mut statement = connection.prepare_cached("SELECT proposal FROM fetched LIMIT ?1")?;
    let rows = statement
        .query_map([i64::try_from(most).unwrap_or(i64::MAX)], |row| row.get::<_, String>(0))?;
    let ids = rows.map(|row| row.map(|id| ProposalId::parse(&id).ok()));
    ids.filter_map(Result::transpose).collect()
}

/// The projections of these proposals have followed.
pub(super) fn followed(
    connection: &Connection,
    ids: &BTreeSet<ProposalId>,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    for id in ids {
        transaction
            .prepare_cached("DELETE FROM fetched WHERE proposal = ?1")?
            .execute([id.as_str()])?;
    }
    transaction.commit()
}

/// Proposals that other clones' lanes have brought news of.
pub(super) struct News<'t> {
    pub(super) ids: BTreeSet<String>,
    /// What stands here for proposals, where that is known.
    pub(super) traces: Option<&'t Traces>,
}

/// Notes that what stands here for the proposal `id`, of which another clone's lane has brought news, has to
/// follow. `folded` is what all that there is of it leads to, and `traces` what stands here for proposals,
/// where that is known.
///
/// # Errors
/// Those of SQLite.
pub(super) fn note(
    transaction: &Transaction<'_>,
    id: &str,
    folded: Option<&Proposal>,
    traces: Option<&Traces>,
) -> rusqlite::Result<()> {
    // A clone of a long history has nothing of what was decided in it before.
    let is_past = |proposal: &Proposal| {
        proposal.state != State::Pending && traces.is_some_and(|traces| !traces.has(proposal))
    };
    if !folded.is_some_and(is_past) {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO fetched (proposal) VALUES (?1)")?
            .execute([id])?;
    }
    Ok(())
}
