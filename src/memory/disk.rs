//! The store's files as they lie in the work tree, read beneath its root only.

use std::collections::BTreeSet;

use super::plan::Files;
use super::settings::Settings;
use super::{DIR, MAX_FILE_BYTES};
use crate::changeset::{File, RepoPath, Snapshot as _};
use crate::error::{Error, Result, codes};
use crate::worktree::Worktree;

/// The files of the store in a work tree.
#[derive(Clone, Copy)]
pub struct Disk<'a>(pub &'a Worktree);

/// The path in the repository of `path`, which is relative to the store.
///
/// # Errors
/// As [`RepoPath::new`].
pub fn repo_path(path: &str) -> Result<RepoPath> {
    RepoPath::new(format!("{DIR}/{path}"))
}

/// The path in the store of a path of the repository, if it lies there.
pub fn store_path(path: &RepoPath) -> Option<&str> {
    path.to_str()?.strip_prefix(DIR)?.strip_prefix('/')
}

impl Disk<'_> {
    /// The file at `path` with its mode.
    ///
    /// # Errors
    /// Where something else is in the way, it cannot be read, or is too large.
    pub fn file(&self, path: &str) -> Result<Option<File>> {
        let file = self.0.file(&repo_path(path)?)?;
        if file.as_ref().is_some_and(|file| file.bytes.len() > MAX_FILE_BYTES) {
            return Err(Error::new(
                &codes::SIZE_LIMIT,
                format!("{DIR}/{path} is larger than {MAX_FILE_BYTES} bytes"),
            )
            .hint("divide it into several files"));
        }
        Ok(file)
    }

    /// The text of `path`, `None` where it is not a readable UTF-8 file.
    pub fn text(&self, path: &str) -> Option<String> {
        String::from_utf8(self.file(path).ok()??.bytes).ok()
    }

    /// The Markdown files of all categories, sorted. A directory that cannot be read has none: `lint`
    /// tells of it.
    ///
    /// # Errors
    /// Where the store's own directory cannot be read.
    pub fn markdown(&self, settings: &Settings) -> Result<Vec<String>> {
        let mut paths = Vec::new();
        for dir in settings.schema.directories() {
            let listed = match self.list(dir) {
                Err(error) if dir.is_empty() => return Err(error),
                listed => listed.unwrap_or_default(),
            };
            paths
                .extend(listed.into_iter().filter(|path| settings.schema.category(path).is_some()));
        }
        paths.sort_unstable();
        paths.dedup();
        Ok(paths)
    }
}

impl Files for Disk<'_> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.file(path)?.map(|file| file.bytes))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        let directory = if dir.is_empty() { RepoPath::new(DIR)? } else { repo_path(dir)? };
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        Ok(self
            .0
            .names(&directory)?
            .into_iter()
            .filter_map(|name| String::from_utf8(name.into()).ok())
            .filter(|name| name.ends_with(".md"))
            .map(|name| format!("{prefix}{name}"))
            .collect())
    }
}

/// Files of a store with some of them replaced or gone: as they will be.
pub struct Overlay<'a> {
    /// What lies beneath.
    pub base: &'a dyn Files,
    /// What is replaced; `None` for what is gone.
    pub over: &'a std::collections::BTreeMap<String, Option<Vec<u8>>>,
}

impl Files for Overlay<'_> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        match self.over.get(path) {
            Some(bytes) => Ok(bytes.clone()),
            None => self.base.read(path),
        }
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        let mut paths: BTreeSet<String> = self.base.list(dir)?.into_iter().collect();
        let prefix = if dir.is_empty() { String::new() } else { format!("{dir}/") };
        for (path, bytes) in self.over {
            if path.strip_prefix(&prefix).is_none_or(|rest| rest.contains('/')) {
                continue;
            }
            match bytes {
                Some(_) => paths.insert(path.clone()),
                None => paths.remove(path),
            };
        }
        Ok(paths.into_iter().collect())
    }
}
