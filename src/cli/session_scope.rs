//! State directory and current session of a command.

use std::path::{Path, PathBuf};

use super::Context;
use crate::actor::AYE_SESSION;
use crate::app;
use crate::error::{Error, Result};
use crate::proposal::{Actor, ActorKind, Caller};
use crate::repository::Repository;
use crate::session::{SessionStore, codes, tree};
use crate::store::Store;

impl Context {
    /// The user's XDG state directory:
    /// <https://specifications.freedesktop.org/basedir-spec/latest/>.
    ///
    /// # Errors
    /// `no_state_directory`.
    pub fn state_directory(&self) -> Result<PathBuf> {
        let absolute = |path: &PathBuf| path.is_absolute();
        let named = self.var("XDG_STATE_HOME").map(PathBuf::from).filter(absolute);
        let home = || self.var("HOME").map(PathBuf::from).filter(absolute);
        named.or_else(|| Some(home()?.join(".local/state"))).ok_or_else(|| {
            Error::new(
                &codes::NO_STATE_DIRECTORY,
                "there is no place for the trees of sessions: HOME is not set",
            )
            .hint("set XDG_STATE_HOME to a directory of your own, outside the repository")
        })
    }

    /// The session around the command. The tree's own configuration names it; the repository has to
    /// confirm it.
    pub(super) fn session_around(&self, found: &Repository) -> Option<(Store, String)> {
        let name = found.config(tree::SESSION)?;
        let repository = found.config(tree::REPOSITORY)?;
        let store = Store::discover(repository.as_ref()).ok()?;
        let tree = found.work_dir()?;
        let is_here = |state: &Path| {
            let home = SessionStore::open(store.repository().common_dir(), state).ok().flatten();
            home.and_then(|home| home.session_at(&tree)).is_some_and(|around| around == name)
        };
        let own = self.state_directory().ok();
        let is_known = own.is_some_and(|state| is_here(&state))
            || SessionStore::state_around(store.repository().common_dir(), &tree)
                .is_some_and(|state| is_here(&state));
        is_known.then_some((store, name))
    }

    /// `marker` is the evidence: a run or a hook.
    pub(super) fn agent_session<'a>(
        &self,
        store: &'a Store,
        name: &str,
        marker: &str,
    ) -> app::Session<'a> {
        let own = self.caller(store.repository()).actor;
        let actor = Actor { name: name.to_owned(), kind: ActorKind::Agent, ..own };
        let caller = Caller { actor, marker: Some(marker.to_owned()), tool: false };
        app::Session { store, caller, now: self.clock() }
    }

    /// Refuses a session's tree, whose files are the proposal.
    ///
    /// # Errors
    /// `in_session`.
    pub(super) fn refuse_session(&self, repository: &Repository) -> Result<()> {
        let Some((_, name)) = self.session_around(repository) else { return Ok(()) };
        Err(Error::new(&codes::IN_SESSION, format!("this is the tree of session '{name}'"))
            .with("session", name.clone())
            .hint(format!(
                "edit the files here; what is left is proposed when the run ends, or now: \
                 aye session submit {name}"
            )))
    }

    /// Refuses an agent in a session's run: `what` would write to the checkout without a proposal.
    ///
    /// # Errors
    /// `in_session`.
    pub(super) fn refuse_agents_in_session(
        &self,
        repository: &Repository,
        what: &str,
        command: &str,
    ) -> Result<()> {
        if self.refuse_agents(what, command).is_ok() {
            return Ok(());
        }
        let Some(name) = self.session_of_run(repository) else { return Ok(()) };
        Err(Error::new(
            &codes::IN_SESSION,
            format!("this is the run of session '{name}': an agent in it does not {what}"),
        )
        .with("session", name)
        .hint(format!("leave it to your user, in the checkout: {command}")))
    }

    /// The tree names the session, or the environment of its run.
    fn session_of_run(&self, repository: &Repository) -> Option<String> {
        if let Some((_, name)) = self.session_around(repository) {
            return Some(name);
        }
        let name = self.var(AYE_SESSION)?.into_string().ok()?;
        let home =
            SessionStore::open(repository.common_dir(), &self.state_directory().ok()?).ok()??;
        home.record(&name).is_ok().then_some(name)
    }

    /// No proposal covers the scaffold: refuses agents in a session, and where direct writes are
    /// gated.
    ///
    /// # Errors
    /// `in_session`, `human_approval_required`.
    pub(super) fn refuse_agents_scaffold(&self, command: &str) -> Result<()> {
        let found = Store::discover(&self.directory)?;
        self.refuse_agents_in_session(found.repository(), "write files of the checkout", command)?;
        let what = "write files of the checkout, where direct writes are gated";
        let refused = self.refuse_agents(what, command);
        if refused.is_err() && found.repository().gate()?.is_some() { refused } else { Ok(()) }
    }
}
