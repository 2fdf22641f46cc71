//! Commits of a proposal without a recorded decision: aye was killed, or could not write.

use std::collections::BTreeMap;

use super::visible_on;
use crate::changeset::plan::{ApplyPlan, MergeStatus, PlannedFile};
use crate::changeset::{File, FileChange, RepoPath, Snapshot};
use crate::error::Result;
use crate::proposal::event::Verdict;
use crate::proposal::{Data, Proposal, ProposalId};
use crate::store::{Store, View};

/// Commit in HEAD that names a pending, never applied proposal.
#[derive(Debug)]
pub struct UnrecordedCommit {
    pub commit: String,
    /// Plan of the proposal on the parent.
    pub changes: Vec<FileChange>,
    /// The commit's content of these files.
    pub files: BTreeMap<RepoPath, Option<File>>,
    /// Set if all of the proposal is in it.
    pub made: Option<CommittedPlan>,
}

/// Commit to record: what its decision would have said.
#[derive(Clone, Debug)]
pub struct CommittedPlan {
    pub commit: String,
    pub parent: Option<String>,
    /// On the parent's files.
    pub plan: ApplyPlan,
}

impl CommittedPlan {
    pub(super) fn is_in(&self, files: &dyn Snapshot) -> Result<bool> {
        for file in &self.plan.files {
            if files.file(&file.path)? != file.after {
                return Ok(false);
            }
        }
        Ok(true)
    }

    pub(super) fn done(&self) -> ApplyPlan {
        let done = |file: &PlannedFile| PlannedFile {
            now: file.after.clone(),
            outcome: MergeStatus::Already,
            ..file.clone()
        };
        ApplyPlan { files: self.plan.files.iter().map(done).collect() }
    }
}

/// Finds commits whose decisions are missing. Anyone who can write the git directory can make one,
/// so it decides nothing; a question about it must show what was committed.
pub fn unrecorded(
    store: &Store,
    view: &View<'_>,
    proposals: &[Proposal],
) -> Result<BTreeMap<ProposalId, UnrecordedCommit>> {
    let mut found = BTreeMap::new();
    let Some(since) = proposals.iter().map(|it| it.created_at.timestamp()).min() else {
        return Ok(found);
    };
    let ids = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let commits = crate::apply::recent_commits_of(store.repository(), &ids, since);
    for proposal in proposals {
        if let Some(id) = commits.get(proposal.id.as_str())
            && let Some(commit) = one(store, view, proposal, *id)?
        {
            found.insert(proposal.id.clone(), commit);
        }
    }
    Ok(found)
}

/// Refuses a committed proposal without a record: another command would carry out its memory
/// request again.
///
/// # Errors
/// `changed_since_shown`.
pub fn require_recorded(store: &Store, view: &View<'_>, proposal: &Proposal) -> Result<()> {
    let found = unrecorded(store, view, std::slice::from_ref(proposal))?;
    let Some(found) = found.get(&proposal.id) else { return Ok(()) };
    let commit = found.commit.get(..12).unwrap_or(&found.commit);
    let why = format!("commit {commit} has it, and no decision records that");
    Err(super::changed_since_shown(proposal, &why).hint(format!(
        "`aye apply {} --commit` records it, and makes no second commit",
        proposal.id
    )))
}

fn one(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    id: gix::ObjectId,
) -> Result<Option<UnrecordedCommit>> {
    let repository = store.repository();
    // A proposal once applied and undone may be in any number of commits.
    let log = view.log(Some(&proposal.id), None)?;
    let is_apply =
        |data: &Data| matches!(data, Data::Decision(said) if said.verdict == Verdict::Apply);
    if log.iter().any(|entry| is_apply(&entry.stamped.event.data)) {
        return Ok(None);
    }
    let parent = repository.repo().find_commit(id).ok();
    let parent = parent.and_then(|commit| commit.parent_ids().next().map(gix::Id::detach));
    let none = BTreeMap::new();
    let before: Box<dyn Snapshot + '_> = match parent {
        Some(parent) => repository.files_of(parent)?,
        None => Box::new(none),
    };
    let visible = visible_on(store, view, proposal, Some(&*before))?;
    if visible.refusal.is_some() {
        return Ok(None);
    }
    let committed = repository.files_of(id)?;
    let head = repository.head_commit();
    let head = repository.files_of(head.unwrap_or(id))?;
    let (mut files, mut is_reverted) = (BTreeMap::new(), true);
    for change in &visible.changes {
        let file = committed.file(&change.path)?;
        is_reverted &= head.file(&change.path)? == before.file(&change.path)?;
        files.insert(change.path.clone(), file);
    }
    let changes = visible.changes;
    let commit = id.to_string();
    // For moved files, other changes are recorded.
    let plan = visible.shown.filter(|shown| shown.followed.is_none()).map(|shown| shown.plan);
    let made = plan.map(|plan| CommittedPlan {
        commit: commit.clone(),
        parent: parent.map(|parent| parent.to_string()),
        plan,
    });
    let made = match made {
        Some(made) if made.is_in(&*committed)? => Some(made),
        _ => None,
    };
    Ok((!is_reverted).then_some(UnrecordedCommit { commit, changes, files, made }))
}
