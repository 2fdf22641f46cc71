//! `aye memory sweep`.

use serde::Serialize;

use super::{Answer, open};
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::service::Tampering;
use crate::text::escape;

/// Synchronize the staging directories with the store: rewrite what was changed by hand, remove
/// those of decided and expired proposals, record expiries.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory sweep
  aye memory sweep --unknown")]
pub struct Args {
    /// Also remove directories that belong to no proposal.
    #[arg(long)]
    pub unknown: bool,
}

/// Answer of `aye memory sweep`.
#[derive(Debug, Serialize)]
pub struct Swept {
    /// What was not as it should be.
    pub found: Vec<Tampering>,
}

/// Runs the command.
///
/// # Errors
/// Those of the store and the work tree.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    // Every writer records the expiries that have come due.
    store.write(&service.actor, context.now, |_| Ok(()))?;
    let found = service.sweep(args.unknown)?;
    let answer = Answer { schema: "aye/memory-sweep@1", answer: Swept { found } };
    context.emit(Format::Text, &answer, || {
        let found = &answer.answer.found;
        if found.is_empty() {
            return "nothing to sweep\n".to_owned();
        }
        let line = |t: &Tampering| {
            format!(
                "staging/{}/{}  {}\n",
                escape::line(&t.staging_id),
                escape::line(&t.file),
                t.what
            )
        };
        found.iter().map(line).collect()
    })?;
    Ok(Exit::Done)
}
