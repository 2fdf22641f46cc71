//! Which applied proposals a commit brings, as they were approved.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use chrono::{DateTime, Utc};

use super::approved::{self, Approved, Cover};
use super::commits::{self, Commit};
use super::merged;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::steps::Step;
use crate::proposal::{Entry, Proposal, Status};
use crate::store::{Filter, Store, View};

/// The applied proposals that a commit of the index would bring, oldest first.
///
/// # Errors
/// If the store or the index cannot be read.
pub fn by_index(store: &Store, view: &View, now: DateTime<Utc>) -> Result<Vec<Proposal>> {
    let repository = store.repository();
    let staged = commits::staged(repository)?;
    // What a side of a merge brings is named by its own commits.
    let sides = commits::sides(repository);
    let is_merge = sides.len() > 1;
    let head = repository.head_tree();
    let parent = |path: &RepoPath| commits::entry_at(repository, head, path);
    let lookup = |path: &RepoPath| match staged.get(path.as_bstr()) {
        Some(entry) => entry.clone(),
        None => parent(path),
    };
    let of = Of { store, view };
    let mut found = Vec::new();
    for (proposal, approved) in of.applied_among(now, &staged)? {
        let touched = approved.steps.iter().any(|step| staged.contains_key(step.path.as_bstr()));
        let is_brought = match (touched, is_merge) {
            (false, _) => false,
            (true, false) => of.is_brought(&approved, parent, lookup)?,
            (true, true) => {
                let is_in = |side: &gix::ObjectId| {
                    of.is_held(&approved, |path| commits::entry_at(repository, Some(*side), path))
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

/// Whether `commit` has every file as it was approved for the applied `proposal`, or as later ones have made it, or
/// brings the lines of the proposal alone.
///
/// # Errors
/// If the store cannot be read.
pub fn holds(store: &Store, view: &View, commit: &Commit, proposal: &Proposal) -> Result<bool> {
    let Some(approved) = approved::applied(view, proposal) else { return Ok(false) };
    let parent = |path: &RepoPath| commits::entry_at(store.repository(), commit.parent_tree, path);
    let made = |path: &RepoPath| commits::entry_at(store.repository(), Some(commit.tree), path);
    let of = Of { store, view };
    Ok(of.is_held(&approved, made)? || of.is_brought(&approved, parent, made)?)
}

/// Where approved contents are looked up.
#[derive(Clone, Copy)]
struct Of<'a> {
    /// What holds them.
    store: &'a Store,
    /// What was decided.
    view: &'a View<'a>,
}

impl Of<'_> {
    /// Applied proposals that change one of the files of `changes`, each with what it holds now, and that no
    /// commit is known to hold, or that has left a file as it is now.
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
                // What was reverted, reset, or committed on another branch comes again.
                if proposal.committed().next().is_none() || leaves(&proposal, changes) {
                    let approved = approved::applied(view, &proposal);
                    found.extend(approved.map(|approved| (proposal, approved)));
                }
            }
        }
        found.sort_unstable_by(|(a, _), (b, _)| {
            a.created_at.cmp(&b.created_at).then(a.id.cmp(&b.id))
        });
        Ok(found)
    }

    /// True if `lookup` gives every file as it was `approved`, or as later proposals have made it.
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
        files: &'f [Approved],
        lookup: impl Fn(&RepoPath) -> Option<Entry>,
    ) -> Result<Option<&'f Approved>> {
        approved::first_difference(self.view, approved, files, lookup)
    }

    /// True if a commit that takes files from what `parent` gives to what `made` does brings what was
    /// `approved`: it is that very step, or it holds that and `parent` has it neither as approved nor among
    /// other changes.
    fn is_brought(
        self,
        approved: &Cover,
        parent: impl Fn(&RepoPath) -> Option<Entry>,
        made: impl Fn(&RepoPath) -> Option<Entry>,
    ) -> Result<bool> {
        let is_step = |path: &RepoPath| -> Result<bool> {
            let sides = [&parent(path), &made(path)];
            Ok(sides[0] != sides[1]
                && merged::is_merged(self.store, approved, &[], path, sides[0], sides[1])?)
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
        let lacks = |step: &Step| !commits::has(self.store, step, parent(&step.path));
        Ok(approved.steps.iter().any(lacks) && !self.is_held(approved, &parent)?)
    }
}

/// Whether a file of `changes` is as the applied `proposal` has left it.
fn leaves(proposal: &Proposal, changes: &BTreeMap<BString, Option<Entry>>) -> bool {
    let is_now = |path: &RepoPath, after: &Option<Entry>| {
        changes.get(path.as_bstr()).is_some_and(|found| found == after)
    };
    let mut written = proposal.applies().flat_map(|decision| &decision.written);
    written.any(|file| is_now(&file.path, &file.after))
        || proposal.current().changes.iter().any(|change| is_now(&change.path, &change.after))
}
