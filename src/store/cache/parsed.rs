//! Events that were just read from objects, so that folding them need not ask the cache.

use std::collections::HashMap;

use gix::ObjectId;

use super::filling::{Fresh, Freshes, Row};
use crate::proposal::Event;

/// Events that were just read from objects into the cache, by their ids, so that folding them need not
/// parse what the cache has of them.
#[derive(Default)]
pub(super) struct Parsed {
    events: HashMap<ObjectId, Box<Event>>,
    bytes: usize,
    count: usize,
    /// Proposals of which this is all that there is.
    fresh: Freshes,
    /// The one of these that was met last, beside the others.
    last: Option<(String, Fresh)>,
}

/// Bytes of events of a proposal that waits for the next part of a snapshot.
const MOST_HELD: usize = 1 << 20;

/// Bytes of events of which the parsed ones are kept.
const MOST_PARSED: usize = 16 << 20;

impl Parsed {
    /// Keeps `event`, which is stored as `bytes` bytes, unless there are very many.
    pub(super) fn keep(&mut self, id: ObjectId, event: Box<Event>, bytes: usize) {
        self.count += 1;
        self.bytes += bytes;
        if self.bytes <= MOST_PARSED {
            self.events.insert(id, event);
        }
    }

    /// Keeps an event of a proposal that the cache has nothing else of.
    pub(super) fn keep_fresh(&mut self, proposal: &str, row: Row) {
        self.count += 1;
        self.bytes += row.body.len();
        self.fresh(proposal).push(row);
    }

    /// What is kept of such a proposal.
    pub(super) fn fresh(&mut self, proposal: &str) -> &mut Fresh {
        // The events of one stand together in a snapshot.
        if !self.is_last(proposal) {
            let found = self.fresh.remove(proposal).unwrap_or_default();
            let before = self.last.replace((proposal.to_owned(), found));
            self.fresh.extend(before);
        }
        &mut self.last.get_or_insert_default().1
    }

    /// Whether something of `proposal` was met last.
    pub(super) fn is_last(&self, proposal: &str) -> bool {
        self.last.as_ref().is_some_and(|(id, _)| id == proposal)
    }

    /// Takes the last of them out, with which the next part of a snapshot may go on.
    pub(super) fn take_last(&mut self) -> Option<(String, Fresh)> {
        let bytes = |fresh: &Fresh| fresh.iter().map(|row| row.body.len()).sum::<usize>();
        self.last.take_if(|(_, fresh)| bytes(fresh) <= MOST_HELD)
    }

    /// Takes the last of them out, whatever its size.
    pub(super) fn take_whole(&mut self) -> Option<(String, Fresh)> {
        self.last.take()
    }

    /// Puts it back.
    pub(super) fn put_last(&mut self, last: (String, Fresh)) {
        let before = self.last.replace(last);
        self.fresh.extend(before);
    }

    /// Whether what is kept of `proposal` is all that there is.
    pub(super) fn is_fresh(&self, proposal: &str) -> bool {
        self.is_last(proposal) || self.fresh.contains_key(proposal)
    }

    /// All of which that is so.
    pub(super) fn fresh_ids(&self) -> impl Iterator<Item = &String> {
        self.fresh.keys().chain(self.last.as_ref().map(|(id, _)| id))
    }

    /// Takes that out.
    pub(super) fn take_fresh(&mut self, proposal: &str) -> Option<Fresh> {
        let last = self.last.take_if(|(id, _)| id == proposal);
        last.map(|(_, fresh)| fresh).or_else(|| self.fresh.remove(proposal))
    }

    /// From now on the cache has all of it.
    pub(super) fn forget_fresh(&mut self) {
        self.fresh.clear();
        self.last = None;
    }

    /// How many there were, those included that were not kept.
    pub(super) fn len(&self) -> usize {
        self.count
    }

    /// The bytes of all of them as they are stored. What is made of one of them may take a hundred times that.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes the event `id` (hex) out.
    pub(super) fn take(&mut self, id: &str) -> Option<Event> {
        if self.events.is_empty() {
            return None;
        }
        self.events.remove(&ObjectId::from_hex(id.as_bytes()).ok()?).map(|event| *event)
    }
}
