//! Snapshot of the files as they will be after earlier decisions of the same command: several
//! decisions are shown on top of each other, as they will be written.

use std::collections::BTreeMap;

use super::decision_plan::show_made;
use super::{CommittedPlan, DecisionPlan, PartialProposal, show};
use crate::changeset::plan::ApplyPlan;
use crate::changeset::{File, RepoPath, Snapshot};
use crate::error::Result;
use crate::proposal::Proposal;
use crate::repository::Repository;
use crate::store::{Store, View};
use crate::worktree::Worktree;

pub struct PlannedFiles {
    worktree: Worktree,
    changed: BTreeMap<RepoPath, Option<File>>,
    /// Old to new path.
    moved: BTreeMap<RepoPath, RepoPath>,
}

impl Snapshot for PlannedFiles {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        match self.changed.get(path) {
            Some(file) => Ok(file.clone()),
            None => self.worktree.file(path),
        }
    }

    fn moved(&self, path: &RepoPath) -> Option<RepoPath> {
        self.moved.get(path).cloned()
    }

    fn stored(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        self.worktree.stored(path, bytes)
    }

    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        self.worktree.merges_lines(path)
    }
}

impl PlannedFiles {
    /// # Errors
    /// `bare_repository`.
    pub fn new(repository: &Repository) -> Result<Self> {
        Ok(Self {
            worktree: repository.worktree()?,
            changed: BTreeMap::new(),
            moved: BTreeMap::new(),
        })
    }

    /// Plans `proposal`, or `part` of it, on top of earlier plans; or shows the existing commit
    /// `made`. A plan with conflicts is returned but not built on.
    pub fn show(
        &mut self,
        store: &Store,
        view: &View<'_>,
        proposal: &Proposal,
        part: Option<&PartialProposal>,
        made: Option<&CommittedPlan>,
    ) -> Result<DecisionPlan> {
        let mut shown = match made {
            Some(made) => show_made(store, view, proposal, made, self)?,
            None => show(store, view, proposal, part, self)?,
        };
        if shown.plan.refusal().is_some() {
            return Ok(shown);
        }
        // Kept separate until complete: a plan that is refused halfway must not be built on.
        let mut next: BTreeMap<RepoPath, Option<File>> = BTreeMap::new();
        for file in shown.plan.writes() {
            self.worktree.check_writable(&file.path).or_else(|error| {
                // A directory gives way if the same changes empty it, and so does a file that they
                // remove.
                let goes = |path: &RepoPath| {
                    next.get(path).or_else(|| self.changed.get(path)) == Some(&None)
                        || removes(&shown.plan, path)
                };
                let gives_way = error.is(&crate::changeset::codes::DIRECTORY)
                    || error.is(&crate::worktree::codes::NOT_A_DIRECTORY)
                        && file.path.parents().any(|parent| goes(&parent));
                if gives_way && file.now.is_none() { Ok(()) } else { Err(error) }
            })?;
            next.insert(file.path.clone(), file.after.clone());
        }
        for residue in &mut shown.other_changes {
            // An earlier plan's own writes, and foreign changes below them, are shown with that
            // plan.
            residue.approved |= self.changed.contains_key(&residue.path);
        }
        for change in shown.changes() {
            if let Some(origin) = change.origin.filter(|origin| removes(&shown.plan, origin)) {
                self.moved.insert(origin, change.path);
            }
        }
        self.changed.append(&mut next);
        Ok(shown)
    }
}

fn removes(plan: &ApplyPlan, path: &RepoPath) -> bool {
    plan.files.iter().any(|file| file.path == *path && file.after.is_none())
}
