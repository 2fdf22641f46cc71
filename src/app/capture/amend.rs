//! Edits as the next revision of a proposal, on the files or on the proposal's own result.

use super::super::stack::EditBase;
use super::super::{Draft, Session};
use super::{edits, is_missing, refuse_left_out};
use crate::changeset::snippet::{self, SnippetEdit};
use crate::changeset::{Changeset, codes};
use crate::error::{Error, Result};
use crate::proposal::Proposal;
use crate::proposal::event::InputForm;
use crate::store::Store;

/// Replaces the whole content of `proposal` by `given` on `ground`. If the edits do not fit there,
/// applies them to the proposal's own result and keeps the rest of it. All edits go to one of the
/// two.
pub fn amend(
    session: &Session<'_>,
    proposal: &Proposal,
    given: Vec<SnippetEdit>,
    ground: &EditBase,
    form: InputForm,
) -> Result<Draft> {
    let error = match edits(session, given.clone(), ground, form.clone()) {
        Err(error) if is_missing(&error) => error,
        other => return other,
    };
    let on = EditBase::On(proposal.id.to_string());
    let Ok(Some(own)) = on.made(session) else { return Err(error) };
    match snippet::compile(given, &own) {
        Ok(edited) => on_own(session.store, proposal, edited, form),
        Err(found) => Err(nearer(proposal, error, found)),
    }
}

fn on_own(store: &Store, proposal: &Proposal, edited: Changeset, form: InputForm) -> Result<Draft> {
    refuse_left_out(store.repository(), &edited)?;
    let mut changes = store.changeset(proposal.current())?.into_changes();
    for edit in edited.into_changes() {
        match changes.iter_mut().find(|change| change.path == edit.path) {
            Some(change) => {
                change.after = edit.after;
                // Snippets lead to the former text.
                change.snippets.clear();
            }
            None => changes.push(edit),
        }
    }
    Draft::amended(store, proposal, changes, form)
}

/// The failure that is about the text that was meant.
fn nearer(proposal: &Proposal, on_files: Error, on_own: Error) -> Error {
    let id = proposal.id.as_str();
    let is_own = |(key, named): &(&str, serde_json::Value)| *key == "pending" && named == id;
    if !is_missing(&on_own) {
        return on_own;
    }
    if !on_files.details().iter().any(is_own) {
        return on_files;
    }
    let both = format!("all edits must fit the files, or all must fit the result of {id}");
    let hint = match on_own.hint_text() {
        Some(hint) if on_own.is(&codes::OLD_CONTENT_NOT_FOUND) => format!("{hint}\n{both}"),
        _ => both,
    };
    on_own.hint(hint)
}
