//! `.git/aye/answers`: unwritten review answers by revision. With two concurrent reviews, the last
//! answer on a proposal wins.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::proposal::{ProposalId, Status};
use crate::repository::Repository;
use crate::review::model::SavedAnswers;
use crate::store::{ANSWERS, View};

/// By event id of the revision.
pub type Saved = BTreeMap<String, SavedAnswers>;

/// An unreadable file counts as empty.
pub fn read(repository: &Repository) -> Saved {
    let private = repository.private().ok().flatten();
    let bytes = private.and_then(|private| private.read(ANSWERS).ok().flatten());
    bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default()
}

/// Replaces the saved answers on the proposal.
///
/// # Errors
/// `private_dir_unsafe`.
pub fn keep(
    repository: &Repository,
    id: &ProposalId,
    answers: Option<(&str, SavedAnswers)>,
) -> Result<()> {
    change(repository, |saved| {
        saved.retain(|_, answers| answers.proposal != *id);
        saved.extend(answers.map(|(revision, answers)| (revision.to_owned(), answers)));
    })
}

/// Drops answers on revisions that are no longer pending.
pub fn prune(repository: &Repository, view: &View, now: DateTime<Utc>) -> Result<()> {
    let is_pending = |revision: &str, answers: &SavedAnswers| {
        view.proposal(&answers.proposal).is_ok_and(|proposal| {
            proposal.status(now) == Status::Pending && proposal.current().event == revision
        })
    };
    change(repository, |saved| saved.retain(|revision, answers| is_pending(revision, answers)))
}

fn change(repository: &Repository, change: impl FnOnce(&mut Saved)) -> Result<()> {
    let before = read(repository);
    let mut saved = before.clone();
    change(&mut saved);
    if saved == before {
        return Ok(());
    }
    let text = serde_json::to_vec(&saved).map_err(|error| Error::bug(error.to_string()))?;
    repository.make_private()?.replace(ANSWERS, &text, false)
}
