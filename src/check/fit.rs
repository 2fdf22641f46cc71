//! Whether pending proposals still fit the files.

use std::cell::RefCell;
use std::collections::BTreeMap;

use crate::changeset::merge::Sides;
use crate::changeset::{RepoPath, Snapshot as _, plan};
use crate::error::Result;
use crate::proposal::{Entry, Proposal};
use crate::store::Store;
use crate::worktree::Worktree;

/// The present files, each read once however many proposals change it.
pub struct Fit<'a> {
    store: &'a Store,
    tree: Option<&'a Worktree>,
    /// What git would store of each file; the inner `None` where it is not there.
    seen: RefCell<BTreeMap<RepoPath, Option<Entry>>>,
    /// This clone's own lane, whose events were made by this program.
    own: Vec<String>,
}

impl<'a> Fit<'a> {
    /// Against the files of `tree`, where there are any.
    pub fn new(store: &'a Store, tree: Option<&'a Worktree>) -> Self {
        Self { store, tree, seen: RefCell::default(), own: store.own_lanes() }
    }

    /// Why the proposal does not fit; `None` where it does, or where there are no files.
    ///
    /// # Errors
    /// Those of the store.
    pub fn conflict(&self, proposal: &Proposal) -> Result<Option<String>> {
        let Some(tree) = self.tree else { return Ok(None) };
        if self.is_unchanged(tree, proposal) {
            return Ok(None);
        }
        let changeset = match self.store.changeset(&proposal.current().changes) {
            Ok(changeset) => changeset,
            // One damaged object must not hide what else wants attention.
            Err(error) => return Ok(Some(error.message().to_owned())),
        };
        let sides = Sides { ours: "present", theirs: "proposed" };
        // A symlink or folder in the way is as good a reason as lines that differ.
        let unfit = match plan::plan(changeset.changes(), tree, sides) {
            Ok(plan) => plan.refusal(),
            Err(error) => Some(error),
        };
        Ok(unfit.map(|error| error.message().to_owned()))
    }

    /// What git would store of `path` as it is; `None` where that cannot be told, or nothing is checked
    /// out.
    pub fn holds(&self, path: &RepoPath) -> Option<Option<Entry>> {
        self.now(self.tree?, path)
    }

    /// True where each file is what the change starts from or leads to, by the ids of their content
    /// alone: neither side of the change has to be read then. Those objects have to be there.
    fn is_unchanged(&self, tree: &Worktree, proposal: &Proposal) -> bool {
        // What another clone shows as the change is held against its content.
        let is_own = self.own.contains(&proposal.lane) && proposal.revisions.len() == 1;
        proposal.current().changes.iter().all(|change| {
            let sides = [&change.before, &change.after];
            (is_own || change.snippets.is_empty())
                && sides.into_iter().flatten().all(|entry| self.store.has(&entry.id))
                && self.now(tree, &change.path).is_some_and(|now| sides.contains(&&now))
        })
    }

    /// The file as git would store it; the outer `None` where that cannot be said.
    fn now(&self, tree: &Worktree, path: &RepoPath) -> Option<Option<Entry>> {
        if let Some(known) = self.seen.borrow().get(path) {
            return Some(known.clone());
        }
        let file = tree.file(path).ok()?;
        let entry = file.map(|file| self.store.entry_of(&file)).transpose().ok()?;
        self.seen.borrow_mut().insert(path.clone(), entry.clone());
        Some(entry)
    }
}
