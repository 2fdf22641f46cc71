//! Services that a patch needs of a repository: absolute paths, which coding agents write, and git
//! for binary changes.

use crate::changeset::{File, RepoPath, Snapshot};
use crate::error::Result;
use crate::repository::{Repository, binary};

/// `files` start at the top of the work tree of `repository`.
pub(super) struct PatchSnapshot<'a> {
    pub files: &'a dyn Snapshot,
    pub repository: &'a Repository,
}

impl Snapshot for PatchSnapshot<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        self.files.file(path)
    }

    fn base(&self) -> Option<&dyn Snapshot> {
        Some(self.files)
    }

    fn below_top(&self, path: &[u8]) -> Option<Vec<u8>> {
        self.repository.below_top(path)
    }

    fn binary(&self, before: &[u8], patch: &[u8], most: usize) -> Result<Vec<u8>> {
        binary::apply(before, patch, most)
    }
}
