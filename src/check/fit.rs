//! Whether pending proposals still fit the files.

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

use super::unmoved::Unmoved;
use crate::changeset::merge::Sides;
use crate::changeset::{Changeset, File, FileChange, RepoPath, Snapshot, plan};
use crate::decide;
use crate::error::Result;
use crate::proposal::{Entry, Proposal};
use crate::store::{Store, Summary, View};
use crate::worktree::Worktree;

/// After so many files were read the index is, which has the ids of those that have not changed.
const MOST_READ: usize = 32;

/// The present files, each looked at once however many proposals change it.
pub struct Fit<'a> {
    store: &'a Store,
    tree: OnceCell<Option<Present>>,
    /// What git would store of each file; the inner `None` where it is not there.
    seen: RefCell<BTreeMap<RepoPath, Option<Entry>>>,
    /// What the index tells of files, once it is worth reading.
    unmoved: RefCell<Option<Unmoved>>,
}

/// A work tree, and the file that was read last, which is often the next one, too.
struct Present {
    tree: Worktree,
    last: RefCell<Option<(RepoPath, Option<File>)>>,
}

impl Snapshot for Present {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        if let Some((_, file)) = self.last.borrow().as_ref().filter(|(last, _)| last == path) {
            return Ok(file.clone());
        }
        let file = self.tree.file(path)?;
        self.last.replace(Some((path.clone(), file.clone())));
        Ok(file)
    }

    fn announce(&self, changes: &[FileChange]) -> Result<()> {
        Snapshot::announce(&self.tree, changes)
    }

    fn stored(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.tree.stored(path, bytes)
    }

    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        self.tree.merges_lines(path)
    }
}

impl<'a> Fit<'a> {
    /// Against the files of the work tree, where there are any.
    pub fn new(store: &'a Store) -> Self {
        let (tree, seen, unmoved) = Default::default();
        Self { store, tree, seen, unmoved }
    }

    fn tree(&self) -> Result<Option<&Present>> {
        if self.tree.get().is_none() {
            let repository = self.store.repository();
            let tree = repository.work_dir().map(|_| repository.worktree()).transpose()?;
            let _ = self.tree.set(tree.map(|tree| Present { tree, last: RefCell::default() }));
        }
        Ok(self.tree.get().and_then(Option::as_ref))
    }

    /// Why the proposal does not fit; `None` where it does, or where there are no files.
    ///
    /// # Errors
    /// Those of the store.
    pub fn conflict(&self, view: &View, proposal: &Proposal) -> Result<Option<String>> {
        let Some(tree) = self.tree()? else { return Ok(None) };
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
        self.now(self.tree().ok()??, path)
    }

    /// Whether a pending proposal of this clone fits by what its list has of it alone: its thread need not be read
    /// then.
    ///
    /// # Errors
    /// Those of the store.
    pub fn is_known_to_fit(&self, view: &View, summary: &Summary) -> Result<bool> {
        let Some(tree) = self.tree()? else { return Ok(true) };
        let mut files = view.files_of(&summary.thread)?.peekable();
        Ok(self.is_own(&summary.clone, summary.revisions)
            && files.peek().is_some()
            && self.are_sides(tree, files))
    }

    fn is_unchanged(&self, tree: &Present, proposal: &Proposal) -> bool {
        let changes = &proposal.current().changes;
        let sides = changes.iter().map(|it| (&it.path, [it.before.as_ref(), it.after.as_ref()]));
        (self.is_own(&proposal.clone, proposal.revisions.len())
            || changes.iter().all(|change| change.snippets.is_empty()))
            && self.are_sides(tree, sides)
    }

    /// What another clone shows as the change is held against its content.
    fn is_own(&self, clone: &String, revisions: usize) -> bool {
        revisions == 1 && self.store.clone_ids().contains(clone)
    }

    /// True where each file is what the change starts from or leads to, by the ids of their content
    /// alone: neither side of the change has to be read then. Those objects have to be there.
    fn are_sides<'c>(
        &self,
        tree: &Present,
        mut files: impl Iterator<Item = (&'c RepoPath, [Option<&'c Entry>; 2])>,
    ) -> bool {
        files.all(|(path, sides)| {
            self.now(tree, path).is_some_and(|now| {
                let now = now.as_ref();
                sides.contains(&now) && !is_gone(now, sides[0])
            }) && sides.into_iter().flatten().all(|side| self.store.repository().has(&side.id))
        })
    }

    /// The file as git would store it; the outer `None` where that cannot be said.
    fn now(&self, tree: &Present, path: &RepoPath) -> Option<Option<Entry>> {
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
