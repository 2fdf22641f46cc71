//! Unwritten answers that outlive an interrupted review, keyed by revision.

use serde::{Deserialize, Serialize};

use super::review::{Decision, Review, Unit, UnitKey};
use super::session::{ReviewSlot, Verdict};
use crate::changeset::merge::preferring_theirs;
use crate::changeset::{RepoPath, bytes};
use crate::proposal::ProposalId;
use crate::proposal::event::Comment;

/// Anyone who can write the git directory can plant answers: they decide nothing before a last
/// screen has shown their effect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedAnswers {
    pub proposal: ProposalId,
    pub intent: Intent,
    outcome: Option<Verdict>,
    /// On hunks, with edits that decide nothing.
    pub decisions: Vec<SavedDecision>,
    comments: Vec<Comment>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SavedDecision {
    /// Empty if about another revision.
    unit: UnitKey,
    path: RepoPath,
    /// Text that an edit began with.
    #[serde(with = "bytes")]
    base: Vec<u8>,
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
        let is_edit = |decision: &Decision| matches!(decision, Decision::Edit { .. });
        let decisions = slot.review.iter().flat_map(|review| {
            review.units().iter().enumerate().filter_map(move |(at, unit)| {
                let draft = || unit.draft.clone().map(|bytes| Decision::Edit { bytes });
                let decision = unit.decision.clone().or_else(draft)?;
                let base = is_edit(&decision).then(|| review.proposed(at)).flatten();
                Some(SavedDecision {
                    unit: unit.key.clone(),
                    path: review.file_of(at).path.clone(),
                    base: base.unwrap_or_default(),
                    decision,
                    is_draft: unit.decision.is_none(),
                })
            })
        });
        let mut decisions: Vec<_> = decisions.collect();
        let is_edited = decisions.iter().any(|saved| is_edit(&saved.decision));
        let intent = match slot.intent()? {
            Intent::Begun | Intent::Apply if is_edited => Intent::Edited,
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

    /// Restores decisions on units that show the same lines. Edits return as drafts, unless
    /// `of_session` made them; edits of other lines are merged into the nearest unit. Also returns
    /// edits of files without an open unit.
    pub fn restore(
        self,
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
            others = self.decisions;
            for at in 0..review.units().len() {
                let is_it = |saved: &SavedDecision| saved.unit == review.units()[at].key;
                let Some(found) = others.iter().position(is_it) else { continue };
                let SavedDecision { decision, is_draft, .. } = others.remove(found);
                match decision {
                    Decision::Edit { bytes } if is_draft || !of_session => review.draft(at, bytes),
                    decision => drop(review.decide(at, Some(decision))),
                }
            }
            others.retain(|saved| {
                let Decision::Edit { bytes } = &saved.decision else { return false };
                let Some(at) = review.nearest(&saved.path, bytes) else { return true };
                let now = review.proposed(at).unwrap_or_default();
                let merged = preferring_theirs(&saved.base, &now, bytes);
                review.draft(at, merged.map_or_else(|| bytes.clone(), |(text, _)| text));
                false
            });
        }
        let is_refused = self.outcome == Some(Verdict::Apply) && review.is_unfit();
        (self.outcome.filter(|_| !is_refused), self.comments, others)
    }

    /// True if only parts of `unit` are decided.
    fn are_in_parts(&self, unit: &Unit) -> bool {
        let is_in = |saved: &&SavedDecision| saved.unit.starts_with(&unit.key);
        let mut own = self.decisions.iter().filter(is_in).peekable();
        own.peek().is_some() && own.all(|saved| saved.unit != unit.key)
    }
}
