//! Git told what to stage: written paths and their modes, while it runs beside.

use super::index::{git, list};
use crate::changeset::{File, Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::git::{Git, Running};
use crate::repository::Repository;

/// As [`git`], for taking `paths` from the work tree where files that were just written got other
/// modes than git has of them, those of `modes`.
///
/// With `core.fileMode = false` git does not look at modes, and would leave them as they were (or
/// give a new file the usual one). Where the file system keeps them, it is told to look: for these
/// paths nothing but what was written can be found.
pub(super) fn git_with_modes(repository: &Repository, modes: &[(RepoPath, Mode)]) -> Result<Git> {
    let git = git(repository)?;
    if modes.is_empty() || repository.has_modes() {
        return Ok(git);
    }
    let worktree = repository.worktree()?.without_conversion();
    let kept = modes
        .iter()
        .all(|(path, mode)| matches!(worktree.file(path), Ok(Some(file)) if file.mode == *mode));
    Ok(if kept { git.config("core.fileMode", "true") } else { git })
}

/// The files of a change, each as it was and as it shall be, that get another mode than git would
/// think of by itself.
pub fn modes<'a>(
    files: impl Iterator<Item = (&'a RepoPath, Option<&'a File>, Option<&'a File>)>,
) -> Vec<(RepoPath, Mode)> {
    files
        .filter_map(|(path, now, after)| {
            let (usual, after) = (now.map_or(Mode::Regular, |file| file.mode), after?.mode);
            (usual != after).then(|| (path.clone(), after))
        })
        .collect()
}

/// Puts the paths of standard input into the index as they are in the work tree, and removes those
/// that are gone. A file where the index still has a directory, or the other way round, takes its place.
pub(super) const STAGING: [&str; 6] =
    ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];

/// Git, reading the index while the files are still being written, and waiting for the names of
/// those to stage. Dropped without names it changes nothing.
pub struct Staging(Running);

impl Staging {
    /// Starts it, once the files of `modes` are written. It holds the index from now on.
    ///
    /// # Errors
    /// `git_not_found`.
    pub fn start(repository: &Repository, modes: &[(RepoPath, Mode)]) -> Result<Self> {
        let git = git_with_modes(repository, modes)?.args(STAGING);
        git.start().map(Self)
    }

    /// Puts `paths` into the index as they are in the work tree; those that are gone are removed.
    /// Goes on beside the caller until [`Staging::wait`].
    pub fn feed(&mut self, paths: &[RepoPath]) {
        self.0.feed(list(paths));
    }

    /// Waits until the index is written.
    ///
    /// # Errors
    /// `git_failed`.
    pub fn wait(self) -> Result<()> {
        self.0.finish().map(|_| ())
    }

    /// Stages `paths` and waits.
    ///
    /// # Errors
    /// `git_failed`.
    pub fn finish(mut self, paths: &[RepoPath]) -> Result<()> {
        self.feed(paths);
        self.wait()
    }
}
