//! Taking an apply back.

use chrono::{DateTime, Utc};

use super::{lock, objects, recover, steps};
use crate::changeset::merge::Sides;
use crate::changeset::plan::{Plan, Planned, inverse, plan};
use crate::changeset::{FileChange, Snapshot};
use crate::error::{Error, Result};
use crate::proposal::event::{Subject, Undo, Written};
use crate::proposal::state::Decision;
use crate::proposal::{Actor, Data, Entry, Proposal, ProposalId, State};
use crate::store::Store;

/// What an undo came to.
#[derive(Clone, Debug)]
pub struct Undone {
    /// What became of every file; empty if the apply had only marked.
    pub files: Vec<Planned>,
    /// The commit that still contains the change.
    pub commit: Option<String>,
}

/// Plans taking the apply of `proposal` back. Writes nothing.
///
/// # Errors
/// `not_applied`, `object_missing`, and what the work tree refuses.
pub fn preview(store: &Store, proposal: &Proposal) -> Result<Plan> {
    let decision = applied(proposal)?;
    if decision.written.is_empty() {
        return Ok(Plan { files: Vec::new() });
    }
    if proposal.subject == Subject::Memory {
        return crate::memory::service::decide::preview_undo(store, proposal);
    }
    plan_back(store, &decision.written, &store.worktree()?)
}

fn plan_back(store: &Store, written: &[Written], files: &dyn Snapshot) -> Result<Plan> {
    let changes = changes(store, written)?;
    plan(&inverse(&changes), files, Sides { ours: "current", theirs: "before" })
}

/// Puts back what was there before `proposal` was applied, all files or none, and records it: the
/// proposal is pending again. Later changes in other lines of the files stay.
///
/// # Errors
/// `not_applied`; `conflict` where the same lines have changed since; as [`super::apply`].
pub fn undo(store: &Store, actor: &Actor, now: DateTime<Utc>, seen: &Proposal) -> Result<Undone> {
    let decision = applied(seen)?;
    let commit = decision.commit.clone();
    if decision.written.is_empty() {
        record(store, actor, now, seen, Vec::new())?;
        return Ok(Undone { files: Vec::new(), commit });
    }
    if seen.subject == Subject::Memory {
        let plan = crate::memory::service::decide::undo(store, actor, now, seen)?;
        return Ok(Undone { files: plan.files, commit });
    }
    let journal = lock(store)?;
    let worktree = store.worktree()?;
    let reader = worktree.reader();
    let plan = plan_back(store, &decision.written, &reader)?;
    if let Some(refusal) = plan.refusal() {
        return Err(conflict(refusal, &seen.id));
    }
    let written = objects::written(store, &[], &plan)?;
    let subject = recover::subject(recover::UNDO, &seen.id, now);
    journal.apply(&reader, &steps(&worktree, &plan)?, Some(&subject), |_| {
        crate::failpoint!("undo.event");
        record(store, actor, now, seen, written)
    })?;
    Ok(Undone { files: plan.files, commit })
}

/// A plan's refusal, with what to do about it.
pub fn conflict(refusal: Error, id: &ProposalId) -> Error {
    refusal
        .with("proposal_id", id.as_str())
        .hint("nothing was written; the same lines have changed since, so take it back by hand")
}

fn applied(proposal: &Proposal) -> Result<&Decision> {
    match &proposal.state {
        State::Applied(decision) => Ok(decision),
        State::Pending | State::Rejected(_) => Err(Error::new(
            &crate::proposal::codes::NOT_APPLIED,
            format!("{} is not applied, so there is nothing to undo", proposal.id),
        )
        .hint(format!("`aye show {}` tells its state", proposal.id))),
    }
}

fn changes(store: &Store, written: &[Written]) -> Result<Vec<FileChange>> {
    let file = |entry: &Option<Entry>| entry.as_ref().map(|entry| store.file(entry)).transpose();
    written
        .iter()
        .filter(|file| file.before != file.after)
        .map(|written| {
            Ok(FileChange {
                path: written.path.clone(),
                before: file(&written.before)?,
                after: file(&written.after)?,
                origin: None,
                snippets: Vec::new(),
            })
        })
        .collect()
}

fn record(
    store: &Store,
    actor: &Actor,
    now: DateTime<Utc>,
    seen: &Proposal,
    written: Vec<Written>,
) -> Result<()> {
    store.write(actor, now, |writer| {
        let proposal = writer.view.proposal(&seen.id)?;
        applied(&proposal)?;
        writer.append(Some(&seen.id), Data::Undo(Undo { written })).map(|_| ())
    })
}
