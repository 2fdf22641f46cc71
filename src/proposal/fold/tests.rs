use proptest::prelude::*;

use super::super::Status;
use super::super::event::{Propose, RequestChanges};
use super::super::sample::{self, revise, stamp, undo};
use super::*;

fn propose() -> Data {
    Data::Propose(Propose {
        expires_at: chrono::DateTime::from_timestamp(1_000_000, 0).unwrap(),
        ..Propose::default()
    })
}

fn apply() -> Data {
    sample::apply("r", "d")
}

fn reject() -> Data {
    sample::reject("r", "d")
}

fn approve(revision: &str) -> Data {
    sample::approve(revision, "d")
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
        stamp("a", 3, 3, &[], undo()),
    ];
    assert_eq!(status(&events), Status::Pending);
    assert_eq!(fold(&events).unwrap().undone.len(), 1);
}

#[test]
fn approvals_count_until_an_objection_and_once_for_a_person() {
    let first = stamp("a", 1, 1, &[], propose());
    let said = |seq, data| stamp("a", seq, seq as i64, &[], data);
    let count = |events: &[Stamped]| fold(events).unwrap().approvals_in_force().count();
    let revision = first.id.clone();
    let yes = || approve(&revision);
    let mut events = vec![first.clone(), said(2, yes()), said(3, yes())];
    assert_eq!(count(&events), 1);
    let mut other = said(4, yes());
    other.event.actor.email = "other@x".into();
    events.push(other);
    assert_eq!(count(&events), 2);
    events.push(said(5, reject()));
    assert_eq!((count(&events), fold(&events).unwrap().approvals.len()), (0, 2));
    let mut agents = said(2, yes());
    agents.event.actor.kind = ActorKind::Agent;
    assert_eq!(count(&[first.clone(), agents]), 0);
    assert_eq!(count(&[first, said(2, approve("another revision"))]), 0);
}

#[test]
fn a_note_stands_with_the_comment_that_it_resolves() {
    let said = |resolves: Option<&str>| {
        let resolves = resolves.map(str::to_owned);
        Data::Comment(Comment { body: "c".into(), resolves, ..Comment::default() })
    };
    let mut first = stamp("a", 1, 1, &[], propose());
    first.event.actor.kind = ActorKind::Agent;
    let comment = stamp("b", 1, 2, &[("a", 1)], said(None));
    let note = |lane, kind| {
        let mut note = stamp(lane, 2, 3, &[("b", 1)], said(Some(&comment.id)));
        note.event.actor.kind = kind;
        let proposal = fold(&[first.clone(), comment.clone(), note]).unwrap();
        (proposal.comments.len(), proposal.comments[0].resolved.is_some())
    };
    assert_eq!(note("a", ActorKind::Agent), (1, true));
    assert_eq!(note("c", ActorKind::Human), (1, true));
    // Another agent's is a comment like any.
    assert_eq!(note("c", ActorKind::Agent), (2, false));
    let unknown = stamp("a", 2, 3, &[], said(Some("nothing")));
    assert_eq!(fold(&[first.clone(), unknown]).unwrap().comments.len(), 1);
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
    let events = [stamp("a", 1, 1, &[("b", 9)], propose()), stamp("b", 1, 2, &[("a", 9)], apply())];
    assert_eq!(status(&events), Status::Applied);
}

/// An honest history of two proposals, with heads of all lanes as version 0.1.0 writes them, and
/// the same events with heads of only those lanes that hold events about the proposal.
fn two_subjects() -> impl Strategy<Value = Vec<(Stamped, Stamped)>> {
    let step = (0..4_usize, 0..4_usize, any::<bool>(), any::<bool>(), 0..5_u8, 0..50_i64);
    proptest::collection::vec(step, 0..24).prop_map(|steps| {
        let names = ["a", "b", "c", "d"];
        let mut known = [[1_u64, 0, 0, 0], [0; 4], [0; 4], [0; 4]];
        // Which events of a lane are about the first subject; its position is the index + 1.
        let mut about: [Vec<bool>; 4] = Default::default();
        about[0].push(true);
        let first = stamp("a", 1, 10, &[], propose());
        let mut events = vec![(first.clone(), first)];
        for (lane, other, learns, ours, kind, second) in steps {
            if learns {
                let theirs = known[other];
                for (mine, theirs) in known[lane].iter_mut().zip(theirs) {
                    *mine = (*mine).max(theirs);
                }
            }
            let all = (0..4).filter(|of| known[lane][*of] > 0);
            let heads = |of: usize| (names[of], known[lane][of]);
            let full: Vec<(&str, u64)> = all.clone().map(heads).collect();
            let holds =
                |of: &usize| *of != lane && about[*of][..known[lane][*of] as usize].contains(&true);
            let few: Vec<(&str, u64)> = all.filter(holds).map(heads).collect();
            known[lane][lane] += 1;
            about[lane].push(ours);
            let data = match kind {
                0 => apply(),
                1 => reject(),
                2 => revise(),
                _ => undo(),
            };
            if ours {
                let full = stamp(names[lane], known[lane][lane], second, &full, data);
                let mut small = full.clone();
                small.event.heads.retain(|head| few.iter().any(|few| few.0 == head.lane));
                events.push((full, small));
            }
        }
        events
    })
}

/// A random honest history: each step happens in one of three lanes, which may first learn
/// of the others.
fn history() -> impl Strategy<Value = Vec<Stamped>> {
    proptest::collection::vec((0..3_usize, any::<bool>(), 0..7_u8, 0..50_i64), 0..12).prop_map(
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
                    3 => undo(),
                    5 => approve("r"),
                    4 => Data::RequestChanges(RequestChanges {
                        reason: None,
                        revision: None,
                        evidence: None,
                        statement: None,
                    }),
                    _ => Data::Comment(Comment { body: "c".into(), ..Comment::default() }),
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
    fn heads_of_the_subjects_lanes_say_as_much_as_heads_of_all(events in two_subjects()) {
        let (full, few): (Vec<Stamped>, Vec<Stamped>) = events.into_iter().unzip();
        let ids = |events: &[Stamped]| -> Vec<String> {
            order(events).into_iter().map(|stamped| stamped.id.clone()).collect()
        };
        prop_assert_eq!(ids(&few), ids(&full));
        prop_assert_eq!(fold(&few), fold(&full));
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
