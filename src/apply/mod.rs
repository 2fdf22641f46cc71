//! Writes plans to files: journal, index, commit, recovery. The caller's `record` records the
//! decision while files can still be restored.
//!
//! Order: journal → files → (git commit) → `record` → journal removed → (index). Git runs without
//! the store's lock, so a commit hook may run aye.
//!
//! A commit is final: other work may build on it. Disk room for the record is therefore reserved
//! while git runs. If `record` still fails, the files stay as committed (`committed_not_recorded`).
//! The person decides again, because a journal is not evidence (`crate::worktree::journal`).

mod checks;
mod commit;
mod direct;
mod disk_reservation;
mod history;
mod index;
mod objects;
mod recover;
mod staging;

use std::path::PathBuf;
use std::time::Duration;

pub use checks::{as_staged, refuse_underway, refuse_unmerged, staged, unmerged};
pub use commit::{ExtraFile, ProposalCommit, message};
pub(crate) use direct::write as write_direct;
pub use direct::{WrittenChangeset as Direct, refuse_unstaged};
pub use history::recent_commits_of;
pub use index::{
    entry_in, index_lines, note_sizes, refuse_locked_index, restage, staged_entry, unstage,
};
pub use objects::written;
pub(crate) use recover::{APPLY, COMMIT, UNDO, subject};
pub use recover::{RecoveryMessage, RecoveryMessages, recover, set_refused_aside};
use staging::Staging;

use crate::changeset::RepoPath;
use crate::changeset::plan::{ApplyPlan, MergeStatus, PlannedFile};
use crate::error::Result;
use crate::proposal::event::Effect;
use crate::proposal::{Actor, Proposal};
use crate::repository::Repository;
use crate::store::Store;
use crate::worktree::journal::{FileWrite, Journal};
use crate::worktree::{Reader, Worktree};

pub mod codes {
    crate::codes! {
        UNCOMMITTED_CHANGES = "uncommitted_changes", Conflict, "the commit or the index would include changes that are not the proposal's";
        UNMERGED = "unmerged", Conflict, "a file has unresolved conflicts, or a merge or rebase is in progress";
        PATHSPEC_REQUIRED = "pathspec_required", Usage, "an agent must name the files of the uncommitted changes that it proposes";
        COMMITTED_NOT_RECORDED = "committed_not_recorded", Unrecorded, "git made the commit, but aye could not record the decision";
        COMMIT_DIFFERS = "commit_differs", Conflict, "the commit differs from the approved content, by a hook or a later save";
        BRANCH_EXISTS = "branch_exists", Conflict, "a branch of that name exists";
        MANIFEST_UNSUPPORTED = "manifest_unsupported", Conflict, "the path of an approved file is a submodule";
    }
}

/// Longest wait for another writer of this clone's files.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub struct ApplyRequest<'a> {
    pub effect: Effect,
    /// First part of the commit message; the proposal's description by default.
    pub message: Option<&'a str>,
    /// Names the journal's event: kind, proposal and time.
    pub subject: String,
    pub plan: &'a ApplyPlan,
    /// Reviewers named in the commit.
    pub reviewers: &'a [Actor],
    pub proposal: &'a Proposal,
}

#[derive(Debug, Default)]
pub struct ApplyOutcome {
    pub commit: Option<String>,
    /// Why staging failed.
    pub warning: Option<String>,
}

/// Existing files of `plan` with changes besides those of `proposal`.
fn edited<'p>(plan: &'p ApplyPlan, proposal: &Proposal) -> Vec<&'p RepoPath> {
    let changes = &proposal.current().changes;
    let makes = |path: &RepoPath| changes.iter().any(|it| it.path == *path && it.before.is_none());
    let is_edited = |file: &&PlannedFile| {
        let is_derived = matches!(file.outcome, MergeStatus::Derived(_));
        let is_made = file.now == file.after && makes(&file.path);
        file.now.is_some() && !is_derived && !is_made
    };
    plan.files.iter().filter(is_edited).map(|file| &file.path).collect()
}

/// Writes all files or none. If `record` fails, all are restored, unless a commit was made.
///
/// # Errors
/// `committed_not_recorded`, `uncommitted_changes`, `index_locked`; errors of `record`, git and
/// `Journal::apply`.
pub(crate) fn write(
    repository: &Repository,
    journal: &Journal,
    worktree: &Worktree,
    reader: &Reader<'_>,
    wanted: ApplyRequest<'_>,
    record: impl FnOnce(Option<&ProposalCommit>) -> Result<()>,
) -> Result<ApplyOutcome> {
    let ApplyRequest { plan, proposal, .. } = wanted;
    let paths: Vec<RepoPath> = plan.files.iter().map(|file| file.path.clone()).collect();
    let files =
        || plan.files.iter().map(|file| (&file.path, file.now.as_ref(), file.after.as_ref()));
    repository.refuse_case_collisions(files().map(|(path, _, after)| (path, after.is_some())))?;
    if matches!(wanted.effect, Effect::Commit | Effect::Index) {
        let written = files().filter(|(.., after)| after.is_some()).map(|(path, ..)| path);
        repository.refuse_other_case(written, &paths)?;
    }
    match wanted.effect {
        Effect::Commit => checks::refuse_uncommitted(repository, &paths, &edited(plan, proposal))?,
        Effect::Index => checks::refuse_unstaged(repository, files())?,
        Effect::Files | Effect::MarkOnly => {}
    }
    let (mut made, mut staging, mut unrecorded) = (None, None, None);
    journal.apply(reader, &steps(worktree, plan)?, Some(&wanted.subject), |_| {
        match wanted.effect {
            Effect::Commit => {
                journal.release_index();
                let modes = staging::modes(files());
                let room = disk_reservation::DiskReservation::hold(repository, paths.len())?;
                let message =
                    commit::message(repository, wanted.reviewers, proposal, wanted.message)?;
                made = commit::commit(repository, journal, proposal, &message, &paths, &modes)?;
                drop(room);
            }
            Effect::Index => {
                journal.release_index();
                staging = Some(Staging::start(repository, &staging::modes(files())));
            }
            Effect::Files | Effect::MarkOnly => {}
        }
        crate::failpoint!("apply.event");
        let recorded = crate::failpoint!("apply.record", io)
            .map_err(|error| crate::error::Error::io("record the decision", &error))
            .and_then(|()| record(made.as_ref()));
        match (&made, recorded) {
            (Some(made), Err(error)) => unrecorded = Some(not_recorded(proposal, made, &error)),
            (_, recorded) => recorded?,
        }
        // The decision is final; old files are removed while git stages the new ones.
        if let Some(Ok(staging)) = &mut staging {
            staging.feed(&paths);
        }
        Ok(())
    })?;
    let mut warning = None;
    if let Some(Err(error)) = staging.map(|staging| staging.and_then(Staging::wait)) {
        warning = Some(format!("the files are written but not staged: {}", error.message()));
    }
    if let Some(done) = &made {
        // A hook may have staged something else.
        let refreshed = index::unstage(repository, &paths)
            .and_then(|()| commit::update_index_of_extras(repository, &done.extra_files));
        warning = warning.or(refreshed.err().map(|error| error.message().to_owned()));
        warning = done.warning.clone().or(warning);
    }
    if let Some(error) = unrecorded {
        return Err(error);
    }
    Ok(ApplyOutcome { commit: made.map(|commit| commit.id), warning })
}

fn not_recorded(
    proposal: &Proposal,
    made: &ProposalCommit,
    error: &crate::error::Error,
) -> crate::error::Error {
    let (id, short) = (&proposal.id, made.id.get(..12).unwrap_or(&made.id));
    let message = format!(
        "committed, not recorded: commit {short} has {id}, but its decision could not be \
         recorded: {}",
        error.message()
    );
    crate::error::Error::new(&codes::COMMITTED_NOT_RECORDED, message)
        .with("proposal_id", id.as_str())
        .with("commit", made.id.clone())
        .with("cause", error.code().id)
        .hint(format!("the files stay as committed; {}", recover::not_recorded(id)))
}

/// Stages the written `paths` of the applied `proposal`. With a message it commits exactly them;
/// `None` if there was nothing to commit.
///
/// # Errors
/// `uncommitted_changes` if HEAD differs from the decision's base or git ignores a file;
/// `index_locked`; `git_failed`.
pub(crate) fn stage_or_commit(
    store: &Store,
    reviewers: &[Actor],
    proposal: &Proposal,
    paths: &[RepoPath],
    message: Option<&str>,
) -> Result<Option<ProposalCommit>> {
    let repository = store.repository();
    index::refuse_locked_index(repository)?;
    checks::refuse_ignored(repository, paths)?;
    repository.refuse_other_case(paths.iter(), paths)?;
    let Some(message) = message else {
        return Staging::start(repository, &[])?.finish(paths).map(|()| None);
    };
    checks::refuse_other_base(store, proposal)?;
    let journal = lock(store)?;
    let message = commit::message(repository, reviewers, proposal, Some(message))?;
    commit::commit(repository, &journal, proposal, &message, paths, &[])
}

pub fn journal_directory(repository: &Repository) -> PathBuf {
    repository.private_dir().join("journal")
}

/// Takes the journal's lock and recovers what a dead process left.
///
/// # Errors
/// `apply_busy`, errors of recovery.
pub(crate) fn lock(store: &Store) -> Result<Journal> {
    lock_within(store, PATIENCE)
}

pub(crate) fn lock_within(store: &Store, wait: Duration) -> Result<Journal> {
    let journal = Journal::open(&journal_directory(store.repository()), wait)?;
    store.repository().clear_head_cache();
    recover::recover_locked(store, &journal)?;
    let index = std::path::absolute(index::lock_of_index(store.repository()))
        .map_err(|error| crate::error::Error::io("find the index", &error))?;
    Ok(journal.with_flush(store.repository().settings()?.durable).with_index_lock(index))
}

/// The writes of `plan`, announced to `worktree`.
pub(crate) fn steps<'plan>(
    worktree: &Worktree,
    plan: &'plan ApplyPlan,
) -> Result<Vec<FileWrite<'plan>>> {
    worktree.expect(plan.writes().map(|file| (&file.path, file.after.as_ref())))?;
    let step = |file: &'plan PlannedFile| FileWrite {
        path: &file.path,
        now: file.now.as_ref(),
        after: file.after.as_ref(),
    };
    Ok(plan.writes().map(step).collect())
}
