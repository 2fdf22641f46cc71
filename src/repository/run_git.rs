//! Runs the `git` program on the opened repository.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;

use crate::error::{Error, Result};
use crate::git::{self, Git};

use super::Repository;

impl Repository {
    /// Stops aye from running git here: an agent controls configuration and hooks.
    pub fn runs_no_git(&mut self) {
        self.is_foreign = true;
    }

    /// Git on exactly this repository, index and command line configuration.
    ///
    /// # Errors
    /// `git_failed` after `Repository::runs_no_git`.
    pub fn git(&self) -> Result<Git> {
        if self.is_foreign {
            let why = "git does not run with a git directory that an agent has changed";
            return Err(Error::new(&git::codes::GIT_FAILED, why)
                .hint("run the command in the checkout of the repository"));
        }
        let absolute = |path| {
            std::path::absolute(path).map_err(|error| Error::io("find the git directory", &error))
        };
        let (git_dir, index) = (absolute(self.repo.git_dir())?, absolute(&self.repo.index_path())?);
        let top = self.work_dir();
        let mut git =
            Git::new(top.as_ref().unwrap_or(&git_dir)).without_local_env().with_command_config();
        if let Some(top) = top {
            git = git.env("GIT_WORK_TREE", top);
        }
        // The caller may have another index (`GIT_INDEX_FILE`), as in git's hooks.
        if index != git_dir.join("index") {
            git = git.env("GIT_INDEX_FILE", index);
        }
        Ok(git.env("GIT_DIR", git_dir))
    }

    /// Without filter programs of the repository's own configuration: git compares such files
    /// unfiltered.
    pub fn git_without_filters(&self) -> Result<Git> {
        // Only git itself resolves conditional includes fully.
        let args = ["config", "-z", "--show-scope", "--name-only", "--get-regexp", r"^filter\."];
        let named = self.git()?.args(args).answer()?;
        let mut fields = named.stdout.split(|byte| *byte == 0);
        let mut drivers = BTreeSet::new();
        while let (Some(scope), Some(key)) = (fields.next(), fields.next()) {
            // The name in `filter.NAME.KEY` may have dots.
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
