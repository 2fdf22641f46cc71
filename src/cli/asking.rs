//! A person's word: by `--yes`, or at the terminal.

use super::Context;
use crate::decide;
use crate::error::{Error, Result};
use crate::prompt::{self, Answer, Prompt};
use crate::proposal::event::Evidence;
use crate::proposal::rules::Verb;
use crate::proposal::{Authority, Proposal, codes};
use crate::store::Store;
use crate::text::escape;

/// Something that takes a person's word.
pub struct Asking<'a> {
    /// What is to be done.
    pub verb: Verb,
    /// To which proposals.
    pub proposals: &'a [Proposal],
    /// `--yes`.
    pub yes: bool,
    /// What a person at a terminal is asked.
    pub question: &'a str,
    /// What a person would type.
    pub command: &'a str,
}

impl Context {
    /// The authority to do what `asking` says: by the rules, and where a person is at a terminal
    /// and did not say `--yes`, after the answer to its question. `None` if the answer was no.
    ///
    /// # Errors
    /// `human_approval_required`, `terminal_required`, `confirmation_required`.
    pub fn authorise(&mut self, store: &Store, asking: &Asking<'_>) -> Result<Option<Authority>> {
        let by_flag = self.by_flag(store, asking)?;
        self.asked(store, asking, by_flag)
    }

    /// The authority `by_flag`, or that of a person who answers the question at the terminal with yes; `None` after
    /// a no.
    ///
    /// # Errors
    /// As [`Context::grant`].
    pub fn asked(
        &mut self,
        store: &Store,
        asking: &Asking<'_>,
        by_flag: Option<Authority>,
    ) -> Result<Option<Authority>> {
        if by_flag.is_some() || self.choose(asking.question, &["y", "n"]).as_deref() != Some("y") {
            return Ok(by_flag);
        }
        self.grant(store, asking, &Evidence::Terminal).map(Some)
    }

    /// The authority of `--yes`; `None` where a person is to be asked at the terminal, after which
    /// [`Context::grant`] gives it. An agent is refused here, before anything is shown or asked.
    ///
    /// # Errors
    /// As [`Context::authorise`].
    pub fn by_flag(&self, store: &Store, asking: &Asking<'_>) -> Result<Option<Authority>> {
        let wanted = if asking.yes { Evidence::Flag } else { Evidence::Terminal };
        let granted = match self.grant(store, asking, &wanted) {
            // It has to be answered at a terminal, and there is one.
            Err(error) if error.is(&codes::TERMINAL_REQUIRED) && self.interactive() => None,
            granted => Some(granted?).filter(|_| asking.yes),
        };
        if granted.is_none() && !self.interactive() {
            let command = asking.command;
            return Err(Error::new(
                &codes::CONFIRMATION_REQUIRED,
                "there is no terminal to ask at, and --yes was not given",
            )
            .with("command", format!("{command} --yes"))
            .hint(format!("to decide without being asked: {command} --yes")));
        }
        Ok(granted)
    }

    /// The authority that the rules give for `evidence`.
    ///
    /// # Errors
    /// `human_approval_required`, `terminal_required`.
    pub fn grant(
        &self,
        store: &Store,
        asking: &Asking<'_>,
        evidence: &Evidence,
    ) -> Result<Authority> {
        let Asking { verb, proposals, command, .. } = *asking;
        if *evidence == Evidence::Terminal {
            // A question may have stood for hours.
            store.repository().look_again();
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

    /// The authority to give a proposal new content: a person's, or its proposer's own.
    ///
    /// # Errors
    /// `human_approval_required` for another proposer's proposal.
    pub fn own(&self, store: &Store, proposal: &Proposal, command: &str) -> Result<Authority> {
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

    /// Asks a question whose answer is one of `keys` at the terminal; `None` for any other, for Esc,
    /// the end of input and Ctrl-C, after which the exit status says so.
    pub fn choose(&mut self, question: &str, keys: &[&str]) -> Option<String> {
        let prompt = Prompt::new(console::Term::stderr(), self.marks_pastes());
        prompt::forget_typed_ahead();
        let answer = prompt.line(&format!("{question} [{}] ", keys.join("/")));
        self.answered();
        match answer {
            Ok(Answer::Line(answer)) => {
                let key = match answer.as_str() {
                    "Y" | "yes" => "y".to_owned(),
                    _ => answer,
                };
                Some(key).filter(|key| keys.contains(&key.as_str()))
            }
            Ok(Answer::Escaped | Answer::End) => None,
            Ok(Answer::Interrupt) | Err(_) => {
                let _ = self.ends_with(130);
                None
            }
        }
    }

    /// Says that what was asked about is not as it was shown, by `error`, before it is asked about again.
    pub fn look_again(&self, error: &Error) {
        self.note(&format!("{}; look again", escape::line(error.message())));
    }

    /// A question may have stood for hours: what is decided is decided now, and not when the command began.
    fn answered(&mut self) {
        self.now = self.clock();
    }

    /// Asks for a reason at the terminal, until there is one; as [`Context::ask`].
    pub fn reason(&mut self, question: &str) -> Option<String> {
        loop {
            let text = self.ask(question)?;
            if !text.is_empty() {
                return Some(text);
            }
            self.note(prompt::REASON_WANTED);
        }
    }

    /// Asks for a line of text at the terminal; `None` for Esc, the end of input and Ctrl-C, after which
    /// the exit status says so.
    pub fn ask(&mut self, question: &str) -> Option<String> {
        let answer = Prompt::new(console::Term::stderr(), self.marks_pastes()).line(question);
        self.answered();
        match answer {
            Ok(Answer::Line(text)) => Some(text),
            Ok(Answer::Escaped | Answer::End) => None,
            Ok(Answer::Interrupt) | Err(_) => {
                let _ = self.ends_with(130);
                None
            }
        }
    }
}
