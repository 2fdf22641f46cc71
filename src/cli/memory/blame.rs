//! `aye memory blame`.

use serde::Serialize;

use super::{Answer, open};
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::service::{BlameLine, History, Place};
use crate::text::escape;

/// Show where each section of a file comes from: a proposal, or a commit by hand.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory blame decisions.md
  aye memory blame CLAUDE.md")]
pub struct Args {
    /// The file, relative to .agent-memory/, or one that instructs agents.
    #[arg(value_name = "FILE")]
    pub file: String,
}

/// Answer of `aye memory blame`.
#[derive(Debug, Serialize)]
pub struct Blame {
    /// The file.
    pub path: String,
    /// Its sections, in order.
    pub sections: Vec<BlameLine>,
}

/// Runs the command.
///
/// # Errors
/// `file_not_found`, and those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let (place, _) = Place::of(&store, &args.file)?;
    if matches!(place, Place::Memory(_)) {
        open(context, &store)?;
    }
    let worktree = store.worktree()?;
    let sections = History::new(&store, &worktree, context.now).blame(&place)?;
    let blame = Blame { path: place.name(), sections };
    let answer = Answer { schema: "aye/memory-blame@1", answer: blame };
    context.emit(Format::Text, &answer, || {
        let mut out = String::new();
        for line in &answer.answer.sections {
            let origin = match (&line.change, &line.commit) {
                (Some(change), _) => format!(
                    "{}  {} (applied by {})",
                    change.at, change.proposed_by, change.decided_by
                ),
                (None, Some(commit)) => format!("by hand, commit {commit}"),
                (None, None) => "by hand, not committed".to_owned(),
            };
            out += &format!(
                "{:>5}  {}  {}\n",
                line.line,
                escape::line(&line.section_id),
                escape::line(&origin)
            );
        }
        out
    })?;
    Ok(Exit::Done)
}
