//! `aye rebase`: put a pending proposal on the files as they are now.

use serde::Serialize;

use super::which::One;
use super::{Context, Format};
use crate::changeset::plan::Planned;
use crate::changeset::{Changeset, FileChange};
use crate::decide;
use crate::error::{Error, Exit, Result};
use crate::proposal::Status;
use crate::proposal::event::RevisionReason;
use crate::store::NewRevision;
use crate::text::escape;

/// Rebase a pending proposal onto the files as they are now, as a new revision.
///
/// Each file is merged with what has changed since it was proposed. Where both changed the same
/// lines, nothing is recorded and the exit status is 5.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  aye rebase m4k8
  aye rebase m4k8 --dry-run")]
pub struct Args {
    /// The proposal.
    #[command(flatten)]
    pub which: One,
    /// Do not record anything; only show what would be done.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// Answer of `aye rebase`.
#[derive(Debug, Serialize)]
pub struct Rebased {
    /// `aye/rebase@1`
    pub schema: &'static str,
    /// Always true.
    pub success: bool,
    /// The id.
    pub proposal_id: String,
    /// Always `pending`.
    pub status: Status,
    /// Whether there is (or, with --dry-run, would be) a new revision.
    pub rebased: bool,
    /// Nothing was recorded because of `--dry-run`.
    pub dry_run: bool,
    /// Number of the current revision.
    pub revisions: usize,
    /// Every file and what became of it.
    pub files: Vec<super::apply::answer::FileItem>,
}

/// Runs the command.
///
/// # Errors
/// `proposal_not_found`, `not_pending`, `conflict`, `not_a_directory` and its kin; `already_applied`
/// where the files hold every change.
pub fn run(context: &mut Context, args: Args) -> Result<Exit> {
    let store = context.store()?;
    let proposal = args.which.find(context, &store.view()?)?;
    proposal.require_pending(context.now)?;
    let authority = match args.dry_run {
        true => None,
        false => Some(context.own(&store, &proposal, &format!("aye rebase {}", proposal.id))?),
    };
    let plan = decide::plan_wherever(&store, &store.view()?, &proposal, &store.worktree()?)?;
    if let Some(refusal) = decide::apply::conflict(&plan, &proposal.id) {
        return Err(store.name_sparse(refusal));
    }
    let old = store.changeset(&proposal.current().changes)?;
    let origin = |file: &Planned| {
        old.changes().iter().find(|change| change.path == file.path)?.origin.clone()
    };
    let changes: Vec<FileChange> = plan.writes().map(|file| file.change(origin(file))).collect();
    if changes.is_empty() {
        return Err(Error::new(
            &crate::changeset::patch::codes::ALREADY_APPLIED,
            format!("the files hold every change of {} already", proposal.id),
        )
        .hint(format!("close it with `aye apply {} --mark-only`", proposal.id)));
    }
    let same = changes.len() == old.changes().len()
        && changes
            .iter()
            .zip(old.changes())
            .all(|(a, b)| (&a.path, &a.before, &a.after) == (&b.path, &b.before, &b.after));
    let changeset = Changeset::new(changes)?;
    // What could not be applied does not fit.
    store.accept(&changeset)?;
    let mut revisions = proposal.revisions.len();
    if let Some(authority) = authority.filter(|_| !same) {
        revisions = store.write(authority.actor(), context.now, |writer| {
            // Someone may have revised it since it was read.
            let now = writer.view.proposal(&proposal.id)?;
            now.require_revision(&proposal.current().event)?;
            let id = &proposal.id;
            writer.revise(&authority, id, NewRevision::new(&changeset, RevisionReason::Rebase))?;
            writer.commit()?;
            Ok(writer.view.proposal(&proposal.id)?.revisions.len())
        })?;
    }
    let answer = Rebased {
        schema: "aye/rebase@1",
        success: true,
        proposal_id: proposal.id.to_string(),
        status: Status::Pending,
        rebased: !same,
        dry_run: args.dry_run,
        revisions,
        files: plan.files.iter().map(super::apply::answer::FileItem::new).collect(),
    };
    context.emit(Format::Text, &answer, || text(&answer))?;
    Ok(Exit::Done)
}

fn text(answer: &Rebased) -> String {
    let what = match (answer.rebased, answer.dry_run) {
        (false, _) => "fits the files as it is".to_owned(),
        (true, true) => "would get a new revision".to_owned(),
        (true, false) => format!("revision {}", answer.revisions),
    };
    let mut out = format!("{}  {what}\n", answer.proposal_id);
    for file in &answer.files {
        out += &format!("  {:<8} {}\n", file.outcome.as_str(), escape::name(&file.path));
    }
    out
}
