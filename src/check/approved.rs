//! What exactly people have approved, and whether a commit holds it.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::commits::{self, Commit};
use super::{contested, is_of_its_thread};
use crate::changeset::RepoPath;
use crate::decide::steps::{self, Steps};
use crate::error::Result;
use crate::proposal::state::{Decision, State};
use crate::proposal::steps::Step;
use crate::proposal::{Entry, Proposal, ProposalId, Status};
use crate::store::{Filter, View};

/// A file as approved: its content, or `None` where it was to be deleted.
pub type Approved = (RepoPath, Option<Entry>);

/// What one decision, or one approval that wrote nothing, covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    /// What was approved.
    pub proposal: ProposalId,
    /// Id of the event that records it, hex.
    pub event: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Each file from one content to another.
    pub steps: Vec<Step>,
}

impl Cover {
    pub(super) fn new(proposal: &Proposal, event: &str, at: DateTime<Utc>, steps: Steps) -> Self {
        let (proposal, event) = (proposal.id.clone(), event.to_owned());
        Self { proposal, event, at, steps: steps.approved }
    }

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
/// by each approval that wrote nothing. Empty where two clones decided differently, as [`contested::is_binding`] says.
///
/// # Errors
/// `statement_invalid`, `object_missing` where no record of it can be believed.
pub fn covers(view: &View<'_>, proposal: &Proposal) -> Result<Vec<Cover>> {
    if contested::is_binding(view.store(), proposal)? {
        return Ok(Vec::new());
    }
    let cover = |event: &str, at, steps: Result<Steps>| Ok(Cover::new(proposal, event, at, steps?));
    let decided = proposal.applies().filter(|decision| is_counted(proposal, decision));
    let decided = decided
        .map(|decision| cover(&decision.event, decision.at, steps::of(view, proposal, decision)));
    let approved = proposal.approvals_in_force().map(|approval| {
        cover(&approval.event, approval.at, steps::of_approval(view, proposal, approval))
    });
    let (mut found, mut failed) = (Vec::new(), None);
    for cover in decided.chain(approved) {
        match cover {
            Ok(cover) => found.push(cover),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) if found.is_empty() => Err(error),
        _ => Ok(found),
    }
}

/// The files that the decision on the applied `proposal`, this clone's where it has one, approved: what the
/// apply wrote (merged results included), or what the revision decided on says, where the apply only marked.
/// Empty unless applied, and where the record of the decision cannot be believed.
pub fn applied(view: &View<'_>, proposal: &Proposal) -> Option<Cover> {
    let decision = proposal.apply_here(&view.store().clone_ids())?;
    let steps = steps::of(view, proposal, decision).ok()?;
    Some(Cover::new(proposal, &decision.event, decision.at, steps))
}

/// The first of `approved`, files that `cover` approves, that `lookup` gives neither so nor as what was approved on
/// top of it, one after the other, has made it.
///
/// # Errors
/// Those of the store.
pub fn first_difference<'a>(
    view: &View<'_>,
    cover: &Cover,
    approved: &'a [Approved],
    lookup: impl Fn(&RepoPath) -> Option<Entry>,
) -> Result<Option<&'a Approved>> {
    for file in approved {
        let (path, content) = file;
        let found = lookup(path);
        if found == *content {
            continue;
        }
        let all = candidates(view, path, std::slice::from_ref(cover))?;
        let place = all.iter().position(|one| one.event == cover.event);
        let later = all.iter().enumerate().filter(|(at, one)| {
            // What was decided at once was decided together.
            let is_later = Some(*at) > place || one.at == cover.at;
            is_later && one.proposal != cover.proposal
        });
        if !reaches(later.map(|(_, one)| one), content, &found) {
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
    view: &View<'_>,
    proposal: &Proposal,
    lookup: impl Fn(&RepoPath) -> Option<Entry>,
) -> Result<bool> {
    for cover in covers(view, proposal).unwrap_or_default() {
        let files = cover.files();
        if first_difference(view, &cover, &files, &lookup)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// A record that may have led a file to its content.
struct Candidate {
    proposal: ProposalId,
    event: String,
    at: DateTime<Utc>,
    /// The steps of that file.
    steps: Vec<Step>,
    standing: Standing,
}

/// Whether a record still approves its steps.
enum Standing {
    Stands,
    /// An apply that was undone: it counts on a way that goes on with its undo.
    Undone,
    /// The undo of the apply with this event. `alone`: it counts without that, too, for the proposal is pending.
    Undoes {
        apply: String,
        alone: bool,
    },
}

impl Candidate {
    fn new(cover: &Cover, path: &RepoPath, standing: Standing) -> Self {
        let steps = cover.steps.iter().filter(|step| step.path == *path).cloned().collect();
        let (proposal, event) = (cover.proposal.clone(), cover.event.clone());
        Self { proposal, event, at: cover.at, steps, standing }
    }

    /// The applies that are still to be undone behind it, where those of `open` were before it; `None` where it does
    /// not count there.
    fn after<'s>(&'s self, open: &BTreeSet<&'s str>) -> Option<BTreeSet<&'s str>> {
        let mut open = open.clone();
        match &self.standing {
            Standing::Stands => {}
            Standing::Undone => {
                open.insert(&self.event);
            }
            Standing::Undoes { apply, alone } => {
                if !open.remove(apply.as_str()) && !alone {
                    return None;
                }
            }
        }
        Some(open)
    }
}

/// The records that approve something of `path`, those of `claimed` among them, in the order of the decisions: by
/// time, then by id. Threads say nothing of each other.
fn candidates(view: &View<'_>, path: &RepoPath, claimed: &[Cover]) -> Result<Vec<Candidate>> {
    let mut found = recorded(view, path)?;
    found.extend(claimed.iter().map(|cover| Candidate::new(cover, path, Standing::Stands)));
    found.sort_by(|one, other| (one.at, &one.event).cmp(&(other.at, &other.event)));
    Ok(found)
}

/// What the records of all proposals approve of `path`.
fn recorded(view: &View<'_>, path: &RepoPath) -> Result<Vec<Candidate>> {
    let filter = Filter { path: Some(path.as_bstr().to_string()), ..Filter::default() };
    let mut found = Vec::new();
    // No clock: what was applied or approved stays so.
    for summary in view.proposals(&filter, DateTime::<Utc>::MIN_UTC)? {
        let is_decided = summary.status == Status::Applied || !summary.approvals.is_empty();
        if !is_decided && !summary.is_undone {
            continue;
        }
        let proposal = match view.proposal(&summary.id) {
            Err(error) if is_of_its_thread(&error) => continue,
            found => found?,
        };
        let covers = covers(view, &proposal).unwrap_or_default();
        found.extend(covers.iter().map(|cover| Candidate::new(cover, path, Standing::Stands)));
        let undos = proposal.undone.iter().zip(&proposal.undos);
        let is_contested = contested::is_binding(view.store(), &proposal)?;
        for (undone, undo) in undos.filter(|_| !is_contested) {
            let made = steps::of(view, &proposal, undone);
            let back = steps::of_undo(view, &proposal, undo);
            let (Ok(made), Ok(steps)) = (made, back) else { continue };
            // Lines that were taken along are not what the undo takes back.
            let made = Cover::new(&proposal, &undone.event, undone.at, made.without_residue());
            found.push(Candidate::new(&made, path, Standing::Undone));
            let (id, event) = (proposal.id.clone(), undo.event.clone());
            let back = Cover { proposal: id, event, at: undo.at, steps };
            let alone = !matches!(proposal.state, State::Applied(_));
            let undoes = Standing::Undoes { apply: undone.event.clone(), alone };
            found.push(Candidate::new(&back, path, undoes));
        }
    }
    Ok(found)
}

/// How many ways are followed through what was taken back later.
const MOST: usize = 256;

/// True where `candidates`, in this order, lead from one content to another. What was taken back later counts where
/// that is on the way, too.
fn reaches<'c>(
    candidates: impl Iterator<Item = &'c Candidate>,
    from: &Option<Entry>,
    to: &Option<Entry>,
) -> bool {
    // Each content with the applies on the way to it that are still to be taken back.
    let mut reached: Vec<(Option<Entry>, BTreeSet<&str>)> = vec![(from.clone(), BTreeSet::new())];
    for candidate in candidates {
        for step in &candidate.steps {
            let here = reached.iter().filter(|(content, _)| *content == step.before);
            let next: Vec<_> = here.filter_map(|(_, open)| candidate.after(open)).collect();
            for open in next {
                let is_new = !reached.iter().any(|(at, known)| *at == step.after && *known == open);
                if is_new && (open.is_empty() || reached.len() < MOST) {
                    reached.push((step.after.clone(), open));
                }
            }
        }
    }
    reached.iter().any(|(content, open)| content == to && open.is_empty())
}

/// True where an apply of the proposal counts for checks, and none is contested.
///
/// # Errors
/// `invalid_policy`.
pub fn counts(view: &View<'_>, proposal: &Proposal) -> Result<bool> {
    let counted = proposal.applies().any(|decision| is_counted(proposal, decision));
    Ok(counted && !contested::is_binding(view.store(), proposal)?)
}

/// True for applies that checks count: a person's; or what the memory manifest let pass, whose files lie in the
/// memory directory.
fn is_counted(proposal: &Proposal, decision: &Decision) -> bool {
    let by_manifest = || {
        proposal.subject == crate::proposal::event::Subject::Memory
            && proposal
                .current()
                .changes
                .iter()
                .all(|change| crate::memory::disk::store_path(&change.path).is_some())
    };
    decision.effect.is_some() && (decision.is_by_a_person() || by_manifest())
}

/// True where `commit` changes `path` only as was approved: each step from what its parent, or the first of them that
/// has something else, has to what it has itself. `claimed` is what was approved of the proposals that it names: they may have
/// made other files too, such as the index of memory.
///
/// # Errors
/// Those of the store.
pub fn is_covered(
    view: &View<'_>,
    commit: &Commit,
    path: &RepoPath,
    claimed: &[Cover],
) -> Result<bool> {
    let repository = view.store().repository();
    let to = commits::entry_at(repository, Some(commit.tree), path);
    let parents = std::iter::once(&commit.parent_tree).chain(&commit.merged);
    let mut others = parents.map(|tree| commits::entry_at(repository, *tree, path));
    let from = others.find(|from| *from != to).unwrap_or_else(|| to.clone());
    Ok(reaches(candidates(view, path, claimed)?.iter(), &from, &to))
}
