//! Contents that people have approved, compared with commits.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use super::commits::{self, Commit};
use super::{contested, is_of_its_thread};
use crate::changeset::RepoPath;
use crate::decide::steps::{self, Steps};
use crate::error::Result;
use crate::proposal::state::{Decision, State};
use crate::proposal::steps::FileStep;
use crate::proposal::{Entry, Proposal, ProposalId, Status};
use crate::store::{Filter, View};

/// A file as approved: its content, or `None` where it was to be deleted.
pub type ApprovedFile = (RepoPath, Option<Entry>);

/// Steps that one decision, or one approval that wrote nothing, covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cover {
    pub proposal: ProposalId,
    /// Hex id of the recording event.
    pub event: String,
    pub at: DateTime<Utc>,
    pub steps: Vec<FileStep>,
}

impl Cover {
    pub(super) fn new(proposal: &Proposal, event: &str, at: DateTime<Utc>, steps: Steps) -> Self {
        let (proposal, event) = (proposal.id.clone(), event.to_owned());
        Self { proposal, event, at, steps: steps.approved }
    }

    pub fn files(&self) -> Vec<ApprovedFile> {
        let mut files: Vec<ApprovedFile> = Vec::new();
        for FileStep { path, after, .. } in &self.steps {
            if !files.iter().any(|(known, _)| known == path) {
                files.push((path.clone(), after.clone()));
            }
        }
        files
    }
}

/// Approvals that checks count: the decision that applied `proposal`, then approvals that wrote
/// nothing. Empty if `contested::is_binding`.
///
/// # Errors
/// `statement_invalid`, `object_missing` if no record can be believed.
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

/// Files that the decision on an applied proposal approved, preferably this clone's: the apply's
/// output (merged results included), or the revision's files for a mere mark. `None` if its record
/// cannot be believed.
pub fn applied(view: &View<'_>, proposal: &Proposal) -> Option<Cover> {
    let decision = proposal.apply_here(&view.store().clone_ids())?;
    let steps = steps::of(view, proposal, decision).ok()?;
    Some(Cover::new(proposal, &decision.event, decision.at, steps))
}

/// First file of `approved` whose `lookup` is neither the approved content nor one that later
/// approvals made of it.
pub fn first_difference<'a>(
    view: &View<'_>,
    cover: &Cover,
    approved: &'a [ApprovedFile],
    lookup: impl Fn(&RepoPath) -> Option<Entry>,
) -> Result<Option<&'a ApprovedFile>> {
    for file in approved {
        let (path, content) = file;
        let found = lookup(path);
        if found == *content {
            continue;
        }
        let all = candidates(view, path, std::slice::from_ref(cover))?;
        let place = all.iter().position(|one| one.event == cover.event);
        let later = all.iter().enumerate().filter(|(at, one)| {
            // Decisions at the same time were made together.
            let is_later = Some(*at) > place || one.at == cover.at;
            is_later && one.proposal != cover.proposal
        });
        if !steps_lead_to(later.map(|(_, one)| one), content, &found) {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// True if `lookup` returns every file as approved, or as later approvals changed it.
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

struct Candidate {
    proposal: ProposalId,
    event: String,
    at: DateTime<Utc>,
    steps: Vec<FileStep>,
    standing: RecordValidity,
}

enum RecordValidity {
    Stands,
    /// An undone apply counts only on a path that continues with its undo.
    Undone,
    /// Undo of the apply with this event. `alone`: the undo counts without that apply, too, as the
    /// proposal is pending.
    Undoes {
        apply: String,
        alone: bool,
    },
}

impl Candidate {
    fn new(cover: &Cover, path: &RepoPath, standing: RecordValidity) -> Self {
        let steps = cover.steps.iter().filter(|step| step.path == *path).cloned().collect();
        let (proposal, event) = (cover.proposal.clone(), cover.event.clone());
        Self { proposal, event, at: cover.at, steps, standing }
    }

    /// Applies still to be undone after this record, given `open` before it. `None` if the record
    /// does not count there.
    fn after<'s>(&'s self, open: &BTreeSet<&'s str>) -> Option<BTreeSet<&'s str>> {
        let mut open = open.clone();
        match &self.standing {
            RecordValidity::Stands => {}
            RecordValidity::Undone => {
                open.insert(&self.event);
            }
            RecordValidity::Undoes { apply, alone } => {
                if !open.remove(apply.as_str()) && !alone {
                    return None;
                }
            }
        }
        Some(open)
    }
}

/// Records that approve a step of `path`, with `claimed`, ordered by time, then id: threads do not
/// order each other's events.
fn candidates(view: &View<'_>, path: &RepoPath, claimed: &[Cover]) -> Result<Vec<Candidate>> {
    let mut found = find_candidates(view, path)?;
    found.extend(claimed.iter().map(|cover| Candidate::new(cover, path, RecordValidity::Stands)));
    found.sort_by(|one, other| (one.at, &one.event).cmp(&(other.at, &other.event)));
    Ok(found)
}

fn find_candidates(view: &View<'_>, path: &RepoPath) -> Result<Vec<Candidate>> {
    let filter = Filter { path: Some(path.as_bstr().to_string()), ..Filter::default() };
    let mut found = Vec::new();
    // Applied and approved proposals do not expire.
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
        found
            .extend(covers.iter().map(|cover| Candidate::new(cover, path, RecordValidity::Stands)));
        let undos = proposal.undone.iter().zip(&proposal.undos);
        let is_contested = contested::is_binding(view.store(), &proposal)?;
        for (undone, undo) in undos.filter(|_| !is_contested) {
            let made = steps::of(view, &proposal, undone);
            let back = steps::of_undo(view, &proposal, undo);
            let (Ok(made), Ok(steps)) = (made, back) else { continue };
            // An undo reverts only the proposal's own lines.
            let made = Cover::new(&proposal, &undone.event, undone.at, made.without_residue());
            found.push(Candidate::new(&made, path, RecordValidity::Undone));
            let (id, event) = (proposal.id.clone(), undo.event.clone());
            let back = Cover { proposal: id, event, at: undo.at, steps };
            let alone = !matches!(proposal.state, State::Applied(_));
            let undoes = RecordValidity::Undoes { apply: undone.event.clone(), alone };
            found.push(Candidate::new(&back, path, undoes));
        }
    }
    Ok(found)
}

/// Limit on search states.
const MAX_OPEN_STATES: usize = 256;

/// True if `candidates`, in order, lead from one content to the other. An undone apply counts only
/// with its undo.
fn steps_lead_to<'c>(
    candidates: impl Iterator<Item = &'c Candidate>,
    from: &Option<Entry>,
    to: &Option<Entry>,
) -> bool {
    // Each content, with the applies before it that are still to be undone.
    let mut reached: Vec<(Option<Entry>, BTreeSet<&str>)> = vec![(from.clone(), BTreeSet::new())];
    for candidate in candidates {
        for step in &candidate.steps {
            let here = reached.iter().filter(|(content, _)| *content == step.before);
            let next: Vec<_> = here.filter_map(|(_, open)| candidate.after(open)).collect();
            for open in next {
                let is_new = !reached.iter().any(|(at, known)| *at == step.after && *known == open);
                if is_new && (open.is_empty() || reached.len() < MAX_OPEN_STATES) {
                    reached.push((step.after.clone(), open));
                }
            }
        }
    }
    reached.iter().any(|(content, open)| content == to && open.is_empty())
}

/// Proposals with an approved change of `path` that `commit` brings.
pub fn brought(view: &View<'_>, commit: &Commit, path: &RepoPath) -> Result<Vec<ProposalId>> {
    let mut found = find_candidates(view, path)?;
    let is_brought = |step: &FileStep| commits::brings(view.store(), commit, step);
    found.retain(|it| {
        matches!(it.standing, RecordValidity::Stands) && it.steps.iter().any(is_brought)
    });
    Ok(found.into_iter().map(|it| it.proposal).collect())
}

pub fn counts(view: &View<'_>, proposal: &Proposal) -> Result<bool> {
    let counted = proposal.applies().any(|decision| is_counted(proposal, decision));
    Ok(counted && !contested::is_binding(view.store(), proposal)?)
}

/// True for applies by a person, and for memory files that the memory manifest let through.
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

/// True if approved steps lead `path` from a parent's entry (the first that differs) to the
/// commit's. `claimed`: approvals that the commit names; they may change further files such as the
/// memory index.
pub fn is_covered(
    view: &View<'_>,
    commit: &Commit,
    path: &RepoPath,
    claimed: &[Cover],
) -> Result<bool> {
    let repository = view.store().repository();
    let to = repository.entry_at(Some(commit.tree), path);
    let parents = std::iter::once(&commit.parent_tree).chain(&commit.merged);
    let mut others = parents.map(|tree| repository.entry_at(*tree, path));
    let from = others.find(|from| *from != to).unwrap_or_else(|| to.clone());
    Ok(steps_lead_to(candidates(view, path, claimed)?.iter(), &from, &to))
}
