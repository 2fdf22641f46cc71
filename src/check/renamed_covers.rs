//! Approvals that follow renames: one branch moved a file that another edited, and a rebase or
//! cherry-pick combined both.

use super::approvals::{self, Cover};
use super::commits::Commit;
use super::merged_steps::merge_files;
use crate::changeset::{File, RepoPath, Snapshot, sensitive};
use crate::decide::{moved_to, steps};
use crate::error::Result;
use crate::proposal::state::Decision;
use crate::proposal::steps::FileStep;
use crate::proposal::{Entry, Proposal};
use crate::store::{Store, View};

struct ParentTree<'a>(&'a Store, &'a Commit);

impl Snapshot for ParentTree<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        let entry =
            self.0.repository().entry_at(self.1.parent_tree, path).filter(Entry::is_regular);
        entry.map(|entry| self.0.file(&entry)).transpose()
    }
}

/// Covers of `proposal` with paths that follow renames, as an apply would, and `undone`, an undone
/// decision. An edit moves if neither `commit` nor its parent has the file at the approved path.
/// Instruction files and memory never follow. A moved file is merged with the parent's content.
///
/// # Errors
/// As `approved::covers`.
pub fn covers(
    view: &View<'_>,
    commit: &Commit,
    proposal: &Proposal,
    undone: Option<&Decision>,
) -> Result<Vec<Cover>> {
    let store = view.store();
    let mut covers = approvals::covers(view, proposal)?;
    if let Some(undone) = undone {
        let steps = steps::of(view, proposal, undone)?;
        covers.push(Cover::new(proposal, &undone.event, undone.at, steps));
    }
    if commit.parent_tree.is_none() {
        return Ok(covers);
    }
    let trees = [commit.parent_tree, Some(commit.tree)];
    let known = store.repository().instructions();
    let is_ordinary = |at: &RepoPath| known.kind(at).is_none() && sensitive::memory(at).is_none();
    for cover in &mut covers {
        for at in 0..cover.steps.len() {
            if is_ordinary(&cover.steps[at].path) {
                merge_moved(store, commit, proposal, cover, at)?;
            }
        }
    }
    for step in covers.iter_mut().flat_map(|cover| &mut cover.steps) {
        let is_edit = step.before.is_some() && step.after.is_some();
        if !is_edit
            || trees.iter().any(|tree| store.repository().entry_at(*tree, &step.path).is_some())
        {
            continue;
        }
        let at =
            moved_to(store.repository(), view, proposal, &step.path, &ParentTree(store, commit))?;
        if let Some(at) = at.filter(is_ordinary) {
            step.path = at;
        }
    }
    Ok(covers)
}

/// If step `at` moves a file that the parent has in other content, merges both.
///
/// # Errors
/// `object_missing`.
fn merge_moved(
    store: &Store,
    commit: &Commit,
    proposal: &Proposal,
    cover: &mut Cover,
    at: usize,
) -> Result<()> {
    let FileStep { path, before: None, after: Some(_) } = &cover.steps[at] else { return Ok(()) };
    let changes = proposal.revisions.iter().flat_map(|revision| &revision.changes);
    let mut origins = changes.filter(|change| change.path == *path);
    let Some(origin) = origins.find_map(|change| change.origin.as_ref()) else { return Ok(()) };
    let is_removal = |step: &FileStep| step.path == *origin && step.after.is_none();
    let Some(from) = cover.steps.iter().position(is_removal) else { return Ok(()) };
    let now = store.repository().entry_at(commit.parent_tree, origin).filter(Entry::is_regular);
    if now.is_none() || now == cover.steps[from].before {
        return Ok(());
    }
    let file = |entry: &Option<Entry>| entry.as_ref().map(|entry| store.file(entry)).transpose();
    let sides = [&file(&cover.steps[from].before)?, &file(&now)?, &file(&cover.steps[at].after)?];
    if let Some(Some(made)) = merge_files(sides) {
        cover.steps[at].after = Some(store.entry_of(&made)?);
        cover.steps[from].before = now;
    }
    Ok(())
}
