//! `aye revise --rebase`: rebases a proposal onto the present files.

use crate::app::foreign_session;
use crate::changeset::plan::PlannedFile;
use crate::changeset::{Changeset, FileChange};
use crate::cli::Context;
use crate::cli::apply::document::FileItem;
use crate::decide;
use crate::error::{Error, Exit, Result};
use crate::proposal::Proposal;
use crate::proposal::event::RevisionReason;
use crate::store::{NewRevision, Store};
use crate::text::escape;

/// # Errors
/// `conflict`; `already_applied` if the files hold every change.
pub fn rebase(
    context: &mut Context,
    store: &Store,
    proposal: &Proposal,
    dry_run: bool,
) -> Result<Exit> {
    foreign_session::refuse(store, proposal)?;
    let authority = if dry_run {
        None
    } else {
        Some(context.authorise_revision(store, proposal, &format!("aye revise {}", proposal.id))?)
    };
    let plan =
        decide::plan_wherever(store, &store.view()?, proposal, &store.repository().worktree()?)?;
    if let Some(refusal) = decide::apply::conflict(&plan, &proposal.id) {
        return Err(store.repository().name_sparse(refusal));
    }
    let old = store.changeset(proposal.current())?;
    let origin = |file: &PlannedFile| {
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
    // Refuses a result that could not be applied.
    store.accept(&changeset)?;
    let mut revisions = proposal.revisions.len();
    if let Some(authority) = authority.filter(|_| !same) {
        revisions = store.write(authority.actor(), context.now, |writer| {
            // Another process may have revised it meanwhile.
            let now = writer.view.proposal(&proposal.id)?;
            now.require_revision(&proposal.current().event)?;
            let id = &proposal.id;
            writer.revise(&authority, id, NewRevision::new(&changeset, RevisionReason::Rebase))?;
            writer.commit()?;
            Ok(writer.view.proposal(&proposal.id)?.revisions.len())
        })?;
    }
    let what = match (same, dry_run) {
        (true, _) => "fits the files as it is".to_owned(),
        (false, true) => "would get a new revision".to_owned(),
        (false, false) => format!("revision {revisions}"),
    };
    let mut out = format!("{}  {what}\n", proposal.id);
    for file in plan.files.iter().map(FileItem::new) {
        out += &format!("  {:<8} {}\n", file.outcome.as_str(), escape::name(&file.path));
    }
    context.print(out.as_bytes())
}
