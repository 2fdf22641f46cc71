//! Who is running the command: a person, an agent or a build machine.

use std::path::PathBuf;

use super::Context;
use crate::error::{Error, Result};
use crate::prompt::{self, Answer, Prompt};
use crate::proposal::event::How;
use crate::proposal::{Actor, ActorKind, codes};
use crate::render::escape;
use crate::store::{Store, trial};

/// Variables that known agent harnesses set for the commands they run.
pub(super) const HARNESSES: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CODEX_SANDBOX",
    "CODEX_THREAD_ID",
    "CURSOR_AGENT",
    "GEMINI_CLI",
    "OPENCODE",
    "AMP_CURRENT_THREAD_ID",
    "CLINE_ACTIVE",
    "AUGMENT_AGENT",
    "COPILOT_AGENT",
    "GOOSE_TERMINAL",
    "AIDER_AGENT",
    "AI_AGENT",
];

impl Context {
    /// The repository the command works in. What an interrupted apply left in it is settled
    /// first; a failure to do so is said and stops only what writes files.
    ///
    /// # Errors
    /// `not_a_repository` and its kin.
    pub fn store(&self) -> Result<Store> {
        let mut store = Store::discover(&self.directory)?;
        store.notify(&self.notices);
        trial::sweep(store.common_dir());
        #[cfg(unix)]
        store.share();
        match crate::apply::recover(&store) {
            Ok(settled) => {
                for recovery in settled {
                    self.note(&format!("note: {}", escape::line(&recovery.message)));
                    for left in &recovery.left {
                        self.note(&format!("warning: {}", escape::line(left)));
                    }
                }
            }
            Err(error) => {
                self.note(&format!("warning: {}", escape::line(error.message())));
            }
        }
        Ok(store)
    }

    /// Who is running the command. The name is `AYE_AGENT`, or git's own identity, or the
    /// login's; never an error.
    pub fn actor(&self, store: &Store) -> Actor {
        let text = |name: &str| self.var(name).map(|value| value.to_string_lossy().into_owned());
        let agent = text("AYE_AGENT");
        let kind = if agent.is_some() || HARNESSES.iter().any(|name| self.var(name).is_some()) {
            ActorKind::Agent
        } else if self.var("CI").is_some_and(|value| value != "false" && value != "0") {
            ActorKind::Ci
        } else {
            ActorKind::Human
        };
        let name = agent
            .or_else(|| text("GIT_AUTHOR_NAME"))
            .or_else(|| store.config("user.name").filter(|name| !name.is_empty()))
            .or_else(|| text("USER"))
            .or_else(|| text("LOGNAME"))
            .unwrap_or_else(|| "unknown".into());
        let email = text("GIT_AUTHOR_EMAIL")
            .or_else(|| store.config("user.email"))
            .or_else(|| text("EMAIL"))
            .unwrap_or_default();
        Actor { name, email, kind }
    }

    /// The name that stands as `proposed_by`: the caller's own (`--by`, `AYE_AGENT`), else
    /// `otherwise`.
    pub fn proposed_by(&self, by: Option<&str>, otherwise: &str) -> String {
        let named = by.map(str::to_owned).filter(|name| !name.trim().is_empty());
        named
            .or_else(|| self.var("AYE_AGENT").map(|value| value.to_string_lossy().into_owned()))
            .unwrap_or_else(|| otherwise.to_owned())
    }

    /// Decides whether this caller may decide: a person at a terminal is asked `question`, a
    /// script needs `yes`, an agent is refused. `command` is what a person would type.
    ///
    /// # Errors
    /// `human_approval_required`, `confirmation_required`.
    pub fn may_decide(
        &mut self,
        actor: &Actor,
        yes: bool,
        question: &str,
        command: &str,
    ) -> Result<Option<How>> {
        if actor.kind == ActorKind::Agent {
            return Err(Error::new(
                &codes::HUMAN_APPROVAL_REQUIRED,
                format!("'{}' is an agent, and a person has to decide this", actor.name),
            )
            .with("command", command)
            .hint(format!("ask your user to run: {command}")));
        }
        if yes {
            return Ok(Some(How::Flag));
        }
        if !self.interactive() {
            return Err(Error::new(
                &codes::CONFIRMATION_REQUIRED,
                "there is no terminal to ask at, and --yes was not given",
            )
            .with("command", format!("{command} --yes"))
            .hint(format!("to decide without being asked: {command} --yes")));
        }
        Ok(self.confirm(question).then_some(How::Terminal))
    }

    /// Asks for yes or no at the terminal. Only `y` and Enter mean yes; after Ctrl-C the exit
    /// status says so.
    fn confirm(&mut self, question: &str) -> bool {
        let prompt = Prompt::new(console::Term::stderr(), self.marks_pastes());
        prompt::forget_typed_ahead();
        match prompt.line(&format!("{question} [y/n] ")) {
            Ok(Answer::Line(answer)) => matches!(answer.as_str(), "y" | "Y" | "yes"),
            Ok(Answer::Escaped | Answer::End) => false,
            Ok(Answer::Interrupt) | Err(_) => {
                let _ = self.ends_with(130);
                false
            }
        }
    }

    /// Asks for a line of text at the terminal; `None` if nothing was typed.
    ///
    /// # Errors
    /// `io_error` if the terminal cannot be read.
    pub fn ask(&mut self, prompt: &str) -> Result<Option<String>> {
        let text: String =
            dialoguer::Input::new().with_prompt(prompt).allow_empty(true).interact_text().map_err(
                |error| {
                    Error::io("read from the terminal", &std::io::Error::other(error.to_string()))
                },
            )?;
        let text = text.trim();
        Ok((!text.is_empty()).then(|| text.to_owned()))
    }

    /// The folder that paths on the command line are relative to. Git starts aliases and hooks
    /// at the top of the work tree and says in `GIT_PREFIX` where it was called.
    pub fn path_base(&self, store: &Store) -> PathBuf {
        let Some(prefix) = self.var("GIT_PREFIX") else { return self.directory.clone() };
        let top = store.work_dir().and_then(|top| std::fs::canonicalize(top).ok());
        let here = std::fs::canonicalize(&self.directory).ok();
        if top.is_some() && top == here {
            self.directory.join(prefix)
        } else {
            self.directory.clone()
        }
    }
}
