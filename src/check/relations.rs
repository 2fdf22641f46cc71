//! Stacked and overlapping pending proposals.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use chrono::{DateTime, Utc};

use super::conflict_check::ConflictCheck;
use crate::changeset::{FileChange, RepoPath};
use crate::decide;
use crate::error::Result;
use crate::proposal::relations::{self, Dependency, PendingProposal, Relations, TouchedFile};
use crate::proposal::state::{Decision, State};
use crate::proposal::steps::FileStep;
use crate::proposal::{Entry, Proposal, ProposalId, Status};
use crate::store::{ProposalRow, Store, View};

/// Stacks are searched to this depth.
pub const MOST_HIGH: usize = 20;

/// How many files of proposals are compared, and how many ranges of lines are kept in memory for that.
const MOST_TOUCHES: usize = 1 << 17;
const MOST_RANGES: usize = 1 << 21;

/// How many files of proposals whose lower one is not pending are looked for.
const MOST_LEFT: usize = 1 << 10;

/// How many changes of the same or adjacent lines are merged; further ones count as conflicts.
const MOST_MERGED: usize = 32;

/// Compares proposals with HEAD and the work tree: see `View::relations`. Reads a file only if one
/// proposal starts from another's result, or their lines meet.
pub fn relations(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
) -> Result<BTreeMap<ProposalId, Relations>> {
    let repository = store.repository();
    let fit = ConflictCheck::new(store);
    let mut head = None;
    let mut is_present = |path: &str, entry: &Entry| {
        let Ok(path) = RepoPath::new(path) else { return false };
        let head = *head.get_or_insert_with(|| repository.head_tree());
        repository.entry_at(head, &path).as_ref() == Some(entry)
            || fit.holds(&path).flatten().as_ref() == Some(entry)
    };
    let pending = view.pending(now)?;
    let (mut recorded, mut left) = (BTreeMap::new(), MOST_LEFT);
    for upper in &pending {
        let Some(on) = &upper.on else { continue };
        let lower = pending.iter().find(|it| on.proposal.is_of(&it.summary.thread));
        // A proposal that stands on itself, as somebody else's event may say, stands on nothing.
        if let Some(lower) = lower.filter(|lower| lower.summary.thread != upper.summary.thread) {
            let is_revised = lower.summary.revision != on.revision;
            let id = lower.summary.id.clone();
            recorded.insert(upper.summary.id.clone(), Dependency { id, is_revised });
            continue;
        }
        // A younger proposal may make now what a decision on the lower one has left out.
        let id = &upper.summary.id;
        let bases = upper.files.iter().filter_map(|file| Some((&file.path, file.before.as_ref()?)));
        for (path, base) in bases {
            if left == 0 {
                break;
            }
            left -= 1;
            if let Some(lower) = view.only_one_making((path, base), id, now)?
                && !is_present(&path.display().to_string(), base)
            {
                recorded.entry(id.clone()).or_insert(Dependency { id: lower, is_revised: false });
            }
        }
    }
    let (mut known, mut left) = (BTreeMap::new(), MOST_MERGED);
    let both_apply = |path: &str, ids: [&ProposalId; 2]| {
        if left == 0 {
            return false;
        }
        left -= 1;
        let mut change = |id: &ProposalId| {
            let key = (id.clone(), path.to_owned());
            known.entry(key).or_insert_with(|| change(store, view, id, path)).clone()
        };
        let [Some(one), Some(other)] = ids.map(&mut change) else { return false };
        fit.both_apply(&one, &other) && fit.both_apply(&other, &one)
    };
    Ok(relations::relations(&opened(&pending), &recorded, is_present, both_apply))
}

/// The change of a file; `None` if its content cannot be read.
fn change(store: &Store, view: &View, id: &ProposalId, path: &str) -> Option<FileChange> {
    let proposal = view.proposal(id).ok()?;
    let mut records = proposal.current().changes.iter();
    let record = records.find(|record| record.path.display().to_string() == path)?;
    let changeset =
        store.partial_changeset(proposal.current(), std::slice::from_ref(record)).ok()?;
    changeset.into_changes().pop()
}

/// The files that several of `pending` change, and what each makes of them. Files that few change come first.
fn opened(pending: &[&ProposalRow]) -> Vec<PendingProposal> {
    let mut count: BTreeMap<&RepoPath, usize> = BTreeMap::new();
    for file in pending.iter().flat_map(|digest| &digest.files) {
        *count.entry(&file.path).or_default() += 1;
    }
    let mut shared: Vec<(usize, &RepoPath)> = count
        .into_iter()
        .filter(|(_, count)| *count > 1)
        .map(|(path, count)| (count, path))
        .collect();
    shared.sort_unstable();
    let mut sum = 0;
    let within = |(count, path): (usize, _)| {
        sum += count;
        (sum <= MOST_TOUCHES).then_some(path)
    };
    let shared: BTreeSet<&RepoPath> = shared.into_iter().map_while(within).collect();
    let mut ranges = MOST_RANGES;
    let mut lines = |lines: &Option<Vec<Range<u32>>>| {
        let lines = lines.as_ref()?;
        ranges = ranges.checked_sub(lines.len())?;
        Some(lines.clone())
    };
    let mut open = Vec::new();
    for digest in pending {
        let files = digest.files.iter().filter(|file| shared.contains(&file.path));
        let touches: Vec<TouchedFile> = files
            .map(|file| TouchedFile {
                path: file.path.display().to_string(),
                before: file.before.clone(),
                after: file.after.clone(),
                lines: lines(&file.lines),
            })
            .collect();
        if touches.is_empty() {
            continue;
        }
        let earlier = digest.made.iter();
        let earlier =
            earlier.filter_map(|(path, made)| Some((path.display().to_string(), made.clone()?)));
        open.push(PendingProposal {
            id: digest.summary.id.clone(),
            touches,
            earlier: earlier.collect(),
        });
    }
    open
}

/// Reads other proposals only if one may touch the same files.
pub fn of(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
    proposal: &Proposal,
) -> Result<Relations> {
    if has_others(view, now, std::slice::from_ref(proposal))? {
        Ok(relations(store, view, now)?.remove(&proposal.id).unwrap_or_default())
    } else {
        Ok(Relations::default())
    }
}

/// True if one of `proposals` was made on another, or shares a file with another.
pub fn has_others(view: &View, now: DateTime<Utc>, proposals: &[Proposal]) -> Result<bool> {
    for proposal in proposals {
        if proposal.current().on.is_some() {
            return Ok(true);
        }
        for change in &proposal.current().changes {
            if view.touching(&change.path, now)?.len() > 1 {
                return Ok(true);
            }
        }
    }
    Ok(false)
}

/// Fate of the proposal below, as in `prop_x, which was rejected`, if its result is unavailable or
/// missing in the files.
pub fn lower_fate(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
    proposal: &Proposal,
) -> Result<Option<String>> {
    let Some(on) = &proposal.current().on else { return Ok(None) };
    if proposal.status(now) != Status::Pending {
        return Ok(None);
    }
    let Ok(lower) = view.proposal(&on.proposal) else {
        let purged = view.purge_of(&on.proposal)?;
        return Ok(purged.map(|_| format!("{}, which was purged", on.proposal)));
    };
    let became = match &lower.state {
        State::Pending if lower.status(now) == Status::Expired => "has expired",
        State::Rejected(decision) if decision.withdrawn => "was withdrawn",
        State::Rejected(_) => "was rejected",
        State::Applied(_) if lower.current().event != on.revision => {
            "was applied in part, or in another revision"
        }
        State::Applied(decision) if !is_in_files(store, decision, proposal) => {
            "was applied, and is not in these files as they are"
        }
        State::Pending | State::Applied(_) => return Ok(None),
    };
    Ok(Some(format!("{}, which {became}", on.proposal)))
}

/// True if the work tree has what `lower` wrote to files of `upper`, or if undecidable.
fn is_in_files(store: &Store, lower: &Decision, upper: &Proposal) -> bool {
    let Ok(tree) = store.repository().worktree() else { return true };
    let changes = &upper.current().changes;
    let mut written = lower.written.iter().filter(|it| changes.iter().any(|c| c.path == it.path));
    written.all(|it| decide::contains(store, &FileStep::from(it), &tree).unwrap_or(true))
}

pub fn stack_text(lower: &[Dependency]) -> Option<String> {
    named(lower).map(|lower| format!("depends on {lower}"))
}

/// Such as `prop_x and 2 more`.
pub fn named(lower: &[Dependency]) -> Option<String> {
    let (first, more) = lower.split_first()?;
    let revised = if first.is_revised { " (an earlier revision)" } else { "" };
    let others = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!("{}{revised}{others}", first.id))
}
