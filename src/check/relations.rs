//! Which pending proposals stand on others, or touch the same lines.

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

/// A stack is no higher than this: what is deeper is not looked for.
pub const MOST_HIGH: usize = 20;

/// What the pending proposals have to do with each other, held against HEAD and the work tree: see
/// [`View::relations`]. A file is read only where a proposal starts from what another one makes of it.
///
/// # Errors
/// If the store or the work tree cannot be read.
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

/// The same of `proposal` alone. The others are read only where one of them may touch what it does.
///
/// # Errors
/// As [`relations`].
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

/// Whether any of `proposals` was made on another one, or shares a file with another pending one.
///
/// # Errors
/// If the store cannot be read.
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

/// What became of the proposal that the pending `proposal` was made on, where that can no longer be applied as it was,
/// or was and is not in the files: `prop_x, which was rejected`.
///
/// # Errors
/// If the store cannot be read.
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

/// Whether the work tree has what `lower` wrote to the files of `upper`; also where that cannot be told.
fn is_in_files(store: &Store, lower: &Decision, upper: &Proposal) -> bool {
    let Ok(tree) = store.repository().worktree() else { return true };
    let changes = &upper.current().changes;
    let mut written = lower.written.iter().filter(|it| changes.iter().any(|c| c.path == it.path));
    written.all(|it| decide::contains(store, &Step::from(it), &tree).unwrap_or(true))
}

/// `stands on prop_x`, with the first of several.
pub fn stands_on(lower: &[Lower]) -> Option<String> {
    named(lower).map(|lower| format!("stands on {lower}"))
}

/// `prop_x and 2 more`: those that something stands on.
pub fn named(lower: &[Lower]) -> Option<String> {
    let (first, more) = lower.split_first()?;
    let revised = if first.is_revised { " (an earlier revision)" } else { "" };
    let others = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!("{}{revised}{others}", first.id))
}
