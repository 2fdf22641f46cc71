//! `aye reopen`: take a no back.

use super::Context;
use super::identity::Asking;
use super::withdraw::print;
use crate::decide::Seen;
use crate::decide::verdict::{self, Word};
use crate::error::{Exit, Result};
use crate::proposal::Status;
use crate::proposal::rules::Verb;
use crate::store::Store;

/// Make a rejected or withdrawn proposal pending again, or take a request for changes back.
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
    print(context, "aye/reopen@1", &ids, Status::Pending, "pending again")
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
