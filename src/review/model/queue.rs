//! The order in which proposals are reviewed.

use chrono::{DateTime, Utc};

use crate::changeset::marks::{Mark, class};
use crate::changeset::{Mode, RepoPath, sensitive};
use crate::proposal::stacks::{self, Place};
use crate::proposal::{ChangeRecord, Entry, ProposalId};

/// What the order depends on; known without reading any content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ticket {
    /// Which proposal.
    pub id: ProposalId,
    /// When it was proposed.
    pub created_at: DateTime<Utc>,
    /// What deserves a second look.
    pub marks: Vec<Mark>,
    /// Event id of the revision that it was queued with.
    pub revision: String,
    /// Lines that it adds and removes.
    pub lines: u64,
    /// The proposals that it stands on.
    pub lower: Vec<ProposalId>,
}

impl Ticket {
    /// Of a proposal of which nothing else is known.
    pub fn new(id: ProposalId, created_at: DateTime<Utc>) -> Self {
        Self {
            id,
            created_at,
            marks: Vec::new(),
            revision: String::new(),
            lines: 0,
            lower: Vec::new(),
        }
    }
}

impl sensitive::Touched for ChangeRecord {
    fn path(&self) -> &RepoPath {
        &self.path
    }

    fn modes(&self) -> (Option<Mode>, Option<Mode>) {
        let mode = |entry: &Option<Entry>| entry.as_ref().map(Entry::file_mode);
        (mode(&self.before), mode(&self.after))
    }

    fn origin(&self) -> Option<&RepoPath> {
        self.origin.as_ref()
    }
}

/// Sorts, by [`stacks::order`]: what carries marks, with what only removes files behind it, then the rest.
pub fn queue(tickets: Vec<Ticket>) -> Vec<Ticket> {
    let places = tickets.iter().map(|ticket| Place {
        id: &ticket.id,
        class: class(&ticket.marks),
        created_at: ticket.created_at,
        lower: ticket.lower.iter().collect(),
    });
    let order = stacks::order(&places.collect::<Vec<_>>());
    let mut tickets: Vec<Option<Ticket>> = tickets.into_iter().map(Some).collect();
    order.into_iter().filter_map(|at| tickets[at].take()).collect()
}
