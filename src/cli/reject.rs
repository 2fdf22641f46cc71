//! `aye reject`: say nay.

use schemars::JsonSchema;
use serde::Serialize;

use super::which::Several;
use super::{Context, Format};
use crate::error::{Exit, Result};
use crate::proposal::document::file_path;
use crate::proposal::event::{Reject, digest};
use crate::proposal::{Data, Status};
use crate::render::escape;

/// Reject pending proposals, with a reason that the proposer can read back.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye reject m4k8 --reason 'Use Intl.DateTimeFormat instead'
  aye reject m4k8 7qx2 --yes --reason 'Superseded'")]
pub struct Args {
    /// The proposals.
    #[command(flatten)]
    pub which: Several,
    /// Why; the proposer gets it back.
    #[arg(long, short = 'r', value_name = "TEXT")]
    pub reason: Option<String>,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// Answer of `aye reject`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Rejected {
    /// `aye/reject@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The proposals, in the order given.
    pub proposals: Vec<RejectedItem>,
}

/// One rejected proposal.
#[derive(Debug, Serialize, JsonSchema)]
pub struct RejectedItem {
    /// The id.
    pub proposal_id: String,
    /// The first changed file.
    pub file_path: String,
    /// Always `rejected`.
    pub status: Status,
    /// Why.
    pub rejection_reason: Option<String>,
}

/// Runs the command: all proposals or none.
///
/// # Errors
/// `proposal_not_found`, `not_pending`, the refusals of [`Context::may_decide`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let actor = context.actor(&store);
    let proposals = args.which.pending(&store.view()?, context.now)?;
    let ids: Vec<&str> = proposals.iter().map(|proposal| proposal.id.as_str()).collect();
    let command = format!("aye reject {}", ids.join(" "));
    let question = format!("Reject {}?", ids.join(", "));
    let Some(how) = context.may_decide(&actor, args.yes, &question, &command)? else {
        context.note("nothing rejected");
        return Ok(Exit::Negative);
    };
    let reason = match args.reason {
        None if context.interactive() && !args.yes => context.ask("Reason (for the proposer)")?,
        reason => reason,
    };
    store.write(&actor, context.now, |writer| {
        for seen in &proposals {
            // Someone may have decided or revised it while the question stood.
            let proposal = writer.view.proposal(&seen.id)?;
            proposal.require_pending(writer.now())?;
            proposal.require_revision(&seen.current().event)?;
            let data = Data::Reject(Reject {
                reason: reason.clone(),
                revision: proposal.current().event.clone(),
                digest: digest(&proposal.current().changes),
                how,
            });
            writer.append(Some(&seen.id), data)?;
        }
        Ok(())
    })?;
    let answer = Rejected {
        schema: "aye/reject@1",
        success: true,
        proposals: proposals
            .iter()
            .map(|proposal| RejectedItem {
                proposal_id: proposal.id.to_string(),
                file_path: file_path(proposal.current()),
                status: Status::Rejected,
                rejection_reason: reason.clone(),
            })
            .collect(),
    };
    context.emit(Format::Text, &answer, || {
        let line = |item: &RejectedItem| {
            format!("{}  rejected: {}\n", item.proposal_id, escape::name(&item.file_path))
        };
        answer.proposals.iter().map(line).collect()
    })?;
    Ok(Exit::Done)
}
