//! From events to a state: a pure function of the set of events, whatever the order and the
//! grouping in which they arrive.
//!
//! Events are put in causal order (an event comes after those its writer had seen), then by time,
//! then by id. Two decisions that did not know of each other are settled by rank, applied over
//! rejected, and leave the `contested` mark.

mod answers;
mod records;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};

use answers::Answers;
use records::{applied, mark, rejected, start, undo};

use super::event::{Apply, Approve, Comment, Data, Effect, How, Marked, Stamped, Subject, release};
use super::forks::lane_of;
pub use super::order::order;
use super::state::{
    Approval, ChangesRequested, CheckResult, Proposal, Remark, Resolved, Revision, State,
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
        requested: Vec::new(),
        revisions: vec![*first],
        answers: Answers::default(),
        comments: HashMap::new(),
        commits: HashSet::new(),
        approvals: HashMap::new(),
        position: 0,
        ended: 0,
    };
    for stamped in ordered {
        fold.step(stamped);
    }
    let approvals = fold.approvals();
    let Fold { mut proposal, standing, requested, revisions, .. } = fold;
    proposal.approvals = approvals;
    for (_, at) in &requested {
        proposal.requests[*at].is_open = true;
    }
    proposal.changes_requested = requested.last().map(|(_, at)| proposal.requests[*at].clone());
    let unseen = |decision: &Stamped| {
        let not_seen = revisions.iter().filter(|revision| !saw(decision, revision));
        not_seen.map(|revision| revision.id.clone()).collect()
    };
    let mut standing = standing;
    // The highest rank, the earliest of those.
    let first = standing.iter().enumerate().rev().max_by_key(|(_, (_, state))| rank(state));
    if let Some((at, _)) = first {
        let (decision, state) = standing.remove(at);
        let decided: Vec<&str> = std::iter::once(&state)
            .chain(standing.iter().map(|(_, state)| state))
            .filter_map(|state| Some(state.decision()?.revision.as_str()))
            .collect();
        proposal.undecided = unseen(decision);
        proposal.undecided.retain(|revision| !decided.contains(&revision.as_str()));
        proposal.beside = standing.into_iter().map(|(_, state)| state).collect();
        proposal.contested = proposal.beside.iter().any(|beside| !proposal.is_like(beside, &state));
        proposal.state = state;
    }
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
    /// Its state is set in the end.
    proposal: Proposal,
    /// The decisions that stand, in causal order. More than one where clones decided without
    /// knowing of each other; taking one back leaves the others.
    standing: Vec<(&'a Stamped, State)>,
    /// The requests for changes that nobody who had seen them has answered by a revision, by their places.
    requested: Vec<(&'a Stamped, usize)>,
    /// The events of the revisions.
    revisions: Vec<&'a Stamped>,
    /// Every rejection, and everything that has taken one back, or a request.
    answers: Answers<'a>,
    /// The places of the comments, by their events.
    comments: HashMap<&'a str, usize>,
    /// The commits that contain it.
    commits: HashSet<&'a str>,
    /// The newest approval of each revision by each person, with its position among all of them.
    approvals: HashMap<(String, String), (usize, Approval)>,
    /// How many approvals there were so far.
    position: usize,
    /// Up to which of them they have ended.
    ended: usize,
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
                // Whoever knew that it was decided revises nothing; a decision that its maker had not seen was not
                // about this either.
                let knew = self.standing.iter().any(|(decision, _)| saw(stamped, decision));
                if knew || !may {
                    return;
                }
                proposal.description = revise.description.clone().or(proposal.description.take());
                proposal.expires_at = revise.expires_at.unwrap_or(proposal.expires_at);
                self.requested.retain(|(request, _)| !saw(stamped, request));
                self.revisions.push(stamped);
                proposal.revisions.push(Revision {
                    event: stamped.id.clone(),
                    commit: String::new(),
                    actor: event.actor.clone(),
                    agent: event.agent.clone(),
                    at: event.time,
                    reason: revise.reason.clone(),
                    base: revise.base.clone(),
                    target: revise.target.clone(),
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
                    revision: request.revision.clone(),
                    is_open: false,
                };
                self.requested.push((stamped, proposal.requests.len()));
                proposal.requests.push(request);
                self.end_approvals();
            }
            Data::Apply(apply) => {
                if self.counts(stamped, apply) {
                    self.decide(stamped, State::Applied(applied(stamped, apply)))
                } else {
                    let (revision, verdict) = (apply.revision.clone(), Marked::Applied);
                    self.proposal.marks.push(mark(stamped, verdict, revision, None));
                }
            }
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
                if may && self.standing.is_empty() {
                    proposal.expires_at = proposal.expires_at.max(extend.expires_at);
                }
            }
            Data::Undo(_) => self.take_back(stamped, |state| matches!(state, State::Applied(_))),
            Data::Reopen(_) => {
                self.take_back(stamped, |state| matches!(state, State::Rejected(_)));
                self.take_request_back(stamped);
                self.answers.reopen(stamped);
            }
            Data::Check(check) => proposal.checks.push(CheckResult {
                by: event.actor.clone(),
                at: event.time,
                check: check.clone(),
            }),
            Data::Committed(committed) => {
                if self.commits.insert(&committed.commit) {
                    proposal.commits.push(committed.commit.clone());
                }
            }
        }
    }

    /// Keeps what was said. What resolves another comment stands with that one, where it is by a person,
    /// by the proposer, or by whoever made that comment; else it is a comment like any.
    fn comment(&mut self, stamped: &'a Stamped, comment: &Comment) {
        let event = &stamped.event;
        let proposal = &mut self.proposal;
        let (by, at) = (event.actor.clone(), event.time);
        let is_by_either = event.actor.kind == ActorKind::Human
            || proposal.is_proposed_by(&event.actor, Some(&event.lane));
        let resolved = comment.resolves.as_deref().and_then(|resolves| {
            let remark = proposal.comments.get_mut(*self.comments.get(resolves)?)?;
            (is_by_either || remark.by == by).then_some(remark)
        });
        match resolved {
            Some(remark) => {
                remark.resolved = Some(Resolved { by, at, note: comment.body.clone() });
            }
            None => {
                self.comments.insert(&stamped.id, proposal.comments.len());
                proposal.comments.push(Remark {
                    event: stamped.id.clone(),
                    by,
                    at,
                    comment: comment.clone(),
                    resolved: None,
                });
            }
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
            self.answers.reject(stamped);
        }
        self.standing.push((stamped, state));
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
                if let (State::Applied(decision), Data::Undo(said)) = (state, &stamped.event.data) {
                    self.proposal.undos.push(undo(stamped, said, &decision.revision));
                    self.proposal.undone.push(decision);
                    self.proposal.earlier_commits = self.proposal.commits.len();
                }
            } else {
                self.standing.push((decided, state));
            }
        }
    }

    /// Takes the requests for changes back that the writer of `stamped` had seen, unless it had seen a
    /// rejection since: then it is that which was taken back.
    fn take_request_back(&mut self, stamped: &Stamped) {
        if stamped.event.actor.kind == ActorKind::Agent || !self.standing.is_empty() {
            return;
        }
        let answers = &self.answers;
        self.requested.retain(|(request, _)| {
            !saw(stamped, request) || answers.is_rejected_since(stamped, request)
        });
    }
}

fn rank(state: &State) -> u8 {
    match state {
        State::Pending => 0,
        State::Rejected(_) => 1,
        State::Applied(_) => 2,
    }
}
