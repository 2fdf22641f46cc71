//! `aye memory undo`.

use serde::Serialize;

use super::{Answer, open};
use crate::changeset::plan::Resolved;
use crate::cli::identity::Asking;
use crate::cli::reopen;
use crate::cli::undo::{agreed, note};
use crate::cli::{Context, Format};
use crate::decide::{self, Seen};
use crate::error::{Exit, Result};
use crate::memory::disk::store_path;
use crate::proposal::rules::Verb;
use crate::text::escape;

/// Undo an applied proposal, section by section; later changes by others stay.
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
#[derive(Debug, Serialize)]
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
    let seen = Seen::now(&store, &store.view()?)?;
    let proposal = service.find(Some(&args.id))?;
    let plan = decide::undo::preview(&store, &proposal)?;
    let asking = Asking {
        verb: Verb::Undo,
        proposals: std::slice::from_ref(&proposal),
        yes: args.yes,
        question: &format!("Undo {}?", proposal.id),
        command: &format!("aye memory undo {}", proposal.id),
    };
    let Some((authority, shown)) = agreed(context, &store, &asking, &plan)? else {
        context.note("nothing undone");
        return Ok(Exit::Negative);
    };
    let undone = decide::undo(&store, &authority, context.now, &proposal, &seen, shown)?;
    note(context, &undone);
    let again = reopen::again(context, &store, &proposal)?;
    let named = |is_wanted: fn(&Resolved) -> bool| -> Vec<String> {
        let files = undone.files.iter().filter(|file| is_wanted(&file.outcome));
        files.filter_map(|file| store_path(&file.path)).map(str::to_owned).collect()
    };
    let files = named(|outcome| !matches!(outcome, Resolved::Derived(_) | Resolved::Already));
    let untouched = named(|outcome| *outcome == Resolved::Already);
    let undone = Undone { proposal_id: proposal.id.to_string(), files };
    let answer = Answer { schema: "aye/memory-undo@1", answer: undone };
    context.emit(Format::Text, &answer, || {
        let Undone { proposal_id, files } = &answer.answer;
        let mut text = format!("{proposal_id}  undone, {}\n", again.words());
        let mut line = |what: &str, files: &[String]| {
            if !files.is_empty() {
                text += &format!("  {what}: {}\n", escape::line(&files.join(", ")));
            }
        };
        line("put back", files);
        line("does not have the change", &untouched);
        text
    })?;
    Ok(Exit::Done)
}
