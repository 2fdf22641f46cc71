//! Whether pending proposals still fit the files.

use std::cell::RefCell;
use std::collections::BTreeMap;

use super::unmoved::Unmoved;
use crate::changeset::merge::Sides;
use crate::changeset::{Changeset, RepoPath, Snapshot as _, plan};
use crate::decide;
use crate::error::Result;
use crate::proposal::{Entry, Proposal};
use crate::store::{Store, View};
use crate::worktree::Worktree;

/// After so many files were read the index is, which has the ids of those that have not changed.
const MOST_READ: usize = 32;

/// The present files, each read once however many proposals change it.
pub struct Fit<'a> {
    store: &'a Store,
    tree: Option<&'a Worktree>,
    /// What git would store of each file; the inner `None` where it is not there.
    seen: RefCell<BTreeMap<RepoPath, Option<Entry>>>,
    /// What the index tells of files, once it is worth reading.
    unmoved: RefCell<Option<Unmoved>>,
}

impl<'a> Fit<'a> {
    /// Against the files of `tree`, where there are any.
    pub fn new(store: &'a Store, tree: Option<&'a Worktree>) -> Self {
        Self { store, tree, seen: RefCell::default(), unmoved: RefCell::default() }
    }

    /// Why the proposal does not fit; `None` where it does, or where there are no files.
    ///
    /// # Errors
    /// Those of the store.
    pub fn conflict(&self, view: &View, proposal: &Proposal) -> Result<Option<String>> {
        let Some(tree) = self.tree else { return Ok(None) };
        if self.is_unchanged(tree, proposal) {
            return Ok(None);
        }
        let changeset = match self.store.recorded(&proposal.current().changes) {
            Ok(changeset) => changeset,
            // What a partial clone could not fetch says nothing of the files.
            Err(_) if self.store.awaits(&proposal.current().changes) => return Ok(None),
            // One damaged object must not hide what else wants attention.
            Err(error) => return Ok(Some(error.message().to_owned())),
        };
        let sides = Sides { ours: "present", theirs: "proposed" };
        // A symlink or directory in the way is as good a reason as lines that differ.
        let plan = |changeset: &Changeset| plan::plan(changeset.changes(), tree, sides);
        let planned = plan(&changeset).and_then(|planned| {
            let changes = changeset.changes();
            match decide::follow(self.store, view, proposal, changes, &planned, tree)? {
                Some(followed) => plan(&followed.part.changes),
                None => Ok(planned),
            }
        });
        let unfit = match planned {
            Ok(plan) => plan.refusal(),
            Err(error) => Some(error),
        };
        // Where the file lies it may fit: `apply` names what brings it here.
        let unfit = unfit.filter(|error| self.store.repository().left_out(error).is_none());
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
        let is_own =
            self.store.clone_ids().contains(&proposal.clone) && proposal.revisions.len() == 1;
        let changes = &proposal.current().changes;
        changes.iter().all(|change| is_own || change.snippets.is_empty())
            && self.store.has_contents(changes)
            && changes.iter().all(|change| {
                let sides = [&change.before, &change.after];
                self.now(tree, &change.path).is_some_and(|now| {
                    sides.contains(&&now) && !is_gone(now.as_ref(), change.before.as_ref())
                })
            })
    }

    /// The file as git would store it; the outer `None` where that cannot be said.
    fn now(&self, tree: &Worktree, path: &RepoPath) -> Option<Option<Entry>> {
        if let Some(known) = self.seen.borrow().get(path) {
            return Some(known.clone());
        }
        let entry = match self.unmoved(path) {
            Some(entry) => Some(entry),
            None => {
                let file = tree.file(path).ok()?;
                file.map(|file| self.store.entry_of(&file)).transpose().ok()?
            }
        };
        self.seen.borrow_mut().insert(path.clone(), entry.clone());
        Some(entry)
    }

    /// What the index has of a file that has not changed since.
    fn unmoved(&self, path: &RepoPath) -> Option<Entry> {
        if self.seen.borrow().len() < MOST_READ {
            return None;
        }
        let mut unmoved = self.unmoved.borrow_mut();
        unmoved.get_or_insert_with(|| Unmoved::read(self.store.repository())).entry(path)
    }
}

/// Whether a file that was there before the change is not any more: even what deletes it does not fit where
/// the file has only moved.
fn is_gone<T, B>(now: Option<&T>, before: Option<B>) -> bool {
    now.is_none() && before.is_some()
}
