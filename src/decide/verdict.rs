//! Verdicts that write no file: rejection, withdrawal, request for changes, undo of these, and
//! marks.

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

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    Reject,
    Withdraw,
    RequestChanges,
    /// Undoes a rejection or a request for changes.
    TakeBack,
    /// A tool's report, which decides nothing.
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

#[derive(Clone, Copy, Debug, Default)]
pub struct Besides<'a> {
    pub reason: Option<&'a str>,
    /// Recorded before the verdict.
    pub comments: &'a [Comment],
    pub seen: Option<&'a Seen>,
    pub group: Option<&'a str>,
}

/// Records `word` for all of `proposals` or for none.
///
/// # Errors
/// `not_pending`, `not_rejected`, `revised_meanwhile`, `changed_since_shown`, `secret_found` for an
/// agent's reason.
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

/// True if all are the caller's own: rejecting them withdraws. A person always rejects.
pub fn withdraws(store: &Store, caller: &Caller, proposals: &[Proposal]) -> bool {
    let clones = store.clone_ids();
    let is_own = |proposal: &Proposal| {
        clones.iter().any(|clone| proposal.is_proposed_by(&caller.actor, Some(clone)))
    };
    caller.class() != Class::Human && proposals.iter().all(is_own)
}

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
