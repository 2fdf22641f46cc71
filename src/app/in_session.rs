//! Proposing from within a session's tree: changes go to its files, and the session's proposal
//! includes them.

use std::path::Path;

use super::propose::{Details, check_description};
use super::session::{self, SubmitReport};
use super::{Session, capture};
use crate::changeset::Changeset;
use crate::changeset::patch::Options;
use crate::changeset::snippet::{self, SnippetEdit};
use crate::error::Result;
use crate::session::session_store::{RecordLock, SessionStore};
use crate::session::spool::{self, SpoolRemark};
use crate::store::Store;

#[derive(Debug)]
pub enum TreeChange {
    Edits(Vec<SnippetEdit>),
    Patch {
        bytes: Vec<u8>,
        options: Options,
    },
    /// The files are complete already.
    Nothing,
}

/// Proposes all changes of session `name` after writing `wanted` to its files.
///
/// # Errors
/// Errors of matching leave the files unchanged; errors of `session::submit` do not.
pub fn propose(
    session: &Session<'_>,
    home: &SessionStore,
    changing: &RecordLock,
    wanted: TreeChange,
    details: Details,
) -> Result<SubmitReport> {
    let name = changing.name();
    check_description(details.description.as_deref())?;
    write(session.store, &home.tree(name), wanted)?;
    session::submit(session, home, changing, name, details)
}

/// As `propose`, where the git directory is read-only: the end of the run, or the next command
/// outside, proposes the files.
pub fn leave(store: &Store, tree: &Path, wanted: TreeChange, details: Details) -> Result<()> {
    check_description(details.description.as_deref())?;
    write(store, tree, wanted)?;
    let Details { description, domain, related_task_id, .. } = details;
    spool::leave(tree, &SpoolRemark { description, domain, related_task_id })
}

fn write(store: &Store, tree: &Path, wanted: TreeChange) -> Result<()> {
    let inside = store.at(tree)?;
    let files = inside.repository().worktree()?;
    let changeset: Changeset = match wanted {
        TreeChange::Edits(edits) => snippet::compile(edits, &files)?,
        TreeChange::Patch { bytes, options } => {
            let compiled = capture::patch(inside.repository(), &bytes, &files, &options)?;
            if compiled.already_applied {
                return Ok(());
            }
            compiled.changeset
        }
        TreeChange::Nothing => return Ok(()),
    };
    for change in changeset.changes() {
        files.check_writable(&change.path)?;
    }
    // A file may replace a directory.
    for change in changeset.changes().iter().filter(|change| change.after.is_none()) {
        files.remove_file(&change.path)?;
    }
    for change in changeset.changes() {
        if let Some(after) = &change.after {
            files.write_stored(&change.path, after)?;
        }
    }
    Ok(())
}
