//! What exactly people have approved, and whether a commit holds it.

use std::collections::{BTreeSet, HashMap};
use std::rc::Rc;

use chrono::{DateTime, Utc};

use super::commits::{self, Commit};
use crate::changeset::RepoPath;
use crate::decide::steps::{self, Said};
use crate::error::Result;
use crate::proposal::state::{Decision, State};
use crate::proposal::steps::Step;
use crate::proposal::{Entry, Proposal, ProposalId, Status};
use crate::store::{Filter, Store, View};

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
    each(store, proposal, |event, at, said| {
        let steps = said.proven(store, proposal)?.to_vec();
        Ok(Cover { proposal: proposal.id.clone(), event: event.to_owned(), at, steps })
    })
}

/// What `read` makes of each record that counts, with its event and time; those that cannot be believed are not
/// among them, unless none can.
fn each<T>(
    store: &Store,
    proposal: &Proposal,
    read: impl Fn(&str, DateTime<Utc>, Said) -> Result<T>,
) -> Result<Vec<T>> {
    if proposal.contested {
        return Ok(Vec::new());
    }
    let decided = proposal.applies().filter(|decision| is_counted(proposal, decision));
    let decided = decided.map(|decision| {
        (decision.event.as_str(), decision.at, steps::of(store, proposal, decision))
    });
    let approved = proposal.approvals_in_force().map(|approval| {
        let said = steps::of_approval(store, proposal, approval);
        (approval.event.as_str(), approval.at, said)
    });
    let (mut found, mut failed) = (Vec::new(), None);
    for (event, at, said) in decided.chain(approved) {
        match said.and_then(|said| read(event, at, said)) {
            Ok(one) => found.push(one),
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
pub fn applied(store: &Store, proposal: &Proposal) -> Option<Cover> {
    let decision = proposal.apply_here(&store.own_lanes())?;
    let said = steps::of(store, proposal, decision).ok()?;
    let steps = said.proven(store, proposal).ok()?.to_vec();
    let (proposal, event) = (proposal.id.clone(), decision.event.clone());
    Some(Cover { proposal, event, at: decision.at, steps })
}

/// The first of `approved`, files that `cover` approves, that `lookup` gives neither so nor as what was approved on
/// top of it, one after the other, has made it.
///
/// # Errors
/// `internal_error` if the cache cannot be read.
pub fn first_difference<'a>(
    store: &Store,
    view: &View,
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
        let mut all = covers_of(store, view, path)?;
        all.push(Candidate::Proven(cover));
        sort(view, &mut all)?;
        let place = all.iter().position(|one| matches!(one, Candidate::Proven(_)));
        let mut later: Vec<Candidate<'_>> = Vec::new();
        for (at, one) in all.into_iter().enumerate() {
            // What was decided at once was decided together.
            let is_later = Some(at) > place || one.at() == cover.at;
            if is_later && *one.proposal() != cover.proposal {
                later.push(one);
            }
        }
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
        if first_difference(store, view, &cover, &files, &lookup)?.is_none() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// What may have led to a content.
enum Candidate<'a> {
    /// A cover.
    Proven(&'a Cover),
    /// What a record says, which is not proven yet.
    Claimed {
        event: String,
        at: DateTime<Utc>,
        said: Said,
        proposal: Rc<Proposal>,
        standing: Standing,
    },
}

/// Whether what a candidate approves still is.
enum Standing {
    /// It is.
    Stands,
    /// An apply, by its event, that was taken back: on a way that goes on with that alone.
    Undone(String),
    /// Takes the apply of this event back.
    TakesBack(String),
}

impl Candidate<'_> {
    fn at(&self) -> DateTime<Utc> {
        match self {
            Self::Proven(cover) => cover.at,
            Self::Claimed { at, .. } => *at,
        }
    }

    fn event(&self) -> &str {
        match self {
            Self::Proven(cover) => &cover.event,
            Self::Claimed { event, .. } => event,
        }
    }

    fn proposal(&self) -> &ProposalId {
        match self {
            Self::Proven(cover) => &cover.proposal,
            Self::Claimed { proposal, .. } => &proposal.id,
        }
    }

    fn steps(&self) -> &[Step] {
        match self {
            Self::Proven(cover) => &cover.steps,
            Self::Claimed { said, .. } => said.claimed(),
        }
    }

    /// What is still to be taken back behind it, where `open` was before it; `None` where it counts for nothing: of a
    /// proposal that was applied again, an undo is approved only together with the apply that it takes back.
    fn after<'s>(&'s self, open: &BTreeSet<&'s str>) -> Option<BTreeSet<&'s str>> {
        let mut open = open.clone();
        match self {
            Self::Claimed { standing: Standing::TakesBack(event), proposal, .. }
                if matches!(proposal.state, State::Applied(_))
                    && !open.contains(event.as_str()) =>
            {
                return None;
            }
            Self::Claimed { standing: Standing::Undone(event), .. } => {
                open.insert(event);
            }
            Self::Claimed { standing: Standing::TakesBack(event), .. } => {
                open.remove(event.as_str());
            }
            Self::Claimed { standing: Standing::Stands, .. } | Self::Proven(_) => {}
        }
        Some(open)
    }

    fn is_proven(&self, store: &Store) -> bool {
        match self {
            Self::Proven(_) => true,
            Self::Claimed { said, proposal, .. } => said.proven(store, proposal).is_ok(),
        }
    }
}

/// Puts `candidates` in the order of the decisions: as a lane has them, as each had seen those of others, and by the
/// clock where neither says anything, for clocks are set back.
fn sort(view: &View, candidates: &mut [Candidate<'_>]) -> Result<()> {
    let events: Vec<&str> = candidates.iter().map(Candidate::event).collect();
    let known = view.in_order(&events)?;
    let ranks: HashMap<&str, usize> = known.iter().map(String::as_str).zip(0..).collect();
    let are_known = events.iter().all(|event| ranks.contains_key(event));
    let rank = |one: &Candidate<'_>| ranks.get(one.event()).copied().filter(|_| are_known);
    candidates.sort_by_key(|one| (rank(one), one.at()));
    Ok(())
}

/// What records say was approved of `path`.
fn covers_of(store: &Store, view: &View, path: &RepoPath) -> Result<Vec<Candidate<'static>>> {
    let filter = Filter { path: Some(path.as_bstr().to_string()), ..Filter::default() };
    let mut found = Vec::new();
    // No clock: what was applied or approved stays so.
    for summary in view.proposals(&filter, DateTime::<Utc>::MIN_UTC)? {
        let is_decided = summary.status == Status::Applied || !summary.approvals.is_empty();
        if !is_decided && !summary.is_undone {
            continue;
        }
        let proposal = Rc::new(view.proposal(&summary.id)?);
        let claimed = |event: &str, at: DateTime<Utc>, said: Said, standing: Standing| {
            let (event, proposal) = (event.to_owned(), Rc::clone(&proposal));
            Candidate::Claimed { event, at, said, proposal, standing }
        };
        let stands = |event: &str, at, said| Ok(claimed(event, at, said, Standing::Stands));
        found.extend(each(store, &proposal, stands).unwrap_or_default());
        let undos = proposal.undone.iter().zip(&proposal.undos);
        for (undone, undo) in undos.filter(|_| !proposal.contested) {
            let made = steps::of(store, &proposal, undone);
            let (Ok(made), Ok(back)) = (made, steps::of_undo(store, &proposal, (undone, undo)))
            else {
                continue;
            };
            // Lines that were taken along are not what the undo takes back.
            let made = made.without_residue();
            let event = undone.event.as_str();
            found.push(claimed(event, undone.at, made, Standing::Undone(event.to_owned())));
            let takes_back = Standing::TakesBack(event.to_owned());
            found.push(claimed(&undo.event, undo.at, back, takes_back));
        }
    }
    Ok(found)
}

/// How many ways are followed through what was taken back later.
const MOST: usize = 256;

/// True where `candidates`, in this order, lead `path` from one content to another. What was taken back later counts
/// where that is on the way, too. Only those on the way are proven, which may take a merge.
fn reaches(
    store: &Store,
    candidates: &[Candidate<'_>],
    path: &RepoPath,
    [from, to]: [&Option<Entry>; 2],
) -> bool {
    // Each content with the applies on the way to it that are still to be taken back.
    let mut reached: Vec<(Option<Entry>, BTreeSet<&str>)> = vec![(from.clone(), BTreeSet::new())];
    for candidate in candidates {
        let steps = candidate.steps().iter().filter(|step| step.path == *path);
        let fits = |step: &Step| reached.iter().any(|(content, _)| *content == step.before);
        if !steps.clone().any(fits) || !candidate.is_proven(store) {
            continue;
        }
        for step in steps {
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
pub fn counts(proposal: &Proposal) -> bool {
    !proposal.contested && proposal.applies().any(|decision| is_counted(proposal, decision))
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
/// `internal_error` if the cache cannot be read.
pub fn is_covered(
    store: &Store,
    view: &View,
    commit: &Commit,
    path: &RepoPath,
    claimed: &[Cover],
) -> Result<bool> {
    let to = commits::entry_at(store, Some(commit.tree), path);
    let parents = std::iter::once(&commit.parent_tree).chain(&commit.merged);
    let mut others = parents.map(|tree| commits::entry_at(store, *tree, path));
    let from = others.find(|from| *from != to).unwrap_or_else(|| to.clone());
    let mut candidates = covers_of(store, view, path)?;
    candidates.extend(claimed.iter().map(Candidate::Proven));
    sort(view, &mut candidates)?;
    Ok(reaches(store, &candidates, path, [&from, &to]))
}
