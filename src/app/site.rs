//! Locates files that an agent is about to touch: in its session's tree, in the checkout, or
//! guarded. All paths are real, without symlinks.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use super::real_path::resolve;
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::repository::codes::NOT_A_REPOSITORY;
use crate::session::SessionStore;
use crate::store::Store;

/// Directories of a session and its repository.
#[derive(Debug)]
pub struct SessionPaths {
    /// May not exist.
    pub tree: PathBuf,
    /// `None` for a bare repository.
    pub top: Option<PathBuf>,
    /// Common git directory.
    pub git: PathBuf,
}

pub enum WriteTarget {
    /// In the session's tree, or outside the repository.
    Free,
    /// Relative path in the checkout.
    Checkout(PathBuf),
    /// Never written by agents, for this reason.
    Guarded(&'static str),
}

impl SessionPaths {
    pub fn new(repository: &Repository, home: &SessionStore, name: &str) -> Self {
        let top = repository.work_dir().map(|top| resolve(&top));
        Self { tree: resolve(&home.tree(name)), top, git: resolve(repository.common_dir()) }
    }

    /// True for files of the repository or of any session's tree.
    pub fn has(&self, file: &Path) -> bool {
        let is_inside = self.top.as_ref().is_some_and(|top| file.starts_with(top));
        is_inside || self.is_in_a_tree(file) || file.starts_with(&self.git)
    }

    fn is_in_a_tree(&self, file: &Path) -> bool {
        file.starts_with(self.tree.ancestors().nth(2).unwrap_or(&self.tree))
    }

    pub fn locate(&self, path: &Path) -> WriteTarget {
        if let Ok(inside) = path.strip_prefix(&self.tree) {
            if is_git(inside) {
                return WriteTarget::Guarded("The git directory of the session is git's own.");
            }
            return WriteTarget::Free;
        }
        if self.is_in_a_tree(path) {
            return WriteTarget::Guarded("That is the work tree of another session.");
        }
        let inside = self.top.as_ref().and_then(|top| path.strip_prefix(top).ok());
        if inside.is_some_and(is_git) || path.starts_with(&self.git) {
            return WriteTarget::Guarded("The git directory is not edited by an agent.");
        }
        match inside {
            Some(inside) if inside.starts_with(".agent-memory") => WriteTarget::Guarded(
                "The project's memory and policy are changed by proposals of their own: `aye memory propose`, \
                 or the tool memory_propose_update; a policy by `aye propose`.",
            ),
            Some(inside) => WriteTarget::Checkout(inside.to_owned()),
            None => WriteTarget::Free,
        }
    }

    /// True if one of `files` is in a repository nested in the checkout.
    pub fn is_nested(&self, files: &[PathBuf]) -> bool {
        let Some(top) = &self.top else { return false };
        let inside = |path: &PathBuf| {
            let inside = path.strip_prefix(&self.tree).or_else(|_| path.strip_prefix(top));
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
}

/// True if a path relative to a work tree leads into its git directory.
pub fn is_git(inside: &Path) -> bool {
    let first = inside.components().next();
    matches!(first, Some(Component::Normal(name)) if name.eq_ignore_ascii_case(".git"))
}

/// Nearest existing directory above `file`.
pub fn near(file: &Path) -> Option<&Path> {
    file.ancestors().skip(1).find(|above| above.is_dir())
}

/// `None` only if neither `directory` nor a parent has a `.git`.
///
/// # Errors
/// Refuses a repository that cannot be opened, or whose work tree is elsewhere: such a file must
/// not pass the gate.
pub fn at(directory: &Path) -> Result<Option<Store>> {
    let here = resolve(directory);
    let is_there = directory.exists();
    let git = || {
        let mut above = here.ancestors().filter(|_| is_there).map(|above| above.join(".git"));
        above.find(|git| git.symlink_metadata().is_ok())
    };
    let (found, why) = match Store::discover(directory) {
        Ok(found) => {
            let is_around =
                found.repository().work_dir().is_some_and(|top| here.starts_with(resolve(&top)));
            let why = "whose work tree is somewhere else, or which has none";
            let why = format!("{} is in a repository {why}", here.display());
            (Some(found), (!is_around).then_some(why))
        }
        Err(error) if error.is(&NOT_A_REPOSITORY) => (None, Some(error.message().to_owned())),
        Err(error) => return Err(error),
    };
    match why.zip(git()) {
        None => Ok(found),
        Some((why, git)) => Err(Error::new(
            &NOT_A_REPOSITORY,
            format!("{} is there, but {why}", git.display()),
        )
        .hint(
            "repair it, or start the agent in a work tree: `git status` there says what is wrong, and \
             `git config --show-origin --get-regexp 'core\\.(bare|worktree)'` where the work tree was put",
        )),
    }
}
