//! The settings of this project, not the user's own, that hold aye's hooks; `aye init --remove` takes them out.

use std::path::{Path, PathBuf};

use super::file::{self, read, unreadable};
use super::target::{Scope, targets, top};
use crate::cli::Context;
use crate::error::Result;
use crate::repository::Repository;

/// A file of settings with hooks of aye.
#[derive(Debug)]
pub struct Hooked {
    /// The file.
    pub path: PathBuf,
    /// It stays as it is: git tracks it, and it is aye's own.
    pub is_staying: bool,
    /// What is left of it without the hooks, if anything is.
    rest: Option<String>,
}

impl Hooked {
    /// Takes the hooks out. No file that git tracks is removed.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn take_out(&self) -> Result<()> {
        match &self.rest {
            Some(rest) => file::write(&self.path, rest),
            None if self.is_staying => Ok(()),
            None => file::unlink(&self.path),
        }
    }
}

/// The files of the project with hooks of aye.
///
/// # Errors
/// `invalid_json`; those of the file system, and of git.
pub fn hooked(context: &Context, repository: &Repository) -> Result<Vec<Hooked>> {
    let mut found = Vec::new();
    for target in targets(context, top(context).as_deref()) {
        let (path, client) = (target.path, target.client);
        let text = read(&path)?.unwrap_or_default();
        // What is not JSON has no hooks of aye's.
        if target.scope == Scope::User || client.is_in(&text) != Ok(true) {
            continue;
        }
        let rest = client.take(&text).map_err(|why| unreadable(&path, &why))?;
        let is_kept = rest.is_none() && is_tracked(repository, &path)?;
        let is_staying = is_kept && client.form.is_own();
        let rest = rest.or_else(|| (is_kept && !is_staying).then(|| "{}\n".to_owned()));
        found.push(Hooked { path, is_staying, rest });
    }
    Ok(found)
}

/// Whether git tracks the file at `path`, absolute or relative to the top.
///
/// # Errors
/// Those of git.
pub fn is_tracked(repository: &Repository, path: &Path) -> Result<bool> {
    let asked = repository.git()?.args(["ls-files", "--error-unmatch", "--"]).arg(path);
    Ok(asked.env("GIT_LITERAL_PATHSPECS", "1").answer()?.ok())
}
