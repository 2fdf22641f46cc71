//! Files excluded by a sparse checkout: in the index, not in the work tree.

use gix::index::entry::{Flags, Mode};

use super::Repository;
use crate::changeset::{RepoPath, codes, path_collisions};
use crate::error::{Code, Error, Result};

impl Repository {
    /// Adds a hint if the sparse checkout excludes the file of `error`.
    pub fn name_sparse(&self, error: Error) -> Error {
        match self.sparse_hint(&error) {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }

    /// [`Repository::name_sparse`]; or a hint with the tracked file whose name differs in case or
    /// Unicode normalisation alone.
    pub fn name_missing(&self, error: Error) -> Error {
        let error = self.name_sparse(error);
        let given = error.details().iter().find(|(key, _)| *key == "path");
        let path = given.and_then(|(_, path)| RepoPath::new(path.as_str()?).ok());
        let (Some(path), Ok(index)) = (path, self.repo.index_or_empty()) else { return error };
        if !error.is(&codes::FILE_NOT_FOUND) || self.is_excluded(&path.display().to_string()) {
            return error;
        }
        let there = index.entries().iter().map(|entry| entry.path(&index));
        let Some(near) = path_collisions::collisions(&[&path], there).remove(&path) else {
            return error;
        };
        let (near, name) = (near.to_string(), path.display().to_string());
        // Both normal forms look the same.
        let is_case = near.to_lowercase() == name.to_lowercase();
        let shown = if is_case { near.clone() } else { near.escape_default().to_string() };
        error.with("did_you_mean", near).hint(format!("did you mean '{shown}'?"))
    }

    pub fn sparse_hint(&self, error: &Error) -> Option<String> {
        let path = self.sparse_file(error)?;
        let directory = path.rsplit_once('/').map_or(path.as_str(), |(directory, _)| directory);
        Some(format!(
            "the sparse checkout excludes it from the work tree; `git sparse-checkout add \
             '{directory}'` brings it there"
        ))
    }

    pub fn sparse_file(&self, error: &Error) -> Option<String> {
        if !error.is(&codes::FILE_NOT_FOUND) && !error.is(&codes::CONFLICT) {
            return None;
        }
        let (_, path) = error.details().iter().find(|(key, _)| *key == "path")?;
        path.as_str().map(str::to_owned).filter(|path| self.is_excluded(path))
    }

    /// Refuses to delete or create a file that is only excluded: git still has it.
    ///
    /// # Errors
    /// `file_not_found`.
    pub fn refuse_excluded<'a>(&self, gone: impl Iterator<Item = &'a RepoPath>) -> Result<()> {
        if !self.is_sparse() {
            return Ok(());
        }
        for path in gone {
            let shown = path.display().to_string();
            // For a wholly excluded directory the index may not list the files.
            if self.is_excluded(&shown)
                && (self.is_in_index(path) || self.id_in_head(path).is_some())
            {
                let error = Error::new(&codes::FILE_NOT_FOUND, format!("no file '{shown}'"));
                return Err(self.name_sparse(error.with("path", shown)));
            }
        }
        Ok(())
    }

    /// An error for a missing file that git has, with the command that restores `directory`.
    pub fn missing_error(
        &self,
        code: &'static Code,
        path: &RepoPath,
        directory: &str,
    ) -> Option<Error> {
        let shown = path.display().to_string();
        let hint = if self.is_excluded(&shown) {
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

    pub fn is_sparse(&self) -> bool {
        self.repo.config_snapshot().boolean("core.sparseCheckout") == Some(true)
    }

    pub fn is_excluded(&self, path: &str) -> bool {
        self.is_sparse()
            && self.repo.index_or_empty().is_ok_and(|index| index_excludes(&index, path))
    }
}

pub fn index_excludes(index: &gix::index::State, path: &str) -> bool {
    if let Some(entry) = index.entry_by_path(path.into()) {
        return entry.flags.contains(Flags::SKIP_WORKTREE);
    }
    // With `index.sparse` a wholly excluded directory is one entry.
    let is_above = |directory: &bstr::BStr| path.as_bytes().starts_with(directory);
    index.entries().iter().any(|entry| entry.mode == Mode::DIR && is_above(entry.path(index)))
}
