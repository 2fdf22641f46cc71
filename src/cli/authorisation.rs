//! Authority for a decision: by `--yes`, or by an answer at the terminal.

use super::{Context, pager};
use crate::decide;
use crate::error::{Error, Result};
use crate::prompt::{self, Answer, Key, LineInput, Look, Prompt};
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;
use crate::proposal::{Authority, Proposal, codes};
use crate::render::style::Palette;
use crate::store::Store;
use crate::text::escape;

/// A decision to be authorised.
pub struct AuthorityRequest<'a> {
    pub verb: Verb,
    pub proposals: &'a [Proposal],
    pub yes: bool,
    pub question: &'a str,
    /// The command to repeat, for hints.
    pub command: &'a str,
}

impl Context {
    /// Asks at a terminal without `--yes`; returns `None` after a no.
    ///
    /// # Errors
    /// `human_approval_required`, `terminal_required`, `confirmation_required`.
    pub fn authorise(
        &mut self,
        store: &Store,
        asking: &AuthorityRequest<'_>,
    ) -> Result<Option<Authority>> {
        let by_flag = self.authorise_by_flag(store, asking)?;
        self.authorise_by_question(store, asking, by_flag)
    }

    /// Returns `by_flag`, or asks at the terminal; `None` after a no.
    pub fn authorise_by_question(
        &mut self,
        store: &Store,
        asking: &AuthorityRequest<'_>,
        by_flag: Option<Authority>,
    ) -> Result<Option<Authority>> {
        if by_flag.is_some() || !self.confirm(asking.question, "yes") {
            return Ok(by_flag);
        }
        self.grant(store, asking, &Evidence::Terminal).map(Some)
    }

    /// `None` means: ask at the terminal. Refuses an agent before anything is shown.
    pub fn authorise_by_flag(
        &self,
        store: &Store,
        asking: &AuthorityRequest<'_>,
    ) -> Result<Option<Authority>> {
        let wanted = if asking.yes { Evidence::Flag } else { Evidence::Terminal };
        let granted = match self.grant(store, asking, &wanted) {
            Err(error) if error.is(&codes::TERMINAL_REQUIRED) && self.interactive() => None,
            granted => Some(granted?).filter(|_| asking.yes),
        };
        if granted.is_none() && !self.interactive() {
            // The caller may be an agent that aye does not recognise: no word of `--yes`.
            let command = asking.command;
            return Err(Error::new(
                &codes::CONFIRMATION_REQUIRED,
                "a person decides this at a terminal, and there is none",
            )
            .with("command", command)
            .hint(format!("ask your user to run: {command}")));
        }
        Ok(granted)
    }

    /// # Errors
    /// `human_approval_required`, `terminal_required`.
    pub fn grant(
        &self,
        store: &Store,
        asking: &AuthorityRequest<'_>,
        evidence: &Evidence,
    ) -> Result<Authority> {
        let AuthorityRequest { verb, proposals, command, .. } = *asking;
        if *evidence == Evidence::Terminal {
            // HEAD may have moved while the question stood.
            store.repository().clear_head_cache();
        }
        decide::authorise(
            store,
            &self.caller(store.repository()),
            verb,
            proposals,
            evidence,
            command,
        )
    }

    /// Authority to revise: a person's, or the proposer's own.
    ///
    /// # Errors
    /// `human_approval_required` for another proposer's proposal.
    pub fn authorise_revision(
        &self,
        store: &Store,
        proposal: &Proposal,
        command: &str,
    ) -> Result<Authority> {
        let (verb, proposals) = (Verb::Revise, std::slice::from_ref(proposal));
        decide::authorise(
            store,
            &self.caller(store.repository()),
            verb,
            proposals,
            &Evidence::Flag,
            command,
        )
    }

    /// One key, without Enter; `None` after Esc, end of input and Ctrl-C, which also sets the exit
    /// status.
    pub fn choose(&mut self, question: &str, keys: &[Key]) -> Option<char> {
        let prompt = Prompt::new(console::Term::stderr(), self.marks_pastes());
        let look = Look { palette: Palette::plain(), columns: pager::note_columns().unwrap_or(80) };
        prompt::forget_typed_ahead();
        let answer = prompt.choose(question, keys, &look);
        self.advance_clock();
        match answer {
            Ok(Answer::Key(key)) => Some(key),
            Ok(Answer::Interrupt) | Err(_) => {
                let _ = self.ends_with(130);
                None
            }
            Ok(_) => None,
        }
    }

    /// Esc is no.
    pub fn confirm(&mut self, question: &str, yes: &'static str) -> bool {
        let keys = [Key::new('y', yes), Key::new('n', "do nothing"), Key::new('?', "help")];
        self.choose(question, &keys) == Some('y')
    }

    pub fn note_changed(&self, error: &Error) {
        self.note(&format!("{}; look again", escape::line(error.message())));
    }

    /// A decision's time is that of the answer: a question may stand for hours.
    fn advance_clock(&mut self) {
        self.now = self.clock();
    }

    pub fn ask_reason(&mut self, question: &str) -> Option<String> {
        loop {
            let text = self.ask(question)?;
            if !text.is_empty() {
                return Some(text);
            }
            self.note(prompt::REASON_WANTED);
        }
    }

    /// `None` after Esc, end of input and Ctrl-C, which also sets the exit status.
    pub fn ask(&mut self, question: &str) -> Option<String> {
        let answer = Prompt::new(console::Term::stderr(), self.marks_pastes()).line(question);
        self.advance_clock();
        match answer {
            Ok(LineInput::Line(text)) => Some(text),
            Ok(LineInput::Escaped | LineInput::End) => None,
            Ok(LineInput::Interrupt) | Err(_) => {
                let _ = self.ends_with(130);
                None
            }
        }
    }
}
