//! What was approved of a file that another branch has moved meanwhile, where a rebase or a cherry-pick has it now.

use super::approved::{self, Cover};
use super::commits::{Commit, entry_at};
use crate::changeset::{File, RepoPath, Snapshot, sensitive};
use crate::decide::moved_to;
use crate::error::Result;
use crate::proposal::Proposal;
use crate::store::{Store, View};

/// The files of a commit's first parent.
struct Before<'a>(&'a Store, &'a Commit);

impl Snapshot for Before<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        let entry = entry_at(self.0, self.1.parent_tree, path);
        entry.map(|entry| self.0.file(&entry)).transpose()
    }
}

/// [`approved::covers`] of `proposal`, with the edits of files that neither `commit` nor its parent has at the place
/// where they were approved at the one where these are now, as an apply follows them. What instructs agents, and
/// memory, has to be approved where it is.
///
/// # Errors
/// As [`approved::covers`].
pub fn covers(
    store: &Store,
    view: &View,
    commit: &Commit,
    proposal: &Proposal,
) -> Result<Vec<Cover>> {
    let mut covers = approved::covers(store, proposal)?;
    if commit.parent_tree.is_none() {
        return Ok(covers);
    }
    let trees = [commit.parent_tree, Some(commit.tree)];
    let known = store.instructions();
    for step in covers.iter_mut().flat_map(|cover| &mut cover.steps) {
        let is_edit = step.before.is_some() && step.after.is_some();
        if !is_edit || trees.iter().any(|tree| entry_at(store, *tree, &step.path).is_some()) {
            continue;
        }
        let at = moved_to(store, view, proposal, &step.path, &Before(store, commit))?;
        let is_ordinary =
            |at: &RepoPath| known.kind(at).is_none() && sensitive::memory(at).is_none();
        if let Some(at) = at.filter(is_ordinary) {
            step.path = at;
        }
    }
    Ok(covers)
}
