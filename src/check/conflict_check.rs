//! Pending proposals compared with the present files.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use super::index_entries::UnmodifiedIndex;
use crate::changeset::merge::MergeLabels;
use crate::changeset::{Changeset, File, FileChange, RepoPath, Snapshot, plan};
use crate::decide;
use crate::error::Result;
use crate::proposal::{Entry, Proposal};
use crate::store::{Store, Summary, View};
use crate::worktree::Worktree;

/// Files read before the index is, which has the ids of unmodified files.
const MOST_READ: usize = 32;

/// Caches the present files across proposals.
pub struct ConflictCheck<'a> {
    store: &'a Store,
    tree: OnceCell<Option<PresentFiles>>,
    /// Entry that git would store; inner `None` for an absent file.
    seen: RefCell<BTreeMap<RepoPath, Option<Entry>>>,
    /// Read once that pays off.
    unmoved: RefCell<Option<UnmodifiedIndex>>,
}

/// The last file read is often the next one, too.
struct PresentFiles {
    tree: Worktree,
    last: RefCell<Option<(RepoPath, Option<File>)>>,
}

impl Snapshot for PresentFiles {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        if let Some((_, file)) = self.last.borrow().as_ref().filter(|(last, _)| last == path) {
            return Ok(file.clone());
        }
        let file = self.tree.file(path)?;
        self.last.replace(Some((path.clone(), file.clone())));
        Ok(file)
    }

    fn base(&self) -> Option<&dyn Snapshot> {
        Some(&self.tree)
    }
}

impl<'a> ConflictCheck<'a> {
    pub fn new(store: &'a Store) -> Self {
        let (tree, seen, unmoved) = Default::default();
        Self { store, tree, seen, unmoved }
    }

    fn tree(&self) -> Result<Option<&PresentFiles>> {
        if self.tree.get().is_none() {
            let repository = self.store.repository();
            let tree = repository.work_dir().map(|_| repository.worktree()).transpose()?;
            let _ = self.tree.set(tree.map(|tree| PresentFiles { tree, last: RefCell::default() }));
        }
        Ok(self.tree.get().and_then(Option::as_ref))
    }

    /// Reason for a conflict; `None` without one, or without a work tree.
    pub fn conflict(&self, view: &View, proposal: &Proposal) -> Result<Option<String>> {
        let Some(tree) = self.tree()? else { return Ok(None) };
        if self.is_unchanged(tree, proposal) {
            return Ok(None);
        }
        let changeset = match self.store.changeset_unchecked(&proposal.current().changes) {
            Ok(changeset) => changeset,
            // An unfetched content proves no conflict.
            Err(_) if self.store.lacks_content(&proposal.current().changes) => return Ok(None),
            // A damaged object must not hide the other findings.
            Err(error) => return Ok(Some(error.message().to_owned())),
        };
        let sides = MergeLabels { ours: "present", theirs: "proposed" };
        // A symlink or directory in the way is a conflict, too.
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
        // Excluded files (sparse checkout) may fit: `apply` names the command that checks them out.
        let unfit = unfit.filter(|error| self.store.repository().sparse_file(error).is_none());
        Ok(unfit.map(|error| error.message().to_owned()))
    }

    /// True if `second` applies to the file that `first` makes, by the attributes of the work tree.
    pub fn both_apply(&self, first: &FileChange, second: &FileChange) -> bool {
        let Ok(tree) = self.tree() else { return false };
        plan::applies_after(first, second, tree.map(|tree| tree as &dyn Snapshot))
    }

    /// Entry that git would store for `path`; `None` if unknown.
    pub fn holds(&self, path: &RepoPath) -> Option<Option<Entry>> {
        self.now(self.tree().ok()??, path)
    }

    /// True if the list's record alone shows that a proposal fits, so its thread need not be read.
    pub fn is_known_to_fit(&self, view: &View, summary: &Summary) -> Result<bool> {
        let Some(tree) = self.tree()? else { return Ok(true) };
        let mut files = view.files_of(&summary.thread)?.peekable();
        Ok(self.is_own(&summary.clone, summary.revisions)
            && files.peek().is_some()
            && self.are_sides(tree, files))
    }

    fn is_unchanged(&self, tree: &PresentFiles, proposal: &Proposal) -> bool {
        let changes = &proposal.current().changes;
        let sides = changes.iter().map(|it| (&it.path, [it.before.as_ref(), it.after.as_ref()]));
        (self.is_own(&proposal.clone, proposal.revisions.len())
            || changes.iter().all(|change| change.snippets.is_empty()))
            && self.are_sides(tree, sides)
    }

    /// Other clones' proposals and later revisions are compared by content instead.
    fn is_own(&self, clone: &String, revisions: usize) -> bool {
        revisions == 1 && self.store.clone_ids().contains(clone)
    }

    /// True if each file has the id of one side of its change, so that no side is read. Both
    /// objects must be present.
    fn are_sides<'c>(
        &self,
        tree: &PresentFiles,
        mut files: impl Iterator<Item = (&'c RepoPath, [Option<&'c Entry>; 2])>,
    ) -> bool {
        files.all(|(path, sides)| {
            self.now(tree, path).is_some_and(|now| {
                let now = now.as_ref();
                sides.contains(&now) && !is_gone(now, sides[0])
            }) && sides.into_iter().flatten().all(|side| self.store.repository().has(&side.id))
        })
    }

    /// Outer `None` if unknown.
    fn now(&self, tree: &PresentFiles, path: &RepoPath) -> Option<Option<Entry>> {
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

    fn unmoved(&self, path: &RepoPath) -> Option<Entry> {
        if self.seen.borrow().len() < MOST_READ {
            return None;
        }
        let mut unmoved = self.unmoved.borrow_mut();
        unmoved.get_or_insert_with(|| UnmodifiedIndex::read(self.store.repository())).entry(path)
    }
}

/// True if the file has vanished. Even a deletion conflicts then: the file may only have moved.
fn is_gone<T, B>(now: Option<&T>, before: Option<B>) -> bool {
    now.is_none() && before.is_some()
}
