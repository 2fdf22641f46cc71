//! Settings files that may hold hooks.

use std::path::{Path, PathBuf};

use super::file::{read, unreadable};
use crate::app::real_path::Real;
use crate::cli::Context;
use crate::error::Result;
use crate::harness::{CLIENTS, Client};
use crate::store::Store;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Project,
    Local,
    User,
}

impl Scope {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "project",
            Self::Local => "local",
            Self::User => "user",
        }
    }
}

pub(super) struct HookFile {
    pub(super) client: &'static Client,
    pub(super) scope: Scope,
    pub(super) path: PathBuf,
}

impl HookFile {
    pub(super) fn is_in(&self, text: &str) -> Result<bool> {
        self.client.is_in(text).map_err(|why| unreadable(&self.path, &why))
    }

    /// An unreadable file counts: the gate stays closed.
    fn is_there(&self) -> bool {
        match read(&self.path) {
            Ok(text) => text.is_some_and(|text| self.client.is_in(&text).unwrap_or(false)),
            Err(_) => true,
        }
    }
}

pub(super) fn top(context: &Context) -> Option<PathBuf> {
    Store::discover(&context.directory).ok()?.repository().work_dir()
}

pub(super) fn user_directory(context: &Context, client: &Client) -> Option<PathBuf> {
    client.user_directory.iter().find_map(|(name, below)| {
        let base = context.var(name).map(PathBuf::from).filter(|path| path.is_absolute())?;
        Some(base.join(below))
    })
}

pub(super) fn trees_file(context: &Context, client: &Client) -> Option<PathBuf> {
    Some(user_directory(context, client)?.join(client.trees.file()?))
}

pub(super) fn targets(context: &Context, top: Option<&Path>) -> Vec<HookFile> {
    let of = |client: &'static Client| {
        let project = top.map(|top| top.join(client.project_directory));
        let local = project.as_ref().filter(|_| client.name == "claude-code");
        let local = local.map(|base| base.join("settings.local.json"));
        [
            (Scope::Project, project.map(|base| base.join(client.file))),
            (Scope::Local, local),
            (Scope::User, user_directory(context, client).map(|base| base.join(client.file))),
        ]
        .into_iter()
        .filter_map(move |(scope, path)| Some(HookFile { client, scope, path: path? }))
    };
    CLIENTS.iter().flat_map(of).collect()
}

/// Refuses an agent's edit of `files` if one of them connects a client to the gate.
pub(super) fn refuse_hook_edit(
    context: &Context,
    directory: &Path,
    files: &[PathBuf],
) -> Option<String> {
    let found = Real::default();
    let own = targets(context, None).into_iter().map(|target| target.path);
    let own = own.chain(CLIENTS.iter().filter_map(|client| trees_file(context, client)));
    let own: Vec<PathBuf> = own.flat_map(|own| [found.path(&own), own]).collect();
    let is_own = |file: &PathBuf| own.contains(file) || own.contains(&found.path(file));
    let file = files.iter().map(|file| directory.join(file)).find(is_own)?;
    Some(format!("{} hooks agents up to the review, and is not edited by one.", file.display()))
}

/// Settings are the user's or the project's; `None` stands for any client.
pub(super) fn has_hooks(context: &Context, top: &Path, client: Option<&Client>) -> bool {
    let all = targets(context, Some(top));
    let is_its = |target: &&HookFile| client.is_none_or(|client| target.client.name == client.name);
    all.iter().filter(is_its).any(HookFile::is_there)
}
