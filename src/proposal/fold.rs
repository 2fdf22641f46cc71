//! From events to a state: a pure function of the set of events, whatever the order and the
//! grouping in which they arrive.
//!
//! Events are put in causal order (an event comes after those its writer had seen), then by time,
//! then by id. Two decisions that did not know of each other are settled by rank, applied over
//! rejected, and leave the `contested` mark.

use super::event::{Apply, Data, Reject, Stamped};
pub use super::order::order;
use super::state::{ChangesRequested, CheckResult, Decision, Proposal, Remark, Revision, State};

/// The state of one proposal from all its events; `None` if the first one is missing.
///
/// Events of other proposals must not be among `events`. Duplicates (by id) count once.
pub fn fold(events: &[Stamped]) -> Option<Proposal> {
    run(&order(events))
}

/// The state that events lead to, in this order.
pub(super) fn run(ordered: &[&Stamped]) -> Option<Proposal> {
    let first = ordered.iter().find(|e| matches!(e.event.data, Data::Propose(_)))?;
    let mut fold = Fold { proposal: start(first)?, decided_by: None };
    for stamped in ordered {
        fold.step(stamped);
    }
    let Fold { mut proposal, decided_by } = fold;
    proposal.decision_lane = decided_by.map(|decision| decision.event.lane.clone());
    Some(proposal)
}

/// True when the writer of `later` had seen `earlier`.
pub(crate) fn saw(later: &Stamped, earlier: &Stamped) -> bool {
    if later.event.lane == earlier.event.lane {
        return earlier.event.seq < later.event.seq;
    }
    later
        .event
        .heads
        .iter()
        .any(|head| head.lane == earlier.event.lane && head.seq >= earlier.event.seq)
}

struct Fold<'a> {
    proposal: Proposal,
    decided_by: Option<&'a Stamped>,
}

fn start(first: &Stamped) -> Option<Proposal> {
    let Data::Propose(propose) = &first.event.data else { return None };
    Some(Proposal {
        id: first.proposal()?,
        first_event: first.id.clone(),
        subject: propose.subject,
        description: propose.description.clone(),
        domain: propose.domain.clone(),
        related_task_id: propose.related_task_id.clone(),
        branch: propose.branch.clone(),
        proposed_by: propose.proposed_by.clone(),
        actor: first.event.actor.clone(),
        created_at: first.event.time,
        expires_at: propose.expires_at,
        revisions: vec![Revision {
            event: first.id.clone(),
            commit: String::new(),
            actor: first.event.actor.clone(),
            at: first.event.time,
            reason: "first".into(),
            base: propose.base.clone(),
            changes: propose.changes.clone(),
            memory: propose.memory.clone(),
        }],
        state: State::Pending,
        decision_lane: None,
        contested: false,
        expiry_recorded: None,
        changes_requested: None,
        requests: Vec::new(),
        comments: Vec::new(),
        checks: Vec::new(),
        undone: Vec::new(),
        commits: Vec::new(),
    })
}

impl<'a> Fold<'a> {
    fn step(&mut self, stamped: &'a Stamped) {
        let event = &stamped.event;
        let proposal = &mut self.proposal;
        match &event.data {
            Data::Propose(_) | Data::Plan(_) | Data::Unknown(..) => {}
            Data::Revise(revise) => {
                if proposal.state != State::Pending {
                    return;
                }
                proposal.description = revise.description.clone().or(proposal.description.take());
                proposal.expires_at = revise.expires_at.unwrap_or(proposal.expires_at);
                proposal.changes_requested = None;
                proposal.revisions.push(Revision {
                    event: stamped.id.clone(),
                    commit: String::new(),
                    actor: event.actor.clone(),
                    at: event.time,
                    reason: revise.reason.clone(),
                    base: revise.base.clone(),
                    changes: revise.changes.clone(),
                    memory: revise.memory.clone(),
                });
            }
            Data::Comment(comment) => proposal.comments.push(Remark {
                by: event.actor.clone(),
                at: event.time,
                comment: comment.clone(),
            }),
            Data::RequestChanges(request) => {
                let request = ChangesRequested {
                    by: event.actor.clone(),
                    at: event.time,
                    reason: request.reason.clone(),
                };
                proposal.requests.push(request.clone());
                proposal.changes_requested = Some(request);
            }
            Data::Apply(apply) => self.decide(stamped, State::Applied(applied(stamped, apply))),
            Data::Reject(reject) => {
                self.decide(stamped, State::Rejected(rejected(stamped, reject)));
            }
            Data::Expire(expire) => proposal.expiry_recorded = Some(expire.expires_at),
            Data::Undo(_) => {
                let known = self.decided_by.is_some_and(|decision| saw(stamped, decision));
                if known && let State::Applied(decision) = &proposal.state {
                    proposal.undone.push(decision.clone());
                    proposal.state = State::Pending;
                    proposal.contested = false;
                    self.decided_by = None;
                }
            }
            Data::Check(check) => proposal.checks.push(CheckResult {
                by: event.actor.clone(),
                at: event.time,
                check: check.clone(),
            }),
            Data::Committed(committed) => {
                if !proposal.commits.contains(&committed.commit) {
                    proposal.commits.push(committed.commit.clone());
                }
            }
        }
    }

    fn decide(&mut self, stamped: &'a Stamped, state: State) {
        match self.decided_by {
            None => {
                // An undo that had seen this decision's rival reopened the proposal; a decision
                // made without knowledge of either still counts, as any other.
                self.proposal.state = state;
                self.decided_by = Some(stamped);
            }
            Some(earlier) if saw(stamped, earlier) => {}
            Some(_) => {
                self.proposal.contested = true;
                if rank(&state) > rank(&self.proposal.state) {
                    self.proposal.state = state;
                    self.decided_by = Some(stamped);
                }
            }
        }
    }
}

fn rank(state: &State) -> u8 {
    match state {
        State::Pending => 0,
        State::Rejected(_) => 1,
        State::Applied(_) => 2,
    }
}

fn applied(stamped: &Stamped, apply: &Apply) -> Decision {
    Decision {
        by: stamped.event.actor.clone(),
        at: stamped.event.time,
        how: apply.how,
        revision: apply.revision.clone(),
        reason: None,
        effect: Some(apply.effect),
        commit: apply.commit.clone(),
        written: apply.written.clone(),
    }
}

fn rejected(stamped: &Stamped, reject: &Reject) -> Decision {
    Decision {
        by: stamped.event.actor.clone(),
        at: stamped.event.time,
        how: reject.how,
        revision: reject.revision.clone(),
        reason: reject.reason.clone(),
        effect: None,
        commit: None,
        written: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::event::{
        Comment, Effect, Event, Head, How, Propose, RequestChanges, Revise, Undo,
    };
    use super::super::{Actor, ActorKind, ProposalId, Status};
    use super::*;

    fn stamp(lane: &str, seq: u64, second: i64, heads: &[(&str, u64)], data: Data) -> Stamped {
        let event = Event {
            proposal: Some(ProposalId::from_event(&"0".repeat(40))),
            lane: lane.into(),
            seq,
            actor: Actor { name: "n".into(), email: String::new(), kind: ActorKind::Human },
            time: chrono::DateTime::from_timestamp(second, 0).unwrap(),
            heads: heads
                .iter()
                .map(|(lane, seq)| Head { lane: (*lane).into(), seq: *seq, tip: "t".into() })
                .collect(),
            data,
        };
        let id = gix::objs::compute_hash(
            gix::hash::Kind::Sha1,
            gix::objs::Kind::Blob,
            &event.to_bytes().unwrap(),
        );
        Stamped { id: id.unwrap().to_string(), event }
    }

    fn propose() -> Data {
        Data::Propose(Propose {
            expires_at: chrono::DateTime::from_timestamp(1_000_000, 0).unwrap(),
            ..Propose::default()
        })
    }

    fn apply() -> Data {
        Data::Apply(Apply {
            revision: "r".into(),
            digest: "d".into(),
            how: How::Flag,
            effect: Effect::Files,
            commit: None,
            written: vec![],
        })
    }

    fn reject() -> Data {
        Data::Reject(Reject {
            reason: None,
            revision: "r".into(),
            digest: "d".into(),
            how: How::Flag,
        })
    }

    fn revise() -> Data {
        Data::Revise(Revise {
            description: None,
            expires_at: None,
            reason: "answer".into(),
            base: None,
            changes: vec![],
            memory: None,
        })
    }

    fn status(events: &[Stamped]) -> Status {
        fold(events).unwrap().status(chrono::DateTime::from_timestamp(10, 0).unwrap())
    }

    #[test]
    fn only_the_first_decision_in_one_lane_counts() {
        let events = [
            stamp("a", 1, 1, &[], propose()),
            stamp("a", 2, 2, &[], reject()),
            stamp("a", 3, 3, &[], apply()),
        ];
        assert_eq!(status(&events), Status::Rejected);
        assert!(!fold(&events).unwrap().contested);
    }

    #[test]
    fn decisions_that_did_not_know_of_each_other_are_contested_and_applied_wins() {
        let events = [
            stamp("a", 1, 1, &[], propose()),
            stamp("a", 2, 2, &[], reject()),
            stamp("b", 1, 3, &[("a", 1)], apply()),
        ];
        let proposal = fold(&events).unwrap();
        assert!(proposal.contested);
        assert!(matches!(proposal.state, State::Applied(_)));
    }

    #[test]
    fn causal_order_beats_a_wrong_clock() {
        let events = [
            stamp("a", 1, 100, &[], propose()),
            stamp("b", 1, 1, &[("a", 1)], reject()),
            stamp("a", 2, 50, &[("b", 1)], apply()),
        ];
        assert_eq!(status(&events), Status::Rejected);
    }

    #[test]
    fn undo_reopens_what_was_applied() {
        let events = [
            stamp("a", 1, 1, &[], propose()),
            stamp("a", 2, 2, &[], apply()),
            stamp("a", 3, 3, &[], Data::Undo(Undo { written: vec![] })),
        ];
        assert_eq!(status(&events), Status::Pending);
        assert_eq!(fold(&events).unwrap().undone.len(), 1);
    }

    #[test]
    fn expiry_follows_the_clock_both_ways() {
        let proposal = fold(&[stamp("a", 1, 1, &[], propose())]).unwrap();
        let at = |second| proposal.status(chrono::DateTime::from_timestamp(second, 0).unwrap());
        assert_eq!(at(2_000_000), Status::Expired);
        assert_eq!(at(5), Status::Pending);
        assert_eq!(at(1_000_000), Status::Expired);
    }

    #[test]
    fn a_forged_circle_of_heads_still_ends() {
        let events =
            [stamp("a", 1, 1, &[("b", 9)], propose()), stamp("b", 1, 2, &[("a", 9)], apply())];
        assert_eq!(status(&events), Status::Applied);
    }

    /// A random honest history: each step happens in one of three lanes, which may first learn
    /// of the others.
    fn history() -> impl Strategy<Value = Vec<Stamped>> {
        proptest::collection::vec((0..3_usize, any::<bool>(), 0..6_u8, 0..50_i64), 0..12).prop_map(
            |steps| {
                let names = ["a", "b", "c"];
                let mut known = [[1, 0, 0], [0, 0, 0], [0, 0, 0]];
                let mut events = vec![stamp("a", 1, 10, &[], propose())];
                for (lane, learns, kind, second) in steps {
                    if learns {
                        for other in 0..3 {
                            let theirs = known[other];
                            for (mine, theirs) in known[lane].iter_mut().zip(theirs) {
                                *mine = (*mine).max(theirs);
                            }
                        }
                    }
                    let heads: Vec<(&str, u64)> = (0..3)
                        .filter(|i| known[lane][*i] > 0)
                        .map(|i| (names[i], known[lane][i]))
                        .collect();
                    known[lane][lane] += 1;
                    let data = match kind {
                        0 => apply(),
                        1 => reject(),
                        2 => revise(),
                        3 => Data::Undo(Undo { written: vec![] }),
                        4 => Data::RequestChanges(RequestChanges { reason: None, revision: None }),
                        _ => Data::Comment(Comment {
                            body: "c".into(),
                            path: None,
                            line: None,
                            revision: None,
                        }),
                    };
                    events.push(stamp(names[lane], known[lane][lane], second, &heads, data));
                }
                events
            },
        )
    }

    proptest! {
        #[test]
        fn any_order_and_any_repetition_gives_one_state(events in history(), seed in any::<u64>()) {
            let expected = fold(&events);
            let mut shuffled = events.clone();
            let mut state = seed | 1;
            for i in (1..shuffled.len()).rev() {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                shuffled.swap(i, (state >> 33) as usize % (i + 1));
            }
            shuffled.extend(events.iter().take(3).cloned());
            prop_assert_eq!(fold(&shuffled), expected);
        }

        #[test]
        fn causes_come_before_effects(events in history()) {
            let ordered = order(&events);
            for (i, later) in ordered.iter().enumerate() {
                for earlier in &ordered[i + 1..] {
                    prop_assert!(!saw(later, earlier));
                }
            }
        }
    }
}
