//! `aye doctor --gc`: moves decided threads from refs to the ledger.

use crate::cli::Context;
use crate::error::{Exit, Result};
use crate::text::counted;

#[derive(Debug, clap::Args)]
pub struct GcArgs {
    /// Move decided threads from their refs to the ledger. No event is lost.
    #[arg(long, conflicts_with_all = ["full", "repair"])]
    pub gc: bool,
    /// With --gc: count the threads only.
    #[arg(long, short = 'n', requires = "gc")]
    pub dry_run: bool,
}

/// # Errors
/// `human_approval_required`, `busy`
pub fn run(context: &mut Context, args: &GcArgs) -> Result<Exit> {
    let store = context.store()?;
    context.refuse_agents("close threads", "aye doctor --gc")?;
    let ids = store.closable(context.now)?;
    if args.dry_run {
        let threads = counted(ids.len(), "thread");
        return context.print(format!("{threads} would be closed\n").as_bytes());
    }
    let closed = if ids.is_empty() { 0 } else { store.close(&ids, None, context.now)? };
    let mut text = format!("{} closed\n", counted(closed, "thread"));
    if closed > 0 && !store.enabled_remotes().is_empty() {
        text += "send it: aye sync\n";
    }
    context.print(text.as_bytes())
}
