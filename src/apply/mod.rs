//! Plans into files: journalled writes, index and commit, recovery. Decides nothing and records
//! nothing: the caller's `record` does, while the files can still be put back.
//!
//! Order: journal → files → (git commit) → `record` → journal removed → (index). The store's lock
//! is not held while git runs, so a commit hook may run aye itself.
//!
//! A commit cannot be taken back: somebody may have built on it. So room for the record is held
//! while git runs, and where `record` fails all the same the files stay as committed, and the error
//! says `committed_not_recorded`. The decision is then made again, on the committed content: a
//! journal is no evidence of it (see [`crate::worktree::journal`]).

mod commit;
mod direct;
mod history;
mod index;
mod objects;
mod recover;
mod refuse;
mod room;
mod staging;

use std::path::PathBuf;
use std::time::Duration;

pub use commit::{Beside, Committed};
pub(crate) use direct::write as write_direct;
pub use direct::{Written as Direct, refuse_unstaged};
pub use history::recent_commits_of;
pub use index::{entry_in, note_sizes, refuse_locked_index, restage, staged_entry, unstage};
pub use objects::written;
pub(crate) use recover::{APPLY, COMMIT, UNDO, subject};
pub use recover::{Recovery, Settled, recover, set_refused_aside};
pub use refuse::{as_staged, refuse_underway, refuse_unmerged, staged, unmerged};
use staging::Staging;

use crate::changeset::RepoPath;
use crate::changeset::plan::{Planned, Resolution, Resolved};
use crate::error::Result;
use crate::proposal::event::Effect;
use crate::proposal::{Actor, Proposal};
use crate::repository::Repository;
use crate::store::Store;
use crate::worktree::journal::{Journal, Step};
use crate::worktree::{Reader, Worktree};

/// Error codes of writing files.
pub mod codes {
    crate::codes! {
        UNCOMMITTED_CHANGES = "uncommitted_changes", Conflict, "to stage or commit would take changes along that are not the proposal's";
        UNMERGED = "unmerged", Conflict, "a file has merge conflicts that are not settled, or is part of a merge, rebase or the like that is not done";
        PATHSPEC_REQUIRED = "pathspec_required", Usage, "an agent proposes uncommitted changes without saying which";
        COMMITTED_NOT_RECORDED = "committed_not_recorded", Unrecorded, "the commit was made and the decision could not be recorded; the files stay as committed";
        COMMIT_DIFFERS = "commit_differs", Conflict, "a commit has something else than was approved: by a hook, or saved meanwhile";
        MANIFEST_UNSUPPORTED = "manifest_unsupported", Conflict, "a submodule stands where a file is to be approved";
    }
}

/// How long to wait for another process that writes files of this clone.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// What is to be done with a plan.
pub struct Wanted<'a> {
    /// Files, index or commit.
    pub effect: Effect,
    /// First part of the commit message; the proposal's description otherwise.
    pub message: Option<&'a str>,
    /// What names the journal's event: kind, proposal and time.
    pub subject: String,
    /// The files.
    pub plan: &'a Resolution,
    /// Whom a commit names as reviewers.
    pub reviewers: &'a [Actor],
    /// Which proposal the plan is of.
    pub proposal: &'a Proposal,
}

/// What was made besides files.
#[derive(Debug, Default)]
pub struct Made {
    /// The commit's id.
    pub commit: Option<String>,
    /// Why the files could not be staged, in words.
    pub warning: Option<String>,
}

/// The files of `plan` that are there with more than what `proposal` puts there.
fn edited<'p>(plan: &'p Resolution, proposal: &Proposal) -> Vec<&'p RepoPath> {
    let changes = &proposal.current().changes;
    let makes = |path: &RepoPath| changes.iter().any(|it| it.path == *path && it.before.is_none());
    let is_edited = |file: &&Planned| {
        let is_derived = matches!(file.outcome, Resolved::Derived(_));
        let is_made = file.now == file.after && makes(&file.path);
        file.now.is_some() && !is_derived && !is_made
    };
    plan.files.iter().filter(is_edited).map(|file| &file.path).collect()
}

/// Writes files, all or none, as `wanted`; `record` records the decision, and gets the commit where
/// one was made. Where it fails everything is put back; but where the commit was made, all stays as
/// it is committed.
///
/// # Errors
/// `committed_not_recorded`; `uncommitted_changes`, `index_locked`, those of `record`, of git and of
/// [`Journal::apply`](crate::worktree::journal::Journal::apply).
pub(crate) fn write(
    repository: &Repository,
    journal: &Journal,
    worktree: &Worktree,
    reader: &Reader<'_>,
    wanted: Wanted<'_>,
    record: impl FnOnce(Option<&Committed>) -> Result<()>,
) -> Result<Made> {
    let Wanted { plan, proposal, .. } = wanted;
    let paths: Vec<RepoPath> = plan.files.iter().map(|file| file.path.clone()).collect();
    let files =
        || plan.files.iter().map(|file| (&file.path, file.now.as_ref(), file.after.as_ref()));
    repository.refuse_twins(files().map(|(path, _, after)| (path, after.is_some())))?;
    if matches!(wanted.effect, Effect::Commit | Effect::Index) {
        let written = files().filter(|(.., after)| after.is_some()).map(|(path, ..)| path);
        repository.refuse_other_case(written, &paths)?;
    }
    match wanted.effect {
        Effect::Commit => refuse::refuse_uncommitted(repository, &paths, &edited(plan, proposal))?,
        Effect::Index => refuse::refuse_unstaged(repository, files())?,
        Effect::Files | Effect::MarkOnly => {}
    }
    let (mut made, mut staging, mut unrecorded) = (None, None, None);
    journal.apply(reader, &steps(worktree, plan)?, Some(&wanted.subject), |_| {
        match wanted.effect {
            Effect::Commit => {
                journal.release_index();
                let modes = staging::modes(files());
                let room = room::Room::hold(repository, paths.len())?;
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
    if let Some(done) = &made {
        // A hook may have staged something else than the index was given.
        let refreshed = index::unstage(repository, &paths)
            .and_then(|()| commit::follow_beside(repository, &done.beside));
        warning = warning.or(refreshed.err().map(|error| error.message().to_owned()));
        warning = done.warning.clone().or(warning);
    }
    if let Some(error) = unrecorded {
        return Err(error);
    }
    Ok(Made { commit: made.map(|commit| commit.id), warning })
}

/// The commit stands, and `error` kept its decision from being recorded.
fn not_recorded(
    proposal: &Proposal,
    made: &Committed,
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

/// Stages `paths`, which are written already, and with a message commits them and nothing else, for
/// the applied `proposal`. `None` where nothing had to be committed.
///
/// # Errors
/// `uncommitted_changes` where HEAD has something else of a file than the decision started from, or git
/// ignores it; `index_locked`; `git_failed`, with what git or a hook said.
pub(crate) fn follow(
    store: &Store,
    reviewers: &[Actor],
    proposal: &Proposal,
    paths: &[RepoPath],
    message: Option<&str>,
) -> Result<Option<Committed>> {
    let repository = store.repository();
    index::refuse_locked_index(repository)?;
    refuse::refuse_ignored(repository, paths)?;
    repository.refuse_other_case(paths.iter(), paths)?;
    let Some(message) = message else {
        return Staging::start(repository, &[])?.finish(paths).map(|()| None);
    };
    refuse::refuse_other_base(store, proposal)?;
    let journal = lock(store)?;
    let message = commit::message(repository, reviewers, proposal, Some(message))?;
    commit::commit(repository, &journal, proposal, &message, paths, &[])
}

/// The directory of the apply journal.
pub fn journal_directory(repository: &Repository) -> PathBuf {
    repository.private_dir().join("journal")
}

/// Takes the journal's lock, with nothing left over from a process that is gone.
///
/// # Errors
/// `apply_busy`, and those of recovery.
pub(crate) fn lock(store: &Store) -> Result<Journal> {
    lock_within(store, PATIENCE)
}

/// As [`lock`], waiting at most `wait` for another process.
///
/// # Errors
/// As [`lock`].
pub(crate) fn lock_within(store: &Store, wait: Duration) -> Result<Journal> {
    let journal = Journal::open(&journal_directory(store.repository()), wait)?;
    store.repository().look_again();
    recover::with(store, &journal)?;
    let index = std::path::absolute(index::lock_of_index(store.repository()))
        .map_err(|error| crate::error::Error::io("find the index", &error))?;
    Ok(journal.flushing(store.repository().settings()?.durable).locking(index))
}

/// What is to be written of `plan`, announced to `worktree`.
///
/// # Errors
/// What the work tree refuses.
pub(crate) fn steps<'plan>(
    worktree: &Worktree,
    plan: &'plan Resolution,
) -> Result<Vec<Step<'plan>>> {
    worktree.expect(plan.writes().map(|file| (&file.path, file.after.as_ref())))?;
    let step = |file: &'plan Planned| Step {
        path: &file.path,
        now: file.now.as_ref(),
        after: file.after.as_ref(),
    };
    Ok(plan.writes().map(step).collect())
}
