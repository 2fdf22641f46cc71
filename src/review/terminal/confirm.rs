//! The end of a session: what was decided and what it will write is shown, and confirmed once.

use std::ops::ControlFlow;

use super::carry::Decided;
use super::last::{self, Unshown};
use super::{End, Outlook, Terminal, screen};
use crate::changeset::marks::in_question;
use crate::error::Result;
use crate::prompt::{self, Press};
use crate::proposal::ProposalId;
use crate::render::diff::{Layout, Options};
use crate::render::style::Role;
use crate::review::model::{Action, Key, Verdict};
use crate::text::escape;

impl Terminal<'_> {
    /// Shows what was decided and what it will write, and asks once. `None` goes back to the walk.
    pub(super) fn confirm(&mut self) -> Result<Option<End>> {
        self.note_changes()?;
        let limit = self.measure();
        let mut decided = self.decided()?;
        self.write(&screen::summary(self.session.slots(), &self.options))?;
        let mut unshown = self.show_last(&decided, limit)?;
        for one in &decided {
            if let Some(Err(error)) = &one.outlook {
                self.not_written(&format!("{} will not be written", one.order.id), error)?;
            }
        }
        let writable = decided.iter().any(|one| one.decides() || !one.order.comments.is_empty());
        if !writable {
            self.say("There is nothing to write.")?;
            if !self.session.can_undo() {
                return Ok(Some(if decided.is_empty() { End::Done } else { End::Failed }));
            }
        }
        let holds = |what: fn(&Outlook) -> bool| {
            decided.iter().any(|one| matches!(&one.outlook, Some(Ok(outlook)) if what(outlook)))
        };
        let foreign = holds(|outlook| !outlook.foreign.is_empty());
        let pages = foreign || holds(|it| !it.changes.is_empty() || !it.already.is_empty());
        if foreign {
            let text = "y writes the proposals alone, and the other changes in their files are \
                        recorded as not approved; i approves those too";
            self.tell(Role::Warn, text)?;
        }
        let keys = Key::applying([
            (writable, 'y', "write these decisions"),
            (foreign, 'i', "include: write them, and approve the other changes in their files"),
            (pages, 'p', "all that will be written, in the pager"),
            (true, 'n', "write nothing now; they are kept"),
            (self.session.can_undo(), 'u', "undo the last decision"),
            (true, '<', "back to the last proposal"),
            (true, 'q', "quit; they are kept"),
            (true, '?', "help"),
        ]);
        let marks = in_question(outlooks(&decided).iter().map(|(_, it)| it.marks.as_slice()));
        prompt::forget_typed_ahead();
        loop {
            let question = match writable {
                true => format!("Write these decisions{marks}{}", not_shown(&unshown)),
                false => "Quit".to_owned(),
            };
            let key = match self.answer(&question, &keys)? {
                ControlFlow::Continue(key) => key,
                ControlFlow::Break(end) => return Ok(Some(end)),
            };
            match key {
                'y' | 'i' if writable && (key == 'y' || foreign) => {
                    for (one, unshown) in decided.iter_mut().zip(&unshown) {
                        let holds = matches!(&one.outlook, Some(Ok(it)) if !it.foreign.is_empty());
                        one.order.take_residue = key == 'i' && holds;
                        one.order.unshown_lines = match one.order.take_residue {
                            true => unshown.own + unshown.foreign,
                            false => unshown.own,
                        };
                    }
                    return self.carry_out(decided).map(Some);
                }
                'p' if pages => {
                    self.page_last(&decided)?;
                    unshown.fill(Unshown::default());
                }
                'n' | 'q' => {
                    self.say_kept()?;
                    return Ok(Some(End::Quit));
                }
                'u' if self.session.can_undo() => {
                    let what = self.session.undoes().unwrap_or_default();
                    let _ = self.session.act(Action::Undo);
                    self.dim(format_args!("undone: {what}"))?;
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

    /// Asks until a key is pressed, or input ends the session.
    pub(super) fn answer(
        &mut self,
        question: &str,
        keys: &[Key],
    ) -> Result<ControlFlow<End, char>> {
        let asked = screen::prompt(None, question, keys, &self.options);
        self.write(&asked)?;
        loop {
            match self.keyboard.press() {
                Press::Nothing | Press::Enter => {}
                Press::Pasted => self.pasted(&asked)?,
                Press::Resumed => {
                    prompt::forget_typed_ahead();
                    self.write(&format!("\n{asked}"))?;
                }
                Press::Interrupt => {
                    self.say("")?;
                    self.say_kept()?;
                    return Ok(ControlFlow::Break(End::Interrupted));
                }
                Press::End => {
                    self.say("")?;
                    self.say_kept()?;
                    return Ok(ControlFlow::Break(End::Quit));
                }
                Press::Char(c) => {
                    self.say(c.encode_utf8(&mut [0; 4]))?;
                    return Ok(ControlFlow::Continue(c));
                }
            }
        }
    }

    /// Writes what the decisions will write, up to `limit` lines. Returns for each how much of it
    /// there was no room for, and was not on the screen before.
    pub(super) fn show_last(&mut self, decided: &[Decided], limit: usize) -> Result<Vec<Unshown>> {
        // Line by line: what is not shown is counted in lines of the difference.
        let options = Options { layout: Layout::Unified, ..self.diff_options() };
        let is_shown = |one: &&Decided| matches!(one.outlook, Some(Ok(_)));
        let earlier = decided.iter().filter(is_shown).map(|one| self.seen.of(one.at)).collect();
        let (blocks, counted) = last::screen(&outlooks(decided), earlier, &options, limit);
        self.put(blocks)?;
        let mut counted = counted.into_iter();
        let unshown = |one: &Decided| match &one.outlook {
            Some(Ok(_)) => counted.next().unwrap_or_default(),
            _ => Unshown::default(),
        };
        Ok(decided.iter().map(unshown).collect())
    }

    pub(super) fn page_last(&mut self, decided: &[Decided]) -> Result<()> {
        let options = Options { layout: Layout::Unified, ..self.options.clone() };
        let (blocks, _) = last::screen(&outlooks(decided), Vec::new(), &options, usize::MAX);
        let mut text = String::new();
        blocks.iter().for_each(|block| block.push(&mut text));
        self.host.page(&text)
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
}

pub(super) fn outlooks(decided: &[Decided]) -> Vec<(&ProposalId, &Outlook)> {
    let decided = decided.iter();
    decided.filter_map(|one| Some((&one.order.id, one.outlook.as_ref()?.as_ref().ok()?))).collect()
}

/// ` (3 changed lines not shown; p shows them)`, or nothing.
pub(super) fn not_shown(unshown: &[Unshown]) -> String {
    let lines: u64 = unshown.iter().map(|unshown| unshown.own + unshown.foreign).sum();
    match lines {
        0 => String::new(),
        1 => " (1 changed line not shown; p shows it)".to_owned(),
        n => format!(" ({n} changed lines not shown; p shows them)"),
    }
}
