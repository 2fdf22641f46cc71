//! Undo of decisions that were made as a group.

use super::outcome::UndoOutcome;
use super::{APPLIED, applied_on, describe, is_negative, undo_apply, undo_rejection};
use crate::cli::apply::document::{ApplyDocument, text};
use crate::cli::output::wrapped;
use crate::cli::{Context, Format, pager};
use crate::decide::{self, ViewedState};
use crate::error::{Error, Exit, Result, codes};
use crate::prompt::Key;
use crate::proposal::Proposal;
use crate::proposal::codes::NOT_APPLIED;
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;
use crate::store::{Store, View};
use crate::text::escape;

/// Only at a terminal does a person see which decisions are undone.
pub(super) fn last(context: &Context, store: &Store, view: &View) -> Result<Vec<Proposal>> {
    if !context.interactive() {
        return Err(Error::new(&codes::USAGE, "without a terminal, an id is required")
            .hint("name the proposal: aye undo ID; `aye log` lists the decisions"));
    }
    let found = decide::undo::last_answer(store, view)?;
    if found.is_empty() {
        let message = "no decision of this clone stands that could be undone";
        return Err(Error::new(&NOT_APPLIED, message).hint("`aye log` lists the decisions"));
    }
    Ok(found)
}

const LISTED: usize = 50;

pub(super) fn undo(
    context: &mut Context,
    store: &Store,
    found: &[Proposal],
    seen: &ViewedState,
    dry_run: bool,
) -> Result<Exit> {
    list(context, store, found, dry_run);
    if dry_run {
        context.note("these were decided in one go; nothing undone");
        return Ok(Exit::Done);
    }
    let keys = [
        Key::new('a', "undo all of them"),
        Key::new('l', "undo the last one, which is first above"),
        Key::new('n', "undo none"),
        Key::new('?', "help"),
    ];
    let chosen = match context.choose(&format!("Undo these {}", found.len()), &keys) {
        Some('a') => found,
        Some('l') => &found[..1],
        _ => return context.declined("nothing undone"),
    };
    let mut items = Vec::new();
    let mut failed = None;
    for proposal in chosen {
        match one(context, store, proposal, seen) {
            Ok(outcome) => items.extend(outcome.answer.proposals),
            Err(error) => {
                failed = Some(error);
                break;
            }
        }
    }
    if !items.is_empty() {
        let done = items.len();
        let answer = ApplyDocument::of("aye/undo@1", true, items);
        context.emit(Format::Text, &answer, || text(&answer, "undone, pending again"))?;
        if failed.is_some() {
            context.note(&format!("note: {done} of {} were undone", chosen.len()));
        }
    }
    failed.map_or(Ok(Exit::Done), Err)
}

fn list(context: &Context, store: &Store, found: &[Proposal], dry_run: bool) {
    // A list that scrolls away does not explain the question.
    let listed = if dry_run { found.len() } else { found.len().min(LISTED) };
    let head = store.repository().head_ref();
    for proposal in &found[..listed] {
        let target = applied_on(store, proposal);
        let there = target.and_then(|target| target.elsewhere(head.as_deref()));
        let there = there.map(|branch| format!(", {APPLIED} {}", escape::name(branch)));
        let line = format!("{}{}", describe(proposal), there.unwrap_or_default());
        let columns = pager::note_columns().map(|columns| columns.saturating_sub(2));
        context.note(&format!("  {}", wrapped(&line, columns).replace('\n', "\n  ")));
    }
    if let more @ 1.. = found.len() - listed {
        context.note(&format!("  and {more} more; `aye undo --dry-run` lists them all"));
    }
}

fn one(
    context: &Context,
    store: &Store,
    proposal: &Proposal,
    seen: &ViewedState,
) -> Result<UndoOutcome> {
    let proposals = std::slice::from_ref(proposal);
    let (verb, command) = (Verb::Undo, format!("aye undo {}", proposal.id));
    let (caller, evidence) = (context.caller(store.repository()), Evidence::Terminal);
    let authority = decide::authorise(store, &caller, verb, proposals, &evidence, &command)?;
    if is_negative(proposal) {
        undo_rejection(context, store, &authority, proposal, seen, false)
    } else {
        undo_apply(context, store, &authority, proposal, seen, None)
    }
}
