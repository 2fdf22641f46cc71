//! The record of a session, and what the threads say of its last proposal where the command that proposed it was
//! stopped before the record could say so.

use chrono::{DateTime, SubsecRound as _, Utc};

use super::is_recorded_here;
use crate::changeset::Changeset;
use crate::error::Result;
use crate::proposal::Proposal;
use crate::session::home::{Changing, Home};
use crate::session::record::Proposing;
use crate::session::{Record, tree};
use crate::store::{Filter, Store, View};

/// The record of session `name`, with what was proposed last.
///
/// # Errors
/// `session_not_found`, `session_record_invalid`; those of the store.
pub fn record(store: &Store, home: &Home, name: &str) -> Result<Record> {
    let mut record = home.record(name)?;
    let Some(proposing) = record.proposing.take() else { return Ok(record) };
    if let Some(proposal) = recorded(store, &record, &proposing)? {
        record.proposal = Some(proposal.id.to_string());
        record.submitted = Some(proposing.files);
    }
    Ok(record)
}

/// Notes what is about to be proposed: the files of `changeset`, at that time.
///
/// # Errors
/// Those of writing.
pub(super) fn note(
    store: &Store,
    home: &Home,
    changing: &Changing,
    record: &mut Record,
    what: (&Changeset, DateTime<Utc>),
) -> Result<()> {
    let files = commit(store, &record.base, what)?;
    // Events have whole milliseconds.
    record.proposing = Some(Proposing { files, at: what.1.trunc_subsecs(3) });
    home.write(changing, record)
}

/// A commit above `base` with the files of a changeset, at that time.
///
/// # Errors
/// As [`Store::commit_with`].
fn commit(
    store: &Store,
    base: &str,
    (changeset, at): (&Changeset, DateTime<Utc>),
) -> Result<String> {
    let files = changeset.changes().iter().map(|it| (it.path.clone(), it.after.clone()));
    store.commit_with(base, files.collect(), at, "What a session holds")
}

/// The proposal that was recorded of `proposing`, if one was: the session's own, revised, or a new one.
fn recorded(store: &Store, record: &Record, proposing: &Proposing) -> Result<Option<Proposal>> {
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

/// Whether this clone has given `proposal` the files that were noted, since they were.
fn is_of(
    store: &Store,
    view: &View,
    proposal: &Proposal,
    record: &Record,
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
