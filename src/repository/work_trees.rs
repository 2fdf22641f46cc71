//! Recognises the work trees of the repository.
//!
//! `worktrees/*/gitdir` is not enough: a writer of the git directory can name any directory there.
//! A linked work tree also names the repository in its own `.git` file, outside the git directory.

use std::path::{Path, PathBuf};

use bstr::ByteSlice;

use super::Repository;
use crate::worktree::Worktree;

impl Repository {
    /// True for the open work tree (also by environment or `core.worktree`), the main one, and
    /// linked ones that git lists and that point back.
    pub fn is_own_worktree(&self, root: &Worktree) -> bool {
        let is_main = || {
            let main = self.repo.main_repo().ok();
            main.is_some_and(|main| main.workdir().is_some_and(|main| root.is_at(main)))
        };
        self.work_dir().is_some_and(|present| root.is_at(&present))
            || is_main()
            || self.linked(root).is_some()
    }

    /// The git directory of the linked work tree `root`.
    fn linked(&self, root: &Worktree) -> Option<PathBuf> {
        let link = root.git_link()?;
        let target = link.strip_prefix(b"gitdir: ")?.trim_end_with(|c| c == '\n' || c == '\r');
        let target = root.root().join(target.to_path().ok()?).canonicalize().ok()?;
        let listed = self.repo.worktrees().ok()?.into_iter().find(|listed| {
            listed.base().is_ok_and(|base| root.is_at(&base))
                && listed.git_dir().canonicalize().is_ok_and(|dir| dir == target)
        })?;
        Some(listed.git_dir().to_owned())
    }

    pub(crate) fn has_linked(&self) -> bool {
        self.repo.worktrees().is_ok_and(|linked| !linked.is_empty())
    }

    /// The present one first.
    pub(crate) fn work_trees(&self) -> Vec<PathBuf> {
        let mut roots: Vec<PathBuf> = self.work_dir().into_iter().collect();
        let main = self.repo.main_repo().ok().and_then(|main| main.workdir().map(Path::to_owned));
        let linked = self.repo.worktrees().unwrap_or_default();
        let linked = linked.iter().filter_map(|listed| listed.base().ok());
        for root in main.into_iter().chain(linked) {
            if !roots.contains(&root)
                && Worktree::open(&root).is_ok_and(|opened| self.is_own_worktree(&opened))
            {
                roots.push(root);
            }
        }
        roots
    }

    /// Returns a test for paths inside the git directory, which may have any name.
    pub fn enters_git_dir(&self, root: &Path) -> impl Fn(&Path) -> bool + use<> {
        let lower = |path: PathBuf| PathBuf::from(path.as_os_str().to_ascii_lowercase());
        let resolve = |path: &Path| path.canonicalize().map(lower).ok();
        let root = resolve(root);
        let dirs: Option<Vec<PathBuf>> =
            [&*self.common_dir, self.repo.git_dir()].into_iter().map(resolve).collect();
        // A trial's work tree lies in the git directory.
        let trials = dirs.iter().flatten().next().map(|common| common.join("aye").join("try"));
        move |path| {
            let (Some(root), Some(dirs), Some(trials)) = (&root, &dirs, &trials) else {
                return true;
            };
            // Compared without case, for file systems that ignore it.
            let whole = lower(root.join(path));
            let in_trial =
                whole.strip_prefix(trials).is_ok_and(|rest| rest.components().count() > 1);
            !in_trial && dirs.iter().any(|dir| whole.starts_with(dir))
        }
    }
}
