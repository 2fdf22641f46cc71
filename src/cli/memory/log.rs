//! `aye memory log`.

use serde::Serialize;

use super::{Answer, open};
use crate::cli::{Context, Format};
use crate::error::{Exit, Result};
use crate::memory::service::{Change, History, Place};
use crate::text::escape;

/// Show who changed memory, when, why and from which source.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye memory log
  aye memory log decisions.md#use-postgres
  aye memory log CLAUDE.md#testing       a file that instructs agents")]
pub struct Args {
    /// A file, or FILE#ID for one section; everything otherwise.
    #[arg(value_name = "FILE[#ID]")]
    pub target: Option<String>,
    /// Show at most N changes.
    #[arg(long, short = 'n', value_name = "N")]
    pub limit: Option<usize>,
}

/// Answer of `aye memory log`.
#[derive(Debug, Serialize)]
pub struct Log {
    /// The changes, newest first.
    pub changes: Vec<Change>,
}

/// Runs the command.
///
/// # Errors
/// Those of the store.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let target = args.target.as_deref().map(|target| Place::of(&store, target)).transpose()?;
    if !matches!(target, Some((Place::Instructions(_), _))) {
        // Says so where there is no memory store.
        open(context, &store)?;
    }
    let worktree = store.worktree()?;
    let history = History::new(&store, &worktree, context.now);
    let (place, section) = match &target {
        Some((place, section)) => (Some(place), *section),
        None => (None, None),
    };
    let mut changes = history.log(place, section)?;
    changes.truncate(args.limit.unwrap_or(usize::MAX));
    let answer = Answer { schema: "aye/memory-log@1", answer: Log { changes } };
    context.emit(Format::Text, &answer, || answer.answer.changes.iter().map(text).collect())?;
    Ok(Exit::Done)
}

/// One change in words.
pub fn text(change: &Change) -> String {
    let undone = if change.undone { " (undone)" } else { "" };
    let mut out = format!(
        "{}  {}  {}{undone}\n",
        change.at,
        escape::line(&change.path),
        escape::line(&change.sections.join(", "))
    );
    out += &format!(
        "    {} by {}, applied by {} {}\n",
        escape::line(&change.intent),
        escape::line(&change.proposed_by),
        escape::line(&change.decided_by),
        change.how
    );
    if let Some(rationale) = &change.rationale {
        out += &format!("    why: {}\n", escape::line(rationale));
    }
    if !change.sources.is_empty() {
        out += &format!("    from: {}\n", escape::line(&change.sources.join(", ")));
    }
    let id = change.staging_id.as_deref().unwrap_or(&change.proposal_id);
    out += &format!("    proposal: {}\n", escape::line(id));
    out
}
