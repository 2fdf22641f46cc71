//! Paths as they are given, as paths of the repository.

use std::path::Path;

use bstr::ByteSlice as _;

use super::Repository;
use crate::changeset::{RepoPath, codes};
use crate::error::Result;

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
        // A file's name does not end so, and `Path` passes over it.
        let absolute = path.to_path().ok().filter(|it| it.is_absolute() && !path.ends_with(b"/"));
        match absolute.and_then(|path| self.inside(path)) {
            Some(inside) => RepoPath::new(inside),
            None => Err(refused),
        }
    }
}
