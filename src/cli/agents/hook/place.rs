//! Where a client works, and where the files lie that it names.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::super::real::{Real, resolve};
use super::super::target;
use crate::actor::AYE_SESSION;
use crate::cli::{Context, session as sessions};
use crate::error::{Error, Result};
use crate::harness::{Call, Client, Event};
use crate::repository::codes::NOT_A_REPOSITORY;
use crate::session::codes::SESSION_RECORD_INVALID;
use crate::session::{Home, home};
use crate::sha256;
use crate::store::Store;

/// One session of a client, and the repository that it works in.
pub(super) struct Place {
    pub(super) store: Store,
    pub(super) home: Home,
    /// Name of the session.
    pub(super) name: String,
    /// Whether that is the agent's own, and not one of a part of it, or of a tree that the client asked for by name.
    pub(super) is_own: bool,
    pub(super) client: &'static Client,
    pub(super) is_strict: bool,
    /// Where its tree really lies, its checkout, if it has one, and its git directory.
    pub(super) real: (PathBuf, Option<PathBuf>, PathBuf),
}

impl Place {
    /// `None` where the client does not work in a repository.
    pub(super) fn of(
        context: &Context,
        client: &'static Client,
        call: &Call,
        is_strict: bool,
    ) -> Result<Option<Self>> {
        let Some((found, directory)) = discover(context, call)? else { return Ok(None) };
        let state = context.state_directory()?;
        let (mut store, around) = match context.session_around(&found) {
            Some((store, around)) => (store, Some(around)),
            // What such a tree says of itself is its agent's, and runs no git here.
            None if resolve(&directory).starts_with(resolve(&home::all_trees(&state))) => {
                return Err(Error::new(
                    &SESSION_RECORD_INVALID,
                    "the git directory of this session's work tree is not as it was made",
                )
                .hint(
                    "what is in the tree is proposed from the repository: aye session submit NAME",
                ));
            }
            None => (found, None),
        };
        let home = Home::make(store.common_dir(), &state)?;
        sessions::finish(&store, &home);
        // Started by `aye run`, the client is in its tree already.
        let run = context.var(AYE_SESSION).map(|name| name.to_string_lossy().into_owned());
        store.run_by(context.run_of(run.as_ref().unwrap_or(&call.session), call.model.as_deref()));
        let is_run = |name: &String| run.as_ref() == Some(name);
        let own = name_of(&call.session, "", &store);
        let around = around.filter(|around| is_run(around) || home.has(around));
        let name = edited(&store, &home, call).or(around).unwrap_or_else(|| own.clone());
        let is_own = name == own || is_run(&name);
        let top = store.work_dir().map(|top| resolve(&top));
        let real = (resolve(&home.tree(&name)), top, resolve(store.common_dir()));
        Ok(Some(Self { home, name, is_own, store, client, is_strict, real }))
    }

    /// Makes the tree of session `name` the place.
    pub(super) fn enter(&mut self, name: String) {
        self.real.0 = resolve(&self.home.tree(&name));
        self.name = name;
    }

    /// The sessions of this checkout that the client's own has trees of: its place, and what it or its parts asked for
    /// by name.
    pub(super) fn trees(&self) -> Vec<String> {
        let end = name_of("", "", &self.store).split_off(SHORT);
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

    /// Whether `file` is one of its repository, or of a session's tree.
    pub(super) fn has(&self, file: &Path) -> bool {
        let (tree, top, git) = &self.real;
        let is_inside = top.as_ref().is_some_and(|top| file.starts_with(top));
        is_inside || file.starts_with(all_trees(tree)) || file.starts_with(git)
    }
}

/// The session of the client in whose tree the first of the files lies that the call edits.
fn edited(store: &Store, home: &Home, call: &Call) -> Option<String> {
    let Event::Edit { files, .. } = &call.event else { return None };
    let file = Real::default().path(&call.directory.join(files.first()?));
    home.around(near(&file)?).filter(|name| is_of_run(store, home, name))
}

/// Whether the tree of session `name` was made in the run that this call is of.
fn is_of_run(store: &Store, home: &Home, name: &str) -> bool {
    let run = home.record(name).ok().and_then(|record| record.run);
    let session = run.and_then(|run| run.session);
    session.is_some() && session == store.run().and_then(|run| run.session.clone())
}

/// The repository that the client works in, and a directory in it. Where its own directory is gone, as after its work
/// tree was removed, an edit is still one of the repository that it names a file of, and the end of a turn one of that
/// which the directory was in; and a command that is started outside of any repository may be one of that which the
/// client was started in.
fn discover(context: &Context, call: &Call) -> Result<Option<(Store, PathBuf)>> {
    if let Some(found) = at(&call.directory)? {
        return Ok(Some((found, call.directory.clone())));
    }
    match &call.event {
        Event::Edit { files, .. } if !call.directory.exists() => {
            for file in files {
                let file = call.directory.join(file);
                if let Some(near) = near(&file)
                    && let Some(found) = at(near)?
                {
                    return Ok(Some((found, call.directory.clone())));
                }
            }
            Ok(None)
        }
        // It may name the one that the client was started in.
        Event::Shell { .. } => {
            Ok(at(&context.directory)?.map(|found| (found, context.directory.clone())))
        }
        // What a turn left behind is proposed all the same.
        _ if !call.directory.exists() => {
            let Some(near) = near(&call.directory) else { return Ok(None) };
            Ok(at(near)?.map(|found| (found, near.to_owned())))
        }
        _ => Ok(None),
    }
}

/// The repository whose work tree `directory` is in, or itself. One that cannot be opened, or whose work tree is
/// somewhere else, is no reason to let anything pass: `None` only where no `.git` lies there, or above.
pub(super) fn at(directory: &Path) -> Result<Option<Store>> {
    let here = resolve(directory);
    let is_there = directory.exists();
    let git = || {
        let mut above = here.ancestors().filter(|_| is_there).map(|above| above.join(".git"));
        above.find(|git| git.symlink_metadata().is_ok())
    };
    match Store::discover(directory) {
        Ok(found) => {
            let is_around = found.work_dir().is_some_and(|top| here.starts_with(resolve(&top)));
            match git().filter(|_| !is_around) {
                None => Ok(Some(found)),
                Some(git) => {
                    let why = "whose work tree is somewhere else, or which has none";
                    Err(odd(&git, &format!("{} is in a repository {why}", here.display())))
                }
            }
        }
        Err(error) if error.is(&NOT_A_REPOSITORY) => match git() {
            None => Ok(None),
            Some(git) => Err(odd(&git, error.message())),
        },
        Err(error) => Err(error),
    }
}

fn odd(git: &Path, why: &str) -> Error {
    Error::new(&NOT_A_REPOSITORY, format!("{} is there, but {why}", git.display())).hint(
        "repair it, or start the agent in a work tree: `git status` there says what is wrong, and \
         `git config --show-origin --get-regexp 'core\\.(bare|worktree)'` where the work tree was put",
    )
}

/// The directory above `file` that is there.
pub(super) fn near(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|above| above.is_dir())
}

/// The top of another repository than the client works in, or of another work tree of the same one, in which one of
/// `files` lies, and whose edits go through review, too. `place` is where it works, if that is a repository.
pub(super) fn elsewhere(
    context: &Context,
    client: &'static Client,
    call: &Call,
    files: &[PathBuf],
    place: Option<&Place>,
) -> Result<Option<PathBuf>> {
    let (mut seen, real) = (BTreeSet::new(), Real::default());
    for file in files {
        let file = real.path(&call.directory.join(file));
        if place.is_some_and(|place| place.has(&file)) {
            continue;
        }
        let Some(near) = near(&file).filter(|near| seen.insert(near.to_path_buf())) else {
            continue;
        };
        let Some(found) = at(near)? else { continue };
        let git = resolve(found.common_dir());
        let top = found.work_dir().map_or_else(|| git.clone(), |top| resolve(&top));
        // The environment may name one that the file is not in.
        if !file.starts_with(&top) && !file.starts_with(&git) {
            continue;
        }
        // A client that works in no repository has its hooks wherever it works; one that works in another work
        // tree of the same repository has those of that one.
        let is_same = place.is_some_and(|place| place.real.2 == git);
        if place.is_none() || is_same || target::has_hooks(context, &top, Some(client)) {
            return Ok(Some(top));
        }
    }
    Ok(None)
}

/// Name of the session that belongs to the client's own, and to a work tree that it asks for by name. A client that
/// goes on in another work tree of the repository, as when it is resumed there, has another branch's files before it.
pub(super) fn name_of(session: &str, tree: &str, store: &Store) -> String {
    let name = short(session, tree);
    let git = store.repo().git_dir();
    match git.file_name().filter(|_| git != store.repo().common_dir()) {
        Some(linked) => format!("{name}w{}", &sha256::hex(linked.as_encoded_bytes())[..4]),
        None => name,
    }
}

/// The name as it is in the main work tree, and as it begins in a linked one.
fn short(session: &str, tree: &str) -> String {
    let hash = sha256::hex(format!("{session}\0{tree}").as_bytes());
    format!("c{}", &hash[..SHORT - 1])
}

/// Bytes of the name before what tells linked work trees apart.
const SHORT: usize = 9;

/// Where a file lies that an agent is about to write.
pub(super) enum Where {
    /// In the session's own tree, or outside of the repository.
    Free,
    /// In the checkout, there.
    Checkout(PathBuf),
    /// Where no agent writes, for this reason.
    Guarded(&'static str),
}

pub(super) fn locate(place: &Place, path: &Path) -> Where {
    let (tree, top, git) = &place.real;
    if let Ok(inside) = path.strip_prefix(tree) {
        return match is_git(inside) {
            true => Where::Guarded("The git directory of the session is git's own."),
            false => Where::Free,
        };
    }
    if path.starts_with(all_trees(tree)) {
        return Where::Guarded("That is the work tree of another session.");
    }
    let inside = top.as_ref().and_then(|top| path.strip_prefix(top).ok());
    if inside.is_some_and(is_git) || path.starts_with(git) {
        return Where::Guarded("The git directory is not edited by an agent.");
    }
    match inside {
        Some(inside) if inside.starts_with(".agent-memory") => Where::Guarded(
            "The project's memory and policy are changed by proposals of their own: `aye memory propose`, \
             or the tool memory_propose_update; a policy by `aye propose`.",
        ),
        Some(inside) => Where::Checkout(inside.to_owned()),
        None => Where::Free,
    }
}

/// Whether a repository within the checkout has one of `files`, in the checkout or in the session's tree.
pub(super) fn is_nested(place: &Place, files: &[PathBuf]) -> bool {
    let (tree, Some(top), _) = &place.real else { return false };
    let inside = |path: &PathBuf| {
        let inside = path.strip_prefix(tree).or_else(|_| path.strip_prefix(top));
        inside.ok().and_then(Path::parent).map(Path::to_owned).unwrap_or_default()
    };
    // A patch may name many files of one directory.
    let mut above = BTreeSet::new();
    for directory in files.iter().map(inside) {
        let parts = directory.ancestors().filter(|above| !above.as_os_str().is_empty());
        above.extend(parts.map(Path::to_owned));
    }
    let has_git = |above: &PathBuf| top.join(above).join(".git").symlink_metadata().is_ok();
    above.iter().any(|above| !is_git(above) && has_git(above))
}

/// The directory of the trees of all repositories, from that of one session.
pub(super) fn all_trees(tree: &Path) -> &Path {
    tree.ancestors().nth(2).unwrap_or(tree)
}

pub(super) fn is_git(inside: &Path) -> bool {
    let first = inside.components().next();
    matches!(first, Some(Component::Normal(name)) if name.eq_ignore_ascii_case(".git"))
}
