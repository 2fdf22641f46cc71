//! Applies decided proposals, one after the other.

use chrono::{DateTime, Utc};

use super::Args;
use super::conflicts::add_lower_hint;
use super::document::{ApplyDocument, ApplyItem, text};
use super::preview::{for_reviewer, not_approved};
use crate::app::branch_commits::NewBranch;
use crate::apply::codes::COMMIT_DIFFERS;
use crate::changeset::marks::Mark;
use crate::cli::hunk_selection::HunkSelection;
use crate::cli::marks::notice;
use crate::cli::{Context, Format};
use crate::decide::{self, ApplyResult, DecisionPlan, Request};
use crate::error::{Error, Exit, Result};
use crate::proposal::event::{Committed, Effect, Evidence};
use crate::proposal::{Authority, Note, Proposal};
use crate::store::{Store, Writer};
use crate::text::escape;

pub(super) struct ApplyBatch<'a> {
    pub(super) args: &'a Args,
    pub(super) authority: &'a Authority,
    pub(super) proposals: &'a [Proposal],
    pub(super) marks: &'a [Vec<Mark>],
    pub(super) request: &'a Request,
    /// Empty for a single proposal without a question.
    pub(super) shown: &'a [DecisionPlan],
    pub(super) chosen: &'a HunkSelection,
}

impl ApplyBatch<'_> {
    /// A filter skips failed proposals; named proposals stop at the first failure.
    pub(super) fn carry_out(&self, context: &mut Context, store: &Store) -> Result<Exit> {
        let mut marks = self.marks.iter().cloned();
        let mut items: Vec<ApplyItem> = Vec::new();
        let mut exit = Exit::Done;
        let is_only = self.proposals.len() == 1;
        let reviewer = self.authority.is_of_a_person().then(|| self.authority.actor());
        let branch = self.args.onto.as_deref();
        let branch = branch
            .map(|name| NewBranch::create(store, name, self.proposals, reviewer))
            .transpose()?;
        for (at, proposal) in self.proposals.iter().enumerate() {
            let after_commit = self.request.effect == Effect::Commit && at > 0;
            let made = self.chosen.committed.get(&proposal.id).cloned();
            let request = Request { after_commit, made, ..self.request.clone() };
            let (now, shown) = (context.now, self.shown.get(at));
            let marks = marks.next().unwrap_or_default();
            let applied = decide::apply(store, self.authority, now, proposal, &request, shown);
            let named =
                |error| add_lower_hint(context, store, proposal, for_reviewer(error, &proposal.id));
            let applied = match applied.map_err(named) {
                Ok(mut applied) => {
                    if let Some(commit) = branch.as_ref().and_then(|it| it.commits.get(at)) {
                        self.record_commit(store, now, proposal, commit)?;
                        applied.commit = Some(commit.clone());
                    }
                    applied
                }
                // A proposal is applied whole, and of a filter's group as many as possible.
                Err(error) if self.args.which.is_filter() && !(items.is_empty() && is_only) => {
                    context.note(&format!("{}: {}", proposal.id, escape::line(error.message())));
                    exit = Exit::Conflict;
                    continue;
                }
                Err(error) if items.is_empty() => {
                    // Nothing was decided, so nobody asked for the branch.
                    branch.map(|branch| branch.delete(store.repository())).transpose()?;
                    return Err(error);
                }
                Err(error) => {
                    let applied: Vec<_> =
                        items.iter().map(|item| item.proposal_id.clone()).collect();
                    // Other formats have the ids in the error.
                    if context.format_or(Format::Text) == Format::Text {
                        let answer = ApplyDocument::of("aye/apply@1", false, items);
                        context.emit(Format::Text, &answer, || text(&answer, "applied"))?;
                    }
                    return Err(error.with("applied", applied));
                }
            };
            if remark(context, &applied) {
                exit = Exit::Conflict;
            }
            let mut item = ApplyItem::applied(proposal, applied, request.effect, marks);
            if self.args.part.split_rest && !self.chosen.rest.is_empty() {
                let rest = &self.chosen.rest;
                let made = crate::app::propose::rest(store, now, proposal, rest)?;
                item.rest = Some(made.to_string());
            }
            items.push(item);
        }
        if *self.authority.evidence() == Evidence::Flag {
            // Without a question nobody saw the marks.
            items.iter().for_each(|item| notice(context, &item.marks));
        }
        let success = exit == Exit::Done;
        let answer = ApplyDocument::of("aye/apply@1", success, items);
        context.emit(Format::Text, &answer, || text(&answer, "applied"))?;
        Ok(exit)
    }
}

impl ApplyBatch<'_> {
    fn record_commit(
        &self,
        store: &Store,
        now: DateTime<Utc>,
        proposal: &Proposal,
        commit: &str,
    ) -> Result<()> {
        let (commit, amended) = (commit.to_owned(), Vec::new());
        let note = Note::Committed(Committed { commit, amended, statement: None });
        let write = |writer: &mut Writer<'_>| writer.note(Some(&proposal.id), note).map(drop);
        store.write(self.authority.actor(), now, write)
    }
}

/// True if the commit differs from the approved content.
fn remark(context: &mut Context, applied: &ApplyResult) -> bool {
    for warning in &applied.warnings {
        context.note(&format!("warning: {}", escape::line(warning)));
    }
    if let Some(note) = not_approved(&applied.not_approved) {
        context.note(&format!("{note} (--with-other-changes approves them too)"));
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
    context.report_on_stderr(&error);
    true
}
