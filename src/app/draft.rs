//! Changes before they are proposed.

use crate::changeset::patch::FileReport;
use crate::changeset::{Changeset, FileChange};
use crate::error::Result;
use crate::proposal::Proposal;
use crate::proposal::event::{Incomplete, InputForm, On};
use crate::proposal::statement::Target;
use crate::store::Store;

/// Changes that the repository accepts.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) changeset: Changeset,
    pub(super) form: InputForm,
    /// A commit's own message.
    pub message: Option<String>,
    /// Pending proposal whose result the changes start from.
    pub(super) on: Option<On>,
    /// Start of a session, if other than HEAD.
    pub(super) target: Option<Target>,
    /// Changed files that are not included.
    pub(super) incomplete: Vec<Incomplete>,
    /// Resets the files in the work tree after proposing.
    pub(super) take_back: bool,
    /// Files with the hunks that were placed or matched otherwise than written.
    pub(super) adapted: Vec<FileReport>,
}

impl Draft {
    /// Detects renames and copies.
    ///
    /// # Errors
    /// `file_too_large`, `path_invalid`: see `Store::accept`.
    pub fn new(store: &Store, changeset: Changeset, form: InputForm) -> Result<Self> {
        store.accept(&changeset)?;
        let changeset = changeset.with_origins();
        Ok(Self {
            changeset,
            form,
            message: None,
            on: None,
            target: None,
            incomplete: Vec::new(),
            take_back: false,
            adapted: Vec::new(),
        })
    }

    /// # Errors
    /// As `Draft::new`; `object_missing`.
    pub fn present(store: &Store, proposal: &Proposal, form: InputForm) -> Result<Self> {
        let current = proposal.current();
        let draft = Self::new(store, store.changeset(current)?, form)?;
        Ok(Self { on: current.on.clone(), ..draft })
    }

    /// # Errors
    /// As `Draft::new`; `no_change` if nothing is left.
    pub(super) fn amended(
        store: &Store,
        proposal: &Proposal,
        changes: Vec<FileChange>,
        form: InputForm,
    ) -> Result<Self> {
        let draft = Self::new(store, Changeset::new(changes)?, form)?;
        Ok(Self { on: proposal.current().on.clone(), ..draft })
    }

    pub fn changeset(&self) -> &Changeset {
        &self.changeset
    }
}
