//! Leaving a session with unwritten answers.

use super::console::AskResult;
use super::{End, Next, Terminal};
use crate::error::Result;
use crate::prompt::Key;
use crate::render::style::Role;
use crate::review::model::{Review, ReviewSlot, SavedAnswers, Verdict};
use crate::text;

impl Terminal<'_> {
    pub(super) fn leave(&mut self) -> AskResult<Next> {
        if self.session.slots().iter().all(|slot| slot.intent().is_none()) {
            self.say_kept()?;
            return Ok(Next::End(End::Quit));
        }
        let keys = Key::applying([
            (true, 'w', "write them: to the last screen"),
            (true, 'k', "keep them for the next review"),
            (true, 'd', "drop them"),
            (true, '<', "back to the review"),
            (true, '?', "help"),
        ]);
        match self.console.choose("Write, keep or drop what is decided", &keys)? {
            'w' => return Ok(Next::Confirm),
            '<' => return Ok(Next::Walk),
            'd' => {
                for slot in self.session.slots().iter().filter(|slot| slot.intent().is_some()) {
                    self.host.keep(&slot.ticket.id, None)?;
                }
                self.console.tell(Role::Plain, "What was decided and not written is dropped.")?;
            }
            _ => self.say_kept()?,
        }
        Ok(Next::End(End::Quit))
    }

    /// Saves the answers about proposal `at`.
    pub(super) fn keep(&mut self, at: usize) -> Result<()> {
        let Some(reached) = &self.reached[at] else { return Ok(()) };
        let slot = &self.session.slots()[at];
        let answers = SavedAnswers::of(slot);
        let was_kept = self.kept.contains(&at) || slot.ticket.answers.is_some();
        if answers.is_none() && !was_kept {
            return Ok(());
        }
        self.kept.insert(at);
        self.host.keep(&slot.ticket.id, answers.map(|answers| (&*reached.revision, answers)))
    }

    pub(super) fn say_kept(&self) -> Result<()> {
        let slots = self.session.slots();
        let decided: usize = slots.iter().map(decisions).sum();
        let comments: usize = slots.iter().map(|slot| slot.comments.len()).sum();
        let counted = [(decided, "decision"), (comments, "comment")];
        let counted = counted.into_iter().filter(|(count, _)| *count > 0);
        let kept: Vec<String> = counted.map(|(count, what)| text::counted(count, what)).collect();
        let begins = match slots.iter().filter(|slot| slot.done).count() {
            0 if kept.is_empty() => "Nothing was decided and nothing was written.".to_owned(),
            0 => "Nothing was written.".to_owned(),
            1 => "1 decision was written.".to_owned(),
            count => format!("{count} decisions were written."),
        };
        let goes_on = match decided + comments {
            0 => String::new(),
            1 => format!(" {} is kept; `aye review` goes on from it.", kept[0]),
            _ => format!(" {} are kept; `aye review` goes on from them.", kept.join(" and ")),
        };
        self.console.tell(Role::Plain, &format!("{begins}{goes_on}"))
    }
}

fn decisions(slot: &ReviewSlot) -> usize {
    match &slot.outcome {
        Some(Verdict::Gone { .. }) => 0,
        Some(_) => 1,
        None => slot.review.as_ref().map_or(0, Review::decided),
    }
}
