//! Order of a thread's events: causes before effects, then time, then id. A writer had seen what
//! its commit descends from.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use smallvec::SmallVec;

use super::event::{DecisionDocuments, StoredEvent};

#[derive(Clone, Debug, Default, PartialEq)]
pub struct History {
    events: Vec<StoredEvent>,
    /// Indices in `events`.
    parents: Vec<SmallVec<[u32; 2]>>,
}

impl History {
    /// Drops duplicates, and ignores parents outside `events`. Ids are commit ids, so there are no
    /// cycles.
    pub fn new(mut events: Vec<StoredEvent>) -> Self {
        events.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        events.dedup_by(|a, b| a.id == b.id);
        let at: HashMap<&str, usize> =
            events.iter().enumerate().map(|(at, event)| (event.id.as_str(), at)).collect();
        let mut waiting = vec![0_usize; events.len()];
        let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); events.len()];
        let places = |event: &StoredEvent| -> SmallVec<[u32; 2]> {
            event.parents.iter().filter_map(|id| at.get(id.as_str())).map(|at| *at as u32).collect()
        };
        let parents: Vec<SmallVec<[u32; 2]>> = events.iter().map(places).collect();
        for (child, parents) in parents.iter().enumerate() {
            waiting[child] = parents.len();
            for parent in parents {
                waiters[*parent as usize].push(child);
            }
        }
        // Indices follow the sorted ids.
        let key = |at: usize| Reverse((events[at].event.time, at));
        let mut free: BinaryHeap<_> =
            (0..events.len()).filter(|at| waiting[*at] == 0).map(key).collect();
        let mut order = Vec::with_capacity(events.len());
        while let Some(Reverse((_, at))) = free.pop() {
            order.push(at);
            for waiter in &waiters[at] {
                waiting[*waiter] -= 1;
                if waiting[*waiter] == 0 {
                    free.push(key(*waiter));
                }
            }
        }
        let mut place = vec![0_u32; events.len()];
        for (to, from) in order.iter().enumerate() {
            place[*from] = to as u32;
        }
        let parents = order
            .iter()
            .map(|from| parents[*from].iter().map(|parent| place[*parent as usize]).collect())
            .collect();
        let mut left: Vec<Option<StoredEvent>> = events.into_iter().map(Some).collect();
        let events = order.iter().filter_map(|from| left[*from].take()).collect();
        Self { events, parents }
    }

    pub fn events(&self) -> &[StoredEvent] {
        &self.events
    }

    pub fn first(&self) -> Option<&StoredEvent> {
        self.events.first()
    }

    pub fn at(&self, id: &str) -> Option<usize> {
        self.events.iter().position(|event| event.id == id)
    }

    pub fn get(&self, id: &str) -> Option<&StoredEvent> {
        self.events.iter().find(|event| event.id == id)
    }

    pub fn papers(&self, id: &str) -> Option<&DecisionDocuments> {
        self.get(id)?.papers()
    }

    /// True if the writer at `later` had seen the event at `earlier`.
    pub fn saw(&self, later: usize, earlier: usize) -> bool {
        self.seen(later).has(earlier)
    }

    pub(super) fn seen(&self, at: usize) -> SeenEvents {
        let mut sight = SeenEvents(vec![0; at.div_ceil(64)]);
        let mut next = vec![at];
        while let Some(at) = next.pop() {
            for parent in self.parents[at].iter().map(|parent| *parent as usize) {
                if !sight.has(parent) {
                    sight.add(parent);
                    next.push(parent);
                }
            }
        }
        sight
    }

    pub(super) fn seen_by_each(&self) -> SeenEventsIter<'_> {
        let mut children = vec![0; self.events.len()];
        for parent in self.parents.iter().flatten() {
            children[*parent as usize] += 1;
        }
        SeenEventsIter {
            history: self,
            sights: vec![SeenEvents::default(); self.events.len()],
            children,
        }
    }
}

/// One bit for each index before the writer's own.
#[derive(Clone, Debug, Default)]
pub(super) struct SeenEvents(Vec<u64>);

impl SeenEvents {
    pub(super) fn has(&self, at: usize) -> bool {
        self.0.get(at / 64).is_some_and(|word| word >> (at % 64) & 1 == 1)
    }

    fn add(&mut self, at: usize) {
        self.0[at / 64] |= 1 << (at % 64);
    }
}

/// Drops each `Sight` after its last child. Anyone who can push chooses the number of events, and
/// all together take quadratic memory.
pub(super) struct SeenEventsIter<'h> {
    history: &'h History,
    sights: Vec<SeenEvents>,
    children: Vec<u32>,
}

impl SeenEventsIter<'_> {
    /// Call it for each index in turn.
    pub(super) fn of(&mut self, at: usize) -> SeenEvents {
        let mut sight = SeenEvents(vec![0; at.div_ceil(64)]);
        for parent in self.history.parents[at].iter().map(|parent| *parent as usize) {
            for (word, theirs) in sight.0.iter_mut().zip(&self.sights[parent].0) {
                *word |= theirs;
            }
            sight.add(parent);
            self.children[parent] -= 1;
            if self.children[parent] == 0 {
                self.sights[parent] = SeenEvents::default();
            }
        }
        if self.children[at] > 0 {
            self.sights[at] = sight.clone();
        }
        sight
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::sample::{CLONE, Thread, comment, person};
    use super::*;

    /// Each event has up to three earlier parents, and any time.
    fn dag() -> impl Strategy<Value = Vec<StoredEvent>> {
        let parents = proptest::collection::vec(any::<prop::sample::Index>(), 1..4);
        proptest::collection::vec((parents, 0..9_i64), 0..40).prop_map(|steps| {
            let mut thread = Thread::proposed();
            for (parents, clock) in steps {
                let mut parents: Vec<usize> =
                    parents.iter().map(|parent| parent.index(thread.events.len())).collect();
                parents.dedup();
                thread.clock = clock;
                let said = comment(&thread.events.len().to_string());
                thread.add(&person("ada"), CLONE, &parents, said);
            }
            thread.events
        })
    }

    /// The definition, in cubic time: of the events whose parents are all taken, the least by time
    /// and id.
    fn slow(events: &[StoredEvent]) -> Vec<&str> {
        let mut out: Vec<&str> = Vec::new();
        loop {
            let is_free = |event: &&StoredEvent| {
                !out.contains(&event.id.as_str())
                    && event.parents.iter().all(|parent| out.contains(&parent.as_str()))
            };
            let next = events.iter().filter(is_free).min_by_key(|it| (it.event.time, &it.id));
            match next {
                Some(next) => out.push(&next.id),
                None => return out,
            }
        }
    }

    fn descends(events: &[StoredEvent], later: &str, earlier: &str) -> bool {
        let later = events.iter().find(|event| event.id == later).unwrap();
        later.parents.iter().any(|parent| parent == earlier || descends(events, parent, earlier))
    }

    proptest! {
        #[test]
        fn events_are_in_the_defined_order_whatever_theirs(events in dag(), turn in any::<usize>()) {
            let mut turned = events.clone();
            turned.rotate_left(turn % events.len());
            turned.extend(events.iter().take(3).cloned());
            let history = History::new(turned);
            let ids: Vec<&str> = history.events().iter().map(|event| event.id.as_str()).collect();
            prop_assert_eq!(ids, slow(&events));
        }

        #[test]
        fn what_was_seen_is_what_is_descended_from(events in dag()) {
            let history = History::new(events.clone());
            let mut sights = history.seen_by_each();
            for (later, event) in history.events().iter().enumerate() {
                let sight = sights.of(later);
                for (earlier, other) in history.events().iter().enumerate().take(12) {
                    let seen = descends(&events, &event.id, &other.id);
                    prop_assert_eq!(sight.has(earlier), seen);
                    prop_assert_eq!(history.saw(later, earlier), seen);
                }
            }
        }
    }

    #[test]
    fn causes_come_first_whatever_the_clock_says() {
        let mut thread = Thread::proposed();
        thread.clock = -50;
        thread.add(&person("ada"), CLONE, &[0], comment("x"));
        let history = thread.history();
        assert_eq!(history.first().map(|first| &first.id), Some(&thread.events[0].id));
        assert_eq!(history.at(&thread.events[1].id), Some(1));
    }

    #[test]
    fn a_wide_thread_takes_no_square_of_memory() {
        let mut thread = Thread::proposed();
        for _ in 0..2_000 {
            thread.add(&person("ada"), CLONE, &[0], comment("x"));
        }
        let history = thread.history();
        let mut sights = history.seen_by_each();
        for at in 0..history.events().len() {
            sights.of(at);
        }
        assert!(sights.sights.iter().all(|sight| sight.0.is_empty()));
    }
}
