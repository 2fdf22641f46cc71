//! Changes that are about to be proposed.

use crate::changeset::patch::FileReport;
use crate::changeset::{Changeset, FileChange};
use crate::error::Result;
use crate::proposal::Proposal;
use crate::proposal::event::{Incomplete, InputForm, On};
use crate::proposal::statement::Target;
use crate::store::Store;

/// Changes that the repository accepts, and that are not proposed yet.
#[derive(Clone, Debug)]
pub struct Draft {
    pub(super) changeset: Changeset,
    /// What the proposal records of the way it came.
    pub(super) form: InputForm,
    /// Its own message, if it has one (a commit's).
    pub message: Option<String>,
    /// The pending proposal whose result the changes were made on.
    pub(super) on: Option<On>,
    /// Where they were made, where that is not HEAD: where a session was started.
    pub(super) target: Option<Target>,
    /// What changed as well, and is not in it.
    pub(super) incomplete: Vec<Incomplete>,
    /// The changed files are to go back in the work tree once they are proposed.
    pub(super) take_back: bool,
    /// The files of the patch it was read from with a hunk that went elsewhere, or was matched otherwise, than
    /// written; of each those hunks.
    pub(super) adapted: Vec<FileReport>,
}

impl Draft {
    /// A draft of `changeset`, with renames and copies named as such.
    ///
    /// # Errors
    /// `file_too_large`, `path_invalid`: what could not be applied, see [`Store::accept`].
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

    /// The present changes of `proposal` as they are.
    ///
    /// # Errors
    /// As [`Draft::new`]; `object_missing`.
    pub fn present(store: &Store, proposal: &Proposal, form: InputForm) -> Result<Self> {
        let current = proposal.current();
        let draft = Self::new(store, store.changeset(current)?, form)?;
        Ok(Self { on: current.on.clone(), ..draft })
    }

    /// `changes`, made of the present ones of `proposal`, on what it stands on.
    ///
    /// # Errors
    /// As [`Draft::new`]; `no_change` where nothing is left of the proposal.
    pub(super) fn amended(
        store: &Store,
        proposal: &Proposal,
        changes: Vec<FileChange>,
        form: InputForm,
    ) -> Result<Self> {
        let draft = Self::new(store, Changeset::new(changes)?, form)?;
        Ok(Self { on: proposal.current().on.clone(), ..draft })
    }

    /// The changes.
    pub fn changeset(&self) -> &Changeset {
        &self.changeset
    }
}
