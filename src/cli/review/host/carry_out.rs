//! Carries out the confirmed decisions of a review.

use std::collections::BTreeSet;

use super::CliHost;
use crate::app::review::{ReviewPlan, looked_at};
use crate::changeset::RepoPath;
use crate::changeset::plan;
use crate::decide;
use crate::decide::verdict::{self, PlainVerdict, VerdictDetails};
use crate::error::{Error, Result};
use crate::proposal::event::{Comment, Effect, Evidence};
use crate::proposal::rules::Verb;
use crate::proposal::{Authority, Proposal, codes};
use crate::review::terminal::DecisionOrder;
use crate::text;

impl CliHost<'_> {
    fn authority(&self, verb: Verb, proposal: &Proposal) -> Result<Authority> {
        let (caller, evidence) = (self.context.caller(self.store.repository()), Evidence::Terminal);
        let proposals = std::slice::from_ref(proposal);
        decide::authorise(self.store, &caller, verb, proposals, &evidence, "aye review")
    }

    fn looked_at(&self, order: &DecisionOrder) -> Result<Proposal> {
        looked_at(&self.store.view()?, order, self.now())
    }

    pub(super) fn decide_without_files(
        &self,
        order: &DecisionOrder,
        verb: Verb,
        word: PlainVerdict,
        reason: Option<&str>,
    ) -> Result<()> {
        let proposal = self.looked_at(order)?;
        let authority = self.authority(verb, &proposal)?;
        let proposals = std::slice::from_ref(&proposal);
        let comments = comments_on(&order.comments, &order.revision);
        let besides = VerdictDetails {
            reason,
            comments: &comments,
            seen: self.seen.as_ref(),
            group: order.group.as_deref(),
        };
        verdict::record_verdicts(self.store, &authority, self.now(), proposals, word, &besides)
    }

    /// The last screen's plan is what is written.
    pub(super) fn apply(&mut self, order: &DecisionOrder) -> Result<String> {
        let now = self.now();
        // A decision or revision meanwhile explains more than changed files do.
        let proposal = self.looked_at(order)?;
        let authority = self.authority(Verb::Apply, &proposal)?;
        let Some(ReviewPlan { shown, part, made }) = self.planned.take(&order.id) else {
            return Err(Error::bug(format!("{} was not shown before it was written", order.id)));
        };
        let effect = if self.index { Effect::Index } else { Effect::Files };
        let taken_in_part = part.is_some();
        let moved = origins(&shown.proposal, part.as_ref());
        let request = decide::Request {
            part,
            made,
            approve_other_changes: order.approve_foreign,
            comments: comments_on(&order.comments, &order.revision),
            unshown_lines: order.unshown_lines,
            group: order.group.clone(),
            ..decide::Request::all(effect)
        };
        let done =
            decide::apply(self.store, &authority, now, &shown.proposal, &request, Some(&shown));
        let applied = done.map_err(|error| {
            if error.is(&codes::CHANGED_SINCE_SHOWN) {
                error.hint(format!("`aye review {}` shows it as it is now", order.id))
            } else {
                error
            }
        })?;
        let how = match (taken_in_part, order.edited) {
            (true, true) => "applied as you edited it",
            (true, false) => "partially applied",
            (false, _) => "applied",
        };
        let mut text = format!("{how}, {}", counted(&applied.files, &moved));
        if applied.files.iter().any(|file| file.outcome.as_str() == "merged") {
            text += ", merged with newer changes";
        }
        if !applied.not_approved.is_empty() {
            let paths = applied.not_approved.join(", ");
            text += &format!("; other changes in {paths} are not approved");
        }
        for warning in applied.warnings {
            text += &format!("; {warning}");
        }
        if self.split_rest && taken_in_part && !order.rest.is_empty() {
            text += &match crate::app::propose::rest(self.store, now, &proposal, &order.rest) {
                Ok(id) => format!("; the rest is {id}"),
                Err(error) => format!("; the rest was not kept: {}", error.message()),
            };
        }
        Ok(text)
    }
}

pub(super) fn origins(
    proposal: &Proposal,
    part: Option<&decide::PartialProposal>,
) -> BTreeSet<RepoPath> {
    match part {
        Some(part) => part.changes.changes().iter().filter_map(|c| c.origin.clone()).collect(),
        None => proposal.current().changes.iter().filter_map(|c| c.origin.clone()).collect(),
    }
}

/// `3 files, 1 of them renamed`: a removed file in `moved` does not count.
pub(super) fn counted(files: &[plan::PlannedFile], moved: &BTreeSet<RepoPath>) -> String {
    let is_source = |file: &&plan::PlannedFile| file.after.is_none() && moved.contains(&file.path);
    let renamed = files.iter().filter(is_source).count();
    let count = files.len() - renamed;
    match renamed {
        0 => text::counted(count, "file"),
        renamed if renamed == count => text::counted(count, "renamed file"),
        renamed => format!("{}, {renamed} of them renamed", text::counted(count, "file")),
    }
}

pub(super) fn comments_on(comments: &[Comment], revision: &str) -> Vec<Comment> {
    let about = |comment: &Comment| Comment {
        revision: Some(comment.revision.as_deref().unwrap_or(revision).to_owned()),
        // A review answers no comment.
        resolves: None,
        ..comment.clone()
    };
    comments.iter().map(about).collect()
}
