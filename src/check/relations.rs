//! Stacked and overlapping pending proposals.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::commits;
use super::fit::Fit;
use crate::changeset::RepoPath;
use crate::decide;
use crate::error::Result;
use crate::proposal::relations::{Lower, Relations};
use crate::proposal::state::{Decision, State};
use crate::proposal::steps::Step;
use crate::proposal::{Proposal, ProposalId, Status};
use crate::store::{Store, View};

/// Stacks are searched to this depth.
pub const MOST_HIGH: usize = 20;

/// Compares proposals with HEAD and the work tree: see `View::relations`. Reads a file only if one
/// proposal starts from another's result.
pub fn relations(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
) -> Result<BTreeMap<ProposalId, Relations>> {
    let repository = store.repository();
    let fit = Fit::new(store);
    let mut head = None;
    view.relations(now, |path, entry| {
        let Ok(path) = RepoPath::new(path) else { return false };
        let head = *head.get_or_insert_with(|| repository.head_tree());
        commits::entry_at(repository, head, &path).as_ref() == Some(entry)
            || fit.holds(&path).flatten().as_ref() == Some(entry)
    })
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
pub fn made_on(
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
    written.all(|it| decide::contains(store, &Step::from(it), &tree).unwrap_or(true))
}

pub fn stands_on(lower: &[Lower]) -> Option<String> {
    named(lower).map(|lower| format!("stands on {lower}"))
}

/// Such as `prop_x and 2 more`.
pub fn named(lower: &[Lower]) -> Option<String> {
    let (first, more) = lower.split_first()?;
    let revised = if first.is_revised { " (an earlier revision)" } else { "" };
    let others = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!("{}{revised}{others}", first.id))
}
