//! Session records, completed from threads if a command was stopped between proposing and
//! recording.

use chrono::{DateTime, SubsecRound as _, Utc};

use super::is_recorded_here;
use crate::changeset::Changeset;
use crate::error::Result;
use crate::proposal::Proposal;
use crate::session::record::Proposing;
use crate::session::session_store::{RecordLock, SessionStore};
use crate::session::{SessionRecord, tree};
use crate::store::{Filter, Store, View};

/// # Errors
/// `session_not_found`, `session_record_invalid`.
pub fn record(store: &Store, home: &SessionStore, name: &str) -> Result<SessionRecord> {
    let mut record = home.record(name)?;
    let Some(proposing) = record.proposing.take() else { return Ok(record) };
    if let Some(proposal) = recorded(store, &record, &proposing)? {
        record.proposal = Some(proposal.id.to_string());
        record.submitted = Some(proposing.files);
    }
    Ok(record)
}

/// Notes the files about to be proposed, and the time.
pub(super) fn note(
    store: &Store,
    home: &SessionStore,
    changing: &RecordLock,
    record: &mut SessionRecord,
    what: (&Changeset, DateTime<Utc>),
) -> Result<()> {
    let files = commit(store, &record.base, what)?;
    // Events have whole milliseconds.
    record.proposing = Some(Proposing { files, at: what.1.trunc_subsecs(3) });
    home.write(changing, record)
}

fn commit(
    store: &Store,
    base: &str,
    (changeset, at): (&Changeset, DateTime<Utc>),
) -> Result<String> {
    let files = changeset.changes().iter().map(|it| (it.path.clone(), it.after.clone()));
    store.commit_with(base, files.collect(), at, "What a session holds")
}

/// Finds the proposal recorded for `proposing`: the session's own, revised, or a new one.
fn recorded(
    store: &Store,
    record: &SessionRecord,
    proposing: &Proposing,
) -> Result<Option<Proposal>> {
    let view = store.view()?;
    if let Some(last) = record.proposal.as_ref().and_then(|id| view.find(id).ok())
        && is_of(store, &view, &last, record, proposing)?
    {
        return Ok(Some(last));
    }
    let newest = Filter { newest_first: true, ..Filter::default() };
    for summary in view.proposals(&newest, proposing.at)? {
        if summary.created_at < proposing.at {
            break;
        }
        let Ok(proposal) = view.proposal(&summary.id) else { continue };
        if is_of(store, &view, &proposal, record, proposing)? {
            return Ok(Some(proposal));
        }
    }
    Ok(None)
}

/// True if this clone recorded the noted files since then.
fn is_of(
    store: &Store,
    view: &View,
    proposal: &Proposal,
    record: &SessionRecord,
    proposing: &Proposing,
) -> Result<bool> {
    for revision in proposal.revisions.iter().filter(|revision| revision.at >= proposing.at) {
        if !is_recorded_here(view, proposal, &revision.event)? {
            continue;
        }
        let files = store.commit_above(&record.base, revision, "What a session proposed")?;
        if tree::is_same(store.repository(), &files, &proposing.files) {
            return Ok(true);
        }
    }
    Ok(false)
}
