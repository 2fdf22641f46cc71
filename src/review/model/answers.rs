//! Unwritten answers that outlive an interrupted review, keyed by revision.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::review::{Decision, Review, Unit, UnitKey};
use super::session::{ReviewSlot, Verdict};
use crate::changeset::RepoPath;
use crate::proposal::ProposalId;
use crate::proposal::event::Comment;

/// Anyone who can write the git directory can plant answers: they decide nothing before a last
/// screen has shown their effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAnswers {
    pub proposal: ProposalId,
    pub intent: Intent,
    outcome: Option<Verdict>,
    decisions: Vec<SavedDecision>,
    comments: Vec<Comment>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedDecision {
    /// Empty if about another revision.
    unit: UnitKey,
    path: RepoPath,
    decision: Decision,
    /// An edit that decides nothing: [`Unit::draft`]. On disk, every edit is one.
    #[serde(skip)]
    is_draft: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Undecided parts remain.
    Begun,
    /// An edit was saved, which decides nothing before an editor shows it.
    Edited,
    /// Nothing is taken; stays pending.
    Left,
    /// In whole or in part.
    Apply,
    Reject,
    RequestChanges,
}

impl Intent {
    pub fn label(self) -> &'static str {
        match self {
            Self::Begun => "[begun]",
            Self::Edited => "[edited]",
            Self::Left => "[left]",
            Self::Apply => "[to apply]",
            Self::Reject => "[to reject]",
            Self::RequestChanges => "[to send back]",
        }
    }
}

impl SavedAnswers {
    /// `None` without answers.
    pub fn of(slot: &ReviewSlot) -> Option<Self> {
        let decisions = slot.review.iter().flat_map(|review| {
            review.units().iter().filter_map(move |unit| {
                let draft = || unit.draft.clone().map(|bytes| Decision::Edit { bytes });
                Some(SavedDecision {
                    unit: unit.key.clone(),
                    path: review.files()[unit.file].path.clone(),
                    decision: unit.decision.clone().or_else(draft)?,
                    is_draft: unit.decision.is_none(),
                })
            })
        });
        let mut decisions: Vec<_> = decisions.collect();
        let is_edit = |saved: &SavedDecision| matches!(saved.decision, Decision::Edit { .. });
        let intent = match slot.intent()? {
            Intent::Begun | Intent::Apply if decisions.iter().any(is_edit) => Intent::Edited,
            intent => intent,
        };
        decisions.extend(slot.orphans.iter().cloned());
        Some(Self {
            proposal: slot.ticket.id.clone(),
            intent,
            outcome: slot.outcome.clone(),
            decisions,
            comments: slot.comments.clone(),
        })
    }

    /// For another revision: decisions do not count, edits are drafts, and comments keep `revision`.
    pub fn carried_over(mut self, revision: &str) -> Self {
        for comment in &mut self.comments {
            comment.revision.get_or_insert_with(|| revision.to_owned());
        }
        self.decisions.iter_mut().for_each(|saved| saved.unit.clear());
        Self { outcome: None, ..self }
    }

    /// Units that something was decided about; empty keys for other revisions.
    pub fn units(&self) -> Vec<UnitKey> {
        self.decisions.iter().map(|saved| saved.unit.clone()).collect()
    }

    /// Restores decisions on units that show the same lines. Edits return as drafts, unless
    /// `of_session` made them. Also returns edits that no unit of `review` can start from.
    pub fn restore(
        mut self,
        review: &mut Review,
        of_session: bool,
    ) -> (Option<Verdict>, Vec<Comment>, Vec<SavedDecision>) {
        let mut others = Vec::new();
        if !review.is_whole() {
            // Open and split again units decided in parts.
            for step in [Review::open, Review::split] {
                for at in (0..review.units().len()).rev() {
                    if self.are_in_parts(&review.units()[at]) {
                        step(review, at);
                    }
                }
            }
            let units = review.units().iter().enumerate();
            let places: BTreeMap<_, _> = units.map(|(at, unit)| (unit.key.clone(), at)).collect();
            for saved in std::mem::take(&mut self.decisions) {
                match (places.get(&saved.unit), &saved.decision) {
                    (Some(at), Decision::Edit { bytes }) if saved.is_draft || !of_session => {
                        review.draft(*at, bytes.clone());
                    }
                    (Some(at), _) => drop(review.decide(*at, Some(saved.decision))),
                    (None, _) => others.push(saved),
                }
            }
            others.retain(|saved| {
                let Decision::Edit { bytes } = &saved.decision else { return false };
                let at = review.nearest(&saved.path, bytes);
                at.map(|at| review.draft(at, bytes.clone())).is_none()
            });
        }
        let is_refused = self.outcome == Some(Verdict::Apply) && review.is_unfit();
        (self.outcome.filter(|_| !is_refused), self.comments, others)
    }

    /// True if only parts of `unit` are decided.
    fn are_in_parts(&self, unit: &Unit) -> bool {
        let is_part = |saved: &SavedDecision| {
            saved.unit.len() > unit.key.len() && saved.unit.starts_with(&unit.key)
        };
        let is_it = |saved: &SavedDecision| saved.unit == unit.key;
        !self.decisions.iter().any(is_it) && self.decisions.iter().any(is_part)
    }
}
