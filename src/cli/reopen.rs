//! `aye reopen`: take a no back.

use super::Context;
use super::identity::Asking;
use super::withdraw::print;
use crate::decide::Seen;
use crate::decide::verdict::{self, Word};
use crate::error::{Exit, Result};
use crate::proposal::rules::Verb;
use crate::proposal::{Proposal, Status};
use crate::render::age;
use crate::store::Store;
use crate::text::escape;

/// Make a rejected or withdrawn proposal pending again, or cancel a request for changes.
///
/// One whose time has run out meanwhile gets another term, of `aye.expiresIn` (7 days).
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye reopen m4k8
  aye reopen m4k8 --yes --reason 'Rejected by mistake'")]
pub struct Args {
    /// The proposal; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub id: String,
    /// Why.
    #[arg(long, short = 'r', value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// Runs the command.
///
/// # Errors
/// `proposal_not_found`, `not_rejected`, the refusals of [`Context::authorise`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let proposal = store.view()?.find(&args.id)?;
    verdict::require_rejected(&proposal)?;
    let proposals = std::slice::from_ref(&proposal);
    let asking = Asking {
        verb: Verb::Reopen,
        proposals,
        yes: args.yes,
        question: &format!("Make {} pending again?", proposal.id),
        command: &format!("aye reopen {}", proposal.id),
    };
    if !say(context, &store, &asking, args.reason.as_deref())? {
        context.note("nothing reopened");
        return Ok(Exit::Negative);
    }
    let ids = [proposal.id.as_str()];
    let again = again(context, &store, &proposal)?;
    let done = print(context, "aye/reopen@1", &ids, again.status, again.words())?;
    if !again.is_contested {
        return Ok(done);
    }
    // What is said for one remote does not name what is known of another one, so it cannot take that back.
    context.note(&format!(
        "note: {} is contested still: the rejection is known here from another remote than the proposal, and is taken \
         back in a clone of that",
        proposal.id
    ));
    Ok(Exit::Negative)
}

/// What a proposal is once a decision on it was taken back.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    /// Its status.
    pub(super) status: Status,
    /// Decisions that differ stand still.
    pub(super) is_contested: bool,
}

impl Again {
    /// End of a line that begins with the id.
    pub(super) fn words(self) -> &'static str {
        match self.status {
            Status::Expired => "expired",
            Status::Pending => "pending again",
            Status::Applied => "still applied",
            Status::Rejected => "still rejected",
        }
    }
}

/// What `before`, on which a decision was just taken back, is now. Where its time had run out, that is
/// said, and what became of it.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn again(context: &Context, store: &Store, before: &Proposal) -> Result<Again> {
    let (id, now) = (&before.id, context.now);
    if before.expires_at > now && before.beside.is_empty() {
        return Ok(Again { status: Status::Pending, is_contested: false });
    }
    let proposal = store.view()?.proposal(id)?;
    let status = proposal.status(now);
    match status {
        Status::Applied | Status::Rejected => context.note(&format!(
            "note: {id} was {} in another clone, and that stands",
            escape::line(&proposal.decided())
        )),
        _ if before.expires_at > now => {}
        Status::Expired => context.note(&format!(
            "note: the time of {id} has run out, and only a person who undoes a decision gives it more; \
             propose it again, or bring its text back: aye restore {id}"
        )),
        _ => {
            let until = age::until(proposal.expires_at, now);
            context.note(&format!("note: the time of {id} had run out; it expires {until} now"));
        }
    }
    Ok(Again { status, is_contested: proposal.contested })
}

/// Makes the rejected proposals of `asking` pending again, after its question where one is needed;
/// `false` where the answer was no.
///
/// # Errors
/// `not_rejected`, the refusals of [`Context::authorise`].
pub(super) fn say(
    context: &mut Context,
    store: &Store,
    asking: &Asking<'_>,
    reason: Option<&str>,
) -> Result<bool> {
    let seen = Seen::now(store, &store.view()?)?;
    let Some(authority) = context.authorise(store, asking)? else { return Ok(false) };
    let (now, proposals) = (context.now, asking.proposals);
    verdict::say(store, &authority, now, proposals, &Word::Reopen, reason, &[], Some(&seen))?;
    Ok(true)
}
