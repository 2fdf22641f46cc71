//! The end of a session: what was decided is shown, confirmed once, and written.

use super::{End, Order, Terminal, screen};
use crate::error::Result;
use crate::prompt::{self, Press};
use crate::render::escape;
use crate::render::style::Role;
use crate::review::model::{Action, DraftComment, Key, Outcome, Review, Verdict, rest};

impl Terminal<'_> {
    pub(super) fn say_kept(&self) -> Result<()> {
        let decided: usize = self
            .session
            .slots()
            .iter()
            .map(|slot| match (&slot.outcome, &slot.review) {
                (Some(Outcome::Gone { .. }), _) => 0,
                (Some(_), _) => 1,
                (None, review) => review.as_ref().map_or(0, Review::decided),
            })
            .sum();
        let comments = self.session.slots().iter().map(|slot| slot.comments.len()).sum();
        let counted = [(decided, "decision"), (comments, "comment")];
        let kept: Vec<String> = counted
            .into_iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{count} {what}{}", if count == 1 { "" } else { "s" }))
            .collect();
        let text = match (kept.is_empty(), decided + comments) {
            (true, _) => "Nothing was decided and nothing was written.".to_owned(),
            (_, 1) => {
                format!("Nothing was written. {} is kept; `aye review` goes on from it.", kept[0])
            }
            _ => format!(
                "Nothing was written. {} are kept; `aye review` goes on from them.",
                kept.join(" and ")
            ),
        };
        self.tell(Role::Plain, &text)
    }

    /// Shows what was decided and asks once. `None` goes back to the walk.
    pub(super) fn confirm(&mut self) -> Result<Option<End>> {
        self.note_changes()?;
        self.measure();
        let writable = self.session.slots().iter().any(|slot| {
            let verdict = slot.verdict();
            !slot.comments.is_empty() && !matches!(verdict, Verdict::Gone { .. })
                || !matches!(
                    verdict,
                    Verdict::Open { .. } | Verdict::Nothing | Verdict::Gone { .. }
                )
        });
        self.write(&screen::summary(self.session.slots(), &self.options))?;
        if !writable {
            self.say("There is nothing to write.")?;
            if !self.session.can_undo() {
                return Ok(Some(End::Done));
            }
        }
        let keys: Vec<Key> = [
            (writable, 'y', "write these decisions"),
            (true, 'n', "write nothing now; they are kept"),
            (self.session.can_undo(), 'u', "undo the last decision"),
            (true, '<', "back to the last proposal"),
            (true, 'q', "quit; they are kept"),
            (true, '?', "help"),
        ]
        .into_iter()
        .filter(|(applies, ..)| *applies)
        .map(|(_, key, help)| Key { key, help })
        .collect();
        let question = if writable { "Write these decisions" } else { "Quit" };
        prompt::forget_typed_ahead();
        loop {
            let asked = screen::prompt(None, question, &keys, &self.options);
            self.write(&asked)?;
            let key = loop {
                match self.keyboard.press() {
                    Press::Nothing => {}
                    Press::Pasted => self.pasted(&asked)?,
                    Press::Resumed => {
                        prompt::forget_typed_ahead();
                        self.write(&format!("\n{asked}"))?;
                    }
                    Press::Interrupt => {
                        self.say("")?;
                        self.say_kept()?;
                        return Ok(Some(End::Interrupted));
                    }
                    Press::End => {
                        self.say("")?;
                        self.say_kept()?;
                        return Ok(Some(End::Quit));
                    }
                    Press::Char(c) => break c,
                }
            };
            self.say(key.encode_utf8(&mut [0; 4]))?;
            match key {
                'y' if writable => return self.carry_out().map(Some),
                'n' | 'q' => {
                    self.say_kept()?;
                    return Ok(Some(End::Quit));
                }
                'u' if self.session.can_undo() => {
                    let _ = self.session.act(Action::Undo);
                    self.dim("undone")?;
                    let at = self.session.position();
                    self.content = None;
                    self.keep(at)?;
                    return Ok(None);
                }
                '<' if self.session.act(Action::Back).is_ok() => {
                    self.content = None;
                    return Ok(None);
                }
                '?' => self.write(&screen::help(&keys, &self.options))?,
                _ => {}
            }
        }
    }

    /// Marks what another process has decided or revised while it was under review, and tells what
    /// others have said about the rest.
    fn note_changes(&mut self) -> Result<()> {
        for at in 0..self.session.slots().len() {
            let slot = &self.session.slots()[at];
            let Some(revision) = &self.revisions[at] else { continue };
            if matches!(slot.verdict(), Verdict::Gone { .. } | Verdict::Open { .. })
                && slot.comments.is_empty()
            {
                continue;
            }
            let id = slot.ticket.id.clone();
            if let Some(what) = self.host.changed(&id, revision)? {
                let text = format!("{id} {} meanwhile", screen::gone(&what));
                self.tell(Role::Warn, &text)?;
                self.session.gone(at, what);
                continue;
            }
            for (who, text) in self.host.heard(&id)? {
                let text =
                    format!("{id} {} meanwhile: {}", escape::name(&who), escape::line(&text));
                self.tell(Role::Warn, &text)?;
            }
        }
        Ok(())
    }

    fn carry_out(&mut self) -> Result<End> {
        let mut end = End::Done;
        for at in 0..self.session.slots().len() {
            let slot = &self.session.slots()[at];
            let Some(revision) = self.revisions[at].clone() else { continue };
            let verdict = slot.verdict();
            let nothing = matches!(verdict, Verdict::Open { .. } | Verdict::Nothing);
            if matches!(verdict, Verdict::Gone { .. }) || (nothing && slot.comments.is_empty()) {
                continue;
            }
            let decided =
                matches!(verdict, Verdict::Apply | Verdict::Part(_) | Verdict::Reject { .. });
            let left = match &verdict {
                Verdict::Part(_) => slot.review.as_ref().map(rest).unwrap_or_default(),
                _ => Vec::new(),
            };
            let id = slot.ticket.id.clone();
            let edited = slot.review.as_ref().is_some_and(Review::is_edited);
            let order = Order { id: &id, revision: &revision, verdict, rest: left, edited };
            let said = match self.host.comment(&id, &revision, &slot.comments) {
                Ok(()) => {
                    let said = said(&slot.comments);
                    // Before the decision, which may fail: nothing is said twice.
                    self.session.said(at);
                    self.keep(at)?;
                    Ok(said)
                }
                Err(error) => Err(error),
            };
            let done = said.and_then(|said| Ok(self.host.carry_out(&order)? + &said));
            match done {
                Ok(done) => {
                    self.session.written(at);
                    match decided {
                        true => self.host.forget(&id),
                        false => self.keep(at)?,
                    }
                    self.say(&format!("{id}  {}", escape::line(&done)))?;
                }
                Err(error) => {
                    end = End::Failed;
                    let text = format!("{id}  not written: {}", escape::line(error.message()));
                    self.say(&self.options.palette.paint(Role::Bad, text))?;
                    if let Some(hint) = error.hint_text() {
                        self.dim(format_args!("hint: {}", escape::line(hint)))?;
                    }
                }
            }
        }
        Ok(end)
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
