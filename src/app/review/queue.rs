//! The review queue, and its arrivals.

use std::collections::HashMap;

use chrono::{DateTime, Utc};

use super::answers;
use crate::app::listing::ListFacts;
use crate::changeset::hunks::Lines;
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::review::model::QueuedProposal;
use crate::store::{Filter, Store, Summary, View};

pub struct ReviewQueue {
    /// In order of review.
    pub tickets: Vec<QueuedProposal>,
    /// Tickets and, without named ids, proposals with requested changes.
    pub all: Vec<Summary>,
    pub marks: ListFacts,
    /// All pending proposals, named or not.
    pub known: KnownRevisions,
}

#[derive(Debug, Default)]
pub struct QueueArrivals {
    pub new: Vec<Summary>,
    pub revised: Vec<Summary>,
}

/// Without `ids` all proposals except requested changes: those return with their next revision.
///
/// # Errors
/// `proposal_not_found` etc., `not_pending` for an id.
pub fn found(
    store: &Store,
    view: &View,
    now: DateTime<Utc>,
    ids: &[String],
    mut filter: Filter,
) -> Result<ReviewQueue> {
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
    let marks = ListFacts::of(store, view, now, &summaries)?;
    let known = summaries.iter().map(|summary| (summary.id.clone(), summary.revision.clone()));
    let known = known.collect();
    summaries.retain(|summary| wanted.is_empty() || wanted.contains(&summary.id));
    let all = marks.in_order(summaries);
    let is_asked_for = |summary: &&Summary| !wanted.is_empty() || !summary.changes_requested;
    let tickets = all.iter().filter(is_asked_for).map(|summary| ticket(summary, &marks));
    Ok(ReviewQueue { tickets: tickets.collect(), all, marks, known })
}

fn ticket(summary: &Summary, marks: &ListFacts) -> QueuedProposal {
    QueuedProposal {
        id: summary.id.clone(),
        title: summary.title().unwrap_or_default().to_owned(),
        proposed_by: summary.proposed_by.clone(),
        path: summary.path.clone(),
        files: summary.files,
        revision: summary.revision.clone(),
        lines: match summary.lines {
            Lines::Counted(counts) => {
                u64::try_from(counts.added + counts.removed).unwrap_or(u64::MAX)
            }
            Lines::NotByLines => u64::MAX,
            // Not fetched yet; at least one line a file.
            Lines::NotHere => u64::try_from(summary.files).unwrap_or(u64::MAX),
        },
        marks: marks.of_proposal(&summary.id).to_vec(),
        answers: marks.answers(summary),
    }
}

/// Event ids of current revisions.
pub type KnownRevisions = HashMap<ProposalId, String>;

/// Proposals and revisions by people other than `reviewer` since `known`.
pub fn arrived(
    store: &Store,
    now: DateTime<Utc>,
    mut filter: Filter,
    known: &KnownRevisions,
    reviewer: &str,
) -> Result<QueueArrivals> {
    filter.limit = None;
    let mut arrived = QueueArrivals::default();
    // The rest of a partial apply is the reviewer's own.
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
