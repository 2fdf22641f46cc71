//! Unwritten answers that outlive an interrupted review, keyed by revision.

use serde::{Deserialize, Serialize};

use super::review::{Decision, Review, Unit, UnitKind};
use super::session::{ReviewSlot, Verdict};
use crate::proposal::ProposalId;
use crate::proposal::event::Comment;

/// Anyone who can write the git directory can plant answers: they decide nothing before a last
/// screen has shown their effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAnswers {
    pub proposal: ProposalId,
    pub intent: Intent,
    outcome: Option<Verdict>,
    /// Hash of the reviewed content; `None` if the decisions no longer count.
    shown: Option<u64>,
    /// By index of the file.
    decisions: Vec<(usize, UnitKind, Decision)>,
    comments: Vec<Comment>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Undecided parts remain.
    Begun,
    /// In whole or in part.
    Apply,
    Reject,
    RequestChanges,
}

impl Intent {
    pub fn label(self) -> &'static str {
        match self {
            Self::Begun => "[begun]",
            Self::Apply => "[to apply]",
            Self::Reject => "[to reject]",
            Self::RequestChanges => "[to send back]",
        }
    }
}

impl SavedAnswers {
    /// `None` without answers.
    pub fn of(slot: &ReviewSlot) -> Option<Self> {
        let units = slot.review.iter().flat_map(Review::units);
        let decisions = units.filter_map(|unit| {
            let draft = || unit.draft.clone().map(|bytes| Decision::Edit { bytes });
            Some((unit.file, unit.part.clone(), unit.decision.clone().or_else(draft)?))
        });
        Some(Self {
            proposal: slot.ticket.id.clone(),
            intent: slot.intent()?,
            outcome: slot.outcome.clone(),
            shown: slot.review.as_ref().map(Review::shown),
            decisions: decisions.collect(),
            comments: slot.comments.clone(),
        })
    }

    /// For another revision: drops the decisions; comments keep `revision`.
    pub fn carried_over(mut self, revision: &str) -> Self {
        for comment in &mut self.comments {
            comment.revision.get_or_insert_with(|| revision.to_owned());
        }
        Self { outcome: None, shown: None, ..self }
    }

    /// True if something was decided, not only commented on.
    pub fn decide(&self) -> bool {
        self.outcome.is_some() || !self.decisions.is_empty()
    }

    /// Restores decisions if `review` shows the content they were made on. An edit returns as a
    /// draft, which is not a decision.
    pub fn restore(self, review: &mut Review) -> (Option<Verdict>, Vec<Comment>) {
        if self.shown == Some(review.shown()) && !review.is_whole() {
            // Open and split again units decided in parts.
            for step in [Review::open, Review::split] {
                for at in (0..review.units().len()).rev() {
                    if self.are_in_parts(&review.units()[at]) {
                        step(review, at);
                    }
                }
            }
            for at in 0..review.units().len() {
                match self.on(&review.units()[at]) {
                    Some(Decision::Edit { bytes }) => review.draft(at, bytes.clone()),
                    decision => drop(review.decide(at, decision.cloned())),
                }
            }
        }
        let is_refused = self.outcome == Some(Verdict::Apply) && review.is_unfit();
        (self.outcome.filter(|_| !is_refused), self.comments)
    }

    fn on(&self, unit: &Unit) -> Option<&Decision> {
        let is_it = |(file, part, _): &&(usize, UnitKind, Decision)| {
            (*file, part) == (unit.file, &unit.part)
        };
        self.decisions.iter().find(is_it).map(|(.., decision)| decision)
    }

    /// True if only parts of `unit` are decided.
    fn are_in_parts(&self, unit: &Unit) -> bool {
        let is_part = |(file, part, _): &(usize, UnitKind, Decision)| match (part, &unit.part) {
            _ if *file != unit.file => false,
            (UnitKind::Hunk(some), UnitKind::Hunk(all)) => {
                all.edits.start <= some.edits.start && some.edits.end <= all.edits.end
            }
            (part, UnitKind::Whole) => *part != UnitKind::Whole,
            _ => false,
        };
        self.on(unit).is_none() && self.decisions.iter().any(is_part)
    }
}
