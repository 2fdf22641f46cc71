//! `aye memory rebase`.

use super::{open, respond};
use crate::cli::Context;
use crate::cli::identity::Asking;
use crate::cli::which::One;
use crate::error::{Exit, Result};
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;

/// Rebase a staged proposal onto the files as they are now, as a new revision.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory rebase --latest
  aye memory rebase 20261122T093000 --force   # also where its target has changed

Exit status: 0 rebased, 1 refused (force_required, unresolvable_drift, …).")]
pub struct Args {
    /// Which.
    #[command(flatten)]
    pub which: One,
    /// Rebase even where the target has changed: its present text is replaced.
    #[arg(long)]
    pub force: bool,
}

/// Runs the command.
///
/// # Errors
/// `staging_not_found`, `not_pending`, and those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    let proposal = service.find(args.which.named()?)?;
    let command = format!("aye memory rebase {}", proposal.id);
    if args.force {
        let asking = Asking {
            verb: Verb::Force,
            proposals: std::slice::from_ref(&proposal),
            yes: true,
            question: "",
            command: &format!("{command} --force"),
        };
        context.grant(&store, &asking, &Evidence::Flag)?;
    }
    let authority = context.own(&store, &proposal, &command)?;
    let rebased = service.rebase(&authority, &proposal, args.force)?;
    respond(context, "aye/memory-rebase@1", rebased.response)
}
