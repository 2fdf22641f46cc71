//! `aye memory apply`.

use super::{open, respond};
use crate::cli::Context;
use crate::cli::which::One;
use crate::error::{Exit, Result};
use crate::memory::service::locate::staging_id;

/// Apply a staged proposal: its operations are planned again on the files as they are now.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory apply --latest
  aye memory apply 20261122T093000 --yes

Exit status: 0 applied, 1 refused (the answer says why), 4 a person has to decide.")]
pub struct Args {
    /// Which.
    #[command(flatten)]
    pub which: One,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// Runs the command.
///
/// # Errors
/// `staging_not_found`, `not_pending`, the refusals of a decision, and those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    let proposal = service.find(args.which.id.as_deref())?;
    let id = staging_id(&proposal).unwrap_or(proposal.id.as_str()).to_owned();
    let command = format!("aye memory apply {id}");
    let question = format!("Apply {id}?");
    let Some(how) = context.may_decide(&service.actor, args.yes, &question, &command)? else {
        context.note("nothing applied");
        return Ok(Exit::Negative);
    };
    let applied = service.apply(&proposal, how, false)?;
    respond(context, "aye/memory-apply@1", applied.response)
}
