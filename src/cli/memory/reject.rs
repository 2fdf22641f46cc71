//! `aye memory reject`.

use serde::Serialize;

use super::{Answer, open};
use crate::cli::identity::Asking;
use crate::cli::which::{One, require_named_revision};
use crate::cli::{Context, Format};
use crate::decide::Seen;
use crate::decide::verdict::{self, Word};
use crate::error::{Exit, Result};
use crate::memory::service::locate::staging_id;
use crate::proposal::Status;
use crate::proposal::rules::Verb;
use crate::text::escape;

/// Reject a staged proposal, with a reason that its proposer can read back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory reject --latest --reason 'The test shows the opposite'")]
pub struct Args {
    /// Which.
    #[command(flatten)]
    pub which: One,
    /// Why; the proposer gets it back.
    #[arg(long, short = 'r', value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// Answer of `aye memory reject`.
#[derive(Debug, Serialize)]
pub struct Rejected {
    /// Staging id.
    pub staging_id: String,
    /// Proposal id.
    pub proposal_id: String,
    /// Always `rejected`.
    pub status: Status,
    /// Why.
    pub reason: Option<String>,
}

/// Runs the command.
///
/// # Errors
/// `staging_not_found`, `not_pending`, the refusals of a decision, and those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    let proposal = service.find(args.which.named()?)?;
    proposal.require_pending(context.now)?;
    if let Some(id) = args.which.id.as_deref().filter(|id| args.yes && id.contains('@')) {
        require_named_revision(Some(id), &proposal)?;
    }
    let id = staging_id(&proposal).unwrap_or(proposal.id.as_str()).to_owned();
    let command = format!("aye memory reject {id}");
    let seen = Seen::now(&store, &store.view()?)?;
    let asking = Asking {
        verb: Verb::Reject,
        proposals: std::slice::from_ref(&proposal),
        yes: args.yes,
        question: &format!("Reject {id}?"),
        command: &command,
    };
    let Some(authority) = context.authorise(&store, &asking)? else {
        context.note("nothing rejected");
        return Ok(Exit::Negative);
    };
    let reason = match args.reason {
        None if context.interactive() && !args.yes => {
            let Some(reason) = context.reason("Reject it because (Esc: do not): ") else {
                context.note("nothing rejected");
                return Ok(Exit::Negative);
            };
            Some(reason)
        }
        reason => reason,
    };
    let (now, proposals) = (context.now, std::slice::from_ref(&proposal));
    let reason_text = reason.as_deref();
    let word = &Word::Reject;
    verdict::say(&store, &authority, now, proposals, word, reason_text, &[], Some(&seen))?;
    let rejected = Rejected {
        staging_id: id,
        proposal_id: proposal.id.to_string(),
        status: Status::Rejected,
        reason,
    };
    let answer = Answer { schema: "aye/memory-reject@1", answer: rejected };
    context.emit(Format::Text, &answer, || {
        format!("{}  rejected\n", escape::line(&answer.answer.staging_id))
    })?;
    Ok(Exit::Done)
}
