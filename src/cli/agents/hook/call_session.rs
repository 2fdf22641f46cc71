//! The session and the repository of a hook's call.

use std::collections::BTreeSet;
use std::path::PathBuf;

use super::super::hook_file;
use crate::actor::AYE_SESSION;
use crate::app::ending;
use crate::app::real_path::{Real, resolve};
use crate::app::site::{SessionPaths, at, near};
use crate::cli::Context;
use crate::error::{Error, Result};
use crate::harness::{Call, Client, Event};
use crate::repository::Repository;
use crate::session::codes::SESSION_RECORD_INVALID;
use crate::session::{SessionStore, session_store};
use crate::sha256;
use crate::store::Store;

pub(super) struct CallSession {
    pub(super) store: Store,
    pub(super) home: SessionStore,
    pub(super) name: String,
    /// False for a part of the agent, or a tree that the client asked for by name.
    pub(super) is_own: bool,
    pub(super) client: &'static Client,
    pub(super) is_strict: bool,
    pub(super) site: SessionPaths,
}

impl CallSession {
    pub(super) fn of(
        context: &Context,
        client: &'static Client,
        call: &Call,
        is_strict: bool,
    ) -> Result<Option<Self>> {
        let Some((found, directory)) = discover(context, call)? else { return Ok(None) };
        let state = context.state_directory()?;
        let (mut store, around) = match context.session_around(found.repository()) {
            Some((store, around)) => (store, Some(around)),
            // The agent controls this tree's git files: git does not run on them.
            None if resolve(&directory).starts_with(resolve(&session_store::all_trees(&state))) => {
                return Err(Error::new(
                    &SESSION_RECORD_INVALID,
                    "the git directory of this session's work tree is not as it was made",
                )
                .hint(
                    "to propose the tree's changes, run in the repository: aye session submit NAME",
                ));
            }
            None => (found, None),
        };
        let home = SessionStore::make(store.repository().common_dir(), &state)?;
        ending::finish(store.repository(), &home);
        // `aye run` starts the client in its tree.
        let run = context.var(AYE_SESSION).map(|name| name.to_string_lossy().into_owned());
        store.run_by(context.run_of(run.as_ref().unwrap_or(&call.session), call.model.as_deref()));
        let is_run = |name: &String| run.as_ref() == Some(name);
        let own = session_name(&call.session, "", store.repository());
        let around = around.filter(|around| is_run(around) || home.has(around));
        let name = edited(&store, &home, call).or(around).unwrap_or_else(|| own.clone());
        let is_own = name == own || is_run(&name);
        let site = SessionPaths::new(store.repository(), &home, &name);
        Ok(Some(Self { home, name, is_own, store, client, is_strict, site }))
    }

    pub(super) fn enter(&mut self, name: String) {
        self.site.tree = resolve(&self.home.tree(&name));
        self.name = name;
    }

    /// The client's current session of this checkout, and trees that it or its parts asked for by
    /// name.
    pub(super) fn trees(&self) -> Vec<String> {
        let end = session_name("", "", self.store.repository()).split_off(SHORT);
        let others = self.home.names().into_iter().filter(|name| {
            *name != self.name
                && name.get(SHORT..) == Some(&end)
                && is_of_run(&self.store, &self.home, name)
        });
        [self.name.clone()].into_iter().chain(others).collect()
    }

    pub(super) fn tree(&self) -> PathBuf {
        self.home.tree(&self.name)
    }
}

/// The client's session whose tree holds the first edited file.
fn edited(store: &Store, home: &SessionStore, call: &Call) -> Option<String> {
    let Event::Edit(edit) = &call.event else { return None };
    let file = Real::default().path(&call.directory.join(edit.files.first()?));
    home.session_at(near(&file)?).filter(|name| is_of_run(store, home, name))
}

fn is_of_run(store: &Store, home: &SessionStore, name: &str) -> bool {
    let run = home.record(name).ok().and_then(|record| record.run);
    let session = run.and_then(|run| run.session);
    session.is_some() && session == store.run().and_then(|run| run.session.clone())
}

/// The client's repository, and a directory in it. The client's directory is gone after its work
/// tree was removed: an edit then belongs to its file's repository, the end of a turn to the former
/// one. A command outside any repository may belong to the one in which the client was started.
fn discover(context: &Context, call: &Call) -> Result<Option<(Store, PathBuf)>> {
    let own = &call.directory;
    if let Some(found) = at(own)? {
        return Ok(Some((found, own.clone())));
    }
    let others: Vec<PathBuf> = match &call.event {
        Event::Shell(_) => vec![context.directory.clone()],
        _ if own.exists() => Vec::new(),
        Event::Edit(edit) => edit.files.iter().map(|file| own.join(file)).collect(),
        _ => vec![own.clone()],
    };
    for other in others {
        let near = if other.is_dir() { Some(other.as_path()) } else { near(&other) };
        if let Some(near) = near
            && let Some(found) = at(near)?
        {
            let is_edit = matches!(call.event, Event::Edit(_));
            return Ok(Some((found, if is_edit { own.clone() } else { near.to_owned() })));
        }
    }
    Ok(None)
}

/// Top of another repository or work tree whose edits go through review and that holds one of
/// `files`.
pub(super) fn gated_top(
    context: &Context,
    client: &'static Client,
    call: &Call,
    files: &[PathBuf],
    place: Option<&CallSession>,
) -> Result<Option<PathBuf>> {
    let (mut seen, real) = (BTreeSet::new(), Real::default());
    for file in files {
        let file = real.path(&call.directory.join(file));
        if place.is_some_and(|place| place.site.has(&file)) {
            continue;
        }
        let Some(near) = near(&file).filter(|near| seen.insert(near.to_path_buf())) else {
            continue;
        };
        let Some(found) = at(near)? else { continue };
        let git = resolve(found.repository().common_dir());
        let top = found.repository().work_dir().map_or_else(|| git.clone(), |top| resolve(&top));
        // The environment may name a repository that does not hold the file.
        if !file.starts_with(&top) && !file.starts_with(&git) {
            continue;
        }
        // Outside any repository, a client's hooks apply everywhere. Hooks of one work tree apply
        // to all work trees of its repository.
        let is_same = place.is_some_and(|place| place.site.git == git);
        if place.is_none() || is_same || hook_file::has_hooks(context, &top, Some(client)) {
            return Ok(Some(top));
        }
    }
    Ok(None)
}

/// A linked work tree has its own name: a client resumed there has another branch's files.
pub(super) fn session_name(session: &str, tree: &str, repository: &Repository) -> String {
    let hash = sha256::hex(format!("{session}\0{tree}").as_bytes());
    let name = format!("c{}", &hash[..SHORT - 1]);
    let git = repository.repo().git_dir();
    match git.file_name().filter(|_| git != repository.repo().common_dir()) {
        Some(linked) => format!("{name}w{}", &sha256::hex(linked.as_encoded_bytes())[..4]),
        None => name,
    }
}

/// The suffix for a linked work tree follows these bytes.
const SHORT: usize = 9;
