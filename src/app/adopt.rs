//! What an agent without a gate has done to the work tree already, as changes to propose.

use std::ffi::OsString;
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};

use super::{Draft, Session, capture, proposable};
use crate::apply;
use crate::changeset::{Changeset, FileChange, RepoPath};
use crate::decide;
use crate::error::{Error, Result, codes};
use crate::proposal::event::InputForm;
use crate::proposal::{ActorKind, Entry};
use crate::session::read;
use crate::session::tree::no_commit;
use crate::store::Store;

/// Since when.
#[derive(Clone, Debug)]
pub enum Since {
    /// The files as this commit, or stash, has them.
    Commit(OsString),
    /// This moment: files that were written since, against the commit that was the last one then.
    Time(DateTime<Utc>),
}

/// What is to be adopted.
#[derive(Clone, Debug)]
pub struct Adoption {
    /// Since when.
    pub since: Since,
    /// Files and directories that alone count; none for all of them. An agent has to name some.
    pub paths: Vec<RepoPath>,
    /// Whether the files are to go back to what they were.
    pub put_back: bool,
}

/// Reads what the work tree holds beside what it was then: tracked files and new ones, but for ignored ones.
/// What is passed over, and why, is added to `passed_over`.
///
/// # Errors
/// `bare_repository`, `no_commit`, `invalid_argument` for what names no commit, `pathspec_required`, `no_change`,
/// `unmerged`; those of [`read::left`].
pub fn draft(
    session: &Session<'_>,
    adoption: &Adoption,
    passed_over: &mut Vec<(String, String)>,
) -> Result<Draft> {
    let store = session.store;
    let top = store.worktree()?.root().to_owned();
    if adoption.paths.is_empty() && session.caller.actor.kind == ActorKind::Agent {
        return Err(Error::new(
            &apply::codes::PATHSPEC_REQUIRED,
            "an agent has to say which files it changed: others may be somebody else's work",
        )
        .hint("name them: aye adopt PATH… -m WHY"));
    }
    let base = match &adoption.since {
        Since::Commit(rev) => capture::resolve(store, rev, "^{commit}"),
        Since::Time(time) => last_before(store, *time),
    };
    let base = base.map_err(|error| match store.repo().head_id() {
        Ok(_) => error,
        Err(_) => no_commit(),
    })?;
    let left = read::left(store, &top, None, &base)?;
    let is_wanted = |path: &RepoPath| {
        let is_in =
            |above: &RepoPath| path == above || path.parents().any(|parent| parent == *above);
        adoption.paths.is_empty() || adoption.paths.iter().any(is_in)
    };
    let is_recent = |change: &FileChange| match adoption.since {
        Since::Commit(_) => true,
        Since::Time(time) => is_since(&top, change, time),
    };
    passed_over.extend(left.passed_over);
    let mut changes = left.changes;
    changes.retain(|change| is_wanted(&change.path) && is_recent(change));
    stand_on_applied(session, &mut changes)?;
    let changes = proposable::only(store, changes, passed_over)?;
    if changes.is_empty() {
        return Err(Error::new(
            &crate::changeset::codes::NO_CHANGE,
            "the work tree holds nothing that is not in what it is compared with",
        )
        .hint("name an earlier commit, a stash or a time: aye adopt --since main~2"));
    }
    apply::refuse_unmerged(store, changes.iter().map(|change| &change.path))?;
    let changeset = Changeset::new(changes)?;
    Ok(Draft { take_back: adoption.put_back, ..Draft::new(store, changeset, InputForm::Worktree)? })
}

/// Makes what was applied here, and is not committed yet, what a file is compared with: that is nobody's change.
fn stand_on_applied(session: &Session<'_>, changes: &mut Vec<FileChange>) -> Result<()> {
    let store = session.store;
    let view = store.view()?;
    let head = store.repo().head_id().ok().map(|id| id.to_string());
    let Some(head) = head.filter(|_| !changes.is_empty()) else { return Ok(()) };
    if view.last_applied(1)?.is_none() {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(changes.len());
    for mut change in changes.drain(..) {
        let entry: Option<Entry> = apply::entry_in(store, &head, &change.path)?;
        let committed = entry.as_ref().map(|entry| store.file(entry)).transpose()?;
        if committed == change.before {
            let applied =
                decide::written_here(store, &view, session.now, &change.path, entry.as_ref())?;
            if let Some(applied) = applied {
                change.before = applied.as_ref().map(|entry| store.file(entry)).transpose()?;
            }
        }
        if change.before != change.after {
            kept.push(change);
        }
    }
    *changes = kept;
    Ok(())
}

/// The last commit of HEAD's line that was made before `time`.
fn last_before(store: &Store, time: DateTime<Utc>) -> Result<String> {
    let time = time.to_rfc3339_opts(SecondsFormat::Secs, true);
    let before = format!("--before={time}");
    let found =
        store.git()?.args(["rev-list", "-1", "--first-parent", &before, "HEAD", "--"]).text()?;
    match found.trim() {
        "" => Err(Error::new(
            &codes::INVALID_ARGUMENT,
            format!("there is no commit from before {time}"),
        )
        .hint("name a commit instead: aye adopt --since REV")),
        id => Ok(id.to_owned()),
    }
}

/// Whether a file was written since `time`; of one that is gone, whether its directory was.
fn is_since(top: &Path, change: &FileChange, time: DateTime<Utc>) -> bool {
    let path = top.join(change.path.to_path());
    let seen = match change.after {
        Some(_) => Some(path.as_path()),
        None => path.parent(),
    };
    let facts = seen.and_then(|path| path.symlink_metadata().ok());
    let written = facts.and_then(|facts| facts.modified().ok());
    written.is_none_or(|written| DateTime::<Utc>::from(written) >= time)
}
