//! Events for tests of what is made of them.

use chrono::DateTime;

use super::event::{
    Apply, Approve, BlobRef, Data, Effect, Event, Evidence, Head, How, Reject, Reopen, Revise,
    RevisionReason, Stamped, Undo,
};
use super::{Actor, ActorKind, ProposalId};

/// An event of a person at `second`, in `lane` at position `seq`, whose writer had seen `heads`; with its id.
pub(super) fn stamp(
    lane: &str,
    seq: u64,
    second: i64,
    heads: &[(&str, u64)],
    data: Data,
) -> Stamped {
    let event = Event {
        proposal: Some(ProposalId::from_event(&"0".repeat(40))),
        first: None,
        lane: lane.into(),
        seq,
        actor: Actor { name: "n".into(), email: String::new(), kind: ActorKind::Human },
        agent: None,
        time: DateTime::from_timestamp(second, 0).unwrap(),
        heads: heads
            .iter()
            .map(|(lane, seq)| Head { lane: (*lane).into(), seq: *seq, tip: "t".into() })
            .collect(),
        witness: Vec::new(),
        forked: None,
        needs: None,
        data,
    };
    let bytes = event.to_bytes().unwrap();
    let id = gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, &bytes);
    Stamped { id: id.unwrap().to_string(), event }
}

pub(super) fn blob() -> BlobRef {
    BlobRef { id: "s".into(), sha256: "s".into() }
}

pub(super) fn apply(revision: &str, digest: &str) -> Data {
    Data::Apply(Apply {
        group: None,
        revision: revision.into(),
        digest: digest.into(),
        how: How::Flag,
        effect: Effect::Files,
        commit: None,
        written: vec![],
        written_blob: None,
        amended: vec![],
        evidence: None,
        statement: None,
    })
}

pub(super) fn reopen(revision: &str) -> Data {
    let (revision, evidence) = (revision.into(), Evidence::Flag);
    Data::Reopen(Reopen { revision, reason: None, evidence, statement: None })
}

pub(super) fn undo() -> Data {
    Data::Undo(Undo {
        written: vec![],
        written_blob: None,
        patch: None,
        evidence: None,
        statement: None,
    })
}

pub(super) fn reject(revision: &str, digest: &str) -> Data {
    Data::Reject(Reject {
        group: None,
        reason: None,
        revision: revision.into(),
        digest: digest.into(),
        how: How::Flag,
        withdrawn: false,
        evidence: None,
        statement: None,
    })
}

pub(super) fn approve(revision: &str, digest: &str) -> Data {
    Data::Approve(Approve {
        revision: revision.into(),
        digest: digest.into(),
        reason: None,
        evidence: Evidence::Flag,
        statement: Some(blob()),
    })
}

pub(super) fn revise() -> Data {
    Data::Revise(Revise {
        on: None,
        description: None,
        expires_at: None,
        reason: RevisionReason::Answer,
        base: None,
        target: None,
        changes: vec![],
        changes_blob: None,
        memory: None,
    })
}
