//! What there is to review, in order, and what comes in meanwhile.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::answers;
use crate::app::listing::Marks;
use crate::changeset::hunks::Lines;
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::review::model::Ticket;
use crate::store::{Filter, Store, Summary, View};

/// What there is to review.
pub struct Found {
    /// The proposals, in the order of review.
    pub tickets: Vec<Ticket>,
    /// Those and, where none was named, the ones that were sent back.
    pub all: Vec<Summary>,
    /// What lists mark them with.
    pub marks: Marks,
    /// All that was pending, named or not.
    pub known: Known,
}

/// What came in while somebody was reviewing.
#[derive(Debug, Default)]
pub struct Arrived {
    /// New proposals.
    pub new: Vec<Summary>,
    /// Revised ones.
    pub revised: Vec<Summary>,
}

/// Finds the proposals that `ids` name, of those that match `filter`; without ids all that were not sent back,
/// for those wait for their agents, and their next revisions are in the queue again.
///
/// # Errors
/// `proposal_not_found` and its kin, `not_pending` for an id; those of the store.
pub fn found(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
    ids: &[String],
    mut filter: Filter,
) -> Result<Found> {
    let mut wanted = Vec::new();
    for text in ids {
        let id = view.resolve(text)?;
        view.proposal(&id)?.require_pending(now)?;
        wanted.push(id);
    }
    filter.newest_first = false;
    store.fetch_pending(view)?;
    answers::prune(store.repository(), view, now)?;
    let mut summaries = view.proposals(&filter, now)?;
    let marks = Marks::of(store, view, now, &summaries)?;
    let known = summaries.iter().map(|summary| (summary.id.clone(), summary.revision.clone()));
    let known = known.collect();
    summaries.retain(|summary| wanted.is_empty() || wanted.contains(&summary.id));
    let all = marks.in_order(summaries);
    let is_asked_for = |summary: &&Summary| !wanted.is_empty() || !summary.changes_requested;
    let tickets = all.iter().filter(is_asked_for).map(|summary| ticket(summary, &marks));
    Ok(Found { tickets: tickets.collect(), all, marks, known })
}

fn ticket(summary: &Summary, marks: &Marks) -> Ticket {
    Ticket {
        id: summary.id.clone(),
        revision: summary.revision.clone(),
        lines: match summary.lines {
            Lines::Counted(counts) => {
                u64::try_from(counts.added + counts.removed).unwrap_or(u64::MAX)
            }
            Lines::NotByLines => u64::MAX,
            // Not here yet, and at least that many.
            Lines::NotHere => u64::try_from(summary.files).unwrap_or(u64::MAX),
        },
        marks: marks.of_proposal(&summary.id).to_vec(),
        answers: marks.answers(summary),
    }
}

/// The pending proposals, with the event id of the current revision of each.
pub type Known = HashMap<ProposalId, String>;

/// What others than `reviewer` have proposed or revised since the pending proposals were `known`.
///
/// # Errors
/// Those of the store.
pub fn arrived(
    store: &Store,
    now: DateTime<Utc>,
    mut filter: Filter,
    known: &Known,
    reviewer: &str,
) -> Result<Arrived> {
    filter.limit = None;
    let mut arrived = Arrived::default();
    // What is left of a proposal that was taken in part is the reviewer's own doing.
    let pending = store.view()?.proposals(&filter, now)?.into_iter();
    for summary in pending.filter(|summary| summary.author != reviewer) {
        match known.get(&summary.id) {
            None => arrived.new.push(summary),
            Some(revision) if *revision != summary.revision => arrived.revised.push(summary),
            Some(_) => {}
        }
    }
    Ok(arrived)
}
