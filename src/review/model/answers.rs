//! Answers that are not written yet, as they outlive an interrupted review: by revision, so that another
//! revision has none.

use serde::{Deserialize, Serialize};

use super::review::{Decision, Part, Review, Unit};
use super::session::{Slot, Verdict};
use crate::proposal::ProposalId;
use crate::proposal::event::Comment;

/// What was answered about one revision. Whoever can write the git directory can plant answers, so that
/// they decide nothing before a last screen has shown what they write.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Answers {
    /// Whose revision it is.
    pub proposal: ProposalId,
    /// What they do with it, for lists.
    pub intent: Intent,
    outcome: Option<Verdict>,
    /// Hash of what the decisions are about; `None` where they count no more.
    shown: Option<u64>,
    /// Each about a part of a file, by the file's index.
    decisions: Vec<(usize, Part, Decision)>,
    comments: Vec<Comment>,
}

/// What the answers about a proposal do with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Intent {
    /// Something is left to ask.
    Begun,
    /// Apply it, or a part of it.
    Apply,
    /// Reject it.
    Reject,
    /// Send it back.
    RequestChanges,
}

impl Intent {
    /// `[to apply]`, for lists.
    pub fn label(self) -> &'static str {
        match self {
            Self::Begun => "[begun]",
            Self::Apply => "[to apply]",
            Self::Reject => "[to reject]",
            Self::RequestChanges => "[to send back]",
        }
    }
}

impl Answers {
    /// What was answered about `slot`; `None` where nothing was.
    pub fn of(slot: &Slot) -> Option<Self> {
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

    /// As answers to another revision: the decisions count no more, and the comments are about `revision`.
    pub fn carried_over(mut self, revision: &str) -> Self {
        for comment in &mut self.comments {
            comment.revision.get_or_insert_with(|| revision.to_owned());
        }
        Self { outcome: None, shown: None, ..self }
    }

    /// Whether some of it was decided, and not only commented on.
    pub fn decide(&self) -> bool {
        self.outcome.is_some() || !self.decisions.is_empty()
    }

    /// Puts the decisions back onto `review`, if it shows what they were made on. An edit comes back as a
    /// draft, and is no decision. Returns what was decided about all of it, and the comments.
    pub fn restore(self, review: &mut Review) -> (Option<Verdict>, Vec<Comment>) {
        if self.shown == Some(review.shown()) && !review.is_whole() {
            // What was decided in parts is opened and split again.
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
        let is_it =
            |(file, part, _): &&(usize, Part, Decision)| (*file, part) == (unit.file, &unit.part);
        self.decisions.iter().find(is_it).map(|(.., decision)| decision)
    }

    /// Whether parts of `unit` are decided, and not all of it.
    fn are_in_parts(&self, unit: &Unit) -> bool {
        let is_part = |(file, part, _): &(usize, Part, Decision)| match (part, &unit.part) {
            _ if *file != unit.file => false,
            (Part::Hunk(some), Part::Hunk(all)) => {
                all.edits.start <= some.edits.start && some.edits.end <= all.edits.end
            }
            (part, Part::Whole) => *part != Part::Whole,
            _ => false,
        };
        self.on(unit).is_none() && self.decisions.iter().any(is_part)
    }
}
