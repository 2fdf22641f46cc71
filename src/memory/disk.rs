//! The store's files in the work tree, read only beneath its root.

use std::collections::BTreeSet;

use super::plan::Files;
use super::settings::Settings;
use super::{DIR, MAX_FILE_BYTES};
use crate::changeset::{File, RepoPath, Snapshot as _};
use crate::error::{Error, Result, codes};
use crate::worktree::Worktree;

#[derive(Clone, Copy)]
pub struct Disk<'a>(pub &'a Worktree);

/// Turns a path of the store into one of the repository.
///
/// # Errors
/// Like [`RepoPath::new`].
pub fn repo_path(path: &str) -> Result<RepoPath> {
    RepoPath::new(format!("{DIR}/{path}"))
}

/// Turns a path of the repository into one of the store, if it lies there.
pub fn store_path(path: &RepoPath) -> Option<&str> {
    path.to_str()?.strip_prefix(DIR)?.strip_prefix('/')
}

impl Disk<'_> {
    /// # Errors
    /// If the path is not a regular file, unreadable or too large.
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

    /// `None` unless the file is readable UTF-8.
    pub fn text(&self, path: &str) -> Option<String> {
        String::from_utf8(self.file(path).ok()??.bytes).ok()
    }

    /// Markdown files of all categories, sorted. Unreadable directories count as empty; `lint`
    /// reports them.
    ///
    /// # Errors
    /// If the store's own directory is unreadable.
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

/// Files of a store with some replaced or removed.
pub struct Overlay<'a> {
    pub base: &'a dyn Files,
    /// `None` for a removed file.
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
