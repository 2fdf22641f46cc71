//! Differences between code and memory: planning, undo, and work after an apply.

use std::time::Duration;

use chrono::{DateTime, Utc};

use super::PartialProposal;
use super::follow::{self, MovedChanges};
use crate::apply as files;
use crate::changeset::merge::MergeLabels;
use crate::changeset::plan::{ApplyPlan, MergeStatus, PlannedFile, inverse, plan};
use crate::changeset::{FileChange, Snapshot};
use crate::error::Result;
use crate::memory::lock::Lock;
use crate::memory::service::decide as memory;
use crate::proposal::event::{Committed as EventCommitted, Subject, Written};
use crate::proposal::state::Decision;
use crate::proposal::steps::FileStep;
use crate::proposal::{Actor, Authority, Entry, Note, Proposal};
use crate::repository::Repository;
use crate::store::{Store, View};

/// A plan, and its changes if they follow moved files.
pub(super) type Forward = (ApplyPlan, Option<MovedChanges>);

/// Plans `proposal`, or `part` of it, on `snapshot`. Conflicts are in the plan.
///
/// # Errors
/// `bare_repository`, `object_missing`; for memory the reason why it cannot be applied.
pub(super) fn plan_apply(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    part: Option<&PartialProposal>,
    snapshot: &dyn Snapshot,
) -> Result<Forward> {
    match (proposal.subject, part) {
        (Subject::Memory, None) => Ok((memory::preview(store, proposal, snapshot)?, None)),
        (Subject::Memory, Some(_)) => Err(memory::refuse_partial(proposal)),
        (Subject::Code, Some(part)) => {
            let changes = part.changes.changes();
            let (plan, followed) =
                following(store, view, proposal, changes, follow::follow, snapshot)?;
            let followed = followed.map(|followed| MovedChanges {
                part: PartialProposal { reason: part.reason.clone(), ..followed.part },
                ..followed
            });
            Ok((plan, followed))
        }
        (Subject::Code, None) => {
            let changes = store.changeset(proposal.current())?.into_changes();
            following(store, view, proposal, &changes, follow::follow, snapshot)
        }
    }
}

/// Plans on moved files, wherever these are.
pub fn plan_wherever(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    snapshot: &dyn Snapshot,
) -> Result<ApplyPlan> {
    if proposal.subject == Subject::Memory {
        return memory::preview(store, proposal, snapshot);
    }
    let changes = store.changeset(proposal.current())?.into_changes();
    let (plan, _) = following(store, view, proposal, &changes, follow::follow_anywhere, snapshot)?;
    Ok(plan)
}

type Follow = fn(
    &Store,
    &View<'_>,
    &Proposal,
    &[FileChange],
    &ApplyPlan,
    &dyn Snapshot,
) -> Result<Option<MovedChanges>>;

fn following(
    store: &Store,
    view: &View<'_>,
    proposal: &Proposal,
    changes: &[FileChange],
    follow: Follow,
    snapshot: &dyn Snapshot,
) -> Result<Forward> {
    let plan = plan_on(store.repository(), changes, proposal, snapshot)?;
    match follow(store, view, proposal, changes, &plan, snapshot)? {
        Some(followed) => {
            let plan =
                plan_on(store.repository(), followed.part.changes.changes(), proposal, snapshot)?;
            Ok((plan, Some(followed)))
        }
        None => Ok((plan, None)),
    }
}

/// Refuses to delete or create a file that is missing only because of a sparse checkout.
fn plan_on(
    repository: &Repository,
    changes: &[FileChange],
    proposal: &Proposal,
    snapshot: &dyn Snapshot,
) -> Result<ApplyPlan> {
    let sides = MergeLabels { ours: "current", theirs: proposal.id.as_str() };
    let plan = plan(changes, snapshot, sides)?;
    let fits = |file: &&PlannedFile| !matches!(file.outcome, MergeStatus::Conflict(_));
    let gone = plan.files.iter().filter(fits).filter(|file| file.now.is_none());
    repository.refuse_excluded(gone.map(|file| &file.path))?;
    Ok(plan)
}

/// Plans the undo of `decision`; for code of `written`.
///
/// # Errors
/// `object_missing`; `conflict` for memory.
pub(super) fn plan_undo(
    store: &Store,
    proposal: &Proposal,
    decision: &Decision,
    written: &[Written],
    snapshot: &dyn Snapshot,
) -> Result<ApplyPlan> {
    if decision.written.is_empty() {
        return Ok(ApplyPlan { files: Vec::new() });
    }
    match proposal.subject {
        Subject::Memory => memory::preview_undo(store, proposal, decision),
        Subject::Code => {
            let written = written.iter().filter(|file| file.before != file.after);
            let changes: Result<Vec<FileChange>> =
                written.map(|file| change(store, &FileStep::from(file))).collect();
            plan(&inverse(&changes?), snapshot, MergeLabels { ours: "current", theirs: "before" })
        }
    }
}

/// # Errors
/// `object_missing`.
pub(super) fn change(store: &Store, step: &FileStep) -> Result<FileChange> {
    let file = |entry: &Option<Entry>| entry.as_ref().map(|entry| store.file(entry)).transpose();
    Ok(FileChange {
        path: step.path.clone(),
        before: file(&step.before)?,
        after: file(&step.after)?,
        origin: None,
        snippets: Vec::new(),
    })
}

/// True if the file has the step's result, whatever else changed.
///
/// # Errors
/// `object_missing`.
pub fn contains(store: &Store, step: &FileStep, snapshot: &dyn Snapshot) -> Result<bool> {
    let sides = MergeLabels { ours: "current", theirs: "applied" };
    let plan = plan(&[change(store, step)?], snapshot, sides)?;
    Ok(plan.is_already_there())
}

/// Stages or commits memory if its manifest wants that, and records the commit. Returns a warning
/// on failure.
pub(super) fn commit_memory(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposal: &Proposal,
    reviewers: &[Actor],
) -> Option<String> {
    if proposal.subject == Subject::Code {
        return None;
    }
    let wanted = match memory::in_git(store, proposal) {
        Ok(wanted) => wanted?,
        Err(error) => return Some(error.message().to_owned()),
    };
    let commit = || {
        let proposal = store.view()?.proposal(&proposal.id)?;
        let (paths, message) = (&wanted.paths, wanted.commit.as_deref());
        let Some(made) = files::stage_or_commit(store, reviewers, &proposal, paths, message)?
        else {
            return Ok(());
        };
        let note = EventCommitted { commit: made.id, amended: Vec::new(), statement: None };
        let note = Note::Committed(note);
        store
            .write(authority.actor(), now, |writer| writer.note(Some(&proposal.id), note).map(drop))
    };
    let done: Result<()> = commit();
    let error = done.err()?;
    Some(format!("the files are written, but git refused: {}", error.message()))
}

/// Lock of the agent-memory program, which may run here at the same time.
///
/// # Errors
/// `lock_held`, `lock_unusable`.
pub(super) fn lock(
    repository: &Repository,
    authority: &Authority,
    now: DateTime<Utc>,
    proposal: &Proposal,
) -> Result<Option<Lock>> {
    if super::is_memory(proposal) {
        crate::memory::service::lock(repository, authority.actor(), now)
    } else {
        Ok(None)
    }
}

pub(super) fn patience(store: &Store, proposal: &Proposal) -> Result<Duration> {
    match proposal.subject {
        Subject::Code => Ok(files::PATIENCE),
        Subject::Memory => memory::lock_wait(store, proposal),
    }
}
