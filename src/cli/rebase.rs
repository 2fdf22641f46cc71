//! `aye rebase`: put a pending proposal on the files as they are now.

use super::Context;
use super::apply::answer::FileItem;
use super::which::One;
use crate::changeset::plan::Planned;
use crate::changeset::{Changeset, FileChange};
use crate::decide;
use crate::error::{Error, Exit, Result};
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
    let what = match (same, args.dry_run) {
        (true, _) => "fits the files as it is".to_owned(),
        (false, true) => "would get a new revision".to_owned(),
        (false, false) => format!("revision {revisions}"),
    };
    let mut out = format!("{}  {what}\n", proposal.id);
    for file in plan.files.iter().map(FileItem::new) {
        out += &format!("  {:<8} {}\n", file.outcome.as_str(), escape::name(&file.path));
    }
    context.print(out.as_bytes())?;
    Ok(Exit::Done)
}
