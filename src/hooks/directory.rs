//! The hooks directory of a repository.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;

use super::{Hook, chain, codes, script};
use crate::error::{Error, Result};
use crate::git::Git;
use crate::repository::Repository;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookState {
    Absent,
    /// As this aye would install it.
    Installed,
    /// From another aye.
    Outdated,
    /// Another hook, or an edited script of ours.
    Other,
}

/// A word in the hooks of each manager.
const MANAGERS: [&str; 4] = ["lefthook", "husky", "pre-commit.com", "pre_commit"];

#[derive(Clone, Debug)]
pub struct HookDirectory {
    pub directory: PathBuf,
    /// The manager, or `core.hooksPath` with its value.
    pub owner: Option<String>,
}

impl HookDirectory {
    pub fn find(repository: &Repository) -> Result<Self> {
        let directory = repository.common_dir().join("hooks");
        // Git starts hooks in the top directory, or in the git directory without a work tree; a
        // relative core.hooksPath counts from there.
        let start = repository.work_dir().unwrap_or_else(|| repository.repo().git_dir().to_owned());
        let used = start.join(Git::new(&start).args(["rev-parse", "--git-path", "hooks"]).path()?);
        let real = |path: &PathBuf| fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let mut place = Self { directory, owner: None };
        place.owner = if real(&used) != real(&place.directory) {
            Some(format!("core.hooksPath ({})", used.display()))
        } else if place.directory.is_symlink() {
            Some("a symlink in its place".to_owned())
        } else {
            place.manager().map(str::to_owned)
        };
        Ok(place)
    }

    fn manager(&self) -> Option<&'static str> {
        let texts = Hook::ALL.into_iter().filter_map(|hook| self.read(hook));
        texts
            .filter(|bytes| !script::is_ours(bytes))
            .find_map(|bytes| MANAGERS.into_iter().find(|word| bytes.contains_str(word)))
    }

    fn path(&self, hook: Hook) -> PathBuf {
        self.directory.join(hook.name())
    }

    fn read(&self, hook: Hook) -> Option<Vec<u8>> {
        let path = self.path(hook);
        path.symlink_metadata().ok().filter(fs::Metadata::is_file)?;
        fs::read(path).ok()
    }

    pub fn state(&self, hook: Hook, program: &str) -> HookState {
        match self.read(hook) {
            None if self.path(hook).symlink_metadata().is_err() => HookState::Absent,
            Some(bytes) if bytes == script::text(hook, program).as_bytes() => HookState::Installed,
            Some(bytes) if script::is_ours(&bytes) => HookState::Outdated,
            _ => HookState::Other,
        }
    }

    pub fn is_chained(&self, hook: Hook) -> bool {
        chain::chained_path(&self.path(hook)).is_file()
    }

    pub fn installed(&self) -> Vec<Hook> {
        let is_ours = |hook: &Hook| self.read(*hook).is_some_and(|bytes| script::is_ours(&bytes));
        Hook::ALL.into_iter().filter(is_ours).collect()
    }

    pub fn runs_another(&self, program: &str) -> bool {
        let runs = |hook: Hook| self.read(hook).is_some_and(|bytes| script::runs(&bytes, program));
        self.installed().into_iter().any(|hook| !runs(hook))
    }

    /// Installs `hooks`, or none if one of them cannot be.
    ///
    /// # Errors
    /// `hooks_managed`, `hook_not_ours`.
    pub fn install(&self, hooks: &[Hook], program: &str) -> Result<()> {
        if let Some(owner) = &self.owner {
            let lines: Vec<String> = hooks.iter().map(|hook| hook.line()).collect();
            let message = format!("the hooks of this repository are not git's own: {owner}");
            return Err(Error::new(&codes::HOOKS_MANAGED, message)
                .with("owner", owner.clone())
                .hint(format!("have each of its hooks run its line:\n{}", lines.join("\n"))));
        }
        let others = hooks.iter().filter(|hook| self.state(**hook, program) == HookState::Other);
        others.clone().try_for_each(|hook| chain::require_plain(&self.path(*hook), *hook))?;
        others.clone().try_for_each(|hook| chain::link_chained(&self.path(*hook)))?;
        for hook in hooks.iter().filter(|hook| self.state(**hook, program) != HookState::Installed)
        {
            let path = self.path(*hook);
            self.write(&path, &script::text(*hook, program))
                .map_err(|error| Error::file("write", &path, &error))?;
        }
        Ok(())
    }

    fn write(&self, path: &Path, text: &str) -> std::io::Result<()> {
        fs::create_dir_all(&self.directory)?;
        let mut file = tempfile::NamedTempFile::new_in(&self.directory)?;
        file.write_all(text.as_bytes())?;
        file.as_file().set_permissions(fs::Permissions::from_mode(0o755))?;
        file.persist(path).map(drop).map_err(|error| error.error)
    }

    /// Restores earlier hooks.
    pub fn uninstall(&self, hooks: &[Hook]) -> Result<()> {
        for hook in self.installed().iter().filter(|hook| hooks.contains(hook)) {
            let path = self.path(*hook);
            // One rename over ours: a hook is in place at every moment.
            let done = if self.is_chained(*hook) {
                fs::rename(chain::chained_path(&path), &path)
            } else {
                fs::remove_file(&path)
            };
            done.map_err(|error| Error::file("remove", &path, &error))?;
        }
        Ok(())
    }
}
