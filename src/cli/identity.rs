//! Who is running the command: a person, an agent or a build machine.

use std::path::PathBuf;

use super::Context;
use crate::actor;
use crate::app::Session;
use crate::error::{Error, Result};
use crate::proposal::{Actor, ActorKind, AgentRun, Caller, codes};
use crate::repository::Repository;
use crate::store::Store;

/// Set for the commands that `aye try` runs, to the id of the proposal that is tried.
pub(super) const AYE_TRY: &str = "AYE_TRY";

impl Context {
    /// The repository the command works in: in the tree of a session, the one that the session is of.
    ///
    /// # Errors
    /// As [`Context::store_here`].
    pub fn store(&self) -> Result<Store> {
        let found = Store::discover(&self.directory)?;
        let around = self.session_around(found.repository());
        self.prepared(around.map_or(found, |(repository, _)| repository))
    }

    /// The repository around the present directory, for what proposes single edits: in the tree of a
    /// session the files are the proposal.
    ///
    /// # Errors
    /// `in_session`; those of [`Context::store_here`].
    pub fn store_to_edit(&self) -> Result<Store> {
        let found = Store::discover(&self.directory)?;
        self.refuse_session(found.repository())?;
        self.prepared(found)
    }

    /// The repository around the present directory, for a patch that is written at once: in the tree of a session
    /// only the files are.
    ///
    /// # Errors
    /// As [`Context::store_here`].
    pub fn store_to_patch(&self) -> Result<Store> {
        let mut found = Store::discover(&self.directory)?;
        if self.session_around(found.repository()).is_some() {
            found.in_session();
        }
        self.prepared(found)
    }

    /// The repository around the present directory. What an interrupted apply left in it is settled
    /// first; a failure to do so is said and stops only what writes files.
    ///
    /// # Errors
    /// `not_a_repository` and its kin.
    pub fn store_here(&self) -> Result<Store> {
        self.prepared(Store::discover(&self.directory)?)
    }

    /// `store`, ready for a command; see [`Context::store_here`].
    ///
    /// # Errors
    /// As [`Context::store_here`].
    pub(super) fn prepared(&self, mut store: Store) -> Result<Store> {
        store.notify(&self.notices);
        store.keep_up(&self.upkeep);
        store.announce(&self.announced);
        store.run_by(self.agent_run());
        store.project_with(crate::memory::service::decide::project);
        if self.is_in_trial(Some(&store)) {
            store.in_trial();
        }
        if self.caller(store.repository()).actor.kind == ActorKind::Ci {
            store.write_only_as(store.repository().trusted_config("aye.clone"))?;
        }
        store.repository().share();
        self.settle(&store);
        Ok(store)
    }

    /// Who is running the command, in `store` at the time of this run.
    pub fn session<'a>(&self, store: &'a Store) -> Session<'a> {
        Session { store, caller: self.caller(store.repository()), now: self.now }
    }

    /// Who is running the command; see [`Context::caller`].
    pub fn actor(&self, repository: &Repository) -> Actor {
        self.caller(repository).actor
    }

    /// Who is running the command, and the environment variable that marks an agent. Never an
    /// error.
    ///
    /// An agent's name is `AYE_AGENT`, or else that of the agent whose variable is set. People and
    /// CI go by git's *committer* identity: git sets `GIT_AUTHOR_*` for the hooks of `git commit
    /// --author=…`, and the author of a commit is not who decides.
    pub fn caller(&self, repository: &Repository) -> Caller {
        let text = |name: &str| self.var(name).map(|value| value.to_string_lossy().into_owned());
        let config = |key: &str| repository.config(key).filter(|value| !value.is_empty());
        let email = text("GIT_COMMITTER_EMAIL")
            .or_else(|| config("committer.email"))
            .or_else(|| config("user.email"))
            .or_else(|| text("EMAIL"))
            .unwrap_or_default();
        if let Some((name, marker)) = self.agent() {
            let actor = Actor { name, email, kind: ActorKind::Agent };
            return Caller { actor, marker: Some(marker.to_owned()), tool: false };
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
        Caller { actor: Actor { name, email, kind }, marker: None, tool: false }
    }

    /// What the environment says of an agent's run: session and model.
    fn agent_run(&self) -> Option<AgentRun> {
        let session = actor::session(|name| self.var(name)).unwrap_or_default();
        self.run_of(&session.to_string_lossy(), None)
    }

    /// The run of the agent in `session`, with the `model` that its harness names, unless `AYE_MODEL` names
    /// one.
    pub(super) fn run_of(&self, session: &str, model: Option<&str>) -> Option<AgentRun> {
        let own = self.var(actor::AYE_MODEL).and_then(|value| value.into_string().ok());
        AgentRun::new(Some(session), own.as_deref().or(model))
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

    /// Whether the command is one of a trial, by the environment or by the work tree that it runs in.
    fn is_in_trial(&self, store: Option<&Store>) -> bool {
        self.var(AYE_TRY).is_some() || store.is_some_and(Store::is_trial)
    }

    /// Refuses a command of a trial, whoever it is by its environment: it may be what the proposal itself has
    /// brought.
    ///
    /// # Errors
    /// `in_trial`.
    pub(super) fn refuse_trial(&self) -> Result<()> {
        let found = Store::discover(&self.directory).ok();
        if self.is_in_trial(found.as_ref()) { Err(Store::refused_in_trial()) } else { Ok(()) }
    }

    /// Refuses an agent what a person alone does to this clone and to what holds agents to the gate: to
    /// `what`, as in "close threads". `command` is what a person types.
    ///
    /// # Errors
    /// `human_approval_required`.
    pub(super) fn refuse_agents(&self, what: &str, command: &str) -> Result<()> {
        let Some((name, marker)) = self.agent() else { return Ok(()) };
        Err(Error::new(
            &codes::HUMAN_APPROVAL_REQUIRED,
            format!("'{name}' is an agent ({marker} is set), and agents do not {what}"),
        )
        .with("command", command)
        .with("marker", marker)
        .hint(format!("ask your user to run: {command}")))
    }

    /// The directory that paths on the command line are relative to. Git starts aliases and hooks
    /// at the top of the work tree and says in `GIT_PREFIX` where it was called.
    pub fn path_base(&self, repository: &Repository) -> PathBuf {
        let Some(prefix) = self.var("GIT_PREFIX") else { return self.directory.clone() };
        let top = repository.work_dir().and_then(|top| std::fs::canonicalize(top).ok());
        let here = std::fs::canonicalize(&self.directory).ok();
        if top.is_some() && top == here {
            self.directory.join(prefix)
        } else {
            self.directory.clone()
        }
    }
}
