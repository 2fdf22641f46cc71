//! Applied proposals that a commit brings in.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use chrono::{DateTime, Utc};

use super::approvals::{self, ApprovedFile, Cover};
use super::commits::{self, Commit};
use super::merged_steps;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::steps::FileStep;
use crate::proposal::{Entry, Proposal, Status};
use crate::store::{Filter, Store, View};

/// Applied proposals that committing the index would bring in, oldest first.
pub fn by_index(store: &Store, view: &View, now: DateTime<Utc>) -> Result<Vec<Proposal>> {
    let repository = store.repository();
    let staged = commits::staged(repository)?;
    // A merged side's own commits name its proposals.
    let sides = commits::sides(repository);
    let is_merge = sides.len() > 1;
    let head = repository.head_tree();
    let parent = |path: &RepoPath| repository.entry_at(head, path);
    let lookup = |path: &RepoPath| match staged.get(path.as_bstr()) {
        Some(entry) => entry.clone(),
        None => parent(path),
    };
    let of = ApprovalLookup { store, view };
    let mut found = Vec::new();
    for (proposal, approved) in of.applied_among(now, &staged)? {
        let touched = approved.steps.iter().any(|step| staged.contains_key(step.path.as_bstr()));
        let is_brought = match (touched, is_merge) {
            (false, _) => false,
            (true, false) => of.is_brought(&approved, parent, lookup)?,
            (true, true) => {
                let is_in = |side: &gix::ObjectId| {
                    of.is_held(&approved, |path| repository.entry_at(Some(*side), path))
                };
                of.is_held(&approved, lookup)?
                    && !sides.iter().map(is_in).collect::<Result<Vec<bool>>>()?.contains(&true)
            }
        };
        if is_brought {
            found.push(proposal);
        }
    }
    Ok(found)
}

/// Applied proposals whose content `commit` brings in, for commits without trailers.
pub fn by_commit(
    store: &Store,
    view: &View,
    commit: &Commit,
    now: DateTime<Utc>,
) -> Result<Vec<Proposal>> {
    let changes = commits::changes(store.repository(), commit)?;
    let changes = changes.into_iter().filter(|(_, change)| change.is_own);
    let changes = changes.map(|(name, change)| (name, change.entry)).collect();
    let parent = |path: &RepoPath| store.repository().entry_at(commit.parent_tree, path);
    let made = |path: &RepoPath| store.repository().entry_at(Some(commit.tree), path);
    let of = ApprovalLookup { store, view };
    let mut found = Vec::new();
    for (proposal, approved) in of.applied_among(now, &changes)? {
        if of.is_brought(&approved, parent, made)? {
            found.push(proposal);
        }
    }
    Ok(found)
}

/// True if `commit` has every file of the applied `proposal` as approved or changed later, or
/// brings in its lines alone.
pub fn holds(store: &Store, view: &View, commit: &Commit, proposal: &Proposal) -> Result<bool> {
    let Some(approved) = approvals::applied(view, proposal) else { return Ok(false) };
    let parent = |path: &RepoPath| store.repository().entry_at(commit.parent_tree, path);
    let made = |path: &RepoPath| store.repository().entry_at(Some(commit.tree), path);
    let of = ApprovalLookup { store, view };
    Ok(of.is_held(&approved, made)? || of.is_brought(&approved, parent, made)?)
}

#[derive(Clone, Copy)]
struct ApprovalLookup<'a> {
    store: &'a Store,
    view: &'a View<'a>,
}

impl ApprovalLookup<'_> {
    /// Applied proposals that change a file of `changes`. Omits committed ones, unless a file is
    /// now as the proposal left it.
    fn applied_among(
        self,
        now: DateTime<Utc>,
        changes: &BTreeMap<BString, Option<Entry>>,
    ) -> Result<Vec<(Proposal, Cover)>> {
        let Self { view, .. } = self;
        let mut found: Vec<(Proposal, Cover)> = Vec::new();
        let mut seen = BTreeSet::new();
        for path in changes.keys() {
            let filter = Filter {
                status: Some(Status::Applied),
                path: Some(path.to_string()),
                ..Filter::default()
            };
            for summary in view.proposals(&filter, now)? {
                if !seen.insert(summary.id.as_str().to_owned()) {
                    continue;
                }
                let Ok(proposal) = view.proposal(&summary.id) else { continue };
                // A reverted, reset or elsewhere committed change may come again.
                if proposal.committed().next().is_none() || has_applied_file(&proposal, changes) {
                    let approved = approvals::applied(view, &proposal);
                    found.extend(approved.map(|approved| (proposal, approved)));
                }
            }
        }
        found.sort_unstable_by(|(a, _), (b, _)| {
            a.created_at.cmp(&b.created_at).then(a.id.cmp(&b.id))
        });
        Ok(found)
    }

    fn is_held(
        self,
        approved: &Cover,
        lookup: impl Fn(&RepoPath) -> Option<Entry>,
    ) -> Result<bool> {
        Ok(self.difference(approved, &approved.files(), lookup)?.is_none())
    }

    fn difference<'f>(
        self,
        approved: &Cover,
        files: &'f [ApprovedFile],
        lookup: impl Fn(&RepoPath) -> Option<Entry>,
    ) -> Result<Option<&'f ApprovedFile>> {
        approvals::first_difference(self.view, approved, files, lookup)
    }

    /// True if a change from `parent` to `made` brings in `approved`. It is the approved step
    /// itself, or `made` holds the approval and `parent` does not, not even among other changes.
    fn is_brought(
        self,
        approved: &Cover,
        parent: impl Fn(&RepoPath) -> Option<Entry>,
        made: impl Fn(&RepoPath) -> Option<Entry>,
    ) -> Result<bool> {
        let is_step = |path: &RepoPath| -> Result<bool> {
            let sides = [&parent(path), &made(path)];
            Ok(sides[0] != sides[1]
                && merged_steps::is_merged(self.store, approved, &[], path, sides[0], sides[1])?)
        };
        let files = approved.files();
        for file in &files {
            let file = std::slice::from_ref(file);
            let other = self.difference(approved, file, &made)?;
            if let Some((path, _)) = other
                && !is_step(path)?
            {
                return Ok(false);
            }
        }
        for (path, _) in &files {
            if is_step(path)? {
                return Ok(true);
            }
        }
        let lacks = |step: &FileStep| !commits::has(self.store, step, parent(&step.path));
        Ok(approved.steps.iter().any(lacks) && !self.is_held(approved, &parent)?)
    }
}

fn has_applied_file(proposal: &Proposal, changes: &BTreeMap<BString, Option<Entry>>) -> bool {
    let is_now = |path: &RepoPath, after: &Option<Entry>| {
        changes.get(path.as_bstr()).is_some_and(|found| found == after)
    };
    let mut written = proposal.applies().flat_map(|decision| &decision.written);
    written.any(|file| is_now(&file.path, &file.after))
        || proposal.current().changes.iter().any(|change| is_now(&change.path, &change.after))
}
