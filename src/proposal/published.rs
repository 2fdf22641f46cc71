//! What counts of a proposal that is published, of the lanes that nobody else has.
//!
//! A clone that was restored from a backup, or copied, may go on in private with what another one with the same
//! private lane has published since. Nobody else will ever hear of that, and neither event can name the other. So
//! of private lanes only the first event counts then, and what decides nothing: all who have the publication
//! come to one state, whatever else they have. A function of the events and of which lanes are private.

use std::collections::BTreeSet;

use super::ActorKind;
use super::event::{Data, Stamped};
use super::fold::saw;
use super::forks::lane_of;

/// Takes what does not count out of `events`, in order, of the proposal that begins with `first`; `private` are
/// the lanes for nobody else. Returns what of it was to decide something and has no answer in public: its
/// author does not know yet that it counts nowhere.
pub(super) fn withhold<'e>(
    events: &mut Vec<&'e Stamped>,
    first: &Stamped,
    private: &BTreeSet<String>,
) -> Vec<&'e Stamped> {
    let is_private = |stamped: &Stamped| private.contains(lane_of(&stamped.event.lane));
    let published = events.iter().filter(|stamped| {
        matches!(stamped.event.data, Data::Publish(_))
            && stamped.event.actor.kind == ActorKind::Human
            && stamped.may_be_about(&first.id)
            && !is_private(stamped)
    });
    let Some(at) = published.map(|stamped| stamped.event.time).min() else { return Vec::new() };
    let withheld: Vec<&Stamped> = events
        .extract_if(.., |stamped| decides(&stamped.event.data) && is_private(stamped))
        .collect();
    let is_taken_back = |stamped: &Stamped| {
        withheld.iter().any(|later| {
            matches!(later.event.data, Data::Undo(_) | Data::Reopen(_)) && saw(later, stamped)
        })
    };
    let is_answered = |stamped: &Stamped| {
        events
            .iter()
            .any(|later| asks_for_an_answer(later) && later.event.time > stamped.event.time)
    };
    let is_open = |stamped: &&Stamped| {
        // What was said before was known to who published, unless it stands.
        let is_of_now = match stamped.event.data {
            Data::Apply(_) | Data::Reject(_) => !is_taken_back(stamped),
            _ => stamped.event.time > at,
        };
        asks_for_an_answer(stamped) && is_of_now && !is_answered(stamped)
    };
    withheld.iter().copied().filter(is_open).collect()
}

/// Whether an event can change the state of its proposal, or what is proposed.
fn decides(data: &Data) -> bool {
    match data {
        Data::Revise(_)
        | Data::Apply(_)
        | Data::Reject(_)
        | Data::Undo(_)
        | Data::Reopen(_)
        | Data::Approve(_)
        | Data::RequestChanges(_)
        | Data::Expire(_)
        | Data::Extend(_) => true,
        Data::Propose(_)
        | Data::Publish(_)
        | Data::Comment(_)
        | Data::Mark(_)
        | Data::Check(_)
        | Data::Committed(_)
        | Data::Plan(_)
        | Data::Patch(_)
        | Data::Fold(_)
        | Data::Purge(_)
        | Data::Unknown(..) => false,
    }
}

/// Whether somebody who said this would miss it.
fn asks_for_an_answer(stamped: &Stamped) -> bool {
    match stamped.event.data {
        Data::Reject(ref reject) if reject.withdrawn => true,
        Data::Revise(_) => true,
        Data::Apply(_) | Data::Reject(_) | Data::RequestChanges(_) => {
            stamped.event.actor.kind != ActorKind::Agent
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::super::Proposal;
    use super::super::audit::{self, Own, Why};
    use super::super::event::{Extend, Propose, Publish, RequestChanges, digest};
    use super::super::sample::{approve, blob, reject, reopen, revise, stamp, undo};
    use super::*;

    /// Lanes that nobody else has: two of one place, as after a copy.
    const PRIVATE: [&str; 2] = ["p", "q"];

    /// Lanes that all have.
    const PUBLIC: [&str; 2] = ["u", "v"];

    fn first() -> Stamped {
        let expires_at = DateTime::from_timestamp(1_000, 0).unwrap();
        stamp("p", 1, 0, &[], Data::Propose(Propose { expires_at, ..Propose::default() }))
    }

    fn data(kind: u8, second: i64) -> Data {
        let (revision, digest) = (first().id, digest(&[]));
        match kind {
            0 => reject(&revision, &digest),
            1 => undo(),
            2 => approve(&revision, &digest),
            3 => Data::RequestChanges(RequestChanges {
                reason: None,
                revision: None,
                evidence: None,
                statement: None,
            }),
            4 => {
                let expires_at = DateTime::from_timestamp(2_000 + second, 0).unwrap();
                Data::Extend(Extend { expires_at })
            }
            5 => reopen(&revision),
            _ => revise(),
        }
    }

    fn fold(events: &[Stamped]) -> (Option<Proposal>, Vec<Why>) {
        let private = PRIVATE.iter().map(|lane| (*lane).to_owned()).collect();
        let folded = audit::fold(events, Own::default(), &private);
        (folded.proposal, folded.rejected.into_iter().map(|found| found.why).collect())
    }

    /// Events of both kinds of lanes; lanes of one kind have seen of each other what there was.
    fn history() -> impl Strategy<Value = Vec<Stamped>> {
        let step = (0..4_usize, any::<bool>(), 0..7_u8, 0..30_i64);
        proptest::collection::vec(step, 1..16).prop_map(|steps| {
            let publish = Data::Publish(Publish { original: blob(), changes: vec![] });
            let mut events = vec![first(), stamp("u", 1, 15, &[], publish)];
            for (lane, has_seen, kind, second) in steps {
                let lanes = if lane < 2 { PRIVATE } else { PUBLIC };
                let last = |name: &str| {
                    events.iter().filter(|of| of.event.lane == name).map(|of| of.event.seq).max()
                };
                let (own, other) = (lanes[lane % 2], lanes[(lane + 1) % 2]);
                let seen = last(other).filter(|_| has_seen);
                let head = seen.map(|seq| (other, seq));
                let seq = last(own).unwrap_or(0) + 1;
                let next = stamp(own, seq, second, head.as_slice(), data(kind, second));
                events.push(next);
            }
            events
        })
    }

    proptest! {
        #[test]
        fn whoever_has_private_lanes_comes_to_what_all_others_do(events in history(), turn in any::<usize>()) {
            let is_known = |stamped: &&Stamped| {
                stamped.event.seq == 1 && stamped.event.lane == "p" || PUBLIC.contains(&&*stamped.event.lane)
            };
            let known: Vec<Stamped> = events.iter().filter(is_known).cloned().collect();
            let expected = fold(&known);
            prop_assert_eq!(expected.1, []);
            let mut turned = events.clone();
            turned.rotate_left(turn % events.len());
            let (found, rejected) = fold(&turned);
            prop_assert_eq!(found, expected.0);
            prop_assert!(rejected.iter().all(|why| *why == Why::Private));
        }

        #[test]
        fn without_a_publication_all_counts(events in history()) {
            let private: Vec<Stamped> =
                events.into_iter().filter(|stamped| PRIVATE.contains(&&*stamped.event.lane)).collect();
            let folded = audit::fold(&private, Own::default(), &BTreeSet::new());
            prop_assert_eq!(fold(&private), (folded.proposal, vec![]));
        }
    }

    #[test]
    fn who_has_decided_in_private_is_told_until_somebody_decides_in_public() {
        let publish = Data::Publish(Publish { original: blob(), changes: vec![] });
        let published = stamp("u", 1, 10, &[], publish);
        let told = |more: &[Stamped]| fold(&[&[first(), published.clone()], more].concat()).1;
        let said =
            |lane: &str, seq, second, kind| stamp(lane, seq, second, &[], data(kind, second));
        // A rejection that stands, whenever it was.
        assert_eq!(told(&[said("p", 2, 5, 0)]), [Why::Private]);
        assert_eq!(told(&[said("p", 2, 15, 0)]), [Why::Private]);
        assert_eq!(told(&[said("p", 2, 5, 0), said("p", 3, 6, 5)]), []);
        assert_eq!(told(&[said("p", 2, 15, 0), said("u", 2, 20, 0)]), []);
        assert_eq!(told(&[said("p", 2, 25, 0), said("u", 2, 20, 0)]), [Why::Private]);
        // A draft, or what was thought of one, is known to be private.
        assert_eq!(told(&[said("p", 2, 5, 6), said("p", 3, 6, 3), said("p", 4, 7, 2)]), []);
        assert_eq!(told(&[said("p", 2, 15, 6)]), [Why::Private]);
        assert_eq!(told(&[said("p", 2, 15, 2), said("p", 3, 16, 4)]), []);
    }
}
