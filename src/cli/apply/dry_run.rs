//! `aye apply --dry-run`.

use super::Args;
use super::conflicts::{collides_with, read_relations};
use super::document::{ApplyDocument, ApplyItem, FileItem, text_with};
use super::preview::{applied_diff, foreign_diff, plan_all};
use crate::check::marks;
use crate::cli::marks::notice;
use crate::cli::{Context, Format, pager, show};
use crate::error::{Exit, Result};
use crate::proposal::event::Effect;
use crate::proposal::{Proposal, ProposalId};
use crate::render::diff;
use crate::store::Store;

pub(super) fn run(
    context: &mut Context,
    store: &Store,
    args: &Args,
    proposals: Vec<Proposal>,
    effect: Effect,
) -> Result<Exit> {
    let chosen = args.part.choose(store, &proposals)?;
    let wanted = (chosen.part.as_ref(), &chosen.committed);
    let shown = plan_all(store, &proposals, wanted, effect)?;
    let related = read_relations(context, store, &shown)?;
    let fits = shown.iter().all(|shown| shown.plan.refusal().is_none());
    let mut marks = marks::of_each(store, &store.view()?, &proposals)?.into_iter();
    let items = proposals.iter().enumerate().map(|(index, proposal)| ApplyItem {
        collides_with: collides_with(&shown, index, &related).map(ProposalId::to_string),
        ..ApplyItem::pending(
            proposal,
            effect,
            shown.get(index).map(FileItem::all).unwrap_or_default(),
            marks.next().unwrap_or_default(),
        )
    });
    let answer =
        ApplyDocument { dry_run: true, ..ApplyDocument::of("aye/apply@1", fits, items.collect()) };
    let heading = |at: usize| match (shown.get(at), collides_with(&shown, at, &related)) {
        (_, Some(other)) => format!("does not fit on top of {other}"),
        (Some(shown), None) if shown.plan.refusal().is_some() => "does not fit as it is".into(),
        _ if fits => "would be applied".to_owned(),
        _ => "would fit".to_owned(),
    };
    let options = pager::options(context, store.repository());
    let mut diffs = String::new();
    for shown in &shown {
        // `aye diff` shows the proposal; here only what differs from it.
        if !shown.is_as_proposed() && shown.plan.refusal().is_none() {
            let changes = store.repository().with_sources(shown.changes());
            if !changes.is_empty() {
                diffs += &format!("\nFiles now and afterwards ({}):\n", shown.proposal.id);
                diffs += &diff::changeset(&changes, &options);
            }
            diffs += &applied_diff(store, shown, chosen.part.as_ref(), &options)?;
        }
        diffs += &foreign_diff(shown, &options);
    }
    for refusal in shown.iter().filter_map(|shown| shown.plan.refusal()) {
        show::notice_sparse(context, store.repository(), &refusal);
    }
    answer.proposals.iter().for_each(|item| notice(context, &item.marks));
    context.emit(Format::Text, &answer, || text_with(&answer, heading) + &diffs)?;
    Ok(if fits { Exit::Done } else { Exit::Conflict })
}
