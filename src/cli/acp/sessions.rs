//! The sessions of `aye acp`, in the repositories that the editor names.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::acp::paths::PathMap;
use crate::acp::{Opened, PromptNews, SessionHost};
use crate::actor::{AYE_AGENT, AYE_SESSION};
use crate::app::propose::Details;
use crate::app::real_path::resolve;
use crate::app::session::SessionOrigin;
use crate::app::{self, editor_buffers, ending, session as sessions};
use crate::changeset::RepoPath;
use crate::cli::Context;
use crate::cli::outcomes::outcome_text;
use crate::cli::session::{conflict_lines, summary};
use crate::error::{Error, Result, codes};
use crate::harness::CLIENTS;
use crate::session::session_store::SessionLock;
use crate::session::tree::Base;
use crate::session::{SessionStore, ignored_files};
use crate::store::Store;
use crate::text::escape;

pub(super) struct Sessions<'a> {
    context: &'a Context,
    agent: &'a str,
    command: String,
    /// Named in the environment of the agent, whose processes keep its lock: the first session in
    /// the repository where aye was started.
    reserved: Option<(PathBuf, SessionStore, SessionLock)>,
    /// By the paths of their trees.
    open: BTreeMap<String, OpenSession>,
    /// Processes of the agent still run.
    pub(super) outlived: bool,
}

struct OpenSession {
    /// A directory of the repository.
    cwd: PathBuf,
    held: SessionLock,
}

impl<'a> Sessions<'a> {
    pub(super) fn begin(context: &'a Context, agent: &'a str, command: &OsString) -> Self {
        let reserve = || {
            let (store, home) = repository(context, &context.directory).ok()?;
            let held = home.hold_new().ok()?;
            Some((store.repository().common_dir().to_owned(), home, held))
        };
        let command = command.to_string_lossy().into_owned();
        let (reserved, open) = (reserve(), BTreeMap::new());
        Self { context, agent, command, reserved, open, outlived: false }
    }

    pub(super) fn reserved(&self) -> Option<&SessionLock> {
        self.reserved.as_ref().map(|(_, _, held)| held)
    }

    /// Opened again for each use: a connection lasts for days.
    fn repository(&self, key: &str) -> Result<(Store, SessionStore, String)> {
        let session = self.open.get(key).ok_or_else(|| Error::bug("the session is not open"))?;
        let (mut store, home) = repository(self.context, &session.cwd)?;
        store.run_by(self.context.run_of(&session.held.name, None));
        Ok((store, home, session.held.name.clone()))
    }

    fn session<'s>(&self, store: &'s Store) -> app::Session<'s> {
        self.context.agent_session(store, self.agent, "aye acp")
    }

    /// The session that the agent calls `acp`, or a new one.
    fn hold(
        &mut self,
        store: &Store,
        home: &SessionStore,
        acp: Option<&str>,
    ) -> Result<SessionLock> {
        let is_it = |name: &String| {
            acp.is_some() && home.record(name).is_ok_and(|record| record.acp.as_deref() == acp)
        };
        if let Some(name) = home.names().into_iter().find(|name| is_it(name) && home.has(name)) {
            return home.hold(&name);
        }
        let common = store.repository().common_dir();
        let held = match self.reserved.take_if(|(place, ..)| place.as_path() == common) {
            Some((_, _, held)) => held,
            None => home.hold_new()?,
        };
        // An agent may also resolve a merge, or abort it.
        let (base, agent, command) = (Base::Unsettled, self.agent, self.command.as_str());
        let client = CLIENTS.iter().find(|client| client.agent == agent);
        let local_files = client.map_or(&[][..], |client| client.local_files);
        let origin = SessionOrigin { base, agent, command, local_files, slot: None };
        let back = sessions::begin(store, home, &held, &origin, self.context.clock())?;
        conflict_lines(&back).iter().for_each(|line| self.context.note(line));
        Ok(held)
    }

    fn submitted(&self, key: &str) -> Result<app::session::SubmitReport> {
        let (store, home, name) = self.repository(key)?;
        let changing = home.change(&name)?;
        sessions::submit(&self.session(&store), &home, &changing, &name, Details::default())
    }
}

impl Drop for Sessions<'_> {
    fn drop(&mut self) {
        if let Some((_, home, held)) = self.reserved.take() {
            home.clear(&held);
        }
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
    fn open(&mut self, cwd: &Path, acp: Option<&str>) -> Result<Opened> {
        let (store, home) = repository(self.context, cwd)?;
        let top = store.repository().work_dir().ok_or_else(|| {
            Error::new(&codes::INVALID_ARGUMENT, format!("{} has no work tree", cwd.display()))
                .hint("open a directory of a work tree in the editor")
        })?;
        ending::finish(store.repository(), &home);
        ignored_files::expire(&home, self.context.clock());
        let already = self.open.values().map(|session| session.held.name.clone()).find(|name| {
            acp.is_some() && home.record(name).is_ok_and(|record| record.acp.as_deref() == acp)
        });
        let (name, held) = match already {
            Some(name) => (name, None),
            None => {
                let held = self.hold(&store, &home, acp)?;
                (held.name.clone(), Some(held))
            }
        };
        let paths = path_map(&top, &home.tree(&name), cwd);
        let (tree, key) = (&paths.tree[0], paths.tree[0].to_string_lossy().into_owned());
        if let Some(held) = held {
            self.open.insert(key.clone(), OpenSession { cwd: cwd.to_owned(), held });
        }
        if let Some(acp) = acp {
            self.bind(&key, acp)?;
        }
        let inside = paths.to_tree(cwd).filter(|inside| inside.is_dir());
        let cwd = inside.unwrap_or_else(|| tree.clone());
        let environment =
            vec![(AYE_SESSION.into(), name), (AYE_AGENT.into(), self.agent.to_owned())];
        Ok(Opened { key, paths, cwd, environment })
    }

    fn bind(&mut self, key: &str, acp: &str) -> Result<()> {
        let (_, home, name) = self.repository(key)?;
        let changing = home.change(&name)?;
        let mut record = home.record(&name)?;
        record.acp = Some(acp.to_owned());
        home.write(&changing, &record)
    }

    fn prepare(&mut self, key: &str, unsaved: Vec<(PathBuf, String)>) -> Result<PromptNews> {
        let (store, home, name) = self.repository(key)?;
        let session = self.session(&store);
        let for_agent = outcome_text(&session, &home, &name)?;
        let top = store.repository().work_dir().map(|top| resolve(&top)).unwrap_or_default();
        let inside = |(path, text): (PathBuf, String)| {
            let path = resolve(&path).strip_prefix(&top).ok()?.to_str()?.to_owned();
            Some((RepoPath::new(&path).ok()?, text))
        };
        let buffers = unsaved.into_iter().filter_map(inside).collect();
        let changing = home.change(&name)?;
        let (paths, followed) = editor_buffers::take(&session, &home, &changing, buffers)?;
        let mut for_person = conflict_lines(&followed.kept_edits);
        for_person.extend(paths.iter().map(|path| {
            let shown = escape::name(&path.display().to_string());
            format!("aye: {shown}: the agent works on the text that is not saved yet")
        }));
        Ok(PromptNews { for_agent, for_person })
    }

    fn submit(&mut self, key: &str) -> Vec<String> {
        match self.submitted(key) {
            Ok(done) => summary(&done),
            Err(error) => vec![format!(
                "aye: nothing is proposed: {} [{}]",
                escape::line(error.message()),
                error.code().id
            )],
        }
    }

    fn end(&mut self, key: &str) -> Vec<String> {
        let lines = self.submit(key);
        let mut end = || -> Result<()> {
            let (store, home, name) = self.repository(key)?;
            let strays = ending::refuse_unsubmitted(&store, &home, &name)?;
            // A tree whose proposal is pending is loaded again with the session.
            if self.outlived || home.record(&name)?.proposal.is_some() {
                return Ok(());
            }
            let Some(OpenSession { held, .. }) = self.open.remove(key) else { return Ok(()) };
            let now = self.context.clock();
            ending::end(store.repository(), &home, held, &strays, now).map(drop)
        };
        if let Err(error) = end() {
            self.context.report_on_stderr(&error);
        }
        self.open.remove(key);
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
