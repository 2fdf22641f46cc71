//! What events become in the state of a proposal.

use super::super::event::{Apply, Data, Evidence, Marked, Reject, RevisionReason, Stamped, Undo};
use super::super::forks::lane_of;
use super::super::state::{Decision, MarkRecord, Proposal, Revision, State};

pub(super) fn start(first: &Stamped) -> Option<Proposal> {
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
            target: propose.target.clone(),
            changes: propose.changes.clone(),
            memory: propose.memory.clone(),
            on: propose.on.clone(),
        }],
        state: State::Pending,
        beside: Vec::new(),
        undecided: Vec::new(),
        contested: false,
        expiry_recorded: None,
        changes_requested: None,
        requests: Vec::new(),
        comments: Vec::new(),
        checks: Vec::new(),
        undone: Vec::new(),
        undos: Vec::new(),
        commits: Vec::new(),
        earlier_commits: 0,
        marks: Vec::new(),
        approvals: Vec::new(),
        needs: None,
    })
}

pub(super) fn mark(
    stamped: &Stamped,
    verdict: Marked,
    revision: String,
    reason: Option<String>,
) -> MarkRecord {
    let (by, at) = (stamped.event.actor.clone(), stamped.event.time);
    MarkRecord { by, at, verdict, revision, reason }
}

pub(super) fn applied(stamped: &Stamped, apply: &Apply) -> Decision {
    Decision {
        lane: stamped.event.lane.clone(),
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

pub(super) fn rejected(stamped: &Stamped, reject: &Reject) -> Decision {
    Decision {
        lane: stamped.event.lane.clone(),
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

pub(super) fn undo(stamped: &Stamped, undo: &Undo, revision: &str) -> Decision {
    // Version 0.1.0 has not recorded it.
    let evidence = undo.evidence.clone().unwrap_or(Evidence::Tool);
    Decision {
        lane: stamped.event.lane.clone(),
        event: stamped.id.clone(),
        by: stamped.event.actor.clone(),
        at: stamped.event.time,
        how: evidence.how(),
        revision: revision.to_owned(),
        reason: None,
        effect: None,
        commit: None,
        written: Vec::new(),
        amended: Vec::new(),
        withdrawn: false,
        evidence,
        statement: undo.statement.clone(),
    }
}
