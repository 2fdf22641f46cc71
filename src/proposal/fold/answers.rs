//! Which rejections were answered: taken back by somebody who had seen them.
//!
//! What the writer of an event has seen of a lane is all up to one position, so of each lane the last
//! position tells as much as all of them: an answer costs what its heads cost, however much was said before.

use std::collections::HashMap;

use super::super::event::Stamped;

/// The rejections of a proposal so far, and what has taken one back.
#[derive(Default)]
pub(super) struct Answers<'a> {
    /// The positions of rejections, by lane, in order.
    rejections: HashMap<&'a str, Vec<u64>>,
    /// By the lane of what has taken one back and a lane that its writer had seen: up to which position
    /// that was seen, by anything up to a position. Both grow.
    reopened: HashMap<&'a str, HashMap<&'a str, Steps>>,
}

/// Positions, each with up to which another lane was seen there.
type Steps = Vec<(u64, u64)>;

impl<'a> Answers<'a> {
    /// Notes a rejection.
    pub(super) fn reject(&mut self, stamped: &'a Stamped) {
        let positions = self.rejections.entry(&stamped.event.lane).or_default();
        let seq = stamped.event.seq;
        let at = positions.partition_point(|position| *position <= seq);
        positions.insert(at, seq);
    }

    /// Notes what takes one back, or a request.
    pub(super) fn reopen(&mut self, stamped: &'a Stamped) {
        let by_lane = self.reopened.entry(&stamped.event.lane).or_default();
        for (lane, upto) in seen(stamped) {
            let steps = by_lane.entry(lane).or_default();
            if steps.last().is_none_or(|(_, known)| *known < upto) {
                steps.push((stamped.event.seq, upto));
            }
        }
    }

    /// Whether the writer of `stamped` had seen a rejection that the one of `request` had not, and nothing by
    /// somebody who had seen that and took something back.
    pub(super) fn is_rejected_since(&self, stamped: &Stamped, request: &Stamped) -> bool {
        let (seen, known) = (seen(stamped), seen(request));
        seen.iter().any(|(lane, upto)| {
            let last = self.rejections.get(lane).and_then(|positions| {
                let count = positions.partition_point(|position| position <= upto);
                positions.get(count.checked_sub(1)?).copied()
            });
            last.is_some_and(|last| {
                known.get(lane).is_none_or(|known| *known < last)
                    && !seen.iter().any(|(by, upto)| self.has_seen((by, *upto), lane, last))
            })
        })
    }

    /// Whether what `by` has taken back up to a position had seen `lane` up to `seq`.
    fn has_seen(&self, (by, upto): (&str, u64), lane: &str, seq: u64) -> bool {
        let Some(steps) = self.reopened.get(by).and_then(|by_lane| by_lane.get(lane)) else {
            return false;
        };
        let count = steps.partition_point(|(position, _)| *position <= upto);
        steps[..count].last().is_some_and(|(_, seen)| *seen >= seq)
    }
}

/// Up to which position the writer of `stamped` had seen each lane, as [`saw`](super::saw) has it.
fn seen(stamped: &Stamped) -> HashMap<&str, u64> {
    let event = &stamped.event;
    let mut seen: HashMap<&str, u64> = HashMap::new();
    for head in event.heads.iter().filter(|head| head.lane != event.lane) {
        let upto = seen.entry(&head.lane).or_insert(head.seq);
        *upto = head.seq.max(*upto);
    }
    seen.extend(event.seq.checked_sub(1).map(|before| (event.lane.as_str(), before)));
    seen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::super::sample::{reject, reopen, stamp};
    use super::super::saw;
    use super::*;

    /// The definition, in quadratic time.
    fn plain(
        rejections: &[&Stamped],
        reopened: &[&Stamped],
        stamped: &Stamped,
        request: &Stamped,
    ) -> bool {
        let is_answered = |rejection: &Stamped| {
            reopened.iter().any(|earlier| saw(stamped, earlier) && saw(earlier, rejection))
        };
        rejections.iter().any(|rejection| {
            saw(stamped, rejection) && !saw(request, rejection) && !is_answered(rejection)
        })
    }

    proptest! {
        #[test]
        fn answers_are_those_of_the_definition(
            steps in proptest::collection::vec(
                (0..3_usize, any::<bool>(), proptest::collection::vec((0..3_usize, 0..8_u64), 0..3)),
                1..24,
            ),
            from in 0..2_u64,
        ) {
            let names = ["a", "b", "c"];
            let mut last = [from; 3];
            let events: Vec<(bool, Stamped)> = steps
                .into_iter()
                .map(|(lane, rejects, heads)| {
                    let heads: Vec<_> = heads.into_iter().map(|(of, seq)| (names[of], seq)).collect();
                    let data = if rejects { reject("r", "d") } else { reopen("r") };
                    let event = stamp(names[lane], last[lane], 1, &heads, data);
                    last[lane] += 1;
                    (rejects, event)
                })
                .collect();
            let mut answers = Answers::default();
            let (mut rejections, mut reopened) = (Vec::new(), Vec::new());
            for (rejects, event) in &events {
                for (_, request) in &events {
                    prop_assert_eq!(
                        answers.is_rejected_since(event, request),
                        plain(&rejections, &reopened, event, request)
                    );
                }
                if *rejects {
                    answers.reject(event);
                    rejections.push(event);
                } else {
                    answers.reopen(event);
                    reopened.push(event);
                }
            }
        }
    }
}
