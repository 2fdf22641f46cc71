//! Carries out confirmed decisions: writes what the last screen showed, or nothing.

use super::{DecisionOrder, DecisionPreview, End, Terminal};
use crate::error::Result;
use crate::proposal::event::Comment;
use crate::review::model::Verdict;
use crate::text::escape;

/// A decision and its outcome.
pub(super) struct PlannedDecision {
    /// Index in the session.
    pub(super) at: usize,
    pub(super) order: DecisionOrder,
    /// Changed files; `None` if no file is written.
    pub(super) outlook: Option<Result<DecisionPreview>>,
}

impl PlannedDecision {
    pub(super) fn decides(&self) -> bool {
        let open = matches!(self.order.verdict, Verdict::Open { .. } | Verdict::Nothing);
        !open && !matches!(self.outlook, Some(Err(_)))
    }
}

impl Terminal<'_> {
    /// Decisions and comments in the order of the session.
    pub(super) fn decided(&mut self) -> Result<Vec<PlannedDecision>> {
        let (mut places, mut orders) = (Vec::new(), Vec::new());
        for (at, slot) in self.session.slots().iter().enumerate() {
            let Some(reached) = &self.reached[at] else { continue };
            let verdict = slot.verdict();
            let nothing = matches!(verdict, Verdict::Open { .. } | Verdict::Nothing);
            if matches!(verdict, Verdict::Gone { .. }) || (nothing && slot.comments.is_empty()) {
                continue;
            }
            places.push(at);
            orders.push(DecisionOrder::new(slot, reached.revision.clone()));
        }
        let outlooks = self.host.plan(&orders)?;
        let all = places.into_iter().zip(orders).zip(outlooks);
        Ok(all.map(|((at, order), outlook)| PlannedDecision { at, order, outlook }).collect())
    }

    pub(super) fn carry_out(&mut self, decided: Vec<PlannedDecision>) -> Result<End> {
        let mut end = End::Done;
        for one in decided {
            let (at, id) = (one.at, &one.order.id);
            if matches!(one.outlook, Some(Err(_))) {
                end = End::Failed;
            }
            if !one.decides() && one.order.comments.is_empty() {
                continue;
            }
            let done = if one.decides() {
                self.host.carry_out(&one.order)
            } else {
                self.comment(&one.order)
            };
            match done {
                Ok(done) => {
                    self.unwritten.remove(&at);
                    self.session.drop_comments(at);
                    self.drop_saved(at, &one)?;
                    let done = done + &said(&one.order.comments);
                    self.console.say(&format!("{id}  {}", escape::line(&done)))?;
                }
                Err(error) => {
                    end = End::Failed;
                    self.unwritten.insert(at);
                    self.console.not_written(&format!("{id}  not written"), &error)?;
                }
            }
        }
        Ok(end)
    }

    /// Drops the saved answers of a written decision.
    fn drop_saved(&mut self, at: usize, one: &PlannedDecision) -> Result<()> {
        if !one.decides() {
            return self.keep(at);
        }
        match one.order.verdict {
            Verdict::Apply | Verdict::Part(_) => self.session.record_written(at, "applied"),
            Verdict::Reject { .. } => self.session.record_written(at, "rejected"),
            _ => self.session.drop_verdict(at),
        }
        self.host.keep(&one.order.id, None)
    }

    fn comment(&mut self, order: &DecisionOrder) -> Result<String> {
        self.host.comment(&order.id, &order.revision, &order.comments)?;
        Ok("stays pending".to_owned())
    }
}

/// `, 2 comments`
fn said(comments: &[Comment]) -> String {
    match comments.len() {
        0 => String::new(),
        1 => ", 1 comment".to_owned(),
        n => format!(", {n} comments"),
    }
}
