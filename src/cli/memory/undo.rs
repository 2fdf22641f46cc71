//! `aye memory undo`.

use serde::Serialize;

use super::{Answer, open};
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::disk::store_path;
use crate::render::escape;

/// Take an applied proposal back, section by section; later changes of others stay.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory undo 20261122T093000 --yes")]
pub struct Args {
    /// Staging id or proposal id, or any unique beginning of one.
    #[arg(value_name = "ID")]
    pub id: String,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// Answer of `aye memory undo`.
#[derive(Debug, Serialize, schemars::JsonSchema)]
pub struct Undone {
    /// The proposal, pending again.
    pub proposal_id: String,
    /// Files that were put back, relative to the store.
    pub files: Vec<String>,
}

/// Runs the command.
///
/// # Errors
/// `staging_not_found`, `not_applied`, `conflict`, the refusals of a decision, and those of the
/// store and the work tree.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let service = open(context, &store)?;
    let proposal = service.find(Some(&args.id))?;
    let command = format!("aye memory undo {}", proposal.id);
    let question = format!("Take {} back?", proposal.id);
    crate::apply::preview_undo(&store, &proposal)?;
    if context.may_decide(&service.actor, args.yes, &question, &command)?.is_none() {
        context.note("nothing taken back");
        return Ok(Exit::Negative);
    }
    let undone = crate::apply::undo(&store, &service.actor, context.now, &proposal)?;
    let files = undone.files.iter().filter_map(|file| store_path(&file.path));
    let files = files.map(str::to_owned).collect();
    let undone = Undone { proposal_id: proposal.id.to_string(), files };
    let answer = Answer { schema: "aye/memory-undo@1", answer: undone };
    context.emit(Format::Text, &answer, || {
        format!(
            "{}  taken back: {}\n",
            answer.answer.proposal_id,
            escape::line(&answer.answer.files.join(", "))
        )
    })?;
    Ok(Exit::Done)
}
