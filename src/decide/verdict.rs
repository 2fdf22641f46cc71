//! Verdicts that write no file: rejection, withdrawal, request for changes, undo of these, and
//! marks.

use chrono::{DateTime, Utc};

use super::draft::Draft;
use super::{ViewedState, pin_thread, require_unchanged};
use crate::changeset::Changeset;
use crate::error::{Error, Result};
use crate::proposal::event::{Comment, Effect, Marked, Verdict};
use crate::proposal::rules::CallerClass;
use crate::proposal::{ActorKind, Authority, Caller, Proposal, State, codes};
use crate::scan::gate;
use crate::store::Store;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlainVerdict {
    Reject,
    Withdraw,
    RequestChanges,
    /// Undoes a rejection or a request for changes.
    TakeBack,
    /// A tool's report, which decides nothing.
    Mark(Marked),
}

impl PlainVerdict {
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
pub struct VerdictDetails<'a> {
    pub reason: Option<&'a str>,
    /// Recorded before the verdict.
    pub comments: &'a [Comment],
    pub seen: Option<&'a ViewedState>,
    pub group: Option<&'a str>,
}

/// Records `word` for all of `proposals` or for none.
///
/// # Errors
/// `not_pending`, `not_rejected`, `revised_meanwhile`, `changed_since_shown`, `secret_found` for an
/// agent's reason.
pub fn record_verdicts(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposals: &[Proposal],
    word: PlainVerdict,
    besides: &VerdictDetails<'_>,
) -> Result<()> {
    let view = store.view()?;
    let current = proposals.iter().map(|proposal| super::current(&view, proposal));
    let proposals: Vec<Proposal> = current.collect::<Result<_>>()?;
    let VerdictDetails { reason, comments, group, .. } = *besides;
    if authority.actor().kind == ActorKind::Agent {
        gate::line_warnings(store.repository(), &Changeset::default(), &[("reason", reason)])?;
    }
    let seen = ViewedState::or_now(besides.seen, &view, &proposals)?;
    store.write(authority.actor(), now, |writer| {
        for proposal in &proposals {
            if !matches!(word, PlainVerdict::Reject | PlainVerdict::TakeBack) {
                proposal.require_pending(now)?;
            }
            if word == PlainVerdict::TakeBack {
                require_rejected(&pin_thread(writer, proposal, &seen)?)?;
            } else {
                require_unchanged(writer, proposal, &seen)?;
            }
            let effect = matches!(word, PlainVerdict::Mark(_)).then_some(Effect::MarkOnly);
            let draft = Draft::new(authority, &seen, proposal, word.verdict());
            let of_rejections = word == PlainVerdict::TakeBack;
            Draft { reason, comments, group, effect, of_rejections, ..draft }.record(writer)?;
            if word == PlainVerdict::TakeBack {
                writer.renew(&proposal.id, authority.evidence())?;
            }
        }
        Ok(())
    })
}

/// Gives an expired proposal another term.
///
/// # Errors
/// `human_approval_required` for a build machine, whose extension readers do not count;
/// `changed_since_shown`.
pub fn extend(
    store: &Store,
    authority: &Authority,
    now: DateTime<Utc>,
    proposal: &Proposal,
    seen: &ViewedState,
) -> Result<()> {
    if !authority.is_of_a_person() {
        let why = format!("only a person gives {} another term", proposal.id);
        return Err(Error::new(&codes::HUMAN_APPROVAL_REQUIRED, why)
            .hint(format!("ask your user to run: aye undo {}", proposal.id)));
    }
    store.write(authority.actor(), now, |writer| {
        pin_thread(writer, proposal, seen)?;
        writer.renew(&proposal.id, authority.evidence())
    })
}

/// True if all are the caller's own: rejecting them withdraws. A person always rejects.
pub fn withdraws(store: &Store, caller: &Caller, proposals: &[Proposal]) -> bool {
    let clones = store.clone_ids();
    let is_own = |proposal: &Proposal| {
        clones.iter().any(|clone| proposal.is_proposed_by(&caller.actor, Some(clone)))
    };
    caller.class() != CallerClass::Human && proposals.iter().all(is_own)
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
