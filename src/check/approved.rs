//! What exactly people have approved, and whether a commit holds it.

use chrono::{DateTime, Utc};

use super::commits::{self, Commit};
use crate::changeset::RepoPath;
use crate::decide::steps;
use crate::error::Result;
use crate::proposal::state::Approval;
use crate::proposal::steps::Step;
use crate::proposal::{Entry, Proposal, Status};
use crate::store::{Filter, Store, View};

/// A file as approved: its content, or `None` where it was to be deleted.
pub type Approved = (RepoPath, Option<Entry>);

/// What one decision, or one approval that wrote nothing, covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// When.
    pub at: DateTime<Utc>,
    /// Each file from one content to another.
    pub steps: Vec<Step>,
}

impl Cover {
    /// The files as they were approved.
    pub fn files(&self) -> Vec<Approved> {
        let mut files: Vec<Approved> = Vec::new();
        for Step { path, after, .. } in &self.steps {
            if !files.iter().any(|(known, _)| known == path) {
                files.push((path.clone(), after.clone()));
            }
        }
        files
    }
}

/// All that checks count of what was approved of `proposal`: by the decision that applied it, then
/// by each approval that wrote nothing. Empty where two clones decided differently.
///
/// # Errors
/// `statement_invalid`, `object_missing` where no record of it can be believed.
pub fn covers(store: &Store, proposal: &Proposal) -> Result<Vec<Cover>> {
    gather(
        proposal,
        || steps::of(store, proposal),
        |approval| steps::of_approval(store, proposal, approval),
    )
}

/// As [`covers`], without reading contents: what records say and is not proven.
fn claimed(store: &Store, proposal: &Proposal) -> Result<Vec<Cover>> {
    gather(
        proposal,
        || steps::claimed(store, proposal),
        |approval| steps::claimed_by(store, proposal, approval),
    )
}

fn gather(
    proposal: &Proposal,
    decided: impl FnOnce() -> Result<Vec<Step>>,
    approved: impl Fn(&Approval) -> Result<Vec<Step>>,
) -> Result<Vec<Cover>> {
    if proposal.contested {
        return Ok(Vec::new());
    }
    let decision = proposal.decision().filter(|_| counts(proposal));
    let decided = decision.map(|decision| (decision.at, decided()));
    let approved = proposal.approvals_in_force().map(|approval| (approval.at, approved(approval)));
    let (mut found, mut failed) = (Vec::new(), None);
    for (at, steps) in decided.into_iter().chain(approved) {
        match steps {
            Ok(steps) => found.push(Cover { at, steps }),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// The files that the decision on the applied `proposal` approved: what the apply wrote (merged
/// results included), or what the revision decided on says, where the apply only marked. Empty
/// unless applied, and where the record of the decision cannot be believed.
pub fn applied(store: &Store, proposal: &Proposal) -> Option<Cover> {
    let at = proposal.decision()?.at;
    Some(Cover { at, steps: steps::of(store, proposal).ok()? })
}

/// The first of `approved`, the files of `proposal` that were approved at `at`, that `lookup` gives
/// neither so nor as what was approved on top of it, one after the other, has made it.
///
/// # Errors
/// `internal_error` if the cache cannot be read.
pub fn first_difference<'a>(
    store: &Store,
    view: &View,
    proposal: &Proposal,
    at: DateTime<Utc>,
    approved: &'a [Approved],
    lookup: impl Fn(&RepoPath) -> Option<Entry>,
) -> Result<Option<&'a Approved>> {
    for file in approved {
        let (path, content) = file;
        let found = lookup(path);
        if found == *content {
            continue;
        }
        let mut later = covers_of(store, view, path, Some(proposal))?;
        later.retain(|later| later.cover.at >= at);
        if !reaches(store, &later, path, [content, &found]) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// True where `lookup` gives every file of `proposal` as it was approved, or as what was approved
/// later has made it.
///
/// # Errors
/// As [`first_difference`].
pub fn is_held(
    store: &Store,
    view: &View,
    proposal: &Proposal,
    lookup: impl Fn(&RepoPath) -> Option<Entry>,
) -> Result<bool> {
    for cover in covers(store, proposal).unwrap_or_default() {
        let files = cover.files();
        if first_difference(store, view, proposal, cover.at, &files, &lookup)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A cover, and the proposal whose record says so where that is not proven yet.
struct Candidate {
    cover: Cover,
    unproven: Option<Proposal>,
}

/// What records say was approved of `path`, in the order of the decisions, without that of `except`.
fn covers_of(
    store: &Store,
    view: &View,
    path: &RepoPath,
    except: Option<&Proposal>,
) -> Result<Vec<Candidate>> {
    let filter = Filter { path: Some(path.as_bstr().to_string()), ..Filter::default() };
    let mut found = Vec::new();
    // No clock: what was applied or approved stays so.
    for summary in view.proposals(&filter, DateTime::<Utc>::MIN_UTC)? {
        let is_decided = summary.status == Status::Applied || !summary.approvals.is_empty();
        if is_decided && except.is_none_or(|except| except.id != summary.id) {
            let proposal = view.proposal(&summary.id)?;
            let covers = claimed(store, &proposal).unwrap_or_default().into_iter();
            let unproven = Some(proposal);
            found.extend(covers.map(|cover| Candidate { cover, unproven: unproven.clone() }));
        }
    }
    found.sort_by_key(|candidate| candidate.cover.at);
    Ok(found)
}

/// True where `candidates`, in this order, lead `path` from one content to another. Only those on the
/// way are proven, which may take a merge.
fn reaches(
    store: &Store,
    candidates: &[Candidate],
    path: &RepoPath,
    [from, to]: [&Option<Entry>; 2],
) -> bool {
    let mut reached = vec![from.clone()];
    for Candidate { cover, unproven } in candidates {
        let is_proven = |cover: &Cover| match unproven {
            Some(proposal) => covers(store, proposal).unwrap_or_default().contains(cover),
            None => true,
        };
        let steps = cover.steps.iter().filter(|step| step.path == *path);
        let fits = |step: &&Step| reached.contains(&step.before);
        if steps.clone().any(|step| fits(&step)) && is_proven(cover) {
            for step in steps {
                if reached.contains(&step.before) {
                    reached.push(step.after.clone());
                }
            }
        }
    }
    reached.contains(to)
}

/// True for decisions that checks count: a person's, not contested; or what the memory manifest
/// let pass, whose files lie in the memory directory.
pub fn counts(proposal: &Proposal) -> bool {
    let by_manifest = || {
        proposal.subject == crate::proposal::event::Subject::Memory
            && proposal
                .current()
                .changes
                .iter()
                .all(|change| crate::memory::disk::store_path(&change.path).is_some())
    };
    !proposal.contested
        && proposal.decision().is_some_and(|decision| {
            decision.effect.is_some() && (decision.is_by_a_person() || by_manifest())
        })
}

/// True where `commit` changes `path` only as was approved: each step from what its parent has to
/// what it has itself. `claimed` is what was approved of the proposals that it names: they may have
/// made other files too, such as the index of memory.
///
/// # Errors
/// `internal_error` if the cache cannot be read.
pub fn is_covered(
    store: &Store,
    view: &View,
    commit: &Commit,
    path: &RepoPath,
    claimed: &[Cover],
) -> Result<bool> {
    let from = commits::entry_at(store, commit.parent_tree, path);
    let to = commits::entry_at(store, Some(commit.tree), path);
    let mut candidates = covers_of(store, view, path, None)?;
    let proven = |cover: &Cover| Candidate { cover: cover.clone(), unproven: None };
    candidates.extend(claimed.iter().map(proven));
    candidates.sort_by_key(|candidate| candidate.cover.at);
    Ok(reaches(store, &candidates, path, [&from, &to]))
}
