//! Carrying out a decision: plan, journalled write, event, and if asked for index and commit.
//!
//! The one way by which a proposal reaches files, whoever asks: `aye apply`, the review session,
//! a tool. Order: plan → journal → files → (git commit) → event → journal removed → (index). The
//! store's lock is held only for the event, so a commit hook may run aye itself.

mod commit;
mod direct;
mod objects;
mod recover;
mod undo;

use std::path::PathBuf;
use std::time::Duration;

use chrono::{DateTime, Utc};

use commit::Staging;
pub use commit::refuse_locked_index;
pub use direct::{note_sizes, refuse_unstaged, staged_otherwise, unstage, write as write_direct};
pub(crate) use recover::{APPLY, UNDO, subject};
pub use recover::{Recovery, Settled, recover, set_refused_aside};
pub use undo::{Undone, conflict as undo_conflict, preview as preview_undo, undo};

use crate::changeset::merge::Sides;
use crate::changeset::plan::{Plan, Planned, plan};
use crate::changeset::{Changeset, FileChange, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::event::{Apply, Effect, How, Subject, Written, digest};
use crate::proposal::{Actor, ChangeRecord, Data, Proposal, ProposalId};
use crate::store::Store;
use crate::worktree::Worktree;
use crate::worktree::journal::{Journal, Step};

/// Error codes of carrying out decisions.
pub mod codes {
    crate::codes! {
        UNCOMMITTED_CHANGES = "uncommitted_changes", Conflict, "to stage or commit would take changes along that are not the proposal's";
        UNMERGED = "unmerged", Conflict, "a file has merge conflicts that are not settled, or is part of a merge that is not committed";
        INDEX_LOCKED = "index_locked", Busy, "another git process holds the index";
    }
}

/// How long to wait for another process that writes files of this clone.
const PATIENCE: Duration = Duration::from_secs(30);

/// What to do besides deciding.
#[derive(Clone, Debug)]
pub struct Request {
    /// How it was decided.
    pub how: How,
    /// What to write.
    pub effect: Effect,
    /// First part of the commit message; the proposal's description otherwise.
    pub message: Option<String>,
    /// What to apply instead of the proposal's own changes: those of its hunks that were taken.
    pub part: Option<Part>,
}

/// Part of a proposal. It becomes a revision in the same step as it is applied, so that the
/// decision names exactly what was taken, and a failure leaves the proposal as it was.
#[derive(Clone, Debug)]
pub struct Part {
    /// What was taken.
    pub changes: Changeset,
    /// Why there is a new revision: `partial` or `edited`.
    pub reason: &'static str,
}

/// What an apply came to.
#[derive(Clone, Debug)]
pub struct Applied {
    /// What became of every file; empty for a mark.
    pub files: Vec<Planned>,
    /// The commit made.
    pub commit: Option<String>,
    /// Something that did not go as asked after the decision stood, in words.
    pub warning: Option<String>,
}

/// Plans `proposal` on the files as they are. Writes nothing.
///
/// # Errors
/// `bare_repository`, `object_missing`, and what the work tree refuses. Conflicts are in the plan.
pub fn preview(
    store: &Store,
    proposal: &Proposal,
    snapshot: &dyn crate::changeset::Snapshot,
) -> Result<Plan> {
    if proposal.subject == Subject::Memory {
        return crate::memory::service::decide::preview(store, proposal, snapshot);
    }
    plan_on(store, &changes(store, proposal)?, proposal, snapshot)
}

/// Plans part of `proposal` on the files as they are. Writes nothing.
///
/// # Errors
/// As [`preview`].
pub fn preview_part(
    store: &Store,
    part: &Part,
    proposal: &Proposal,
    snapshot: &dyn crate::changeset::Snapshot,
) -> Result<Plan> {
    if proposal.subject == Subject::Memory {
        return Err(crate::memory::service::decide::whole(proposal));
    }
    plan_on(store, part.changes.changes(), proposal, snapshot)
}

/// Plans `changes`, and refuses a deletion of what is not there only because a sparse checkout
/// leaves it out.
fn plan_on(
    store: &Store,
    changes: &[FileChange],
    proposal: &Proposal,
    snapshot: &dyn crate::changeset::Snapshot,
) -> Result<Plan> {
    let plan = plan(changes, snapshot, Sides { ours: "current", theirs: proposal.id.as_str() })?;
    let gone = plan.files.iter().filter(|file| file.now.is_none() && file.after.is_none());
    store.refuse_left_out(gone.map(|file| &file.path))?;
    Ok(plan)
}

/// Applies the current revision of `proposal`, all files or none, and records it.
///
/// # Errors
/// `conflict`, `not_pending`, `revised_meanwhile`, `file_changed`, `uncommitted_changes`, and
/// those of the store, the work tree and git. Nothing is changed then.
pub fn apply(
    store: &Store,
    actor: &Actor,
    now: DateTime<Utc>,
    proposal: &Proposal,
    request: &Request,
) -> Result<Applied> {
    if request.effect == Effect::MarkOnly {
        // Nobody can have seen what cannot be read.
        store.changeset(&proposal.current().changes)?;
        record(store, actor, now, proposal, request, Vec::new(), None)?;
        return Ok(Applied { files: Vec::new(), commit: None, warning: None });
    }
    let journal = lock(store)?;
    let worktree = store.worktree()?;
    let reader = worktree.reader();
    let plan = match &request.part {
        Some(part) => preview_part(store, part, proposal, &reader)?,
        None => preview(store, proposal, &reader)?,
    };
    if let Some(refusal) = plan.refusal() {
        return Err(store.name_sparse(conflict(refusal, &proposal.id)));
    }
    let paths: Vec<RepoPath> = plan.files.iter().map(|file| file.path.clone()).collect();
    let files =
        || plan.files.iter().map(|file| (&file.path, file.now.as_ref(), file.after.as_ref()));
    match request.effect {
        Effect::Commit => commit::refuse_uncommitted(store, &paths)?,
        Effect::Index => commit::refuse_unstaged(store, files())?,
        Effect::Files | Effect::MarkOnly => {}
    }
    let known: &[ChangeRecord] = match request.part {
        Some(_) => &[],
        None => &proposal.current().changes,
    };
    let written = objects::written(store, known, &plan)?;
    let kind = match request.effect {
        Effect::Commit => recover::COMMIT,
        _ => recover::APPLY,
    };
    let subject = recover::subject(kind, &proposal.id, now);
    let (mut made, mut staging) = (None, None);
    journal.apply(&reader, &steps(&worktree, &plan)?, Some(&subject), |_| {
        match request.effect {
            Effect::Commit => {
                let (message, modes) = (request.message.as_deref(), commit::modes(files()));
                made = commit::commit(store, actor, proposal, message, &paths, &modes)?;
            }
            Effect::Index => staging = Some(Staging::start(store, &commit::modes(files()))),
            Effect::Files | Effect::MarkOnly => {}
        }
        crate::failpoint!("apply.event");
        record(store, actor, now, proposal, request, written, made.clone())?;
        // The decision stands; the old files are cleared away while git stages the new ones.
        if let Some(Ok(staging)) = &mut staging {
            staging.feed(&paths);
        }
        Ok(())
    })?;
    let mut warning = None;
    if let Some(Err(error)) = staging.map(|staging| staging.and_then(Staging::wait)) {
        warning = Some(format!("the files are written but not staged: {}", error.message()));
    }
    drop(journal);
    if proposal.subject == Subject::Memory {
        match crate::memory::service::decide::settled(store, proposal) {
            Ok(said) => warning = warning.or(said),
            Err(error) => {
                warning = Some(format!("index.md is not up to date: {}", error.message()));
            }
        }
    }
    Ok(Applied { files: plan.files, commit: made, warning })
}

/// Writes the present files with conflict markers where `proposal` does not fit, and records
/// nothing: the proposal stays pending.
///
/// # Errors
/// `conflict` where lines cannot show it (binary, deleted), and as [`apply`].
pub fn write_markers(store: &Store, proposal: &Proposal) -> Result<Plan> {
    let journal = lock(store)?;
    let worktree = store.worktree()?;
    let reader = worktree.reader();
    let plan = preview(store, proposal, &reader)?.with_markers()?;
    journal.apply(&reader, &steps(&worktree, &plan)?, None, |_| Ok(()))?;
    Ok(plan)
}

/// The folder of the apply journal.
pub fn journal_folder(store: &Store) -> PathBuf {
    store.private_dir().join("journal")
}

/// Takes the journal's lock, with nothing left over from a process that is gone.
fn lock(store: &Store) -> Result<Journal> {
    lock_within(store, PATIENCE)
}

/// As [`lock`], waiting at most `wait` for another process.
pub(crate) fn lock_within(store: &Store, wait: Duration) -> Result<Journal> {
    let journal = Journal::open(&journal_folder(store), wait)?;
    recover::with(store, &journal)?;
    Ok(journal.flushing(store.settings()?.durable))
}

/// A plan's refusal, with what to do about it.
pub fn conflict(refusal: Error, id: &ProposalId) -> Error {
    refusal.with("proposal_id", id.as_str()).hint(format!(
        "nothing was written; `aye apply {id} --conflict-markers` writes both versions for you to \
         settle, `aye revise {id}` gives it anew on the present files"
    ))
}

fn changes(store: &Store, proposal: &Proposal) -> Result<Vec<FileChange>> {
    Ok(store.changeset(&proposal.current().changes)?.into_changes())
}

/// What is to be written of `plan`, announced to `worktree`.
fn steps<'plan>(worktree: &Worktree, plan: &'plan Plan) -> Result<Vec<Step<'plan>>> {
    worktree.expect(plan.writes().map(|file| (&file.path, file.after.as_ref())))?;
    let step = |file: &'plan Planned| Step {
        path: &file.path,
        now: file.now.as_ref(),
        after: file.after.as_ref(),
    };
    Ok(plan.writes().map(step).collect())
}

fn record(
    store: &Store,
    actor: &Actor,
    now: DateTime<Utc>,
    seen: &Proposal,
    request: &Request,
    written: Vec<Written>,
    commit: Option<String>,
) -> Result<()> {
    store.write(actor, now, |writer| {
        // Someone may have decided or revised it since it was read.
        let proposal = writer.view.proposal(&seen.id)?;
        proposal.require_pending(writer.now())?;
        proposal.require_revision(&seen.current().event)?;
        let (revision, digest) = match &request.part {
            Some(part) => {
                let revised =
                    writer.revise(&seen.id, &part.changes, part.reason, None, None, None)?;
                let digest = digest(revised.event.data.changes());
                (revised.id, digest)
            }
            None => (proposal.current().event.clone(), digest(&proposal.current().changes)),
        };
        let data = Data::Apply(Apply {
            revision,
            digest,
            how: request.how,
            effect: request.effect,
            commit,
            written,
        });
        writer.append(Some(&seen.id), data).map(|_| ())
    })
}
