//! Verdicts that write no file: no, withdrawn, a request for changes, all of that taken back, a tool's mark.

use chrono::{DateTime, Utc};

use super::draft::Draft;
use super::{Seen, pinned, still};
use crate::changeset::Changeset;
use crate::error::{Error, Result};
use crate::proposal::event::{Comment, Effect, Marked, Verdict};
use crate::proposal::rules::Class;
use crate::proposal::{ActorKind, Authority, Caller, Proposal, State, codes};
use crate::scan::gate;
use crate::store::Store;

/// What is said of a proposal without writing a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// A person says nay.
    Reject,
    /// Its proposer takes it back.
    Withdraw,
    /// A person wants something else of it.
    RequestChanges,
    /// A rejection, or a request for changes, is taken back.
    TakeBack,
    /// A tool records what became of it, which decides nothing.
    Mark(Marked),
}

impl Word {
    fn verdict(self) -> Verdict {
        match self {
            Self::Reject | Self::Mark(Marked::Rejected) => Verdict::Reject,
            Self::Withdraw => Verdict::Withdraw,
            Self::RequestChanges => Verdict::RequestChanges,
            Self::TakeBack => Verdict::Undo,
            Self::Mark(Marked::Applied) => Verdict::Apply,
        }
    }
}

/// What comes with a verdict.
#[derive(Clone, Copy, Debug, Default)]
pub struct Besides<'a> {
    /// Why.
    pub reason: Option<&'a str>,
    /// Comments of the same answer, recorded before it.
    pub comments: &'a [Comment],
    /// HEAD and the tips of the threads when the proposals were shown.
    pub seen: Option<&'a Seen>,
    /// What was decided in one answer ([`super::group`]).
    pub group: Option<&'a str>,
}

/// Says `word` about each of `proposals`: of all or of none.
///
/// # Errors
/// `not_pending`, `not_rejected`, `revised_meanwhile`, `changed_since_shown`, `secret_found` for an agent's reason;
/// those of the store.
pub fn say(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposals: &[Proposal],
    word: Word,
    besides: &Besides<'_>,
) -> Result<()> {
    let view = store.view()?;
    let current = proposals.iter().map(|proposal| super::current(&view, proposal));
    let proposals: Vec<Proposal> = current.collect::<Result<_>>()?;
    let Besides { reason, comments, group, .. } = *besides;
    if authority.actor().kind == ActorKind::Agent {
        gate::lines(store.repository(), &Changeset::default(), &[("reason", reason)])?;
    }
    let seen = Seen::or_now(besides.seen, &view, &proposals)?;
    store.write(authority.actor(), now, |writer| {
        for proposal in &proposals {
            if !matches!(word, Word::Reject | Word::TakeBack) {
                proposal.require_pending(now)?;
            }
            if word == Word::TakeBack {
                require_rejected(&pinned(writer, proposal, &seen)?)?;
            } else {
                still(writer, proposal, &seen)?;
            }
            let effect = matches!(word, Word::Mark(_)).then_some(Effect::MarkOnly);
            let draft = Draft::new(authority, &seen, proposal, word.verdict());
            let of_rejections = word == Word::TakeBack;
            Draft { reason, comments, group, effect, of_rejections, ..draft }.record(writer)?;
            if word == Word::TakeBack {
                writer.renew(&proposal.id)?;
            }
        }
        Ok(())
    })
}

/// True where `caller` rejects what is its own, which withdraws it. A person's no is always a rejection.
pub fn withdraws(store: &Store, caller: &Caller, proposals: &[Proposal]) -> bool {
    let clones = store.clone_ids();
    let is_own = |proposal: &Proposal| {
        clones.iter().any(|clone| proposal.is_proposed_by(&caller.actor, Some(clone)))
    };
    caller.class() != Class::Human && proposals.iter().all(is_own)
}

/// Refuses what has neither a rejection nor a request for changes that could be taken back.
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
