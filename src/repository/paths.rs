//! Paths from users and tools, converted to repository paths.

use std::path::Path;

use bstr::ByteSlice as _;

use super::Repository;
use crate::changeset::{RepoPath, codes};
use crate::error::{Error, Result};

impl Repository {
    /// `directory` relative to the top, with a final `/`, or empty: the base of command line paths.
    /// For aliases and hooks the caller passes `GIT_PREFIX`.
    pub fn prefix(&self, directory: &Path) -> Option<Vec<u8>> {
        let top = self.work_dir()?;
        let top = std::fs::canonicalize(&top).unwrap_or(top);
        let here = std::fs::canonicalize(directory).ok()?;
        let below = here.strip_prefix(&top).ok()?;
        let mut prefix = <[u8]>::from_path(below)?.to_owned();
        if !prefix.is_empty() {
            prefix.push(b'/');
        }
        Some(prefix)
    }

    /// The absolute `path` relative to the top. Its directories may be missing.
    pub fn relative_to_top(&self, path: &Path) -> Option<Vec<u8>> {
        path.ancestors().skip(1).find_map(|directory| {
            let mut inside = self.prefix(directory)?;
            inside.extend_from_slice(<[u8]>::from_path(path.strip_prefix(directory).ok()?)?);
            Some(inside)
        })
    }

    /// Accepts a path relative to the top (`./` allowed), or absolute, as coding agents name files.
    pub fn parse_tool_path(&self, path: &[u8]) -> Result<RepoPath> {
        let refused = match RepoPath::new(path.strip_prefix(b"./").unwrap_or(path)) {
            Err(error) if error.is(&codes::PATH_INVALID) => error,
            found => return found,
        };
        match self.below_top(path) {
            Some(inside) => RepoPath::new(inside),
            None => Err(self.name_top(refused)),
        }
    }

    pub fn below_top(&self, path: &[u8]) -> Option<Vec<u8>> {
        // `Path` ignores a final slash, which no file's name has.
        let path = path.to_path().ok().filter(|it| it.is_absolute() && !path.ends_with(b"/"))?;
        self.relative_to_top(path)
    }

    /// Adds the top as a hint if an absolute path lies outside.
    #[must_use]
    pub fn name_top(&self, error: Error) -> Error {
        let given = error.details().iter().find(|(key, _)| *key == "path");
        let path = given.and_then(|(_, path)| path.as_str()).map(Path::new);
        match (path.filter(|path| path.is_absolute()), self.work_dir()) {
            (Some(path), Some(top)) if self.relative_to_top(path).is_none() => error.hint(format!(
                "it is outside of the work tree '{}'; give a path inside it",
                top.display()
            )),
            _ => error,
        }
    }
}
