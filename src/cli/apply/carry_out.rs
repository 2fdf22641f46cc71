//! Applying what was decided, one proposal after the other.

use super::Args;
use super::answer::{Answer, Item, text};
use super::conflicts::name_lower;
use super::preview::{for_reviewer, not_approved};
use crate::apply::codes::COMMIT_DIFFERS;
use crate::changeset::marks::Mark;
use crate::cli::marks::notice;
use crate::cli::part::Chosen;
use crate::cli::{Context, Format};
use crate::decide::{self, Applied, Request, Shown};
use crate::error::{Error, Exit, Result};
use crate::proposal::event::{Effect, Evidence};
use crate::proposal::{Authority, Proposal};
use crate::store::Store;
use crate::text::escape;

/// What was decided.
pub(super) struct Decided<'a> {
    pub(super) args: &'a Args,
    pub(super) authority: &'a Authority,
    pub(super) proposals: &'a [Proposal],
    /// What deserves a second look in each of them.
    pub(super) marks: &'a [Vec<Mark>],
    pub(super) request: &'a Request,
    /// The plans that were looked at; none where nobody was asked.
    pub(super) shown: &'a [Shown],
    /// The part that was taken.
    pub(super) chosen: &'a Chosen,
}

impl Decided<'_> {
    /// Applies the proposals, and prints what came of it.
    ///
    /// # Errors
    /// Those of [`decide::apply()`], where nothing was applied or no filter names the proposals.
    pub(super) fn carry_out(&self, context: &mut Context, store: &Store) -> Result<Exit> {
        let mut marks = self.marks.iter().cloned();
        let mut items: Vec<Item> = Vec::new();
        let mut exit = Exit::Done;
        let is_only = self.proposals.len() == 1;
        for (at, proposal) in self.proposals.iter().enumerate() {
            let after_commit = self.request.effect == Effect::Commit && at > 0;
            let made = self.chosen.made.get(&proposal.id).cloned();
            let request = Request { after_commit, made, ..self.request.clone() };
            let (now, shown) = (context.now, self.shown.get(at));
            let marks = marks.next().unwrap_or_default();
            let applied = decide::apply(store, self.authority, now, proposal, &request, shown);
            let named =
                |error| name_lower(context, store, proposal, for_reviewer(error, &proposal.id));
            let applied = match applied.map_err(named) {
                Ok(applied) => applied,
                // Each proposal is applied whole, and of a group those that can be.
                Err(error) if self.args.which.is_filter() && !(items.is_empty() && is_only) => {
                    context.note(&format!("{}: {}", proposal.id, escape::line(error.message())));
                    exit = Exit::Conflict;
                    continue;
                }
                Err(error) if items.is_empty() => return Err(error),
                Err(error) => {
                    let applied: Vec<_> =
                        items.iter().map(|item| item.proposal_id.clone()).collect();
                    // Elsewhere the error says so.
                    if context.format_or(Format::Text) == Format::Text {
                        let answer = Answer::of("aye/apply@1", false, items);
                        context.emit(Format::Text, &answer, || text(&answer, "applied"))?;
                    }
                    return Err(error.with("applied", applied));
                }
            };
            if remark(context, &applied) {
                exit = Exit::Conflict;
            }
            let mut item = Item::applied(proposal, applied, request.effect, marks);
            if self.args.part.split_rest && !self.chosen.rest.is_empty() {
                let (actor, rest) = (self.authority.actor(), &self.chosen.rest);
                let made = crate::app::propose::rest(store, actor, now, proposal, rest)?;
                item.rest = Some(made.to_string());
            }
            items.push(item);
        }
        if *self.authority.evidence() == Evidence::Flag {
            // The question would have said so.
            items.iter().for_each(|item| notice(context, &item.marks));
        }
        let success = exit == Exit::Done;
        let answer = Answer::of("aye/apply@1", success, items);
        context.emit(Format::Text, &answer, || text(&answer, "applied"))?;
        Ok(exit)
    }
}

/// Notes what is odd about what was `applied`; true where the commit has something else.
fn remark(context: &mut Context, applied: &Applied) -> bool {
    for warning in &applied.warnings {
        context.note(&format!("warning: {}", escape::line(warning)));
    }
    if let Some(note) = not_approved(&applied.not_approved) {
        context.note(&format!("{note} (--take-residue approves them too)"));
    }
    let Some(id) = &applied.amended else { return false };
    let commit = applied.commit.as_deref().unwrap_or_default();
    let commit = commit.get(..12).unwrap_or(commit);
    let why = format!(
        "commit {commit} has what nobody approved: a hook changed or added something, or a file was \
         saved before git read it"
    );
    let error = Error::new(&COMMIT_DIFFERS, why)
        .hint(format!("look at the difference and decide on it: aye review {id}"));
    context.report_beside(&error);
    true
}
