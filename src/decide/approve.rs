//! Approving: a person confirms what would be written; no file is written.

use chrono::{DateTime, Utc};

use super::apply::{Request, plan_again};
use super::decision_plan::entry;
use super::draft::{self, Draft};
use super::{DecisionPlan, require_unchanged, subject};
use crate::apply as files;
use crate::changeset::RepoPath;
use crate::changeset::plan::PlannedFile;
use crate::error::{Error, Result};
use crate::proposal::event::{Effect, Verdict};
use crate::proposal::manifest::EntryOutcome;
use crate::proposal::{Authority, Entry, Proposal};
use crate::store::Store;

#[derive(Clone, Debug, Default)]
pub struct Remarks {
    pub reason: Option<String>,
    pub unshown_lines: u64,
}

#[derive(Clone, Debug)]
pub struct ApproveResult {
    pub files: Vec<PlannedFile>,
    /// Files with other changes, not approved.
    pub not_approved: Vec<String>,
}

/// Approves the current revision on the files as they are. The proposal stays pending. With
/// `decision_plan`, any other result is refused.
///
/// # Errors
/// `conflict`, `not_pending`, `revised_meanwhile`, `changed_since_shown`, `private_path`,
/// `bare_repository`. Nothing is recorded then.
pub fn approve(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposal: &Proposal,
    remarks: &Remarks,
    shown: Option<&DecisionPlan>,
) -> Result<ApproveResult> {
    // No other process writes files between plan and record.
    let _journal = files::lock_within(store, subject::patience(store, proposal)?)?;
    let worktree = store.repository().worktree()?;
    let request = Request::all(Effect::Files);
    let planned = plan_again(store, now, proposal, &request, &worktree.reader(), shown)?;
    let proposal = &planned.proposal;
    proposal.require_pending(now)?;
    if let Some((from, to)) = planned.followed.iter().flat_map(|f| &f.moves).next() {
        let message = format!("{} has moved to {} since", from.display(), to.display());
        return Err(Error::new(&crate::changeset::codes::CONFLICT, message)
            .with("path", from.display().to_string())
            .hint(format!(
                "an approval is of a revision: aye revise {} --rebase makes that of it",
                proposal.id
            )));
    }
    let merged: Vec<(&RepoPath, Option<Entry>)> = planned
        .manifest
        .records()
        .iter()
        .filter(|record| record.outcome == EntryOutcome::Merged)
        .map(|record| (&record.path, entry(&record.now)))
        .collect();
    let merged = merged.iter().map(|(path, now)| (*path, now.as_ref()));
    super::refuse_private_merge(&store.view()?, &proposal.id, false, merged)?;
    let lines = draft::lines(&planned.plan);
    store.write(authority.actor(), now, |writer| {
        require_unchanged(writer, proposal, &planned.seen)?;
        let draft = Draft::new(authority, &planned.seen, proposal, Verdict::Approve);
        let (reason, manifest) = (remarks.reason.as_deref(), Some(&planned.manifest));
        let unshown_lines = remarks.unshown_lines;
        Draft { reason, manifest, lines, unshown_lines, ..draft }.record(writer).map(drop)
    })?;
    let not_approved =
        planned.foreign().map(|residue| residue.path.display().to_string()).collect();
    Ok(ApproveResult { files: planned.plan.files, not_approved })
}
