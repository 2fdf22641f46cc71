//! `aye apply --conflict-markers`.

use super::document::{ApplyDocument, ApplyItem, FileItem, text};
use crate::check::marks;
use crate::cli::marks::notice;
use crate::cli::{Context, Format};
use crate::decide;
use crate::decide::decision_plan::DecisionPlan;
use crate::error::{Error, Exit, Result};
use crate::proposal::event::Effect;
use crate::store::Store;

pub(super) fn write_markers(
    context: &mut Context,
    store: &Store,
    shown: &[DecisionPlan],
) -> Result<Exit> {
    let [shown] = shown else {
        return Err(Error::new(
            &crate::error::codes::USAGE,
            "--conflict-markers takes one proposal at a time",
        )
        .hint("give one id"));
    };
    let plan = decide::apply::write_markers(store, context.now, shown)?;
    let proposal = &shown.proposal;
    let files = plan.files.iter().map(FileItem::new).collect();
    let marks = marks::revision_marks(store, &store.view()?, proposal.current())?;
    notice(context, &marks);
    let item = ApplyItem::pending(proposal, Effect::Files, files, marks);
    let answer = ApplyDocument::of("aye/apply@1", false, vec![item]);
    context.emit(Format::Text, &answer, || text(&answer, "written with conflict markers"))?;
    context.note(&format!(
        "hint: settle the markers, then `aye apply {} --mark-only` or `aye reject {0}`",
        proposal.id
    ));
    Ok(Exit::Conflict)
}
