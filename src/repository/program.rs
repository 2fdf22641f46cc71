//! The `git` program on a repository that was opened.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;

use crate::error::{Error, Result};
use crate::git::{self, Git};

use super::Repository;

impl Repository {
    /// From now on git is not run with this git directory: its configuration and hooks are an agent's.
    pub fn runs_no_git(&mut self) {
        self.is_foreign = true;
    }

    /// Git on this very repository, work tree and index, however they were found, with the
    /// configuration that the command line gave.
    ///
    /// # Errors
    /// If the working directory is gone; `git_failed` after [`Repository::runs_no_git`].
    pub fn git(&self) -> Result<Git> {
        if self.is_foreign {
            let why = "git is not run with what an agent has made of this git directory";
            return Err(Error::new(&git::codes::GIT_FAILED, why)
                .hint("run the command in the checkout of the repository"));
        }
        let absolute = |path| {
            std::path::absolute(path).map_err(|error| Error::io("find the git directory", &error))
        };
        let (git_dir, index) = (absolute(self.repo.git_dir())?, absolute(&self.repo.index_path())?);
        let top = self.work_dir();
        let mut git = Git::new(top.as_ref().unwrap_or(&git_dir)).fresh().configured();
        if let Some(top) = top {
            git = git.env("GIT_WORK_TREE", top);
        }
        // The caller may have another index (`GIT_INDEX_FILE`), as git's own hooks do.
        if index != git_dir.join("index") {
            git = git.env("GIT_INDEX_FILE", index);
        }
        Ok(git.env("GIT_DIR", git_dir))
    }

    /// As [`Repository::git`], without the filter programs that the repository's own configuration names: where a
    /// file goes through one, git compares it as it lies in the work tree.
    ///
    /// # Errors
    /// As [`Repository::git`]; `git_failed` if the configuration cannot be read.
    pub fn git_without_filters(&self) -> Result<Git> {
        // Asked of git itself, which knows what it includes on which conditions.
        let args = ["config", "-z", "--show-scope", "--name-only", "--get-regexp", r"^filter\."];
        let named = self.git()?.args(args).answer()?;
        let mut fields = named.stdout.split(|byte| *byte == 0);
        let mut drivers = BTreeSet::new();
        while let (Some(scope), Some(key)) = (fields.next(), fields.next()) {
            // `filter.NAME.KEY`, the name with dots of its own.
            let rest = key.strip_prefix(b"filter.").unwrap_or_default();
            if let Some(at) = rest.rfind_byte(b'.')
                && (scope == b"local" || scope == b"worktree")
            {
                drivers.insert(&rest[..at]);
            }
        }
        Ok(drivers.into_iter().fold(self.git()?, Git::without_filter))
    }
}
