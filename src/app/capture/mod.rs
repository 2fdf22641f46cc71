//! Changes from edits, a patch, the work tree, a commit, or a range of commits.

mod amend;
mod patch_snapshot;
mod range;
mod revert;
mod since;
mod uncommitted;

use std::ffi::OsString;
use std::path::PathBuf;

use bstr::ByteSlice as _;
use chrono::{DateTime, Utc};

pub use amend::amend;
use patch_snapshot::PatchSnapshot;
pub use range::commits;
use range::resolve;
use range::{between, ends, parent};
pub use revert::{Revert, RevertedFiles};
pub use since::Since;
use since::since;
use uncommitted::{Specs, uncommitted};

use super::stack::{self, EditBase};
use super::{Draft, Session, denied_files};
use crate::apply;
use crate::changeset::codes as changeset_codes;
use crate::changeset::patch::{self, CompiledPatch, FileReport, Options};
use crate::changeset::snippet::{self, EditAction, SnippetEdit};
use crate::changeset::{Changeset, RepoPath, Snapshot};
use crate::decide;
use crate::error::{Error, Result};
use crate::proposal::event::InputForm;
use crate::proposal::{ActorKind, Proposal};
use crate::repository::Repository;
use crate::store::{Store, Summary};
use crate::text::shell;

#[derive(Clone, Debug)]
pub enum Source {
    Patch {
        bytes: Vec<u8>,
        options: Options,
        /// Base of the patch.
        ground: EditBase,
    },
    /// Uncommitted changes, including untracked files.
    Worktree {
        /// Pathspecs, as for `git add`; none means all files, which an agent may not ask for.
        specs: Vec<OsString>,
        /// Base of relative pathspecs.
        base: PathBuf,
        /// Resets the files after proposing.
        take_back: bool,
    },
    /// Changes of the work tree since a commit, a stash or a time, including later commits.
    Since {
        since: Since,
        /// Files and directories to include; none means all, which an agent may not ask for.
        paths: Vec<RepoPath>,
        /// Resets the files after proposing.
        take_back: bool,
    },
    /// Changes of a commit against its first parent.
    Commit {
        /// Any revision name of git.
        rev: OsString,
        /// Proposes the revert.
        reverse: bool,
    },
    /// Changes between two commits, as one.
    Range {
        /// `A..B`, or `A...B` from their merge base.
        range: OsString,
        reverse: bool,
    },
}

/// A deviation from the reader's expectation. Paths are untrusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Remark {
    Patch(String),
    /// Another repository, whose files are never proposed.
    OtherRepository(String),
    /// An unsupported symlink.
    Symlink(RepoPath),
    /// A staged file outside the sparse checkout.
    Excluded(RepoPath),
    /// A file that cannot be proposed.
    PassedOver {
        path: String,
        why: String,
    },
}

/// Adds `remarks` even if reading fails.
///
/// # Errors
/// `pathspec_required`; errors of the source and of `Draft::new`.
pub fn capture(session: &Session<'_>, source: &Source, remarks: &mut Vec<Remark>) -> Result<Draft> {
    let store = session.store;
    let repository = store.repository();
    let (changeset, form) = match source {
        Source::Patch { bytes, options, ground } => {
            let below = ground.made(session)?;
            let read = match &below {
                Some(below) => whole_patch(repository, below, bytes, options, remarks),
                None => whole_patch(repository, &*repository.files()?, bytes, options, remarks),
            };
            let (changeset, adapted) =
                read.map_err(|error| denied_files::unquoted(session, error))?;
            denied_files::refuse_copies(session, &changeset)?;
            let on = below.and_then(|below| below.on());
            return Ok(Draft { on, adapted, ..Draft::new(store, changeset, InputForm::Patch)? });
        }
        Source::Worktree { specs, base, .. } => {
            require_named(session, specs.is_empty())?;
            let specs = Specs { base, specs };
            (uncommitted(session, &specs, remarks)?, InputForm::Worktree)
        }
        Source::Since { since: then, paths, .. } => {
            require_named(session, paths.is_empty())?;
            (since(session, then, paths, remarks)?, InputForm::Worktree)
        }
        Source::Commit { rev, reverse } => {
            let id = resolve(repository, rev, "^{commit}")?;
            let parent = parent(repository, &id)?;
            let (from, to) = if *reverse { (&id, &parent) } else { (&parent, &id) };
            let changeset = between(store, from, to)?;
            let message = message(repository, &id, *reverse)?;
            return Ok(Draft { message, ..Draft::new(store, changeset, InputForm::Commit)? });
        }
        Source::Range { range, reverse } => {
            let (from, to) = ends(repository, range)?;
            let (from, to) = if *reverse { (to, from) } else { (from, to) };
            (between(store, &from, &to)?, InputForm::Commit)
        }
    };
    let take_back = matches!(
        source,
        Source::Worktree { take_back: true, .. } | Source::Since { take_back: true, .. }
    );
    Ok(Draft { take_back, ..Draft::new(store, changeset, form)? })
}

/// Agents must not propose every file of the work tree.
fn require_named(session: &Session<'_>, is_everything: bool) -> Result<()> {
    if !is_everything || session.caller.actor.kind != ActorKind::Agent {
        return Ok(());
    }
    Err(Error::new(
        &apply::codes::PATHSPEC_REQUIRED,
        "an agent must name the files that it changed: other changes may not be its own",
    )
    .hint("name them as to git add: aye propose --worktree PATH… -m WHY"))
}

/// # Errors
/// Errors of matching, of `EditBase::made` and of `Draft::new`.
pub fn edits(
    session: &Session<'_>,
    edits: Vec<SnippetEdit>,
    ground: &EditBase,
    form: InputForm,
) -> Result<Draft> {
    carried_out(session, edits, ground, form)
        .map_err(|error| denied_files::unquoted(session, error))
}

fn carried_out(
    session: &Session<'_>,
    edits: Vec<SnippetEdit>,
    ground: &EditBase,
    form: InputForm,
) -> Result<Draft> {
    let store = session.store;
    if let Some(below) = ground.made(session)? {
        let changeset = snippet::compile(edits, &below)?;
        return Ok(Draft { on: below.on(), ..Draft::new(store, changeset, form)? });
    }
    match ground {
        EditBase::Any if session.session().is_none() => on_files(session, edits, form),
        EditBase::Files | EditBase::On(_) | EditBase::Below(_) => on_files(session, edits, form),
        EditBase::Any => {
            let again = edits.clone();
            let error = match on_files(session, edits, form.clone()) {
                Err(error) if is_missing(&error) => error,
                other => return other,
            };
            let (changeset, on) = stack::own(session, error, again)?;
            Ok(Draft { on, ..Draft::new(store, changeset, form)? })
        }
    }
}

/// True if the old content or the file is missing.
fn is_missing(error: &Error) -> bool {
    error.is(&changeset_codes::OLD_CONTENT_NOT_FOUND) || error.is(&changeset_codes::FILE_NOT_FOUND)
}

fn on_files(session: &Session<'_>, edits: Vec<SnippetEdit>, form: InputForm) -> Result<Draft> {
    let Session { store, now, .. } = session;
    let old = |edit: &SnippetEdit| match &edit.action {
        EditAction::Replace(snippet) => Some((edit.path.clone(), snippet.old.clone())),
        EditAction::Write { .. } | EditAction::Delete => None,
    };
    let sought: Vec<(RepoPath, Vec<u8>)> = edits.iter().filter_map(old).collect();
    let changeset = snippet::compile(edits, &*store.repository().files()?).map_err(|error| {
        name_pending(store, *now, store.repository().name_missing(error), &sought)
    })?;
    refuse_left_out(store.repository(), &changeset)?;
    Draft::new(store, changeset, form)
}

/// Names the pending proposal that would write the missing text or file.
fn name_pending(
    store: &Store,
    now: DateTime<Utc>,
    error: Error,
    sought: &[(RepoPath, Vec<u8>)],
) -> Error {
    let given = error.details().iter().find(|(key, _)| *key == "path");
    let path = given.and_then(|(_, path)| path.as_str());
    let Some(path) = path.filter(|_| is_missing(&error)) else {
        return error;
    };
    let writer = || -> Option<Summary> {
        let files = store.repository().files().ok()?;
        // An earlier edit of the same call may have removed the text.
        let is_sought = |(at, old): &&(RepoPath, Vec<u8>)| {
            let now = || files.file(at).ok().flatten();
            at.display().to_string() == path
                && (old.is_empty() || now().is_none_or(|file| file.bytes.find(old).is_none()))
        };
        let (path, old) = sought.iter().find(is_sought)?;
        let view = store.view().ok()?;
        let mut pending = view.touching(path, now).ok()?.into_iter().rev();
        pending.find(|summary| {
            let proposal = view.proposal(&summary.id).ok();
            let changes = proposal.iter().flat_map(|proposal| &proposal.current().changes);
            let after =
                changes.filter(|change| change.path == *path).find_map(|c| c.after.as_ref());
            let file = after.and_then(|entry| store.file(entry).ok());
            file.is_some_and(|file| old.is_empty() || file.bytes.find(old).is_some())
        })
    };
    match writer() {
        Some(found) => {
            let (id, by) = (found.id.to_string(), found.proposed_by);
            error.with("pending", id.clone()).hint(format!(
                "{id} (pending, by {by}) writes this; go on from it: aye propose --on {id} …; or give \
                 it a new revision: aye revise {id} …"
            ))
        }
        None => error,
    }
}

/// Names the new path of a file that was renamed.
#[must_use]
pub fn name_moved(store: &Store, proposal: &Proposal, error: Error) -> Error {
    let given = error.details().iter().find(|(key, _)| *key == "path");
    let path = given.and_then(|(_, path)| path.as_str()).and_then(|path| RepoPath::new(path).ok());
    let Some(path) = path.filter(|_| error.is(&changeset_codes::FILE_NOT_FOUND)) else {
        return error;
    };
    let moved = || {
        let (view, files) = (store.view().ok()?, store.repository().files().ok()?);
        decide::moved_to(store.repository(), &view, proposal, &path, &*files).ok()?
    };
    match moved() {
        Some(now) => {
            let now = now.display().to_string();
            let hint =
                format!("it was renamed: aye revise {} {} …", proposal.id, shell::word(&now));
            error.with("moved_to", now).hint(hint)
        }
        None => error,
    }
}

pub fn patch(
    repository: &Repository,
    bytes: &[u8],
    files: &dyn Snapshot,
    options: &Options,
) -> Result<CompiledPatch> {
    let read = patch::read(bytes, &PatchSnapshot { files, repository }, options);
    let compiled = read.map_err(|error| {
        if error.is(&changeset_codes::PATH_INVALID) {
            repository.name_top(error)
        } else {
            repository.name_missing(error)
        }
    })?;
    refuse_left_out(repository, &compiled.changeset)?;
    Ok(compiled)
}

/// Refuses new files that exist in git outside the sparse checkout.
fn refuse_left_out(repository: &Repository, changeset: &Changeset) -> Result<()> {
    let made = changeset.changes().iter().filter(|change| change.before.is_none());
    repository.refuse_excluded(made.map(|change| &change.path))
}

/// Refuses patches that are completely applied. Returns the hunks placed or matched otherwise than
/// written.
fn whole_patch(
    repository: &Repository,
    files: &dyn Snapshot,
    bytes: &[u8],
    options: &Options,
    remarks: &mut Vec<Remark>,
) -> Result<(Changeset, Vec<FileReport>)> {
    let mut compiled = self::patch(repository, bytes, files, options)?;
    if compiled.already_applied {
        return Err(Error::new(
            &patch::codes::ALREADY_APPLIED,
            "every change of the patch is in the files already",
        )
        .hint(already_there(&compiled)));
    }
    remarks.extend(std::mem::take(&mut compiled.notes).into_iter().map(Remark::Patch));
    let mut adapted = std::mem::take(&mut compiled.files);
    for file in &mut adapted {
        file.hunks.retain(patch::HunkReport::is_remarkable);
    }
    adapted.retain(|file| !file.hunks.is_empty());
    Ok((compiled.changeset, adapted))
}

fn already_there(compiled: &CompiledPatch) -> String {
    const MOST: usize = 5;
    let paths = compiled.files.iter().map(|file| file.path.display().to_string());
    let mut paths: Vec<String> = paths.take(MOST + 1).map(|path| shell::word(&path)).collect();
    if paths.len() > MOST {
        paths.truncate(MOST);
        paths.push("…".into());
    }
    format!(
        "unless it is committed, `aye propose --worktree {}` proposes it; the files have it again once it \
         is applied",
        paths.join(" ")
    )
}

/// A revert gets the message of `git revert`.
fn message(repository: &Repository, id: &str, reverse: bool) -> Result<Option<String>> {
    let message = repository.git()?.args(["log", "-1", "--format=%B", id]).text()?;
    let message = Some(message.trim()).filter(|message| !message.is_empty());
    Ok(message.map(|message| {
        if reverse {
            let subject = message.lines().next().unwrap_or_default();
            format!("Revert \"{subject}\"\n\nThis reverts commit {id}.")
        } else {
            message.to_owned()
        }
    }))
}
