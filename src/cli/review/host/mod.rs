//! Host of a review: the store, the user's editor and pager.

mod carry_out;
mod hunk_editor;
mod trial;

use std::collections::BTreeSet;

use carry_out::comments_on;

use super::Args;
use crate::app::review::{Plans, ReviewStore, Unwritten, answers, looked_at};
use crate::changeset::RepoPath;
use crate::cli::{Context, difftool, marks, pager, programs};
use crate::decide;
use crate::decide::verdict::PlainVerdict;
use crate::error::Result;
use crate::prompt::SignalHold;
use crate::proposal::event::Comment;
use crate::proposal::rules::Verb;
use crate::proposal::{Actor, Note, Proposal, ProposalId};
use crate::render::overview::Group;
use crate::review::model::{SavedAnswers, Verdict};
use crate::review::terminal::{DecisionOrder, DecisionPreview, Host, LoadResult, TrialOutcome};
use crate::store::Store;

pub(super) struct CliHost<'c> {
    context: &'c mut Context,
    store: &'c Store,
    actor: Actor,
    split_rest: bool,
    index: bool,
    try_command: Option<String>,
    has_difftool: bool,
    diff_filter: Option<String>,
    desk: ReviewStore<'c>,
    /// The last screen's plans are what is written.
    planned: Plans,
    /// HEAD and thread tips when the last screen was shown.
    seen: Option<decide::ViewedState>,
    unwritten: Unwritten,
}

impl<'c> CliHost<'c> {
    pub(super) fn new(
        context: &'c mut Context,
        store: &'c Store,
        actor: Actor,
        args: &Args,
        desk: ReviewStore<'c>,
    ) -> Self {
        Self {
            context,
            store,
            actor,
            split_rest: args.split_rest,
            index: args.index,
            try_command: store.repository().trusted_config("aye.tryCommand"),
            has_difftool: difftool::name(store.repository(), "").is_some(),
            diff_filter: store.repository().trusted_config("interactive.diffFilter"),
            desk,
            planned: Plans::default(),
            seen: None,
            unwritten: Unwritten::default(),
        }
    }

    /// A review lasts: the command's start is too old.
    fn now(&self) -> chrono::DateTime<chrono::Utc> {
        crate::cli::context::clock()
    }
}

impl Host for CliHost<'_> {
    fn load(
        &mut self,
        id: &ProposalId,
        known: Option<&str>,
        not_taken: &BTreeSet<ProposalId>,
    ) -> Result<LoadResult> {
        let now = self.now();
        self.desk.load(id, known, not_taken, now)
    }

    fn changed(&mut self, id: &ProposalId, revision: &str) -> Result<Option<String>> {
        self.desk.changed(id, revision, self.now())
    }

    fn heard(&mut self, id: &ProposalId) -> Result<Vec<(String, String)>> {
        self.desk.heard(id)
    }

    fn keep(&mut self, id: &ProposalId, found: Option<(&str, SavedAnswers)>) -> Result<()> {
        answers::keep(self.store.repository(), id, found)
    }

    fn edit(&mut self, path: &RepoPath, text: &[u8]) -> Result<Option<Vec<u8>>> {
        hunk_editor::edit(self.context, self.store.repository(), path, text)
    }

    fn page(&mut self, text: &str) -> Result<()> {
        pager::page(self.context, Some(self.store.repository()), text).map(drop)
    }

    fn marks_pastes(&self) -> bool {
        self.context.marks_pastes()
    }

    fn redraws(&self) -> bool {
        self.context.var("TERM").is_some_and(|term| term != "dumb")
    }

    fn has_filter(&self) -> bool {
        self.diff_filter.is_some()
    }

    fn filter(&mut self, diff: &str) -> Result<String> {
        match &self.diff_filter {
            Some(filter) => programs::run_filter(&filter.into(), diff),
            None => Ok(diff.to_owned()),
        }
    }

    fn can_compare(&self) -> bool {
        self.has_difftool
    }

    fn compare(&mut self, id: &ProposalId) -> Result<Option<String>> {
        let proposal = self.store.view()?.proposal(id)?;
        let _hold = SignalHold::interrupts();
        let status = difftool::start(self.store, &proposal, "", self.now())?;
        Ok((status != 0).then(|| format!("the difftool ended with exit status {status}")))
    }

    fn can_try(&self) -> bool {
        self.try_command.is_some()
    }

    fn try_orders(&mut self, orders: &[DecisionOrder]) -> Result<TrialOutcome> {
        trial::run(self.store, orders, self.now())
    }

    fn comment(&mut self, id: &ProposalId, revision: &str, comments: &[Comment]) -> Result<()> {
        if comments.is_empty() {
            return Ok(());
        }
        let _hold = SignalHold::interrupts();
        self.store.write(&self.actor, self.now(), |writer| {
            writer.view.proposal(id)?.require_pending(writer.now())?;
            for comment in comments_on(comments, revision) {
                writer.note(Some(id), Note::Comment(comment))?;
            }
            Ok(())
        })
    }

    fn plan(&mut self, orders: &[DecisionOrder]) -> Result<Vec<Option<Result<DecisionPreview>>>> {
        (self.planned, self.unwritten) = (Plans::default(), Unwritten::default());
        let ids = orders.iter().map(|order| &order.id);
        self.seen = Some(decide::ViewedState::now(&self.store.view()?, ids)?);
        let now = self.now();
        self.planned.make(self.store, orders, now)
    }

    fn overview(&mut self) -> Vec<Group> {
        let now = self.now();
        let Ok((all, marks)) = self.desk.pending(now) else { return Vec::new() };
        marks::grouped(&all, &marks, now, |id| self.desk.slot(id))
    }

    fn group(&mut self, orders: &[&DecisionOrder]) -> Result<String> {
        let rejects = orders.iter().all(|order| matches!(order.verdict, Verdict::Reject { .. }));
        if !rejects {
            // Other changes are approved one proposal at a time.
            return Ok(decide::group::of_apply(self.planned.of(orders), false));
        }
        let view = self.store.view()?;
        let now = self.now();
        let proposals: Result<Vec<Proposal>> =
            orders.iter().map(|order| looked_at(&view, order, now)).collect();
        Ok(decide::group::of_reject(&proposals?))
    }

    fn carry_out(&mut self, order: &DecisionOrder) -> Result<String> {
        // From here Ctrl-C would only leave work for recovery.
        let _hold = SignalHold::interrupts();
        match &order.verdict {
            Verdict::Apply | Verdict::Part(_) => {
                let paths = self.planned.paths(&order.id);
                let done = self.apply(order);
                done.map_err(|error| {
                    let error =
                        self.unwritten.explain(self.store, self.seen.as_ref(), &paths, error);
                    self.unwritten.note(&order.id, paths);
                    error
                })
            }
            Verdict::Reject { reason } => {
                self.decide_without_files(order, Verb::Reject, PlainVerdict::Reject, Some(reason))?;
                Ok("rejected".to_owned())
            }
            Verdict::RequestChanges { reason } => {
                let reason = Some(reason.as_str()).filter(|reason| !reason.is_empty());
                self.decide_without_files(
                    order,
                    Verb::RequestChanges,
                    PlainVerdict::RequestChanges,
                    reason,
                )?;
                Ok("sent back with a request for changes".to_owned())
            }
            _ => Ok("stays pending".to_owned()),
        }
    }
}
