//! From events to a state: a pure function of the set of events, whatever the order and the
//! grouping in which they arrive.
//!
//! Events are put in causal order (an event comes after those its writer had seen), then by time,
//! then by id. Two decisions that did not know of each other are settled by rank, applied over
//! rejected, and leave the `contested` mark.

use std::collections::HashMap;

use super::event::{
    Apply, Approve, Comment, Data, Effect, How, Marked, Reject, RevisionReason, Stamped, Subject,
    release,
};
use super::forks::lane_of;
pub use super::order::order;
use super::state::{
    Approval, ChangesRequested, CheckResult, Decision, MarkRecord, Proposal, Remark, Resolved,
    Revision, State,
};
use super::{ActorKind, rules};

/// The state of one proposal from all its events; `None` if the first one is missing.
///
/// Events of other proposals must not be among `events`. Duplicates (by id) count once.
pub fn fold(events: &[Stamped]) -> Option<Proposal> {
    run(&order(events))
}

/// The state that events lead to, in this order.
pub(super) fn run(ordered: &[&Stamped]) -> Option<Proposal> {
    let first = ordered.iter().find(|e| matches!(e.event.data, Data::Propose(_)))?;
    let mut fold = Fold {
        proposal: start(first)?,
        standing: Vec::new(),
        requested: None,
        rejections: Vec::new(),
        reopened: Vec::new(),
        approvals: HashMap::new(),
        position: 0,
        ended: 0,
    };
    for stamped in ordered {
        fold.step(stamped);
    }
    let approvals = fold.approvals();
    let Fold { mut proposal, standing, .. } = fold;
    proposal.approvals = approvals;
    let decided_by = standing.iter().find(|(_, state)| *state == proposal.state);
    proposal.decision_lane = decided_by.map(|(decision, _)| decision.event.lane.clone());
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
    /// The decisions that stand, in causal order. More than one where clones decided without
    /// knowing of each other; taking one back leaves the others.
    standing: Vec<(&'a Stamped, State)>,
    /// The newest request for changes that no revision has answered.
    requested: Option<&'a Stamped>,
    /// Every rejection.
    rejections: Vec<&'a Stamped>,
    /// Everything that has taken one back, or a request.
    reopened: Vec<&'a Stamped>,
    /// The newest approval of each revision by each person, with its position among all of them.
    approvals: HashMap<(String, String), (usize, Approval)>,
    /// How many approvals there were so far.
    position: usize,
    /// Up to which of them they have ended.
    ended: usize,
}

fn start(first: &Stamped) -> Option<Proposal> {
    let Data::Propose(propose) = &first.event.data else { return None };
    Some(Proposal {
        id: first.proposal()?,
        first_event: first.id.clone(),
        lane: lane_of(&first.event.lane).to_owned(),
        published: Vec::new(),
        subject: propose.subject,
        description: propose.description.clone(),
        domain: propose.domain.clone(),
        related_task_id: propose.related_task_id.clone(),
        branch: propose.branch.clone(),
        instead_of: propose.instead_of.clone(),
        proposed_by: propose.proposed_by.clone(),
        actor: first.event.actor.clone(),
        created_at: first.event.time,
        expires_at: propose.expires_at,
        revisions: vec![Revision {
            event: first.id.clone(),
            commit: String::new(),
            actor: first.event.actor.clone(),
            agent: first.event.agent.clone(),
            at: first.event.time,
            reason: RevisionReason::First,
            base: propose.base.clone(),
            changes: propose.changes.clone(),
            memory: propose.memory.clone(),
            on: propose.on.clone(),
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
        marks: Vec::new(),
        approvals: Vec::new(),
        needs: None,
    })
}

impl<'a> Fold<'a> {
    fn step(&mut self, stamped: &'a Stamped) {
        let event = &stamped.event;
        let proposal = &mut self.proposal;
        match &event.data {
            Data::Propose(_) | Data::Plan(_) | Data::Patch(_) | Data::Fold(_) | Data::Purge(_) => {}
            Data::Unknown(..) => {
                let known = proposal.needs.as_deref().and_then(release);
                if event.needs.as_deref().and_then(release) > known {
                    proposal.needs = event.needs.clone();
                }
            }
            Data::Revise(revise) => {
                // A person may revise anything; an agent or a build machine only its own.
                let may = event.actor.kind == ActorKind::Human
                    || proposal.is_proposed_by(&event.actor, Some(&event.lane));
                if proposal.state != State::Pending || !may {
                    return;
                }
                proposal.description = revise.description.clone().or(proposal.description.take());
                proposal.expires_at = revise.expires_at.unwrap_or(proposal.expires_at);
                proposal.changes_requested = None;
                self.requested = None;
                proposal.revisions.push(Revision {
                    event: stamped.id.clone(),
                    commit: String::new(),
                    actor: event.actor.clone(),
                    agent: event.agent.clone(),
                    at: event.time,
                    reason: revise.reason.clone(),
                    base: revise.base.clone(),
                    changes: revise.changes.clone(),
                    memory: revise.memory.clone(),
                    on: revise.on.clone(),
                });
            }
            Data::Comment(comment) => self.comment(stamped, comment),
            Data::RequestChanges(request) => {
                let request = ChangesRequested {
                    by: event.actor.clone(),
                    at: event.time,
                    reason: request.reason.clone(),
                };
                proposal.requests.push(request.clone());
                proposal.changes_requested = Some(request);
                self.requested = Some(stamped);
                self.end_approvals();
            }
            Data::Apply(apply) => match self.counts(stamped, apply) {
                true => self.decide(stamped, State::Applied(applied(stamped, apply))),
                false => {
                    let (revision, verdict) = (apply.revision.clone(), Marked::Applied);
                    self.proposal.marks.push(mark(stamped, verdict, revision, None));
                }
            },
            Data::Reject(reject) => {
                let withdrawn =
                    reject.withdrawn && proposal.is_proposed_by(&event.actor, Some(&event.lane));
                let tool = reject.how == How::Tool && reject.statement.is_none();
                if withdrawn || event.actor.kind != ActorKind::Agent && !tool {
                    self.decide(stamped, State::Rejected(rejected(stamped, reject)));
                } else {
                    let (revision, reason) = (reject.revision.clone(), reject.reason.clone());
                    let record = mark(stamped, Marked::Rejected, revision, reason);
                    self.proposal.marks.push(record);
                }
            }
            Data::Mark(said) => {
                let (revision, reason) = (said.revision.clone(), said.reason.clone());
                proposal.marks.push(mark(stamped, said.verdict, revision, reason));
            }
            Data::Approve(approve) => self.approve(stamped, approve),
            Data::Publish(_) => {
                let lane = lane_of(&event.lane).to_owned();
                if !proposal.published.contains(&lane) {
                    proposal.published.push(lane);
                }
            }
            Data::Expire(expire) => proposal.expiry_recorded = Some(expire.expires_at),
            Data::Extend(extend) => {
                let may = event.actor.kind == ActorKind::Human
                    || proposal.is_proposed_by(&event.actor, Some(&event.lane));
                if may && proposal.state == State::Pending {
                    proposal.expires_at = proposal.expires_at.max(extend.expires_at);
                }
            }
            Data::Undo(_) => self.take_back(stamped, |state| matches!(state, State::Applied(_))),
            Data::Reopen(_) => {
                self.take_back(stamped, |state| matches!(state, State::Rejected(_)));
                self.take_request_back(stamped);
                self.reopened.push(stamped);
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

    /// Keeps what was said. What resolves another comment stands with that one, where it is by a person,
    /// by the proposer, or by whoever made that comment; else it is a comment like any.
    fn comment(&mut self, stamped: &Stamped, comment: &Comment) {
        let event = &stamped.event;
        let proposal = &mut self.proposal;
        let (by, at) = (event.actor.clone(), event.time);
        let is_by_either = event.actor.kind == ActorKind::Human
            || proposal.is_proposed_by(&event.actor, Some(&event.lane));
        let resolved = comment.resolves.as_deref().and_then(|resolves| {
            let remark = proposal.comments.iter_mut().find(|remark| remark.event == resolves)?;
            (is_by_either || remark.by == by).then_some(remark)
        });
        match resolved {
            Some(remark) => {
                remark.resolved = Some(Resolved { by, at, note: comment.body.clone() });
            }
            None => proposal.comments.push(Remark {
                event: stamped.id.clone(),
                by,
                at,
                comment: comment.clone(),
                resolved: None,
            }),
        }
    }

    /// Whether an apply is a decision. One by an agent is not, nor is the mark that version 0.1.0
    /// recorded as an apply for callers of its tool; both are kept as marks. What the memory
    /// manifest let pass without a person stands: its files were written.
    fn counts(&self, stamped: &Stamped, apply: &Apply) -> bool {
        let by_policy = self.proposal.subject == Subject::Memory
            && apply.how == How::Tool
            && apply.effect == Effect::Files;
        let marked = apply.how == How::Tool && apply.effect == Effect::MarkOnly;
        by_policy || (stamped.event.actor.kind != ActorKind::Agent && !marked)
    }

    /// Keeps a person's approval, in place of an earlier one by the same person of that revision.
    fn approve(&mut self, stamped: &Stamped, approve: &Approve) {
        let event = &stamped.event;
        let by_a_person =
            event.actor.kind == ActorKind::Human && rules::is_personal(&approve.evidence);
        let decided = self.standing.iter().any(|(decision, _)| saw(stamped, decision));
        let Some(statement) = approve.statement.clone().filter(|_| by_a_person && !decided) else {
            return;
        };
        self.position += 1;
        let approval = Approval {
            event: stamped.id.clone(),
            by: event.actor.clone(),
            at: event.time,
            revision: approve.revision.clone(),
            evidence: approve.evidence.clone(),
            reason: approve.reason.clone(),
            statement,
            ended: false,
        };
        let key = (approve.revision.clone(), event.actor.identity());
        self.approvals.insert(key, (self.position, approval));
    }

    /// Whoever approved so far has not seen the objection that is being folded.
    fn end_approvals(&mut self) {
        self.ended = self.position;
    }

    /// The approvals, oldest first.
    fn approvals(&mut self) -> Vec<Approval> {
        let mut found: Vec<_> = std::mem::take(&mut self.approvals).into_values().collect();
        found.sort_by_key(|(position, _)| *position);
        let ended = self.ended;
        let approval = |(position, approval)| Approval { ended: position <= ended, ..approval };
        found.into_iter().map(approval).collect()
    }

    fn decide(&mut self, stamped: &'a Stamped, state: State) {
        if self.standing.iter().any(|(earlier, _)| saw(stamped, earlier)) {
            // Its writer knew that it was decided.
            return;
        }
        if matches!(state, State::Rejected(_)) {
            self.end_approvals();
            self.rejections.push(stamped);
        }
        self.standing.push((stamped, state));
        self.settle();
    }

    /// Takes the decisions back that the writer of `stamped` had seen and that `which` picks.
    /// People, and build machines that policy lets decide, may.
    fn take_back(&mut self, stamped: &'a Stamped, which: impl Fn(&State) -> bool) {
        if stamped.event.actor.kind == ActorKind::Agent {
            return;
        }
        let standing = std::mem::take(&mut self.standing);
        for (decided, state) in standing {
            if which(&state) && saw(stamped, decided) {
                self.end_approvals();
                if let State::Applied(decision) = state {
                    self.proposal.undone.push(decision);
                }
            } else {
                self.standing.push((decided, state));
            }
        }
        self.settle();
    }

    /// Takes the request for changes back that the writer of `stamped` had seen, unless it had seen a
    /// rejection since: then it is that which was taken back.
    fn take_request_back(&mut self, stamped: &Stamped) {
        let Some(request) = self.requested.filter(|request| saw(stamped, request)) else { return };
        let is_answered = |rejection: &Stamped| {
            self.reopened.iter().any(|earlier| saw(stamped, earlier) && saw(earlier, rejection))
        };
        let is_newer = |rejection: &Stamped| {
            saw(stamped, rejection) && !saw(request, rejection) && !is_answered(rejection)
        };
        let is_pending = self.proposal.state == State::Pending;
        if stamped.event.actor.kind != ActorKind::Agent
            && is_pending
            && !self.rejections.iter().any(|rejection| is_newer(rejection))
        {
            self.proposal.changes_requested = None;
            self.requested = None;
        }
    }

    /// What the decisions that stand come to: the highest rank, the earliest of those.
    fn settle(&mut self) {
        let state = self.standing.iter().map(|(_, state)| state);
        let best = state.rev().max_by_key(|state| rank(state));
        self.proposal.state = best.cloned().unwrap_or(State::Pending);
        self.proposal.contested = self.standing.len() > 1;
    }
}

fn rank(state: &State) -> u8 {
    match state {
        State::Pending => 0,
        State::Rejected(_) => 1,
        State::Applied(_) => 2,
    }
}

fn mark(
    stamped: &Stamped,
    verdict: Marked,
    revision: String,
    reason: Option<String>,
) -> MarkRecord {
    let (by, at) = (stamped.event.actor.clone(), stamped.event.time);
    MarkRecord { by, at, verdict, revision, reason }
}

fn applied(stamped: &Stamped, apply: &Apply) -> Decision {
    Decision {
        event: stamped.id.clone(),
        by: stamped.event.actor.clone(),
        at: stamped.event.time,
        how: apply.how,
        revision: apply.revision.clone(),
        reason: None,
        effect: Some(apply.effect),
        commit: apply.commit.clone(),
        written: apply.written.clone(),
        amended: apply.amended.clone(),
        withdrawn: false,
        evidence: apply.evidence.clone().unwrap_or_else(|| apply.how.into()),
        statement: apply.statement.clone(),
    }
}

fn rejected(stamped: &Stamped, reject: &Reject) -> Decision {
    Decision {
        event: stamped.id.clone(),
        by: stamped.event.actor.clone(),
        at: stamped.event.time,
        how: reject.how,
        revision: reject.revision.clone(),
        reason: reject.reason.clone(),
        effect: None,
        commit: None,
        written: Vec::new(),
        amended: Vec::new(),
        withdrawn: reject.withdrawn,
        evidence: reject.evidence.clone().unwrap_or_else(|| reject.how.into()),
        statement: reject.statement.clone(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::event::{
        BlobRef, Event, Evidence, Head, Propose, RequestChanges, Revise, Undo,
    };
    use super::super::{Actor, ProposalId, Status};
    use super::*;

    fn stamp(lane: &str, seq: u64, second: i64, heads: &[(&str, u64)], data: Data) -> Stamped {
        let event = Event {
            proposal: Some(ProposalId::from_event(&"0".repeat(40))),
            first: None,
            lane: lane.into(),
            seq,
            actor: Actor { name: "n".into(), email: String::new(), kind: ActorKind::Human },
            agent: None,
            time: chrono::DateTime::from_timestamp(second, 0).unwrap(),
            heads: heads
                .iter()
                .map(|(lane, seq)| Head { lane: (*lane).into(), seq: *seq, tip: "t".into() })
                .collect(),
            witness: Vec::new(),
            forked: None,
            needs: None,
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
            group: None,
            written_blob: None,
            revision: "r".into(),
            digest: "d".into(),
            how: How::Flag,
            effect: Effect::Files,
            commit: None,
            written: vec![],
            amended: vec![],
            evidence: None,
            statement: None,
        })
    }

    fn undo() -> Data {
        Data::Undo(Undo {
            written: vec![],
            written_blob: None,
            patch: None,
            evidence: None,
            statement: None,
        })
    }

    fn reject() -> Data {
        Data::Reject(Reject {
            group: None,
            reason: None,
            revision: "r".into(),
            digest: "d".into(),
            how: How::Flag,
            withdrawn: false,
            evidence: None,
            statement: None,
        })
    }

    fn approve(revision: &str) -> Data {
        Data::Approve(Approve {
            revision: revision.into(),
            digest: "d".into(),
            reason: None,
            evidence: Evidence::Flag,
            statement: Some(BlobRef { id: "s".into(), sha256: "s".into() }),
        })
    }

    fn revise() -> Data {
        Data::Revise(Revise {
            on: None,
            description: None,
            expires_at: None,
            reason: RevisionReason::Answer,
            base: None,
            changes: vec![],
            changes_blob: None,
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
        let events =
            [stamp("a", 1, 1, &[("b", 9)], propose()), stamp("b", 1, 2, &[("a", 9)], apply())];
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
                let holds = |of: &usize| {
                    *of != lane && about[*of][..known[lane][*of] as usize].contains(&true)
                };
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
}
