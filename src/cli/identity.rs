//! Who is running the command: a person, an agent or a build machine.

use std::path::PathBuf;

use super::Context;
use crate::actor;
use crate::error::{Error, Result};
use crate::prompt::{self, Answer, Prompt};
use crate::proposal::event::How;
use crate::proposal::{Actor, ActorKind, codes};
use crate::render::escape;
use crate::store::{Store, trial};

/// Who runs the command, and what shows that it is an agent.
#[derive(Clone, Debug)]
pub struct Caller {
    /// Name, address and kind, as events record them.
    pub actor: Actor,
    /// The environment variable that marks the caller as an agent; `None` for people and CI.
    pub marker: Option<String>,
}

impl Context {
    /// The repository the command works in. What an interrupted apply left in it is settled
    /// first; a failure to do so is said and stops only what writes files.
    ///
    /// # Errors
    /// `not_a_repository` and its kin.
    pub fn store(&self) -> Result<Store> {
        let store = Store::discover(&self.directory)?;
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

    /// Who is running the command; see [`Context::caller`].
    pub fn actor(&self, store: &Store) -> Actor {
        self.caller(store).actor
    }

    /// Who is running the command, and the environment variable that marks an agent. Never an
    /// error.
    ///
    /// An agent's name is `AYE_AGENT`, or else that of the agent whose variable is set. People and
    /// CI go by git's *committer* identity: git sets `GIT_AUTHOR_*` for the hooks of `git commit
    /// --author=…`, and the author of a commit is not who decides.
    pub fn caller(&self, store: &Store) -> Caller {
        let text = |name: &str| self.var(name).map(|value| value.to_string_lossy().into_owned());
        let config = |key: &str| store.config(key).filter(|value| !value.is_empty());
        let email = text("GIT_COMMITTER_EMAIL")
            .or_else(|| config("committer.email"))
            .or_else(|| config("user.email"))
            .or_else(|| text("EMAIL"))
            .unwrap_or_default();
        if let Some((name, marker)) = self.agent() {
            let actor = Actor { name, email, kind: ActorKind::Agent };
            return Caller { actor, marker: Some(marker.to_owned()) };
        }
        let kind = match self.var("CI") {
            Some(value) if value != "false" && value != "0" => ActorKind::Ci,
            _ => ActorKind::Human,
        };
        let name = text("GIT_COMMITTER_NAME")
            .or_else(|| config("committer.name"))
            .or_else(|| config("user.name"))
            .or_else(|| text("USER"))
            .or_else(|| text("LOGNAME"))
            .unwrap_or_else(|| "unknown".into());
        Caller { actor: Actor { name, email, kind }, marker: None }
    }

    /// The agent that runs the command, if one does: its name, and the variable that shows it.
    fn agent(&self) -> Option<(String, &'static str)> {
        // Set but empty, it names no agent; a variable of the agent's own still counts.
        if let Some(name) = self.var(actor::AYE_AGENT) {
            return Some((name.to_string_lossy().into_owned(), actor::AYE_AGENT));
        }
        let marker = actor::agent_marker(|name| self.var(name))?;
        Some((marker.agent.to_owned(), marker.variable))
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
            let marker = self.agent().map(|(_, variable)| variable);
            let seen = marker.map(|variable| format!(" ({variable} is set)")).unwrap_or_default();
            return Err(Error::new(
                &codes::HUMAN_APPROVAL_REQUIRED,
                format!("'{}' is an agent{seen}, and a person has to decide this", actor.name),
            )
            .with("command", command)
            .with("marker", marker)
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
