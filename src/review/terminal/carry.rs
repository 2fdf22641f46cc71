//! Carrying out what was confirmed: what the last screen showed is written, or nothing of it.

use super::{End, Order, Outlook, Terminal};
use crate::error::{Error, Result};
use crate::render::style::Role;
use crate::review::model::{DraftComment, Review, Verdict, rest};
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
            let Some(revision) = self.revisions[at].clone() else { continue };
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
                revision,
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
            let done = match one.decides() {
                true => self.host.carry_out(&one.order),
                false => self.comment(&one.order),
            };
            match done {
                Ok(done) => {
                    self.unwritten.remove(&at);
                    self.session.said(at);
                    let done = done + &said(&one.order.comments);
                    let over = matches!(
                        one.order.verdict,
                        Verdict::Apply | Verdict::Part(_) | Verdict::Reject { .. }
                    );
                    if one.decides() {
                        self.session.written(at);
                    }
                    let written = match one.order.verdict {
                        Verdict::Reject { .. } => "rejected",
                        _ => "applied",
                    };
                    match over && one.decides() {
                        true => {
                            self.session.done(at, written);
                            self.host.forget(id);
                        }
                        false => self.keep(at)?,
                    }
                    self.say(&format!("{id}  {}", escape::line(&done)))?;
                }
                Err(error) => {
                    end = End::Failed;
                    self.unwritten.insert(at);
                    self.not_written(&format!("{id}  not written"), &error)?;
                }
            }
        }
        Ok(end)
    }

    /// Says why a decision is not, or will not be, written.
    pub(super) fn not_written(&self, what: &str, error: &Error) -> Result<()> {
        self.tell(Role::Bad, &format!("{what}: {}", escape::line(error.message())))?;
        match error.hint_text() {
            Some(hint) => self.dim(format_args!("hint: {}", escape::line(hint))),
            None => Ok(()),
        }
    }

    /// Writes the comments on a proposal that stays open.
    fn comment(&mut self, order: &Order) -> Result<String> {
        self.host.comment(&order.id, &order.revision, &order.comments)?;
        Ok("stays pending".to_owned())
    }
}

/// `, 2 comments`
fn said(comments: &[DraftComment]) -> String {
    match comments.len() {
        0 => String::new(),
        1 => ", 1 comment".to_owned(),
        n => format!(", {n} comments"),
    }
}
