//! `aye withdraw`: take one's own proposal back.

use super::identity::Asking;
use super::which::Several;
use super::{Context, Format};
use crate::decide::verdict::{self, Word};
use crate::error::{Exit, Result};
use crate::proposal::Status;
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;
use crate::tools::withdraw::{Answer, Item};

/// Withdraw your own pending proposals.
///
/// For the proposer: the same agent, or person, in the same clone. Others reject.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye withdraw m4k8
  aye withdraw m4k8 --reason 'Found a simpler way'")]
pub struct Args {
    /// The proposals.
    #[command(flatten)]
    pub which: Several,
    /// Why.
    #[arg(long, short = 'r', value_name = "TEXT")]
    pub reason: Option<String>,
}

/// Runs the command: all proposals or none.
///
/// # Errors
/// `proposal_not_found`, `not_pending`, `human_approval_required` for another proposer's.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let proposals = args.which.pending(context, &store.view()?)?;
    let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let asking = Asking {
        verb: Verb::Withdraw,
        proposals: &proposals,
        yes: true,
        question: "",
        command: &format!("aye reject {}", ids.join(" ")),
    };
    let authority = context.grant(&store, &asking, &Evidence::Flag)?;
    let (now, reason) = (context.now, args.reason.as_deref());
    verdict::say(&store, &authority, now, &proposals, &Word::Withdraw, reason, &[], None)?;
    print(context, "aye/withdraw@1", &ids, Status::Rejected, "withdrawn")
}

/// Prints what became of `ids`.
///
/// # Errors
/// If the output cannot be written.
pub fn print(
    context: &mut Context,
    schema: &'static str,
    ids: &[&str],
    status: Status,
    word: &str,
) -> Result<Exit> {
    let answer = Answer::new(schema, ids, status);
    context.emit(Format::Text, &answer, || {
        let line = |item: &Item| format!("{}  {word}\n", item.proposal_id);
        answer.proposals.iter().map(line).collect()
    })?;
    Ok(Exit::Done)
}
