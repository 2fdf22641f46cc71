//! The `git` program on a repository that was opened.

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
}
