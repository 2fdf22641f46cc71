//! Changes of the work tree since a commit, a stash or a time: the work of an agent without a gate.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use chrono::{DateTime, SecondsFormat, Utc};

use super::super::{Session, proposable};
use super::{Remark, resolve};
use crate::apply;
use crate::changeset::{Changeset, FileChange, RepoPath};
use crate::decide;
use crate::error::{Error, Result, codes};
use crate::proposal::Entry;
use crate::repository::{Repository, parse_duration};
use crate::session::read;
use crate::session::tree::no_commit;

#[derive(Clone, Debug, PartialEq)]
pub enum Since {
    /// Files of this commit or stash.
    Commit(OsString),
    /// Files written since then, against the last commit before.
    Time(DateTime<Utc>),
}

impl Since {
    /// A duration (`45m`) or RFC 3339 time, otherwise a name for git.
    pub fn parse(text: &OsStr, now: DateTime<Utc>) -> Self {
        let time = text.to_str().and_then(|text| {
            let moment = DateTime::parse_from_rfc3339(text).ok().map(|time| time.to_utc());
            moment.or_else(|| Some(now - parse_duration(text)?))
        });
        time.map_or_else(|| Self::Commit(text.to_owned()), Self::Time)
    }
}

/// Includes new files except ignored ones.
pub(super) fn since(
    session: &Session<'_>,
    since: &Since,
    paths: &[RepoPath],
    remarks: &mut Vec<Remark>,
) -> Result<Changeset> {
    let store = session.store;
    let repository = store.repository();
    let top = repository.worktree()?.root().to_owned();
    let base = match since {
        Since::Commit(rev) => resolve(repository, rev, "^{commit}"),
        Since::Time(time) => last_before(repository, *time),
    };
    let base = base.map_err(|error| match repository.repo().head_id() {
        Ok(_) => error,
        Err(_) => no_commit(),
    })?;
    let left = read::read_changes(repository, &top, None, &base)?;
    let is_wanted = |path: &RepoPath| {
        let is_in =
            |above: &RepoPath| path == above || path.parents().any(|parent| parent == *above);
        paths.is_empty() || paths.iter().any(is_in)
    };
    let is_recent = |change: &FileChange| match since {
        Since::Commit(_) => true,
        Since::Time(time) => is_since(&top, change, *time),
    };
    let mut passed_over = left.passed_over;
    let mut changes = left.changes;
    changes.retain(|change| is_wanted(&change.path) && is_recent(change));
    stand_on_applied(session, &mut changes)?;
    let changes = proposable::only(store, changes, &mut passed_over);
    let note = |(path, why)| Remark::PassedOver { path, why };
    remarks.extend(passed_over.into_iter().map(note));
    let changes = changes?;
    if changes.is_empty() {
        return Err(Error::new(
            &crate::changeset::codes::NO_CHANGE,
            "the work tree has no changes against the base",
        )
        .hint("name an earlier commit, a stash or a time: --since main~2"));
    }
    apply::refuse_unmerged(repository, changes.iter().map(|change| &change.path))?;
    Changeset::new(changes)
}

/// Compares applied, uncommitted files with the applied content: applied changes are not new.
fn stand_on_applied(session: &Session<'_>, changes: &mut Vec<FileChange>) -> Result<()> {
    let store = session.store;
    let view = store.view()?;
    let head = store.repository().repo().head_id().ok().map(|id| id.to_string());
    let Some(head) = head.filter(|_| !changes.is_empty()) else { return Ok(()) };
    if !view.has_applied()? {
        return Ok(());
    }
    let mut kept = Vec::with_capacity(changes.len());
    for mut change in changes.drain(..) {
        let entry: Option<Entry> = apply::entry_in(store.repository(), &head, &change.path)?;
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

/// Last first-parent commit of HEAD before `time`.
fn last_before(repository: &Repository, time: DateTime<Utc>) -> Result<String> {
    let time = time.to_rfc3339_opts(SecondsFormat::Secs, true);
    let before = format!("--before={time}");
    let found = repository
        .git()?
        .args(["rev-list", "-1", "--first-parent", &before, "HEAD", "--"])
        .text()?;
    match found.trim() {
        "" => Err(Error::new(
            &codes::INVALID_ARGUMENT,
            format!("there is no commit from before {time}"),
        )
        .hint("name a commit instead: --since REV")),
        id => Ok(id.to_owned()),
    }
}

/// True if the file was written since `time`. For a deleted file its directory counts.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_one_and_all_else_is_gits() {
        let now = DateTime::parse_from_rfc3339("2026-01-02T12:00:00Z").unwrap().to_utc();
        let time = |text: &str| match Since::parse(text.as_ref(), now) {
            Since::Time(time) => Some(time.to_rfc3339()),
            Since::Commit(_) => None,
        };
        assert_eq!(time("2h").as_deref(), Some("2026-01-02T10:00:00+00:00"));
        assert_eq!(time("2026-01-01T05:00:00+05:00").as_deref(), Some("2026-01-01T00:00:00+00:00"));
        for rev in ["HEAD", "main~2", "stash@{0}", "deadbeef", "2h-branch", ""] {
            assert_eq!(time(rev), None, "{rev}");
        }
    }
}
