//! The caller: person, agent or build machine.

use std::path::PathBuf;

use super::{Context, processes};
use crate::actor;
use crate::actor::ancestors::AgentProcess;
use crate::app::Session;
use crate::error::{Error, Result};
use crate::proposal::{Actor, ActorKind, AgentRun, Caller, codes};
use crate::repository::Repository;
use crate::store::Store;

/// The proposal's id, for commands of `aye try`.
pub(super) const AYE_TRY: &str = "AYE_TRY";

impl Context {
    /// Opens the repository; in a session's tree, the session's repository.
    pub fn store(&self) -> Result<Store> {
        let found = Store::discover(&self.directory)?;
        let around = self.session_around(found.repository());
        self.prepared(around.map_or(found, |(repository, _)| repository))
    }

    /// Opens the repository for single edits. Refuses a session's tree, where the files are the
    /// proposal.
    ///
    /// # Errors
    /// `in_session`.
    pub fn store_to_edit(&self) -> Result<Store> {
        let found = Store::discover(&self.directory)?;
        self.refuse_session(found.repository())?;
        self.prepared(found)
    }

    /// Opens the repository for a direct patch. In a session's tree nothing is recorded.
    pub fn store_to_patch(&self) -> Result<Store> {
        let mut found = Store::discover(&self.directory)?;
        if self.session_around(found.repository()).is_some() {
            found.in_session();
        }
        self.prepared(found)
    }

    /// Recovers an interrupted apply first. A failure is reported and stops only commands that
    /// write files.
    ///
    /// # Errors
    /// `not_a_repository`.
    pub fn store_here(&self) -> Result<Store> {
        self.prepared(Store::discover(&self.directory)?)
    }

    pub(super) fn prepared(&self, mut store: Store) -> Result<Store> {
        store.notify(&self.notices);
        store.keep_up(&self.upkeep);
        store.announce(&self.announced);
        store.run_by(self.agent_run());
        store.project_with(crate::memory::service::decide::project);
        if self.is_in_trial(Some(&store)) {
            store.in_trial();
        }
        // By its variables alone: most commands neither decide nor record.
        if self.is_ci() && actor::agent(|name| self.var(name)).is_none() {
            store.write_only_as(store.repository().trusted_config("aye.clone"))?;
        }
        self.sync_after.replace(store.repository().config("aye.syncAfter"));
        store.repository().share();
        self.recover_leftovers(&store);
        Ok(store)
    }

    pub fn session<'a>(&self, store: &'a Store) -> Session<'a> {
        Session { store, caller: self.caller(store.repository()), now: self.now }
    }

    pub fn actor(&self, repository: &Repository) -> Actor {
        self.caller(repository).actor
    }

    /// Never an error.
    ///
    /// An agent's name is `AYE_AGENT`, or else that of its marker, or of its process. People and CI go by git's
    /// *committer*: git sets `GIT_AUTHOR_*` for the hooks of `git commit --author=…`, and an author
    /// does not decide.
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
            return Caller { actor, marker: Some(marker), tool: false };
        }
        let kind = if self.is_ci() { ActorKind::Ci } else { ActorKind::Human };
        let name = text("GIT_COMMITTER_NAME")
            .or_else(|| config("committer.name"))
            .or_else(|| config("user.name"))
            .or_else(|| text("USER"))
            .or_else(|| text("LOGNAME"))
            .unwrap_or_else(|| "unknown".into());
        Caller { actor: Actor { name, email, kind }, marker: None, tool: false }
    }

    fn is_ci(&self) -> bool {
        self.var("CI").is_some_and(|value| value != "false" && value != "0")
    }

    fn agent_run(&self) -> Option<AgentRun> {
        let session = actor::session(|name| self.var(name)).unwrap_or_default();
        self.run_of(&session.to_string_lossy(), None)
    }

    /// `AYE_MODEL` wins over the harness's `model`.
    pub(super) fn run_of(&self, session: &str, model: Option<&str>) -> Option<AgentRun> {
        let own = self.var(actor::AYE_MODEL).and_then(|value| value.into_string().ok());
        AgentRun::new(Some(session), own.as_deref().or(model))
    }

    /// Name and evidence: a variable, or a process.
    pub(super) fn agent(&self) -> Option<(String, String)> {
        let marked = actor::agent(|name| self.var(name));
        let marked = marked.map(|(name, variable)| (name, variable.to_owned()));
        marked.or_else(|| {
            let AgentProcess { agent, id } = self.agent_above()?;
            Some((agent.clone(), format!("process {id}")))
        })
    }

    /// The coding agent that this process is below. Read once, and only for a caller without a marker.
    fn agent_above(&self) -> Option<&AgentProcess> {
        self.above.get_or_init(processes::agent_above).as_ref()
    }

    fn is_in_trial(&self, store: Option<&Store>) -> bool {
        self.var(AYE_TRY).is_some() || store.is_some_and(Store::is_trial)
    }

    /// Refuses every kind of caller: the proposal's own code may be running.
    ///
    /// # Errors
    /// `in_trial`.
    pub(super) fn refuse_trial(&self) -> Result<()> {
        let found = Store::discover(&self.directory).ok();
        if self.is_in_trial(found.as_ref()) { Err(Store::refused_in_trial()) } else { Ok(()) }
    }

    /// `what` is an action such as "close threads"; `command` is for the hint.
    ///
    /// # Errors
    /// `human_approval_required`.
    pub(super) fn refuse_agents(&self, what: &str, command: &str) -> Result<()> {
        let Some((name, _)) = self.agent() else { return Ok(()) };
        // The evidence is not named: an agent that reads it removes it, and decides.
        Err(Error::new(
            &codes::HUMAN_APPROVAL_REQUIRED,
            format!("'{name}' is an agent, and agents do not {what}"),
        )
        .with("command", command)
        .hint(format!("ask your user to run: {command}")))
    }

    /// Git starts aliases and hooks at the top, with the caller's directory in `GIT_PREFIX`.
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
