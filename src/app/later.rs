//! What a session has proposed after what a decision in another clone was about.

use crate::error::Result;
use crate::proposal::Proposal;
use crate::session::Record;
use crate::store::Store;

/// What a decision was about that was made where the session's last revision was not known.
#[derive(Debug)]
pub struct Earlier {
    /// The commit with what the tree of the session had at the last revision that was known there.
    pub files: String,
    /// It was decided in another form than that.
    pub is_other: bool,
}

/// What the decision on `proposal`, which the session of `record` has proposed, was about; `None` where there is no
/// decision, or it was made with the session's last revision known.
///
/// # Errors
/// Those of the store.
pub fn earlier(store: &Store, record: &Record, proposal: &Proposal) -> Result<Option<Earlier>> {
    let Some(decision) = proposal.decision() else { return Ok(None) };
    let view = store.view()?;
    if view.is_from_here(store, &decision.event)? {
        return Ok(None);
    }
    let (mut last, mut is_later) = (None, false);
    for revision in &proposal.revisions {
        if !view.is_from_here(store, &revision.event)? {
            continue;
        }
        if !proposal.undecided.contains(&revision.event) {
            last = Some(revision);
            continue;
        }
        // Of somebody else's the tree has only what it has followed.
        is_later |= proposal.is_own(revision) || record.revision.as_ref() == Some(&revision.event);
    }
    let Some(last) = last.filter(|_| is_later) else { return Ok(None) };
    let files = store.commit_onto(&record.base, last, "What a decision was about")?;
    Ok(Some(Earlier { files, is_other: last.event != decision.revision }))
}

/// The commit with what the session of `record` has proposed, as far as that is pending or decided.
///
/// # Errors
/// Those of the store.
pub fn proposed(store: &Store, record: &Record) -> Result<String> {
    let view = store.view()?;
    let last = record.proposal.as_ref().and_then(|id| view.find(id).ok());
    let earlier = last.map(|last| earlier(store, record, &last)).transpose()?.flatten();
    let submitted = || record.submitted.clone().unwrap_or_else(|| record.base.clone());
    Ok(earlier.map_or_else(submitted, |earlier| earlier.files))
}

/// What is said of `proposal`, which was decided where its last revision was not known. Untrusted.
pub(super) fn said(proposal: &Proposal) -> String {
    let (id, decided) = (&proposal.id, proposal.decided());
    format!(
        "{id} was {decided} in another clone as it was before its last revision; what that has beside it stays in \
         the files, and is proposed again"
    )
}
