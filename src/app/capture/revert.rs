//! Resets files once a proposal holds their changes.

use super::super::{Draft, Session};
use crate::apply;
use crate::changeset::{Changeset, FileChange, RepoPath};
use crate::decide;
use crate::error::{Error, Result};
use crate::proposal::ProposalId;
use crate::proposal::codes::HUMAN_APPROVAL_REQUIRED;
use crate::proposal::rules::CallerClass;
use crate::store::Store;

/// Reverse of a changeset in the work tree. The index belongs to the user and is not changed.
pub struct Revert {
    changeset: Changeset,
}

impl Revert {
    /// Checks everything before a proposal is recorded.
    ///
    /// # Errors
    /// `unmerged`, `index_locked`, `hard_link` and other reasons why a file cannot be written;
    /// `human_approval_required`, `in_trial` if the caller may not reset.
    pub fn of(session: &Session<'_>, draft: &Draft) -> Result<Option<Self>> {
        if !draft.take_back {
            return Ok(None);
        }
        let store = session.store;
        let changeset = &draft.changeset;
        require_allowed(session, changeset)?;
        apply::refuse_locked_index(store.repository())?;
        let worktree = store.repository().worktree()?;
        let changes = changeset.changes();
        apply::refuse_underway(store.repository(), changes.iter().map(|change| &change.path))?;
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
        Ok(Some(Self { changeset: Changeset::new(changes.collect())? }))
    }

    /// Resets the files after proposal `id` was recorded. An edit in between cancels the reset of
    /// all files.
    ///
    /// # Errors
    /// `file_changed`, `index_locked`. Errors name the proposal, which remains.
    pub fn run(self, store: &Store, id: &ProposalId) -> Result<RevertedFiles> {
        let changes = self.changeset.changes().iter();
        let files: Vec<RepoPath> = changes.clone().map(|change| change.path.clone()).collect();
        let sides = changes.map(|change| (&change.path, change.after.as_ref()));
        let unstaged = apply::as_staged(store.repository(), sides);
        let staged = apply::staged(store.repository(), &files)?;
        let stands = |error: Error, which: &str| {
            let error = error.after(format_args!("proposal {id} is made, but {which}"));
            error.with("proposal_id", id.as_str())
        };
        apply::write_direct(store, false, |_| Ok((self.changeset, ())), |_| (), |(), _| ())
            .map_err(|error| stands(error, "the files stay as they are"))?;
        apply::note_sizes(store.repository(), &unstaged)
            .map_err(|error| stands(error, "git may take files for changed that are not"))?;
        Ok(RevertedFiles { files, staged })
    }
}

/// Only people may reset instruction files and memory, or write content that neither HEAD nor an
/// applied proposal here has: anyone can make a commit of anything.
fn require_allowed(session: &Session<'_>, changeset: &Changeset) -> Result<()> {
    let (store, caller) = (session.store, &session.caller);
    if caller.class() == CallerClass::Human {
        return Ok(());
    }
    store.require_outside_trial(caller.actor.kind)?;
    let refuse = |path: &RepoPath, why: &str| {
        let path = path.display().to_string();
        Err(Error::new(
            &HUMAN_APPROVAL_REQUIRED,
            format!("{path} {why}, and only a person reverts it"),
        )
        .with("path", path.clone())
        .hint(format!("propose it and leave the file as it is: aye propose --keep {path}")))
    };
    let known = store.repository().instructions();
    let head = store.repository().repo().head_id().ok().map(|id| id.to_string());
    let view = store.view()?;
    for change in changeset.changes() {
        let path = &change.path;
        if known.kind(path).is_some() {
            return refuse(path, "instructs agents");
        }
        if decide::is_of_memory(path) {
            return refuse(path, "is memory");
        }
        let before = change.before.as_ref().map(|file| store.entry_of(file)).transpose()?;
        let in_head = match &head {
            Some(head) => apply::entry_in(store.repository(), head, path)?,
            None => None,
        };
        if before != in_head
            && decide::written_here(store, &view, session.now, path, in_head.as_ref())?
                != Some(before)
        {
            return refuse(path, "would not be as HEAD has it");
        }
    }
    Ok(())
}

#[derive(Clone, Debug, Default)]
pub struct RevertedFiles {
    pub files: Vec<RepoPath>,
    /// Files that remain staged.
    pub staged: Vec<RepoPath>,
}
