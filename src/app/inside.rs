//! What is proposed from within the tree of a session: it is done to the files there, and the session's
//! proposal says so.

use std::path::Path;

use super::propose::{Details, check_description};
use super::session::{self, Submitted};
use super::{Session, capture};
use crate::changeset::Changeset;
use crate::changeset::patch::Options;
use crate::changeset::snippet::{self, Edit};
use crate::error::Result;
use crate::session::home::{Changing, Home};
use crate::session::spool::{self, Said};
use crate::store::Store;

/// What is to be done to the files of a tree.
#[derive(Debug)]
pub enum Wanted {
    /// These edits.
    Edits(Vec<Edit>),
    /// A unified diff or an envelope.
    Patch {
        /// The patch, as it came.
        bytes: Vec<u8>,
        /// How it is read.
        options: Options,
    },
    /// Nothing: they are as they are to be.
    Nothing,
}

/// Does what is `wanted` to the files of session `name`, and proposes all that is in them.
///
/// # Errors
/// Those of matching, after which the files are as they were, and of [`session::submit`], after which they
/// are as was wanted.
pub fn propose(
    session: &Session<'_>,
    home: &Home,
    changing: &Changing,
    wanted: Wanted,
    details: Details,
) -> Result<Submitted> {
    let name = changing.name();
    check_description(details.description.as_deref())?;
    write(session.store, &home.tree(name), wanted)?;
    session::submit(session, home, changing, name, details)
}

/// As [`propose`], from where the git directory cannot be written: it is proposed when the run ends, or by the
/// next command outside.
///
/// # Errors
/// Those of matching, and of the file system.
pub fn leave(store: &Store, tree: &Path, wanted: Wanted, details: Details) -> Result<()> {
    check_description(details.description.as_deref())?;
    write(store, tree, wanted)?;
    let Details { description, domain, related_task_id, .. } = details;
    spool::leave(tree, &Said { description, domain, related_task_id })
}

fn write(store: &Store, tree: &Path, wanted: Wanted) -> Result<()> {
    let inside = store.at(tree)?;
    let files = inside.repository().worktree()?;
    let changeset: Changeset = match wanted {
        Wanted::Edits(edits) => snippet::compile(edits, &files)?,
        Wanted::Patch { bytes, options } => {
            let compiled = capture::patch(inside.repository(), &bytes, &files, &options)?;
            if compiled.already_applied {
                return Ok(());
            }
            compiled.changeset
        }
        Wanted::Nothing => return Ok(()),
    };
    for change in changeset.changes() {
        files.check_writable(&change.path)?;
    }
    // A file may come where a directory was.
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
