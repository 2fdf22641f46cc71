//! What a session has proposed after what a decision in another clone was about.

use std::collections::BTreeSet;

use crate::error::Result;
use crate::proposal::Proposal;
use crate::proposal::event::Data;
use crate::proposal::fold::saw;
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
    let Some(decided) = view.event(&decision.event)? else { return Ok(None) };
    let log = view.log(Some(&proposal.id), None)?;
    let (mut known, mut is_later) = (BTreeSet::new(), false);
    for event in log.iter().map(|entry| &entry.stamped) {
        let is_revision = matches!(event.event.data, Data::Propose(_) | Data::Revise(_));
        if !is_revision || !view.is_from_here(store, &event.id)? {
            continue;
        }
        let actor = &event.event.actor;
        if event.id == decision.revision || saw(&decided, event) {
            known.insert(event.id.as_str());
        } else {
            // Of somebody else's the tree has only what it has followed.
            is_later |= (&actor.name, actor.kind) == (&proposal.actor.name, proposal.actor.kind)
                || record.revision.as_ref() == Some(&event.id);
        }
    }
    let last = proposal.revisions.iter().rfind(|it| known.contains(it.event.as_str()));
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
         the files, and is proposed anew"
    )
}
