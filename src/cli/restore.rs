//! `aye restore`: bring the text of a proposal back.

use serde::Serialize;

use super::apply::answer::{Action, FileItem};
use super::{Context, Format};
use crate::decide;
use crate::error::{Exit, Result};
use crate::proposal::event::Evidence;
use crate::text::escape;

/// Bring the text of a rejected, withdrawn, expired or undone proposal back into the work tree.
///
/// `aye propose --worktree` takes what it proposes out of the files, and it stays in the proposal
/// whatever is decided. This writes it into the files again, merged with what they hold now, all of
/// them or none. It decides nothing: it is recorded as a direct patch, which `aye undo` reverts. It
/// is for people; of memory and of sensitive paths at a terminal, as for `aye apply`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye restore m4k8
  aye log --limit 5    the id of the direct patch that it was; aye undo reverts it")]
pub struct Args {
    /// The proposal; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub id: String,
}

/// Answer of `aye restore`.
#[derive(Debug, Serialize)]
pub struct Restored {
    /// `aye/restore@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The proposal.
    pub proposal_id: String,
    /// The direct patch that it is recorded as; null where all files have it already.
    pub patch_id: Option<String>,
    /// What became of each file.
    pub files: Vec<FileItem>,
}

/// Runs the command.
///
/// # Errors
/// `proposal_not_found`, and those of [`decide::restore()`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let proposal = store.view()?.find(&args.id)?;
    let caller = context.caller(&store);
    let evidence = if context.is_attended() { Evidence::Terminal } else { Evidence::Flag };
    let restored = decide::restore(&store, &caller, context.now, &proposal, &evidence)?;
    let answer = Restored {
        schema: "aye/restore@1",
        success: true,
        proposal_id: proposal.id.to_string(),
        patch_id: restored.patch,
        files: restored.files.iter().map(FileItem::new).collect(),
    };
    context.emit(Format::Text, &answer, || {
        let line = |file: &FileItem| {
            let what = if file.action == Action::None { "there already" } else { "brought back" };
            format!("  {what}  {}\n", escape::name(&file.path))
        };
        let files: String = answer.files.iter().map(line).collect();
        let patch = answer.patch_id.as_deref();
        let patch = patch.map_or(String::new(), |id| format!(" as {id}"));
        format!("{}  restored{patch}\n{files}", answer.proposal_id)
    })?;
    Ok(Exit::Done)
}
