//! `aye memory rebase`.

use super::{open, respond};
use crate::cli::Context;
use crate::cli::which::One;
use crate::error::{Error, Exit, Result};
use crate::proposal::{ActorKind, codes};

/// Plan a staged proposal anew on the files as they are now, as a new revision.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory rebase --latest
  aye memory rebase 20261122T093000 --force   # also where its target has changed

Exit status: 0 rebased, 1 refused (force_required, unresolvable_drift, …).")]
pub struct Args {
    /// Which.
    #[command(flatten)]
    pub which: One,
    /// Go on where the target changed: its present text gives way.
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
    let proposal = service.find(args.which.id.as_deref())?;
    if args.force && service.actor.kind == ActorKind::Agent {
        return Err(Error::new(
            &codes::HUMAN_APPROVAL_REQUIRED,
            "an agent may not rebase over a change of the target",
        )
        .hint("read the section as it is now, and propose anew"));
    }
    let rebased = service.rebase(&proposal, args.force)?;
    respond(context, "aye/memory-rebase@1", rebased.response)
}
