//! An empty cache on its way to what the lanes say, while its events have no indices yet.
//!
//! An index over ids that go anywhere costs more, row by row, than all else about a row. So as long as what
//! is read is plainly new, events are put in without, and their proposals are folded from memory. What might be
//! known already ends that: the indices are made, and everything goes on by questions to the cache.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use gix::ObjectId;

use crate::proposal::statement::Statement;
use crate::proposal::{Event, ProposalId};

/// Most events, for their ids are in memory.
const MOST: usize = 1 << 19;

/// What was put in so far. By the beginnings of ids: two that share theirs only end this early.
#[derive(Default)]
pub(super) struct Filling {
    events: HashSet<u64>,
    /// Proposals of which something was read in an earlier batch, and folded.
    folded: HashSet<u64>,
    /// The lane commits that count.
    steps: Steps,
}

/// Lane commits, by the beginnings of their ids.
pub(super) type Steps = Rc<HashSet<u64>>;

impl Filling {
    /// Notes the event `id` about `proposal`; `false` if one of them may be known already.
    pub(super) fn is_new(&mut self, id: &ObjectId, proposal: Option<&ProposalId>) -> bool {
        self.events.len() < MOST
            && proposal.is_none_or(|proposal| self.is_unfolded(proposal))
            && self.events.insert(beginning(id))
    }

    /// Whether nothing has been folded of `proposal`.
    pub(super) fn is_unfolded(&self, proposal: &ProposalId) -> bool {
        !self.folded.contains(&bits(proposal.as_str()))
    }

    /// Whether the event `id` may be known.
    pub(super) fn may_know(&self, id: &ObjectId) -> bool {
        self.events.contains(&beginning(id))
    }

    /// Notes the lane commit `id`, which counts.
    pub(super) fn add_step(&mut self, id: &ObjectId) {
        Rc::make_mut(&mut self.steps).insert(beginning(id));
    }

    /// All that may be a lane commit that counts.
    pub(super) fn steps(&self) -> Steps {
        self.steps.clone()
    }

    /// These have been folded.
    pub(super) fn fold<'p>(&mut self, proposals: impl Iterator<Item = &'p String>) {
        self.folded.extend(proposals.map(|id| bits(id)));
    }
}

/// Where the id of an event or a commit begins.
pub(super) fn beginning(id: &ObjectId) -> u64 {
    id.as_bytes().iter().take(8).fold(0, |bits, byte| (bits << 8) | u64::from(*byte))
}

/// The id of a proposal, which has ten characters of five bits behind the part that all have.
fn bits(proposal: &str) -> u64 {
    let characters = proposal.bytes().rev().take(10);
    characters.fold(0, |bits, byte| (bits << 6) ^ u64::from(byte & 0x3f) ^ u64::from(byte >> 6))
}

/// All events that were read of one proposal, which the cache has nothing else of.
pub(super) type Fresh = Vec<Row>;

/// By proposal.
pub(super) type Freshes = HashMap<String, Fresh>;

/// An event, as a row of the cache has it, and what it says.
pub(super) struct Row {
    /// Its id, hex.
    pub(super) id: String,
    /// The lane commit that holds it, hex.
    pub(super) commit: Rc<str>,
    /// What it says, its lane among that.
    pub(super) event: Box<Event>,
    /// Its bytes.
    pub(super) body: Vec<u8>,
    /// The statement beside it in a snapshot.
    pub(super) statement: Option<Vec<u8>>,
    /// What that says, where it is one. It has the hash that the event names.
    pub(super) stated: Option<Box<Statement>>,
    /// The manifest of that.
    pub(super) manifest: Option<Vec<u8>>,
    /// What the snapshot counts of its proposal, as the cache has it.
    pub(super) figures: Option<String>,
    /// It is a line of a snapshot.
    pub(super) is_line: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_known_is_not_new() {
        let id = |digit: &str| ObjectId::from_hex(digit.repeat(40).as_bytes()).unwrap();
        let proposal = |digit: &str| ProposalId::from_event(&digit.repeat(40));
        let mut filling = Filling::default();
        assert!(filling.is_new(&id("1"), Some(&proposal("1"))));
        assert!(!filling.is_new(&id("1"), Some(&proposal("1"))), "twice");
        assert!(
            filling.is_new(&id("2"), Some(&proposal("1"))),
            "the same proposal, not folded yet"
        );
        filling.fold([proposal("1").to_string()].iter());
        assert!(!filling.is_new(&id("3"), Some(&proposal("1"))), "of one that is folded");
        assert!(filling.is_new(&id("4"), Some(&proposal("4"))));
        assert!(filling.is_new(&id("5"), None));
        assert!(filling.may_know(&id("5")) && !filling.may_know(&id("6")));
    }
}
