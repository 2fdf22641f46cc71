//! Sessions' proposals are revised only in their own clone, which has the session's tree.

use crate::error::{Error, Result};
use crate::proposal::Proposal;
use crate::proposal::event::InputForm;
use crate::session::codes;
use crate::store::Store;

pub fn is_of_another_session(store: &Store, proposal: &Proposal) -> bool {
    proposal.form == InputForm::Session && !store.clone_ids().contains(&proposal.clone)
}

/// # Errors
/// `session_elsewhere`.
pub fn refuse(store: &Store, proposal: &Proposal) -> Result<()> {
    if !is_of_another_session(store, proposal) {
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
