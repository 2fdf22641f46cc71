//! The last screen: shows decisions and what they write, and asks once.

use super::carry_out::PlannedDecision;
use super::console::AskResult;
use super::last_screen::{self, UnshownLines};
use super::{DecisionPreview, End, Next, Terminal, screen};
use crate::changeset::marks::in_question;
use crate::error::Result;
use crate::prompt::{self, Key};
use crate::proposal::ProposalId;
use crate::render::diff::{Layout, Options};
use crate::render::style::Role;
use crate::review::model::{Action, ReviewSlot, Verdict};
use crate::text::escape;

impl Terminal<'_> {
    pub(super) fn confirm(&mut self) -> AskResult<Next> {
        self.reach_saved()?;
        self.note_changes()?;
        if let Some(next) = self.ask_about_nothing()? {
            return Ok(next);
        }
        let mut decided = self.decided()?;
        let summary = screen::summary(self.session.slots(), &self.console.options);
        self.console.write(&summary)?;
        let mut unshown = self.show_last(&decided)?;
        self.say_trial()?;
        let writable = decided.iter().any(|one| one.decides() || !one.order.comments.is_empty());
        if !writable {
            self.console.say("There is nothing to write.")?;
            let is_left = |slot: &ReviewSlot| slot.verdict() == Verdict::Nothing;
            let goes_on = self.session.can_undo();
            if !goes_on && !self.queue.order().is_empty() {
                self.pause()?;
                return Ok(Next::List);
            }
            // Only `<` comes back to one that the walk skips.
            if !goes_on && !self.session.slots().iter().any(is_left) {
                return Ok(Next::End(if decided.is_empty() { End::Done } else { End::Failed }));
            }
        }
        let outlooks = outlooks(&decided);
        let foreign = outlooks.iter().any(|(_, it)| !it.foreign.is_empty());
        let is_shown = |it: &DecisionPreview| !it.changes.is_empty() || !it.already.is_empty();
        let pages = foreign || outlooks.iter().any(|(_, it)| is_shown(it));
        let marks = in_question(outlooks.iter().map(|(_, it)| it.marks.as_slice()));
        if foreign {
            let text = "y writes the proposals alone, and the other changes in their files are \
                        recorded as not approved; i approves those too";
            self.console.tell(Role::Warn, text)?;
        }
        let keys = Key::applying([
            (writable, 'y', "write these decisions"),
            (
                foreign && writable,
                'i',
                "include: write them, and approve the other changes in their files",
            ),
            (pages, 'p', "all that will be written, in the pager"),
            (writable, 'n', "write nothing now; they are kept"),
            (self.host.can_try() && self.takes_something(), 't', "run aye.tryCommand on them"),
            (self.session.can_undo(), 'u', "undo the last decision"),
            (true, '<', "back to the last proposal"),
            (true, 'q', "quit: keep or drop them"),
            (true, '?', "help"),
        ]);
        let question =
            if writable { format!("Write these decisions{marks}") } else { "Go back".to_owned() };
        loop {
            match self.ask_last(&question, &keys, &decided, &mut unshown)? {
                key @ ('y' | 'i') => {
                    for (one, unshown) in decided.iter_mut().zip(&unshown) {
                        let holds = matches!(&one.outlook, Some(Ok(it)) if !it.foreign.is_empty());
                        one.order.approve_foreign = key == 'i' && holds;
                        one.order.unshown_lines = if one.order.approve_foreign {
                            unshown.own + unshown.foreign
                        } else {
                            unshown.own
                        };
                    }
                    return Ok(Next::End(self.carry_out(decided)?));
                }
                'n' => {
                    self.say_kept()?;
                    return Ok(Next::End(End::Quit));
                }
                'u' => {
                    let what = self.session.undoes().unwrap_or_default();
                    let _ = self.session.act(Action::Undo);
                    self.console.dim(format_args!("undone: {what}"))?;
                    self.current = None;
                    self.keep(self.session.position())?;
                    return Ok(Next::Walk);
                }
                '<' if self.session.act(Action::Back).is_ok() => {
                    self.current = None;
                    return Ok(Next::Walk);
                }
                't' => self.try_taken()?,
                'q' => return Ok(Next::Leave),
                _ => {}
            }
        }
    }

    /// Asks about proposals of which nothing is taken, unless they are known to stay pending.
    fn ask_about_nothing(&mut self) -> AskResult<Option<Next>> {
        let here = self.session.position();
        for at in 0..self.session.slots().len() {
            let slot = &self.session.slots()[at];
            if slot.is_answered() || slot.verdict() != Verdict::Nothing {
                continue;
            }
            let (id, title) = (&slot.ticket.id, prompt::short_title(&slot.ticket.title));
            self.console.say("")?;
            let question = format!("Nothing of {id} is taken ({title}): reject it");
            let keys = [
                Key::new('y', "reject it, with a reason for the proposer"),
                Key::new('n', "leave it pending; this is asked again about its next revision"),
                Key::new('<', "back to the proposal"),
                Key::new('q', "quit: keep or drop what is decided"),
                Key::new('?', "help"),
            ];
            let key = self.console.choose(&question, &keys)?;
            self.session.visit(at);
            let reason = match key {
                '<' => {
                    self.current = None;
                    return Ok(Some(Next::Walk));
                }
                'q' => return Ok(Some(Next::Leave)),
                'y' => self.console.reason("Reject it because (Esc: leave it pending): ")?,
                _ => None,
            };
            match reason {
                Some(reason) => drop(self.session.act(Action::Reject(reason))),
                None => self.session.record_outcome(at, Verdict::Nothing),
            }
            self.keep(at)?;
        }
        self.session.visit(here);
        Ok(None)
    }

    pub(super) fn ask_last(
        &mut self,
        question: &str,
        keys: &[Key],
        decided: &[PlannedDecision],
        unshown: &mut [UnshownLines],
    ) -> AskResult<char> {
        prompt::forget_typed_ahead();
        loop {
            let asked = format!("{question}{}", not_shown(unshown));
            match self.console.choose(&asked, keys)? {
                'p' => {
                    self.page_last(decided)?;
                    unshown.fill(UnshownLines::default());
                }
                key => return Ok(key),
            }
        }
    }

    /// Returns counts of lines that were on neither this screen nor an earlier one.
    pub(super) fn show_last(&mut self, decided: &[PlannedDecision]) -> Result<Vec<UnshownLines>> {
        let limit = self.limit();
        // Unshown lines are counted in lines of the unified diff.
        let options =
            Options { layout: Layout::Unified, ignore_space: false, ..self.diff_options() };
        let is_shown = |one: &&PlannedDecision| matches!(one.outlook, Some(Ok(_)));
        let earlier = decided.iter().filter(is_shown).map(|one| self.seen.of(one.at)).collect();
        let (blocks, counted) = last_screen::screen(&outlooks(decided), earlier, &options, limit);
        self.put(blocks)?;
        for one in decided {
            if let Some(Err(error)) = &one.outlook {
                let what = format!("{} will not be written", one.order.id);
                self.console.not_written(&what, error)?;
            }
        }
        let mut counted = counted.into_iter();
        let unshown = |one: &PlannedDecision| match &one.outlook {
            Some(Ok(_)) => counted.next().unwrap_or_default(),
            _ => UnshownLines::default(),
        };
        Ok(decided.iter().map(unshown).collect())
    }

    fn page_last(&mut self, decided: &[PlannedDecision]) -> Result<()> {
        let options = Options {
            layout: Layout::Unified,
            ignore_space: false,
            ..self.console.options.clone()
        };
        let (blocks, _) = last_screen::screen(&outlooks(decided), Vec::new(), &options, usize::MAX);
        let mut text = String::new();
        blocks.iter().for_each(|block| block.push(&mut text));
        self.host.page(&text)
    }

    /// Marks proposals that another process decided or revised, and prints new comments.
    fn note_changes(&mut self) -> Result<()> {
        for at in 0..self.session.slots().len() {
            let slot = &self.session.slots()[at];
            let Some(reached) = &self.reached[at] else { continue };
            if matches!(slot.verdict(), Verdict::Gone { .. } | Verdict::Open { .. })
                && slot.comments.is_empty()
            {
                continue;
            }
            let id = slot.ticket.id.clone();
            if let Some(what) = self.host.changed(&id, &reached.revision)? {
                let text = format!("{id} {} meanwhile", screen::gone(&what));
                self.console.tell(Role::Warn, &text)?;
                self.session.record_outcome(at, Verdict::Gone { status: what });
                continue;
            }
            for (who, text) in self.host.heard(&id)? {
                let text =
                    format!("{id} {} meanwhile: {}", escape::name(&who), escape::line(&text));
                self.console.tell(Role::Warn, &text)?;
            }
        }
        Ok(())
    }
}

pub(super) fn outlooks(decided: &[PlannedDecision]) -> Vec<(&ProposalId, &DecisionPreview)> {
    let decided = decided.iter();
    decided.filter_map(|one| Some((&one.order.id, one.outlook.as_ref()?.as_ref().ok()?))).collect()
}

/// ` (3 changed lines not shown; p shows them)`, or nothing.
fn not_shown(unshown: &[UnshownLines]) -> String {
    let lines: u64 = unshown.iter().map(|unshown| unshown.own + unshown.foreign).sum();
    match lines {
        0 => String::new(),
        1 => " (1 changed line not shown; p shows it)".to_owned(),
        n => format!(" ({n} changed lines not shown; p shows them)"),
    }
}
