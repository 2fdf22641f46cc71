//! The sessions of `aye acp`, in the repositories that the editor names.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use crate::acp::paths::PathMap;
use crate::acp::{Session, SessionHost};
use crate::app::propose::Details;
use crate::app::real_path::resolve;
use crate::app::session::{self as sessions, SessionOrigin};
use crate::app::{editor_buffers, ending};
use crate::changeset::RepoPath;
use crate::cli::Context;
use crate::cli::outcomes::outcome_text;
use crate::cli::session::{conflict_lines, summary};
use crate::error::{Error, Result};
use crate::harness::client_of;
use crate::session::client::ClientProcess;
use crate::session::session_store::SessionLock;
use crate::session::tree::Base;
use crate::session::{SessionStore, ignored_files};
use crate::store::Store;
use crate::text::escape;

pub(super) struct Sessions<'a> {
    context: &'a Context,
    agent: &'a str,
    command: String,
    /// By the paths of their trees, with a directory of the repository.
    open: BTreeMap<String, (PathBuf, SessionLock)>,
}

impl<'a> Sessions<'a> {
    pub(super) fn new(context: &'a Context, agent: &'a str, command: &str) -> Self {
        Self { context, agent, command: command.to_owned(), open: BTreeMap::new() }
    }

    /// Opened again for each use: a connection lasts for days.
    fn repository(&self, key: &str) -> Result<(Store, SessionStore, String)> {
        let (cwd, held) = self.open.get(key).ok_or_else(|| Error::bug("no such session"))?;
        let (mut store, home) = repository(self.context, cwd)?;
        store.run_by(self.context.run_of(&held.name, None));
        Ok((store, home, held.name.clone()))
    }

    /// An agent may also resolve a merge, or abort it.
    fn begin(&self, store: &Store, home: &SessionStore) -> Result<SessionLock> {
        let held = home.hold_new()?;
        let (base, agent, command) = (Base::Unsettled, self.agent, self.command.as_str());
        let client = client_of(agent);
        let local_files = client.map_or(&[][..], |client| client.local_files);
        let origin = SessionOrigin {
            base,
            agent,
            command,
            local_files,
            slot: None,
            client: ClientProcess::current(),
            is_kept: false,
        };
        let back = sessions::begin(store, home, &held, &origin, self.context.clock())?;
        conflict_lines(&back).iter().for_each(|line| self.context.note(line));
        Ok(held)
    }
}

/// # Errors
/// `not_a_repository`, `in_session`, `no_state_directory`.
fn repository(context: &Context, directory: &Path) -> Result<(Store, SessionStore)> {
    let found = Store::discover(directory)?;
    context.refuse_session(found.repository())?;
    let store = context.prepared(found)?;
    store.require_clone()?;
    let home = SessionStore::make(store.repository().common_dir(), &context.state_directory()?)?;
    Ok((store, home))
}

impl SessionHost for Sessions<'_> {
    fn open(&mut self, cwd: &Path, acp: Option<&str>) -> Result<Session> {
        let (store, home) = repository(self.context, cwd)?;
        store.repository().worktree()?;
        let top = store.repository().work_dir().unwrap_or_default();
        ending::finish(store.repository(), &home);
        ignored_files::expire(&home, self.context.clock());
        let is_it = |name: &String| {
            acp.is_some() && home.record(name).is_ok_and(|record| record.acp.as_deref() == acp)
        };
        let known = home.names().into_iter().find(|name| is_it(name) && home.has(name));
        let key = |name: &str| resolve(&home.tree(name)).to_string_lossy().into_owned();
        let name = match known {
            Some(name) if self.open.contains_key(&key(&name)) => name,
            known => {
                let held =
                    known.map_or_else(|| self.begin(&store, &home), |name| home.hold(&name))?;
                let name = held.name.clone();
                self.open.insert(key(&name), (cwd.to_owned(), held));
                name
            }
        };
        let (key, paths) = (key(&name), path_map(&top, &home.tree(&name), cwd));
        acp.map_or(Ok(()), |acp| self.bind(&key, acp))?;
        let inside = paths.to_tree(cwd).filter(|inside| inside.is_dir());
        let cwd = inside.unwrap_or_else(|| PathBuf::from(&key));
        Ok(Session { key, acp: acp.map(str::to_owned), paths, cwd })
    }

    fn bind(&mut self, key: &str, acp: &str) -> Result<()> {
        let (_, home, name) = self.repository(key)?;
        let changing = home.change(&name)?;
        let mut record = home.record(&name)?;
        record.acp = Some(acp.to_owned());
        home.write(&changing, &record)
    }

    fn prepare(
        &mut self,
        key: &str,
        unsaved: Vec<(PathBuf, String)>,
    ) -> Result<(Option<String>, Vec<String>)> {
        let (store, home, name) = self.repository(key)?;
        sessions::resume(&home, &name, ClientProcess::current(), false);
        let session = self.context.agent_session(&store, self.agent, "aye acp");
        let news = outcome_text(&session, &home, &name)?;
        let top = store.repository().work_dir().map(|top| resolve(&top)).unwrap_or_default();
        let inside = |(path, text): (PathBuf, String)| {
            let path = resolve(&path).strip_prefix(&top).ok()?.to_str()?.to_owned();
            Some((RepoPath::new(&path).ok()?, text))
        };
        let buffers = unsaved.into_iter().filter_map(inside).collect();
        let changing = home.change(&name)?;
        let (paths, followed) = editor_buffers::take(&session, &home, &changing, buffers)?;
        let line = |path: &RepoPath| {
            let shown = escape::name(&path.display().to_string());
            format!("aye: {shown}: the agent works on the text that is not saved yet")
        };
        let kept = conflict_lines(&followed.kept_edits).into_iter();
        Ok((news, kept.chain(paths.iter().map(line)).collect()))
    }

    fn submit(&mut self, key: &str, words: &str) -> Vec<String> {
        let submitted = self.repository(key).and_then(|(store, home, name)| {
            let changing = home.change(&name)?;
            let session = self.context.agent_session(&store, self.agent, "aye acp");
            let details = Details { last_message: Some(words.to_owned()), ..Details::default() };
            let done = sessions::submit(&session, &home, &changing, &name, details)?;
            drop(changing);
            sessions::settle(&home, &name, &done);
            Ok(done)
        });
        submitted.map_or_else(
            |error| vec![format!("aye: {} [{}]", escape::line(error.message()), error.code().id)],
            |done| summary(&done),
        )
    }

    fn end(&mut self, key: &str) -> Vec<String> {
        let lines = self.submit(key, "");
        let removed = self.repository(key).and_then(|(store, home, name)| {
            let strays = ending::refuse_unsubmitted(&store, &home, &name)?;
            // A tree whose proposal is pending is loaded again with the session.
            let is_pending = home.record(&name)?.proposal.is_some();
            let held = self.open.remove(key).filter(|_| !is_pending);
            let Some((_, held)) = held else { return Ok(()) };
            ending::end(store.repository(), &home, held, &strays, self.context.clock()).map(drop)
        });
        self.open.remove(key);
        removed.unwrap_or_else(|error| self.context.report_on_stderr(&error));
        lines
    }

    fn all(&mut self, cwd: &Path) -> Vec<PathMap> {
        let Ok((store, home)) = repository(self.context, cwd) else { return Vec::new() };
        let Some(top) = store.repository().work_dir() else { return Vec::new() };
        home.names().iter().map(|name| path_map(&top, &home.tree(name), cwd)).collect()
    }
}

/// `cwd` is the editor's spelling of a directory of the checkout.
fn path_map(top: &Path, tree: &Path, cwd: &Path) -> PathMap {
    let real = resolve(top);
    let depth = resolve(cwd).strip_prefix(&real).map(|inside| inside.components().count());
    let spelled = depth.ok().and_then(|depth| cwd.ancestors().nth(depth)).map(Path::to_owned);
    let spelled = spelled.filter(|spelled| resolve(spelled) == real);
    PathMap {
        checkout: spelled.into_iter().chain([real]).collect(),
        tree: vec![resolve(tree), tree.to_owned()],
        is_there: |path| path.symlink_metadata().is_ok(),
    }
}
