//! Project settings with hooks, for `aye init --remove`.

use std::path::{Path, PathBuf};

use super::file::{self, read, unreadable};
use super::hook_file::{Scope, targets, top};
use crate::cli::Context;
use crate::error::Result;
use crate::repository::Repository;

#[derive(Debug)]
pub struct HookedSettings {
    pub path: PathBuf,
    /// Git tracks the file, and only aye wrote it.
    pub is_staying: bool,
    rest: Option<String>,
}

impl HookedSettings {
    /// Removes no file that git tracks.
    pub fn remove_hooks(&self) -> Result<()> {
        match &self.rest {
            Some(rest) => file::write(&self.path, rest),
            None if self.is_staying => Ok(()),
            None => file::unlink(&self.path),
        }
    }
}

/// # Errors
/// `invalid_json`
pub fn settings_with_hooks(
    context: &Context,
    repository: &Repository,
) -> Result<Vec<HookedSettings>> {
    let mut found = Vec::new();
    for target in targets(context, top(context).as_deref()) {
        let (path, client) = (target.path, target.client);
        let text = read(&path)?.unwrap_or_default();
        // Files that are not JSON have no hooks of aye.
        if target.scope == Scope::User || client.is_in(&text) != Ok(true) {
            continue;
        }
        let rest = client.take(&text).map_err(|why| unreadable(&path, &why))?;
        let is_kept = rest.is_none() && is_tracked(repository, &path)?;
        let is_staying = is_kept && client.form.is_own();
        let rest = rest.or_else(|| (is_kept && !is_staying).then(|| "{}\n".to_owned()));
        found.push(HookedSettings { path, is_staying, rest });
    }
    Ok(found)
}

/// `path`: absolute, or relative to the top.
pub fn is_tracked(repository: &Repository, path: &Path) -> Result<bool> {
    let asked = repository.git()?.args(["ls-files", "--error-unmatch", "--"]).arg(path);
    Ok(asked.env("GIT_LITERAL_PATHSPECS", "1").answer()?.ok())
}
