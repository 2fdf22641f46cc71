//! Proposals of sessions are revised in their own clone, where the session's tree is, and nowhere else.

use crate::error::{Error, Result};
use crate::proposal::Proposal;
use crate::proposal::event::{Data, InputForm};
use crate::session::codes;
use crate::store::{Store, View};

/// Whether a session of another clone has proposed it.
///
/// # Errors
/// If the store cannot be read.
pub fn is_of_another_session(store: &Store, view: &View, proposal: &Proposal) -> Result<bool> {
    if store.own_lanes().iter().any(|lane| proposal.is_of_lane(lane)) {
        return Ok(false);
    }
    let first = &proposal.revisions[0].event;
    let entries = view.log(Some(&proposal.id), None)?;
    let first = entries.iter().find(|entry| entry.stamped.id == *first);
    Ok(first.is_some_and(|entry| match &entry.stamped.event.data {
        Data::Propose(propose) => propose.form == InputForm::Session,
        _ => false,
    }))
}

/// Refuses to revise a proposal of a session of another clone.
///
/// # Errors
/// `session_elsewhere`; if the store cannot be read.
pub fn refuse(store: &Store, proposal: &Proposal) -> Result<()> {
    if !is_of_another_session(store, &store.view()?, proposal)? {
        return Ok(());
    }
    let id = &proposal.id;
    let message =
        format!("{id} is the proposal of a session in another clone, and revised there alone");
    Err(Error::new(&codes::SESSION_ELSEWHERE, message).hint(format!(
        "propose your own in its place: aye propose --instead-of {id} …; or say what should change: \
         aye comment {id} --request-changes -m TEXT"
    )))
}
