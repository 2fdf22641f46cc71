//! `aye undo`: take an apply back.

use super::apply::{Answer, FileItem, Item, text};
use super::identity::Asking;
use super::{Context, Format};
use crate::changeset::plan::{Plan, Planned};
use crate::decide;
use crate::error::{Exit, Result};
use crate::proposal::document::file_path;
use crate::proposal::rules::Verb;
use crate::proposal::{Proposal, Status};
use crate::store::Store;
use crate::text::escape;

/// Take an applied proposal back: its files become what they were, and it is pending again.
///
/// Later changes elsewhere in the same files stay. Where the same lines have changed since,
/// nothing is written and the exit status is 5. A commit stays; git revert undoes that.
///
/// A patch that was written without a proposal is undone by its patch_… id, as long as the files
/// hold exactly what it wrote.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye undo m4k8
  aye undo m4k8 --dry-run
  aye undo patch_0vqq4zhh0g    a patch that was written directly; aye log shows its id")]
pub struct Args {
    /// The proposal, or a direct patch (`patch_…`, see `aye log`); any unique beginning of its id.
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
/// `proposal_not_found`, `not_applied`, `conflict`, the refusals of [`Context::authorise`], and
/// those of [`decide::undo()`].
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    if decide::patch::is_id(&args.id) {
        return undo_patch(context, &store, &args);
    }
    let proposal = store.view()?.find(&args.id)?;
    let plan = decide::undo::preview(&store, &proposal)?;
    if args.dry_run {
        return dry_run(context, &proposal, &plan);
    }
    if let Some(refusal) = plan.refusal() {
        return Err(decide::undo::conflict(refusal, &proposal.id));
    }
    let asking = Asking {
        verb: Verb::Undo,
        proposals: std::slice::from_ref(&proposal),
        yes: args.yes,
        question: &format!("Take {} back?", proposal.id),
        command: &format!("aye undo {}", proposal.id),
    };
    let Some(authority) = context.authorise(&store, &asking)? else {
        context.note("nothing undone");
        return Ok(Exit::Negative);
    };
    let undone = decide::undo(&store, &authority, context.now, &proposal)?;
    if let Some(commit) = &undone.commit {
        let commit = escape::line(commit).into_owned();
        context.note(&format!("hint: commit {commit} stays; `git revert {commit}` undoes it"));
    }
    let answer = answer(&proposal, &undone.files, undone.commit, false, true);
    context.emit(Format::Text, &answer, || text(&answer, "taken back, pending again"))?;
    Ok(Exit::Done)
}

/// Takes a patch back that was written without a proposal.
fn undo_patch(context: &mut Context, store: &Store, args: &Args) -> Result<Exit> {
    let (stamped, patch) = decide::patch::find(store, &store.view()?, &args.id)?;
    let id = decide::patch::id(&stamped.id);
    let answer = |files: &[Planned], dry_run, success| Answer {
        schema: "aye/undo@1",
        success,
        dry_run,
        proposals: vec![Item {
            proposal_id: id.clone(),
            file_path: patch
                .written
                .first()
                .map_or(String::new(), |f| f.path.display().to_string()),
            status: if dry_run { Status::Applied } else { Status::Pending },
            effect: None,
            commit: None,
            files: files.iter().map(FileItem::new).collect(),
            rest: None,
            amended: None,
            collides_with: None,
        }],
    };
    if args.dry_run {
        let plan = decide::undo::preview_patch(store, &patch)?;
        let fits = plan.refusal().is_none();
        let answer = answer(&plan.files, true, fits);
        let heading = if fits { "would be taken back" } else { "cannot be taken back as it is" };
        context.emit(Format::Text, &answer, || text(&answer, heading))?;
        return Ok(if fits { Exit::Done } else { Exit::Conflict });
    }
    let asking = Asking {
        verb: Verb::Undo,
        proposals: &[],
        yes: args.yes,
        question: &format!("Take {id} back?"),
        command: &format!("aye undo {id}"),
    };
    let Some(authority) = context.authorise(store, &asking)? else {
        context.note("nothing undone");
        return Ok(Exit::Negative);
    };
    let files = decide::undo::undo_patch(store, &authority, context.now, &stamped, &patch)?;
    let answer = answer(&files, false, true);
    context.emit(Format::Text, &answer, || text(&answer, "taken back"))?;
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
            amended: None,
            collides_with: None,
        }],
    }
}
