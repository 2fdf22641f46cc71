//! `aye undo`: take an apply back.

use super::apply::{Answer, FileItem, Item, text};
use super::{Context, Format};
use crate::apply;
use crate::changeset::plan::{Plan, Planned};
use crate::error::{Exit, Result};
use crate::proposal::document::file_path;
use crate::proposal::{Proposal, Status};
use crate::render::escape;

/// Take an applied proposal back: its files become what they were, and it is pending again.
///
/// Later changes elsewhere in the same files stay. Where the same lines have changed since,
/// nothing is written and the exit status is 5. A commit stays; git revert undoes that.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye undo m4k8
  aye undo m4k8 --dry-run")]
pub struct Args {
    /// The proposal; any unique beginning of its id.
    #[arg(value_name = "ID")]
    pub id: String,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Say what would happen, and change nothing.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// Runs the command.
///
/// # Errors
/// `proposal_not_found`, `not_applied`, `conflict`, the refusals of [`Context::may_decide`], and
/// those of [`apply::undo`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let proposal = store.view()?.find(&args.id)?;
    let plan = apply::preview_undo(&store, &proposal)?;
    if args.dry_run {
        return dry_run(context, &proposal, &plan);
    }
    if let Some(refusal) = plan.refusal() {
        return Err(apply::undo_conflict(refusal, &proposal.id));
    }
    let actor = context.actor(&store);
    let command = format!("aye undo {}", proposal.id);
    let question = format!("Take {} back?", proposal.id);
    if context.may_decide(&actor, args.yes, &question, &command)?.is_none() {
        context.note("nothing undone");
        return Ok(Exit::Negative);
    }
    let undone = apply::undo(&store, &actor, context.now, &proposal)?;
    if let Some(commit) = &undone.commit {
        let commit = escape::line(commit).into_owned();
        context.note(&format!("hint: commit {commit} stays; `git revert {commit}` undoes it"));
    }
    let answer = answer(&proposal, &undone.files, undone.commit, false, true);
    context.emit(Format::Text, &answer, || text(&answer, "taken back, pending again"))?;
    Ok(Exit::Done)
}

fn dry_run(context: &mut Context, proposal: &Proposal, plan: &Plan) -> Result<Exit> {
    let fits = plan.refusal().is_none();
    let answer = answer(proposal, &plan.files, None, true, fits);
    let heading = if fits { "would be taken back" } else { "cannot be taken back as it is" };
    context.emit(Format::Text, &answer, || text(&answer, heading))?;
    Ok(if fits { Exit::Done } else { Exit::Conflict })
}

fn answer(
    proposal: &Proposal,
    files: &[Planned],
    commit: Option<String>,
    dry_run: bool,
    success: bool,
) -> Answer {
    Answer {
        schema: "aye/undo@1",
        success,
        dry_run,
        proposals: vec![Item {
            proposal_id: proposal.id.to_string(),
            file_path: file_path(proposal.current()),
            status: if dry_run { Status::Applied } else { Status::Pending },
            effect: None,
            commit,
            files: files.iter().map(FileItem::new).collect(),
            rest: None,
        }],
    }
}
