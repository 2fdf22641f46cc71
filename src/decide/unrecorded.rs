//! A commit that was made for a proposal and whose decision is not on record: what made it was killed, or could
//! not write.

use std::collections::BTreeMap;

use super::visible_on;
use crate::changeset::{File, FileChange, RepoPath, Snapshot};
use crate::error::Result;
use crate::proposal::{Data, Proposal, ProposalId};
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

/// The commits of `proposals` whose decisions are missing, by the ids of these. Whoever can write the git directory
/// can make such a commit, so it decides nothing; but what is asked about has to be what was committed.
///
/// # Errors
/// Those of the store.
pub fn unrecorded(
    store: &Store,
    view: &View,
    proposals: &[Proposal],
) -> Result<BTreeMap<ProposalId, Unrecorded>> {
    let mut found = BTreeMap::new();
    let Some(since) = proposals.iter().map(|it| it.created_at.timestamp()).min() else {
        return Ok(found);
    };
    let ids = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let commits = crate::apply::recent_commits_of(store.repo(), &ids, since);
    for proposal in proposals {
        if let Some(id) = commits.get(proposal.id.as_str())
            && let Some(commit) = one(store, view, proposal, *id)?
        {
            found.insert(proposal.id.clone(), commit);
        }
    }
    Ok(found)
}

fn one(
    store: &Store,
    view: &View,
    proposal: &Proposal,
    id: gix::ObjectId,
) -> Result<Option<Unrecorded>> {
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
    let head = store.repo().head_id().ok().map(gix::Id::detach);
    let head = store.files_of(head.unwrap_or(id))?;
    let (mut files, mut is_reverted) = (BTreeMap::new(), true);
    for change in &visible.changes {
        let file = committed.file(&change.path)?;
        is_reverted &= head.file(&change.path)? == before.file(&change.path)?;
        files.insert(change.path.clone(), file);
    }
    let changes = visible.changes;
    Ok((!is_reverted).then(|| Unrecorded { commit: id.to_string(), changes, files }))
}
