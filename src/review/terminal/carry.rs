//! Carrying out what was confirmed: what the last screen showed is written, or nothing of it.

use super::{End, Order, Outlook, Terminal};
use crate::error::Result;
use crate::proposal::event::Comment;
use crate::review::model::{Review, Verdict, rest};
use crate::text::escape;

/// A decision of the session, and what carrying it out would write.
pub(super) struct Decided {
    /// Its place in the session.
    pub(super) at: usize,
    /// What is to be written.
    pub(super) order: Order,
    /// The files; `None` where it writes none, an error where it cannot be carried out.
    pub(super) outlook: Option<Result<Outlook>>,
}

impl Decided {
    /// False where only comments are written, or nothing.
    pub(super) fn decides(&self) -> bool {
        let open = matches!(self.order.verdict, Verdict::Open { .. } | Verdict::Nothing);
        !open && !matches!(self.outlook, Some(Err(_)))
    }
}

impl Terminal<'_> {
    /// What was decided or said, in the order of the session, with what it would write.
    pub(super) fn decided(&mut self) -> Result<Vec<Decided>> {
        let (mut places, mut orders) = (Vec::new(), Vec::new());
        for (at, slot) in self.session.slots().iter().enumerate() {
            let Some(reached) = &self.reached[at] else { continue };
            let verdict = slot.verdict();
            let nothing = matches!(verdict, Verdict::Open { .. } | Verdict::Nothing);
            if matches!(verdict, Verdict::Gone { .. }) || (nothing && slot.comments.is_empty()) {
                continue;
            }
            let rest = match &verdict {
                Verdict::Part(_) => slot.review.as_ref().map(rest).unwrap_or_default(),
                _ => Vec::new(),
            };
            places.push(at);
            orders.push(Order {
                id: slot.ticket.id.clone(),
                revision: reached.revision.clone(),
                verdict,
                rest,
                edited: slot.review.as_ref().is_some_and(Review::is_edited),
                comments: slot.comments.clone(),
                take_residue: false,
                unshown_lines: 0,
                group: None,
            });
        }
        let outlooks = self.host.plan(&orders)?;
        let all = places.into_iter().zip(orders).zip(outlooks);
        Ok(all.map(|((at, order), outlook)| Decided { at, order, outlook }).collect())
    }

    pub(super) fn carry_out(&mut self, decided: Vec<Decided>) -> Result<End> {
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
                    self.session.said(at);
                    self.settle(at, &one)?;
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

    /// Notes that `one` is written: what was decided is kept no longer.
    fn settle(&mut self, at: usize, one: &Decided) -> Result<()> {
        if !one.decides() {
            return self.keep(at);
        }
        match one.order.verdict {
            Verdict::Apply | Verdict::Part(_) => self.session.done(at, "applied"),
            Verdict::Reject { .. } => self.session.done(at, "rejected"),
            _ => self.session.written(at),
        }
        self.host.keep(&one.order.id, None)
    }

    /// Writes the comments on a proposal that stays open.
    fn comment(&mut self, order: &Order) -> Result<String> {
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
