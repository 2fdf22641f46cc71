//! Files put back to what they were, once a proposal holds their changes.

use super::super::Draft;
use crate::apply;
use crate::changeset::{Changeset, FileChange, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::ProposalId;
use crate::store::Store;

/// The way back to what the files of a changeset were before it, in the work tree and in the
/// index.
pub struct TakeBack {
    changeset: Changeset,
    /// What is in the index and not in the proposal.
    staged: Vec<(RepoPath, String)>,
}

impl TakeBack {
    /// The way back from the changes of `draft`, if they are to be taken back. What would be in it can
    /// be known before anything is done.
    ///
    /// # Errors
    /// `unmerged`, `index_locked`, `hard_link` and whatever else keeps a file from being written.
    pub fn of(store: &Store, draft: &Draft) -> Result<Option<Self>> {
        if !draft.take_back {
            return Ok(None);
        }
        let changeset = &draft.changeset;
        apply::refuse_locked_index(store)?;
        let worktree = store.worktree()?;
        let changes = changeset.changes();
        apply::refuse_underway(store, changes.iter().map(|change| &change.path))?;
        for change in changes.iter().filter(|change| change.after.is_some()) {
            worktree.check_writable(&change.path)?;
        }
        let changes = changes.iter().map(|change| FileChange {
            path: change.path.clone(),
            before: change.after.clone(),
            after: change.before.clone(),
            origin: None,
            snippets: Vec::new(),
        });
        let staged = apply::staged_otherwise(store, changeset);
        Ok(Some(Self { changeset: Changeset::new(changes.collect())?, staged }))
    }

    /// Reverts the files now that proposal `id` records them. If one was edited meanwhile, nothing is
    /// reverted.
    ///
    /// # Errors
    /// `file_changed`, `index_locked`, and those of the work tree and git. They name the proposal,
    /// which stands.
    pub fn run(self, store: &Store, id: &ProposalId) -> Result<TakenBack> {
        let files: Vec<RepoPath> =
            self.changeset.changes().iter().map(|c| c.path.clone()).collect();
        let stands = |error: Error, which: &str| {
            let error = error.after(format_args!("proposal {id} is made, but {which}"));
            error.with("proposal_id", id.as_str())
        };
        apply::write_direct(store, false, |_| Ok((self.changeset, ())), |_| (), |(), _| ())
            .map_err(|error| stands(error, "the files stay as they are"))?;
        apply::unstage(store, &files)
            .and_then(|()| apply::note_sizes(store, &files))
            .map_err(|error| stands(error, "the index stays as it is"))?;
        Ok(TakenBack { files, staged: self.staged })
    }
}

/// The files that were reverted.
#[derive(Clone, Debug, Default)]
pub struct TakenBack {
    /// All of them.
    pub files: Vec<RepoPath>,
    /// Other versions that were staged and are not in the proposal: the path and the blob's id.
    pub staged: Vec<(RepoPath, String)>,
}
