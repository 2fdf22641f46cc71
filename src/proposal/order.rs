//! The order in which events are folded: causes before effects, then by time, then by id.
//!
//! Every event names, for each lane its writer had seen, the position it had seen it to. It
//! therefore waits for one event of that lane (the last up to that position, which itself waits
//! for those before it), and counting what each event waits for gives the order in
//! O((events + heads) × log events).

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use chrono::{DateTime, Utc};

use super::event::Stamped;

/// What decides between events that could come next; the last is the event's number.
type Key<'e> = (DateTime<Utc>, &'e str, usize);

/// Events in causal order, then by time, then by id; each once.
///
/// Honest events cannot wait for each other in a circle. Forged ones that do come in order of time
/// and id among the first of their lanes, so that the result never depends on the input's order.
pub fn order(events: &[Stamped]) -> Vec<&Stamped> {
    let mut all: Vec<&Stamped> = events.iter().collect();
    // By lane, and in each lane by position: neighbours are predecessor and successor.
    all.sort_unstable_by(|a, b| {
        let (left, right) = (&a.event, &b.event);
        left.lane.cmp(&right.lane).then(left.seq.cmp(&right.seq)).then_with(|| a.id.cmp(&b.id))
    });
    // The same id is the same event.
    all.dedup_by(|a, b| a.id == b.id);
    if all.first().zip(all.last()).is_none_or(|(a, b)| a.event.lane == b.event.lane) {
        // As most proposals are.
        return all;
    }
    let mut lanes: HashMap<&str, std::ops::Range<usize>> = HashMap::new();
    for (number, event) in all.iter().enumerate() {
        lanes.entry(&event.event.lane).or_insert(number..number).end = number + 1;
    }
    let mut waiting: Vec<usize> = vec![0; all.len()];
    let mut waiters: Vec<Vec<usize>> = vec![Vec::new(); all.len()];
    for (number, event) in all.iter().enumerate() {
        for head in &event.event.heads {
            let Some(lane) = lanes.get(head.lane.as_str()).filter(|lane| !lane.contains(&number))
            else {
                continue;
            };
            let upto = all[lane.clone()].partition_point(|other| other.event.seq <= head.seq);
            if upto > 0 {
                waiters[lane.start + upto - 1].push(number);
                waiting[number] += 1;
            }
        }
    }
    let key = |number: usize| -> Key<'_> {
        let event = all[number];
        (event.event.time, event.id.as_str(), number)
    };
    // The next event of every lane, and those among them that wait for nothing.
    let mut fronts: BTreeSet<Key<'_>> = lanes.values().map(|lane| key(lane.start)).collect();
    let mut free: BinaryHeap<Reverse<Key<'_>>> =
        fronts.iter().filter(|front| waiting[front.2] == 0).copied().map(Reverse).collect();
    let mut is_front = vec![false; all.len()];
    for front in &fronts {
        is_front[front.2] = true;
    }
    let mut out = Vec::with_capacity(all.len());
    while let Some(next) = free.pop().map(|next| next.0).or_else(|| fronts.first().copied()) {
        // An event of a circle that had to come first may have been freed since.
        if !fronts.remove(&next) {
            continue;
        }
        let number = next.2;
        out.push(all[number]);
        let following = number + 1;
        if following < all.len() && all[following].event.lane == all[number].event.lane {
            fronts.insert(key(following));
            is_front[following] = true;
            if waiting[following] == 0 {
                free.push(Reverse(key(following)));
            }
        }
        for waiter in std::mem::take(&mut waiters[number]) {
            waiting[waiter] -= 1;
            if waiting[waiter] == 0 && is_front[waiter] {
                free.push(Reverse(key(waiter)));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::super::event::{Comment, Data};
    use super::super::fold::saw;
    use super::super::sample;
    use super::*;

    /// The definition, in cubic time: of the first events of all lanes the least that has seen
    /// none of the others; where there is none, the least.
    fn slow(events: &[Stamped]) -> Vec<&Stamped> {
        let mut lanes: BTreeMap<&str, Vec<&Stamped>> = BTreeMap::new();
        let mut seen = BTreeSet::new();
        for stamped in events {
            if seen.insert(&stamped.id) {
                lanes.entry(&stamped.event.lane).or_default().push(stamped);
            }
        }
        for queue in lanes.values_mut() {
            queue.sort_unstable_by(|a, b| a.event.seq.cmp(&b.event.seq).then(a.id.cmp(&b.id)));
        }
        let mut queues: Vec<(usize, Vec<&Stamped>)> = lanes.into_values().map(|q| (0, q)).collect();
        let mut out = Vec::new();
        loop {
            let fronts: Vec<(usize, &Stamped)> = queues
                .iter()
                .enumerate()
                .filter_map(|(i, (at, queue))| queue.get(*at).map(|stamped| (i, *stamped)))
                .collect();
            let free = |candidate: &Stamped| {
                !fronts.iter().any(|(_, other)| other.id != candidate.id && saw(candidate, other))
            };
            let least = |a: &&(usize, &Stamped), b: &&(usize, &Stamped)| {
                (a.1.event.time, &a.1.id).cmp(&(b.1.event.time, &b.1.id))
            };
            let next = fronts
                .iter()
                .filter(|(_, stamped)| free(stamped))
                .min_by(least)
                .or_else(|| fronts.iter().min_by(least));
            let Some((queue, stamped)) = next else { return out };
            out.push(*stamped);
            queues[*queue].0 += 1;
        }
    }

    fn stamp(lane: usize, seq: u64, second: i64, heads: Vec<(usize, u64)>) -> Stamped {
        let name = |lane: usize| format!("lane{lane}");
        let heads: Vec<(String, u64)> =
            heads.iter().map(|(lane, seq)| (name(*lane), *seq)).collect();
        let heads: Vec<(&str, u64)> = heads.iter().map(|(lane, seq)| (&**lane, *seq)).collect();
        sample::stamp(&name(lane), seq, second, &heads, Data::Comment(Comment::default()))
    }

    /// A history that really happened: each lane may learn of all others before it writes.
    fn honest() -> impl Strategy<Value = Vec<Stamped>> {
        proptest::collection::vec((0..5_usize, any::<bool>(), 0..9_i64), 0..40).prop_map(|steps| {
            let mut known = [[0_u64; 5]; 5];
            let mut events = Vec::new();
            for (lane, learns, second) in steps {
                if learns {
                    for other in 0..5 {
                        let theirs = known[other];
                        for (mine, theirs) in known[lane].iter_mut().zip(theirs) {
                            *mine = (*mine).max(theirs);
                        }
                    }
                }
                let heads = (0..5).filter(|of| known[lane][*of] > 0);
                let heads = heads.map(|of| (of, known[lane][of])).collect();
                known[lane][lane] += 1;
                events.push(stamp(lane, known[lane][lane], second, heads));
            }
            events
        })
    }

    /// Anything that can be written down: circles, one position twice, heads of nothing.
    fn forged() -> impl Strategy<Value = Vec<Stamped>> {
        let heads = proptest::collection::vec((0..6_usize, 0..6_u64), 0..4);
        let event = (0..4_usize, 0..5_u64, 0..9_i64, heads);
        proptest::collection::vec(event, 0..25).prop_map(|events| {
            events.into_iter().map(|(lane, seq, at, heads)| stamp(lane, seq, at, heads)).collect()
        })
    }

    fn ids(events: Vec<&Stamped>) -> Vec<String> {
        events.into_iter().map(|event| event.id.clone()).collect()
    }

    proptest! {
        #[test]
        fn honest_histories_are_in_the_defined_order(events in honest()) {
            prop_assert_eq!(ids(order(&events)), ids(slow(&events)));
        }

        #[test]
        fn forged_events_are_in_the_defined_order_whatever_theirs(events in forged(), turn in 0..25_usize) {
            let expected = ids(slow(&events));
            prop_assert_eq!(&ids(order(&events)), &expected);
            let mut turned = events.clone();
            turned.rotate_left(turn.min(events.len()));
            turned.extend(events.into_iter().take(3));
            prop_assert_eq!(&ids(order(&turned)), &expected);
        }

        #[test]
        fn causes_come_before_effects(events in honest()) {
            let ordered = order(&events);
            for (i, later) in ordered.iter().enumerate() {
                for earlier in &ordered[i + 1..] {
                    prop_assert!(!saw(later, earlier));
                }
            }
        }
    }

    #[test]
    fn many_lanes_that_have_all_seen_each_other_are_ordered() {
        // Lane by lane, each having seen all before it: 800 events with 320,000 heads.
        let events: Vec<Stamped> = (0..800)
            .map(|lane| stamp(lane, 1, 1_000 - lane as i64, (0..lane).map(|of| (of, 1)).collect()))
            .collect();
        let ordered = order(&events);
        assert!(ordered.iter().zip(&events).all(|(a, b)| a.id == b.id));
    }
}
