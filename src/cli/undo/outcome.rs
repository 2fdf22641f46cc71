//! Outcome for a proposal whose decision is undone.

use crate::changeset::plan::{ApplyPlan, PlannedFile};
use crate::cli::apply::document::{ApplyDocument, ApplyItem, FileItem, text};
use crate::cli::{Context, Format};
use crate::decide;
use crate::error::{Exit, Result};
use crate::proposal::document::file_path;
use crate::proposal::{Proposal, Status};
use crate::render::age;
use crate::store::Store;
use crate::text::escape;

pub(super) struct UndoOutcome {
    pub(super) answer: ApplyDocument,
    pub(super) again: StatusAfterUndo,
    /// A rejection or a request for changes was undone.
    pub(super) is_no: bool,
}

impl UndoOutcome {
    pub(super) fn emit(self, context: &mut Context) -> Result<Exit> {
        let Self { answer, again, is_no } = self;
        let heading =
            if is_no { again.words().to_owned() } else { format!("undone, {}", again.words()) };
        context.emit(Format::Text, &answer, || text(&answer, &heading))
    }
}

impl ApplyDocument {
    pub(super) fn undone(
        proposal: &Proposal,
        files: &[PlannedFile],
        commit: Option<String>,
        status: Status,
    ) -> Self {
        let files = files.iter().map(FileItem::new).collect();
        let id = proposal.id.to_string();
        let item = ApplyItem::plain(id, file_path(proposal.current()), status, files);
        Self::of("aye/undo@1", true, vec![ApplyItem { commit, ..item }])
    }

    pub(super) fn not_done(self, success: bool) -> Self {
        Self { success, dry_run: true, ..self }
    }
}

pub(super) fn dry_run(
    context: &mut Context,
    store: &Store,
    proposal: &Proposal,
    plan: &ApplyPlan,
    is_no: bool,
) -> Result<Exit> {
    if is_no {
        let answer = ApplyDocument::undone(proposal, &[], None, proposal.status(context.now));
        let answer = answer.not_done(true);
        return context.emit(Format::Text, &answer, || text(&answer, "would be pending again"));
    }
    if let Some(why) = decide::undo::explain_no_change(store, proposal, &plan.files) {
        context.note(&format!("note: nothing would be restored: {}", escape::line(&why)));
    }
    if let Some(refusal) = plan.refusal() {
        let refusal = decide::undo::conflict(store, refusal, proposal);
        context.note(&format!("hint: {}", refusal.hint_text().unwrap_or_default()));
    }
    let answer = ApplyDocument::undone(proposal, &plan.files, None, Status::Applied);
    print_dry_run(context, answer, plan.refusal().is_none())
}

pub(super) fn print_dry_run(
    context: &mut Context,
    answer: ApplyDocument,
    fits: bool,
) -> Result<Exit> {
    let answer = answer.not_done(fits);
    let heading = if fits { "would be undone" } else { "cannot be undone as it is" };
    context.emit(Format::Text, &answer, || text(&answer, heading))?;
    Ok(if fits { Exit::Done } else { Exit::Conflict })
}

#[derive(Clone, Copy, Debug)]
pub(super) struct StatusAfterUndo {
    pub(super) status: Status,
}

impl StatusAfterUndo {
    fn words(self) -> &'static str {
        match self.status {
            Status::Expired => "expired",
            Status::Pending => "pending again",
            Status::Applied => "still applied",
            Status::Rejected => "still rejected",
        }
    }
}

/// A note reports if the time of `before` had run out.
pub(super) fn status_after_undo(
    context: &Context,
    store: &Store,
    before: &Proposal,
) -> Result<StatusAfterUndo> {
    let (id, now) = (&before.id, context.now);
    if before.expires_at > now && before.concurrent.is_empty() {
        return Ok(StatusAfterUndo { status: Status::Pending });
    }
    let proposal = store.view()?.proposal(id)?;
    let status = proposal.status(now);
    let is_own = proposal.decision().is_some_and(|made| made.is_of(&store.clone_ids()));
    match status {
        Status::Applied | Status::Rejected if is_own => {}
        Status::Applied | Status::Rejected => context.note(&format!(
            "note: {id} was {} in another clone, and that stands",
            escape::line(&proposal.decision_summary())
        )),
        _ if before.expires_at > now => {}
        Status::Expired => context.note(&format!(
            "note: the time of {id} has run out, and only a person gives it more: aye undo {id}"
        )),
        _ => {
            let until = age::until(proposal.expires_at, now);
            context.note(&format!("note: the time of {id} had run out; it expires {until} now"));
        }
    }
    Ok(StatusAfterUndo { status })
}
