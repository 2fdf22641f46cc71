//! A commit that was made for a proposal and whose decision is not on record: what made it was killed, or could
//! not write.

use std::collections::BTreeMap;

use super::visible_on;
use crate::changeset::{File, FileChange, RepoPath, Snapshot};
use crate::error::Result;
use crate::proposal::{Data, Proposal};
use crate::store::{Store, View};

/// A commit of HEAD that names a pending proposal of which nothing was ever applied by a decision.
#[derive(Debug)]
pub struct Unrecorded {
    /// Its id, hex.
    pub commit: String,
    /// What the proposal would have done to the files before it.
    pub changes: Vec<FileChange>,
    /// What it has of these files.
    pub files: BTreeMap<RepoPath, Option<File>>,
}

/// The commit of `proposal` whose decision is missing, if there is one. Whoever can write the git directory can
/// make such a commit, so it decides nothing; but what is asked about has to be what was committed.
///
/// # Errors
/// Those of the store.
pub fn unrecorded(store: &Store, view: &View, proposal: &Proposal) -> Result<Option<Unrecorded>> {
    let since = proposal.created_at.timestamp();
    let Some(id) = crate::apply::recent_commit_of(store.repo(), &proposal.id, since) else {
        return Ok(None);
    };
    // One that was applied before and taken back may be in any number of commits.
    let log = view.log(Some(&proposal.id), None)?;
    if log.iter().any(|entry| matches!(entry.stamped.event.data, Data::Apply(_))) {
        return Ok(None);
    }
    let parent = store.repo().find_commit(id).ok();
    let parent = parent.and_then(|commit| commit.parent_ids().next().map(gix::Id::detach));
    let none = BTreeMap::new();
    let before: Box<dyn Snapshot + '_> = match parent {
        Some(parent) => store.files_of(parent)?,
        None => Box::new(none),
    };
    let visible = visible_on(store, view, proposal, Some(&*before))?;
    if visible.refusal.is_some() {
        return Ok(None);
    }
    let committed = store.files_of(id)?;
    let mut files = BTreeMap::new();
    for change in &visible.changes {
        files.insert(change.path.clone(), committed.file(&change.path)?);
    }
    Ok(Some(Unrecorded { commit: id.to_string(), changes: visible.changes, files }))
}
