//! Paths as they are given, as paths of the repository.

use std::path::Path;

use bstr::ByteSlice as _;

use super::Repository;
use crate::changeset::{RepoPath, codes};
use crate::error::{Error, Result};

impl Repository {
    /// Where `directory` (in which the command was started) is, relative to the work tree's top,
    /// `/`-separated with a final `/`, or empty at the top. What a path on the command line is
    /// relative to. `GIT_PREFIX`, which git sets for aliases and hooks, is the caller's to pass
    /// as `directory`.
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

    /// The absolute `path` relative to the work tree's top, if it leads there. Directories that do not
    /// exist yet may be in it.
    pub fn inside(&self, path: &Path) -> Option<Vec<u8>> {
        path.ancestors().skip(1).find_map(|directory| {
            let mut inside = self.prefix(directory)?;
            inside.extend_from_slice(<[u8]>::from_path(path.strip_prefix(directory).ok()?)?);
            Some(inside)
        })
    }

    /// A path as a tool is given it: relative to the work tree's top, with or without `./` in front, or
    /// absolute, as coding agents name files, where it leads into the work tree.
    ///
    /// # Errors
    /// Those of [`RepoPath::new`].
    pub fn given(&self, path: &[u8]) -> Result<RepoPath> {
        let refused = match RepoPath::new(path.strip_prefix(b"./").unwrap_or(path)) {
            Err(error) if error.is(&codes::PATH_INVALID) => error,
            found => return found,
        };
        match self.below_top(path) {
            Some(inside) => RepoPath::new(inside),
            None => Err(self.name_top(refused)),
        }
    }

    /// What the absolute `path` of a file is from the work tree's top, if it leads there.
    pub fn below_top(&self, path: &[u8]) -> Option<Vec<u8>> {
        // A file's name does not end so, and `Path` passes over it.
        let path = path.to_path().ok().filter(|it| it.is_absolute() && !path.ends_with(b"/"))?;
        self.inside(path)
    }

    /// `error`, about a path: with the work tree's top if an absolute one leads elsewhere.
    #[must_use]
    pub fn name_top(&self, error: Error) -> Error {
        let given = error.details().iter().find(|(key, _)| *key == "path");
        let path = given.and_then(|(_, path)| path.as_str()).map(Path::new);
        match (path.filter(|path| path.is_absolute()), self.work_dir()) {
            (Some(path), Some(top)) if self.inside(path).is_none() => error.hint(format!(
                "it is outside of the work tree '{}'; give a path inside it",
                top.display()
            )),
            _ => error,
        }
    }
}
