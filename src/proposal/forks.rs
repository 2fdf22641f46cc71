//! Lanes that were written twice, taken apart.
//!
//! A lane is one chain as long as one clone writes it. Where a copy has gone on with it, its commits
//! are a tree, and "the same lane, a lower position" no longer means "seen". Such a lane is taken
//! apart into chains: one keeps the lane's name, every other is a **part**, named
//! `<lane>.f<8 hex of its first commit>`, which goes on from another chain at a position. What an
//! event had seen is then said by heads alone, as between lanes, and nothing behind this knows of
//! forks. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::audit::Own;
use super::event::{Event, Head};

/// What comes before a part: a chain, and the last position of it that the part goes on from.
/// `None` where a lane has two beginnings.
pub type Onto = Option<(String, u64)>;

/// The lanes that are forked, and their parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Forks {
    parts: BTreeMap<String, Vec<(String, u64)>>,
    /// Of each forked lane the last position that all its chains have in common.
    common: BTreeMap<String, u64>,
}

/// The lane that a chain is of, which is its name or begins it.
pub fn lane_of(chain: &str) -> &str {
    chain.split('.').next().unwrap_or_default()
}

/// The name of the part of `lane` that begins with `commit` (hex).
pub fn name(lane: &str, commit: &str) -> String {
    format!("{lane}.f{}", commit.get(..8).unwrap_or(commit))
}

impl Forks {
    /// Adds a part, or one more chain that it goes on from.
    pub fn add(&mut self, part: String, onto: Onto) {
        let lane = lane_of(&part).to_owned();
        let seq = match &onto {
            Some((chain, seq)) if *chain == lane => *seq,
            // A part of a part: the lane was left before.
            Some(_) => u64::MAX,
            None => 0,
        };
        let common = self.common.entry(lane).or_insert(u64::MAX);
        *common = seq.min(*common);
        self.parts.entry(part).or_default().extend(onto);
    }

    /// Whether there are any.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// Whether `lane` is one of them.
    pub fn is_forked(&self, lane: &str) -> bool {
        self.common.contains_key(lane)
    }

    /// Rewrites lane and heads of an event so that they name chains. `part` is the one it is in, if
    /// not the one that keeps the lane's name; `place` finds the chain in which the tip of a head of
    /// a forked lane is, if that commit is here. Of a lane in which it is not, only what all chains
    /// have in common counts as seen: which one was meant cannot be told. `own` are this clone's own
    /// lanes with their last positions: a claim to have seen more of it stays for the audit.
    pub fn untangle(
        &self,
        event: &mut Event,
        part: Option<&str>,
        own: Own<'_>,
        mut place: impl FnMut(&Head) -> Option<String>,
    ) {
        let mut heads = Vec::with_capacity(event.heads.len());
        for head in std::mem::take(&mut event.heads) {
            let Some(common) = self.common.get(&head.lane) else {
                heads.push(head);
                continue;
            };
            match place(&head) {
                Some(chain) => self.seen(&chain, head.seq, &mut heads),
                None if own.seq(&head.lane).is_some_and(|last| head.seq > last) => heads.push(head),
                None => {
                    let seq = head.seq.min(*common);
                    heads.push(Head { seq, ..head });
                }
            }
        }
        if let Some(part) = part {
            for (chain, seq) in self.parts.get(part).into_iter().flatten() {
                self.seen(chain, *seq, &mut heads);
            }
            event.lane = part.to_owned();
        }
        event.heads = heads;
    }

    /// What lies at or before `seq` of `chain`: heads for it and for those that it goes on from,
    /// without tips.
    pub fn behind(&self, chain: &str, seq: u64) -> Vec<Head> {
        let mut heads = Vec::new();
        self.seen(chain, seq, &mut heads);
        heads
    }

    /// Heads for `chain` up to `seq`, and for those that it goes on from.
    fn seen(&self, chain: &str, seq: u64, heads: &mut Vec<Head>) {
        let mut met = BTreeSet::new();
        let mut todo = vec![(chain, seq)];
        while let Some((chain, seq)) = todo.pop() {
            if met.insert((chain, seq)) {
                heads.push(Head { lane: chain.to_owned(), seq, tip: String::new() });
                let onto = self.parts.get(chain).into_iter().flatten();
                todo.extend(onto.map(|(chain, seq)| (chain.as_str(), *seq)));
            }
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::super::event::{Data, Propose, Stamped};
    use super::super::fold::{self, saw};
    use super::super::{Proposal, State, sample};
    use super::*;

    /// One clone: the lane it writes, its chain there, and what it has seen in all.
    #[derive(Clone)]
    struct Clone {
        lane: String,
        chain: Vec<usize>,
        seen: BTreeSet<usize>,
    }

    /// Everything that happened.
    #[derive(Clone, Debug, Default)]
    struct History {
        /// As they were written.
        events: Vec<Stamped>,
        /// The event before it in its chain, which stands for the parent commit.
        before: Vec<Option<usize>>,
        /// What its writer had seen: its own chain, and what its heads name.
        seen: Vec<BTreeSet<usize>>,
    }

    /// An apply, an undo, a reopen, or else a rejection.
    pub(in crate::proposal) fn data(kind: u8) -> Data {
        match kind {
            0 => sample::apply("", ""),
            1 => sample::undo(),
            2 => sample::reopen(""),
            _ => sample::reject("", ""),
        }
    }

    impl History {
        fn write(&mut self, clone: &mut Clone, second: i64, data: Data) {
            // A head for the last event of every chain but its own that was seen, even where it is
            // of the same lane.
            let is_last = |number: &usize| {
                !clone.chain.contains(number)
                    && !clone.seen.iter().any(|other| self.before[*other] == Some(*number))
            };
            let tips: Vec<usize> = clone.seen.iter().copied().filter(is_last).collect();
            let heads = tips.iter().map(|number| {
                let event = &self.events[*number].event;
                Head { lane: event.lane.clone(), seq: event.seq, tip: number.to_string() }
            });
            let (seq, heads) = (clone.chain.len() as u64 + 1, heads.collect());
            let event = sample::stamp(&clone.lane, seq, second, &[], data).event;
            let event = Event { heads, ..event };
            let number = self.events.len();
            self.events.push(Stamped { id: format!("{number:040}"), event });
            self.before.push(clone.chain.last().copied());
            let mut seen = clone.seen.clone();
            seen.extend(&clone.chain);
            self.seen.push(seen);
            clone.chain.push(number);
            clone.seen.insert(number);
        }

        /// The chains, as a clone that has everything takes them apart.
        fn forks(&self) -> (Forks, Vec<Option<String>>) {
            let mut forks = Forks::default();
            let mut parts: Vec<Option<String>> = Vec::new();
            for (number, before) in self.before.iter().enumerate() {
                let lane = &self.events[number].event.lane;
                let siblings = self.before.iter().enumerate().filter(|(other, parent)| {
                    *parent == before && self.events[*other].event.lane == *lane
                });
                let inherited = before.and_then(|before| parts[before].clone());
                if siblings.count() < 2 {
                    parts.push(inherited);
                    continue;
                }
                let part = format!("{lane}.f{number:08}");
                let onto = before.map(|before| {
                    (inherited.unwrap_or_else(|| lane.clone()), self.events[before].event.seq)
                });
                forks.add(part.clone(), onto);
                parts.push(Some(part));
            }
            (forks, parts)
        }

        fn untangled(&self) -> Vec<Stamped> {
            let (forks, parts) = self.forks();
            let mut events = self.events.clone();
            for (stamped, part) in events.iter_mut().zip(&parts) {
                let lane_of = |head: &Head| {
                    let number: usize = head.tip.parse().unwrap();
                    Some(parts[number].clone().unwrap_or_else(|| head.lane.clone()))
                };
                forks.untangle(&mut stamped.event, part.as_deref(), Own::default(), lane_of);
            }
            events
        }

        /// The definition: decisions that none that stand had been seen by their writers stand;
        /// what takes back takes back what its writer had seen.
        fn standing(&self, order: &[&Stamped]) -> BTreeSet<usize> {
            let mut standing: BTreeSet<usize> = BTreeSet::new();
            for stamped in order {
                let number: usize = stamped.id.parse().unwrap();
                let seen = &self.seen[number];
                let is_apply =
                    |other: &usize| matches!(self.events[*other].event.data, Data::Apply(_));
                match &stamped.event.data {
                    Data::Apply(_) | Data::Reject(_) if seen.is_disjoint(&standing) => {
                        standing.insert(number);
                    }
                    Data::Undo(_) => standing.retain(|n| !(is_apply(n) && seen.contains(n))),
                    Data::Reopen(_) => standing.retain(|n| is_apply(n) || !seen.contains(n)),
                    _ => {}
                }
            }
            standing
        }
    }

    /// Clones that write, learn of each other, and are copied with their lane.
    fn history() -> impl Strategy<Value = History> {
        let step = (0..4_usize, 0..4_usize, 0..8_u8, 0..5_u8, 0..40_i64);
        proptest::collection::vec(step, 1..24).prop_map(|steps| {
            let new = |number: usize| Clone {
                lane: format!("lane{number}"),
                chain: Vec::new(),
                seen: BTreeSet::new(),
            };
            let mut clones: Vec<Clone> = (0..4).map(new).collect();
            let mut history = History::default();
            let propose = Data::Propose(Propose::default());
            history.write(&mut clones[0], 1, propose);
            for (one, other, what, kind, second) in steps {
                match what {
                    0 if one != other => clones[one] = clones[other].clone(),
                    1 | 2 => {
                        let seen = clones[other].seen.clone();
                        clones[one].seen.extend(seen);
                    }
                    _ => history.write(&mut clones[one], second, data(kind)),
                }
            }
            history
        })
    }

    fn decided(proposal: &Proposal) -> (bool, bool) {
        (proposal.contested, matches!(proposal.state, State::Applied(_)))
    }

    proptest! {
        #[test]
        fn seen_is_what_was_in_the_chain_or_named(history in history()) {
            let events = history.untangled();
            for (later, a) in events.iter().enumerate() {
                for (earlier, b) in events.iter().enumerate() {
                    prop_assert_eq!(
                        saw(a, b), history.seen[later].contains(&earlier),
                        "{} {}\n{:#?}", later, earlier, events
                    );
                }
            }
        }

        #[test]
        fn forked_histories_are_folded_as_defined(history in history(), turn in any::<usize>()) {
            let events = history.untangled();
            let order = fold::order(&events);
            let standing = history.standing(&order);
            let proposal = fold::fold(&events).unwrap();
            let is_apply = |n: &usize| matches!(events[*n].event.data, Data::Apply(_));
            // All of them are of one revision.
            let is_applied = standing.iter().any(is_apply);
            let is_contested = is_applied && !standing.iter().all(is_apply);
            prop_assert_eq!(decided(&proposal), (is_contested, is_applied));
            prop_assert_eq!(proposal.decisions().count(), standing.len());
            prop_assert_eq!(proposal.state == State::Pending, standing.is_empty());
            let mut turned = events.clone();
            turned.rotate_left(turn % events.len());
            turned.extend(events.iter().take(3).cloned());
            prop_assert_eq!(fold::fold(&turned).unwrap(), proposal);
        }
    }

    #[test]
    fn a_part_that_goes_on_from_two_has_seen_both() {
        let mut forks = Forks::default();
        forks.add("l.f0000000a".into(), Some(("l".into(), 3)));
        forks.add("l.f0000000b".into(), Some(("l".into(), 2)));
        for (chain, seq) in [("l.f0000000a", 5), ("l.f0000000b", 4)] {
            forks.add("l.f0000000c".into(), Some((chain.into(), seq)));
        }
        let seen = forks.behind("l.f0000000c", 9).into_iter().map(|head| (head.lane, head.seq));
        let expected =
            [("l", 2), ("l", 3), ("l.f0000000a", 5), ("l.f0000000b", 4), ("l.f0000000c", 9)];
        let expected = expected.map(|(lane, seq)| (lane.to_owned(), seq));
        assert_eq!(seen.collect::<BTreeSet<_>>(), BTreeSet::from(expected));
    }

    #[test]
    fn of_a_lane_whose_tip_is_not_here_only_what_is_common_was_seen() {
        let mut forks = Forks::default();
        forks.add("l.f0000000a".into(), Some(("l".into(), 3)));
        forks.add("l.f0000000b".into(), Some(("l".into(), 3)));
        forks.add("l.f0000000c".into(), Some(("l.f0000000b".into(), 6)));
        let head = |lane: &str, seq| Head { lane: lane.into(), seq, tip: String::new() };
        let mut clone = Clone { lane: "m".into(), chain: Vec::new(), seen: BTreeSet::new() };
        let mut history = History::default();
        history.write(&mut clone, 1, data(0));
        let event = |seq| {
            let mut event = history.events[0].event.clone();
            event.heads = vec![head("l", seq), head("n", 9)];
            event
        };
        let heads = |mut event: Event, own: Own<'_>, chain: Option<&str>| {
            forks.untangle(&mut event, None, own, |_| chain.map(str::to_owned));
            event.heads
        };
        let own = [("l".to_owned(), 7)];
        assert_eq!(heads(event(8), Own::default(), None), [head("l", 3), head("n", 9)]);
        assert_eq!(heads(event(8), Own(&own), None), [head("l", 8), head("n", 9)]);
        let c = heads(event(8), Own::default(), Some("l.f0000000c"));
        let chains = [head("l.f0000000c", 8), head("l.f0000000b", 6), head("l", 3), head("n", 9)];
        assert_eq!(c, chains);
    }
}
