//! Verdicts without a plan: reject, withdraw, send back, reopen, mark.

use chrono::{DateTime, Utc};

use super::draft::{Draft, Terms};
use super::{Seen, require_quiet, still};
use crate::changeset::Changeset;
use crate::error::{Error, Result};
use crate::proposal::event::{Comment, Mark, Marked, Reject, Reopen, RequestChanges};
use crate::proposal::rules::Class;
use crate::proposal::statement::Verdict;
use crate::proposal::{ActorKind, Authority, Caller, Data, Proposal, State, codes};
use crate::scan::gate;
use crate::store::Store;

/// What is said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// No.
    Reject,
    /// The proposer takes it back.
    Withdraw,
    /// Something has to change first.
    RequestChanges,
    /// A rejected one is pending again, or one that was sent back is in the queue again.
    Reopen,
    /// A tool's caller says what became of it.
    Mark(Marked),
}

impl Word {
    fn verdict(&self) -> Verdict {
        match self {
            Self::Reject => Verdict::Reject,
            Self::Withdraw => Verdict::Withdraw,
            Self::RequestChanges => Verdict::RequestChanges,
            Self::Reopen => Verdict::Reopen,
            Self::Mark(_) => Verdict::Mark,
        }
    }

    /// The event that records it; `group` is the digest of those that are decided with it.
    fn event(&self, terms: Terms, group: Option<&str>) -> Data {
        let Terms { revision, digest, reason, how, evidence, statement } = terms;
        let group = group.map(str::to_owned);
        match self {
            Self::Reject | Self::Withdraw => Data::Reject(Reject {
                reason,
                revision,
                digest,
                how,
                withdrawn: *self == Self::Withdraw,
                evidence: Some(evidence),
                statement: Some(statement),
                group,
            }),
            Self::RequestChanges => Data::RequestChanges(RequestChanges {
                reason,
                revision: Some(revision),
                evidence: Some(evidence),
                statement: Some(statement),
            }),
            Self::Reopen => {
                Data::Reopen(Reopen { revision, reason, evidence, statement: Some(statement) })
            }
            Self::Mark(verdict) => Data::Mark(Mark {
                verdict: *verdict,
                revision,
                digest,
                reason,
                evidence,
                statement: Some(statement),
            }),
        }
    }
}

/// What is said besides, and when the proposals were looked at.
#[derive(Clone, Copy, Debug, Default)]
pub struct Besides<'a> {
    /// Why.
    pub reason: Option<&'a str>,
    /// Comments that go into the same lane commit.
    pub comments: &'a [Comment],
    /// Where the own lane was when they were looked at; `None` is now.
    pub seen: Option<&'a Seen>,
    /// Digest of the group that is decided in one answer ([`super::group`]).
    pub group: Option<&'a str>,
    /// Of each, how many changed lines were not on the screen before the answer; none for what is missing.
    pub unshown_lines: &'a [u64],
}

/// Says one thing about all of `proposals`, or nothing about any.
///
/// # Errors
/// `not_pending` (`not_rejected` for reopening), `revised_meanwhile`, `changed_since_shown`; `secret_detected` for an agent's reason where `aye.scan` is `block`; those of the store.
pub fn say(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposals: &[Proposal],
    word: &Word,
    besides: &Besides<'_>,
) -> Result<()> {
    let proposals = super::verified_all(store, proposals)?;
    let Besides { reason, comments, group, unshown_lines, .. } = *besides;
    if authority.actor().kind == ActorKind::Agent {
        gate::lines(store.repository(), &Changeset::default(), &[("reason", reason)])?;
    }
    let seen = Seen::or_now(besides.seen, store)?;
    store.write(authority.actor(), now, |writer| {
        for (at, proposal) in proposals.iter().enumerate() {
            if *word == Word::Reopen {
                require_rejected(&writer.view.proposal(&proposal.id)?)?;
                require_quiet(writer, proposal, &seen)?;
            } else {
                still(writer, proposal, &seen)?;
            }
            let unshown_lines = unshown_lines.get(at).copied().unwrap_or_default();
            let draft = Draft::new(authority, &seen, proposal, word.verdict());
            let draft = Draft { reason, comments, unshown_lines, ..draft };
            draft.record(writer, |terms| word.event(terms, group))?;
            if *word == Word::Reopen {
                writer.renew(&proposal.id)?;
            }
        }
        Ok(())
    })
}

/// Whether a rejection of `proposals` by `caller` withdraws them: no person's, and all its own.
///
/// # Errors
/// `ci_has_no_lane`, and those of the store.
pub fn withdraws(store: &Store, caller: &Caller, proposals: &[Proposal]) -> Result<bool> {
    if caller.class() == Class::Human {
        return Ok(false);
    }
    let lanes = store.lanes_written()?;
    let is_own = |proposal: &Proposal| {
        lanes.iter().any(|lane| proposal.is_proposed_by(&caller.actor, Some(lane)))
    };
    Ok(proposals.iter().all(is_own))
}

/// Refuses to take a no back where none stands.
///
/// # Errors
/// `not_rejected`.
pub fn require_rejected(proposal: &Proposal) -> Result<()> {
    match &proposal.state {
        _ if proposal.is_rejected() => Ok(()),
        State::Pending if proposal.changes_requested.is_some() => Ok(()),
        _ => Err(Error::new(&codes::NOT_REJECTED, format!("{} is not rejected", proposal.id))
            .hint(format!("`aye show {}` prints its state", proposal.id))),
    }
}
