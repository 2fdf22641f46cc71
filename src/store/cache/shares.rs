//! How much of what other clones' lanes say about one proposal is taken.
//!
//! Each lane has its turn, and what one says can only cost what that one says later: the lane of the first
//! event has its own allowance, a lane that says little is always heard, and what the others may cost in
//! all is shared evenly between them, smallest first, so that what a small one leaves goes to the larger.
//! The result depends on the events alone, and not on the order in which they came.

use std::collections::HashMap;

use super::budget::{MOST_OF_A_BYTE, MOST_OF_A_LANE, cost};

/// What the lanes without the first event may cost together, in bytes. Those that say [`LITTLE`] may add
/// to it, each with refs and objects of its own.
const MOST_OF_OTHERS: usize = 64 << 20;

/// What any lane may cost, in bytes, however many there are: a decision and some comments.
const LITTLE: usize = 32 << 10;

/// How many lanes have the first event, at most: an id that two of them have was forged.
const MOST_FIRST: usize = 2;

/// A lane, or a part of one that is forked, and what it says about a proposal.
#[derive(Default)]
pub(super) struct Speaker {
    /// It is this clone's own.
    pub(super) is_own: bool,
    /// It has a first event of the proposal.
    pub(super) has_first: bool,
    /// How long its events are, in bytes.
    pub(super) bytes: usize,
}

/// The lanes of a proposal, in the order in which they were met.
#[derive(Default)]
pub(super) struct Speakers {
    all: Vec<(String, Speaker)>,
    /// Where each is but for the first: most proposals have one.
    numbers: HashMap<String, usize>,
}

impl Speakers {
    /// The number of `lane`, which is noted if it is new, and what is known of it.
    pub(super) fn at(&mut self, lane: &str) -> (usize, &mut Speaker) {
        let number = self.number(lane).unwrap_or_else(|| {
            let number = self.all.len();
            if number > 0 {
                self.numbers.insert(lane.to_owned(), number);
            }
            self.all.push((lane.to_owned(), Speaker::default()));
            number
        });
        (number, &mut self.all[number].1)
    }

    /// The same of one that was noted.
    pub(super) fn number(&self, lane: &str) -> Option<usize> {
        match self.all.first() {
            Some((first, _)) if first == lane => Some(0),
            _ => self.numbers.get(lane).copied(),
        }
    }
}

/// What each may still cost. They are asked one after the other.
pub(super) struct Shares {
    turns: Vec<Turn>,
    /// The one whose turn it is.
    current: usize,
    /// What that may still cost; nothing where it has not begun.
    share: Option<usize>,
    /// What is left for those that have not had their turn.
    left: usize,
    /// How many these are.
    waiting: usize,
    /// First events that publications carry, which are the same whoever carries them.
    originals: usize,
    /// All that is said is so short that each lane may say it, whatever it costs: most proposals' is.
    is_short: bool,
}

struct Turn {
    lane: String,
    is_shared: bool,
}

impl Shares {
    /// With when it is the turn of each, by number.
    pub(super) fn new(speakers: Speakers) -> (Self, Vec<usize>) {
        let mut all: Vec<(usize, (String, Speaker))> =
            speakers.all.into_iter().enumerate().collect();
        all.sort_unstable_by(|(_, (one, a)), (_, (other, b))| {
            let rank = |speaker: &Speaker| (!speaker.is_own, !speaker.has_first, speaker.bytes);
            rank(a).cmp(&rank(b)).then_with(|| one.cmp(other))
        });
        let is_short = is_short(all.iter().map(|(_, (_, speaker))| speaker));
        let (mut first, mut waiting) = (0, 0);
        let mut places = vec![0; all.len()];
        let mut turns = Vec::with_capacity(all.len());
        for (place, (number, (lane, speaker))) in all.into_iter().enumerate() {
            let is_first = !speaker.is_own && speaker.has_first && first < MOST_FIRST;
            first += usize::from(is_first);
            let is_shared = !speaker.is_own && !is_first;
            waiting += usize::from(is_shared);
            places[number] = place;
            turns.push(Turn { lane, is_shared });
        }
        let (current, share, left, originals) = (0, None, MOST_OF_OTHERS, 0);
        (Self { turns, current, share, left, waiting, originals, is_short }, places)
    }

    /// Whether an event of `lane`, which is not this clone's own, that is stored as `body` is within its share.
    pub(super) fn admits(&mut self, lane: &str, body: &[u8]) -> bool {
        self.is_short || self.takes(lane, cost(body))
    }

    /// Whether `cost` is.
    pub(super) fn takes(&mut self, lane: &str, cost: usize) -> bool {
        if self.turns.get(self.current).is_none_or(|turn| turn.lane != lane) {
            let later = self.turns.iter().skip(self.current).position(|turn| turn.lane == lane);
            let Some(later) = later else { return false };
            self.current += later;
            self.share = None;
        }
        let is_shared = self.turns[self.current].is_shared;
        let share = match self.share {
            Some(share) => share,
            None if is_shared => {
                let share = self.left / self.waiting.max(1);
                self.waiting = self.waiting.saturating_sub(1);
                share.clamp(LITTLE, MOST_OF_A_LANE)
            }
            None => MOST_OF_A_LANE,
        };
        let is_within = cost <= share;
        self.share = Some(if is_within { share - cost } else { share });
        if is_within && is_shared {
            self.left = self.left.saturating_sub(cost);
        }
        is_within
    }

    /// Whether the first event of the proposal, which a publication carries as `body` with `changes` files,
    /// may be taken: that is no part of anybody's share.
    pub(super) fn admits_original(&mut self, body: &[u8], changes: usize) -> bool {
        self.originals += 1;
        self.originals <= MOST_FIRST && cost(body) + changes * 1024 <= MOST_OF_A_LANE
    }
}

/// Whether what all of `speakers` say takes at most half of what is shared, so that no share falls below the
/// other half's, and none of them says more than that.
fn is_short<'s>(speakers: impl Iterator<Item = &'s Speaker>) -> bool {
    let others = speakers.filter(|speaker| !speaker.is_own);
    let (count, bytes) = others.fold((0_usize, 0_usize), |(count, bytes), speaker| {
        (count + 1, bytes.saturating_add(speaker.bytes))
    });
    bytes.saturating_mul(MOST_OF_A_BYTE).saturating_mul(2 * count.max(1)) <= MOST_OF_OTHERS
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What lanes that would cost `wanted` may.
    fn granted(wanted: &[usize], first: Option<usize>) -> Vec<usize> {
        let name = |at: usize| format!("lane{at:06}");
        let mut speakers = Speakers::default();
        for (at, bytes) in wanted.iter().enumerate() {
            let speaker = Speaker { is_own: false, has_first: first == Some(at), bytes: *bytes };
            *speakers.at(&name(at)).1 = speaker;
        }
        let (mut shares, places) = Shares::new(speakers);
        let mut turns: Vec<usize> = (0..wanted.len()).collect();
        turns.sort_by_key(|at| places[*at]);
        let mut granted = vec![0; wanted.len()];
        for at in turns {
            let step = (wanted[at] / 64).max(1);
            while granted[at] < wanted[at] && shares.takes(&name(at), step) {
                granted[at] += step;
            }
        }
        granted
    }

    #[test]
    fn what_large_lanes_say_costs_a_small_one_nothing() {
        let (large, small) = (MOST_OF_A_LANE, 20 << 10);
        let found = granted(&[large, large, large, small, small], None);
        assert_eq!(found[3..], [small, small]);
        assert!(found[..3].iter().all(|found| *found > MOST_OF_OTHERS / 4), "{found:?}");
        assert!(found.iter().sum::<usize>() <= MOST_OF_OTHERS);
        // Many as large as that leave it out of nothing, either.
        let many = vec![1 << 20; 1_000];
        let mut all = many.clone();
        all.push(small);
        let found = granted(&all, None);
        assert_eq!(found[1_000], small);
        assert!(found.iter().sum::<usize>() <= MOST_OF_OTHERS);
    }

    #[test]
    fn the_lane_of_the_first_event_shares_nothing() {
        let mut all = vec![1 << 20; 1_000];
        all.push(MOST_OF_A_LANE);
        assert_eq!(granted(&all, Some(1_000))[1_000], MOST_OF_A_LANE);
        assert!(granted(&all, None)[1_000] < MOST_OF_A_LANE);
    }

    #[test]
    fn little_is_always_heard() {
        let found = granted(&vec![64 << 10; 10_000], None);
        assert!(found.iter().all(|found| *found >= LITTLE));
    }

    /// Nothing is admitted because it is short that would not be if it were counted.
    #[test]
    fn what_is_short_is_within_every_share() {
        let most = MOST_OF_OTHERS / MOST_OF_A_BYTE;
        for lanes in [1, 2, 3, 50] {
            // One of them says nearly all, all say as much, or all but one.
            let each = most / lanes / lanes / 2;
            let all = vec![each; lanes];
            let mut one = vec![1; lanes];
            one[lanes - 1] = most / lanes / 2 - lanes;
            for said in [all, one] {
                for first in [None, Some(0), Some(lanes - 1)] {
                    let speaker =
                        |bytes: &usize| Speaker { is_own: false, has_first: false, bytes: *bytes };
                    let speakers: Vec<Speaker> = said.iter().map(speaker).collect();
                    assert!(is_short(speakers.iter()), "{said:?}");
                    let cost: Vec<usize> =
                        said.iter().map(|bytes| bytes * MOST_OF_A_BYTE).collect();
                    let found = granted(&cost, first);
                    let is_all = |(found, cost): (&usize, &usize)| *found + 64 >= *cost;
                    assert!(found.iter().zip(&cost).all(is_all), "{found:?} of {cost:?}");
                }
            }
        }
        let long = Speaker { is_own: false, has_first: true, bytes: most };
        assert!(!is_short([long].iter()));
        let own = Speaker { is_own: true, has_first: true, bytes: most };
        assert!(is_short([own].iter()));
    }
}
