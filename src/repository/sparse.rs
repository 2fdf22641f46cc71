//! Files that a sparse checkout leaves out: they are in the index and not in the work tree.

use gix::index::entry::{Flags, Mode};

use super::Repository;
use crate::changeset::{RepoPath, codes};
use crate::error::{Code, Error, Result};

impl Repository {
    /// `error`, if it is about a file that is not there because the sparse checkout leaves it out,
    /// with that as its hint.
    pub fn name_sparse(&self, error: Error) -> Error {
        match self.sparse_hint(&error) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// What to do about `error`, if it is about a file that the sparse checkout leaves out.
    pub fn sparse_hint(&self, error: &Error) -> Option<String> {
        let path = self.left_out(error)?;
        let directory = path.rsplit_once('/').map_or(path.as_str(), |(directory, _)| directory);
        Some(format!(
            "the sparse checkout excludes it from the work tree; `git sparse-checkout add \
             '{directory}'` brings it there"
        ))
    }

    /// The file that `error` is about, if it is not there because the sparse checkout leaves it out.
    pub fn left_out(&self, error: &Error) -> Option<String> {
        if !error.is(&codes::FILE_NOT_FOUND) && !error.is(&codes::CONFLICT) {
            return None;
        }
        let (_, path) = error.details().iter().find(|(key, _)| *key == "path")?;
        path.as_str().map(str::to_owned).filter(|path| self.is_left_out(path))
    }

    /// Refuses to take one of the files `gone` for one that does not exist, deleted or not made yet, if it is
    /// only left out: git has it all the same.
    ///
    /// # Errors
    /// `file_not_found`.
    pub fn refuse_left_out<'a>(&self, gone: impl Iterator<Item = &'a RepoPath>) -> Result<()> {
        if !self.is_sparse() {
            return Ok(());
        }
        for path in gone {
            let shown = path.display().to_string();
            // Of a directory that is left out whole the index does not say what is in it.
            if self.is_left_out(&shown)
                && (self.is_in_index(path) || self.id_in_head(path).is_some())
            {
                let error = Error::new(&codes::FILE_NOT_FOUND, format!("no file '{shown}'"));
                return Err(self.name_sparse(error.with("path", shown)));
            }
        }
        Ok(())
    }

    /// That git has the file `path`, which the work tree lacks, and what brings `directory`, in which it lies, back:
    /// it is not to be made again there. `None` where git does not have it either.
    pub fn lacking(&self, code: &'static Code, path: &RepoPath, directory: &str) -> Option<Error> {
        let shown = path.display().to_string();
        let hint = if self.is_left_out(&shown) {
            format!(
                "the sparse checkout excludes it; `git sparse-checkout add {directory}` brings it there"
            )
        } else if self.is_in_index(path) {
            format!(
                "`git restore {directory}` brings it back; where it is to go, commit that first"
            )
        } else if self.id_in_head(path).is_some() {
            format!(
                "`git restore --source HEAD {directory}` brings it back; where it is to go, commit that first"
            )
        } else {
            return None;
        };
        let message = format!("git has {shown}, and the work tree does not");
        Some(Error::new(code, message).hint(hint).with("path", shown))
    }

    fn is_in_index(&self, path: &RepoPath) -> bool {
        self.repo.index_or_empty().is_ok_and(|index| index.entry_by_path(path.as_bstr()).is_some())
    }

    /// Whether the checkout is sparse (`core.sparseCheckout`).
    pub fn is_sparse(&self) -> bool {
        self.repo.config_snapshot().boolean("core.sparseCheckout") == Some(true)
    }

    /// Whether the sparse checkout leaves the file `path` out of the work tree.
    pub fn is_left_out(&self, path: &str) -> bool {
        self.is_sparse() && self.repo.index_or_empty().is_ok_and(|index| leaves_out(&index, path))
    }
}

/// Whether by `index` a sparse checkout leaves the file `path` out of the work tree.
pub fn leaves_out(index: &gix::index::State, path: &str) -> bool {
    if let Some(entry) = index.entry_by_path(path.into()) {
        return entry.flags.contains(Flags::SKIP_WORKTREE);
    }
    // With `index.sparse` a directory that is left out whole is one entry.
    let is_above = |directory: &bstr::BStr| path.as_bytes().starts_with(directory);
    index.entries().iter().any(|entry| entry.mode == Mode::DIR && is_above(entry.path(index)))
}
