//! Stages written paths through a git process that runs alongside.

use super::index::{git, list};
use crate::changeset::{File, Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::git::{Git, GitProcess};
use crate::repository::Repository;

/// Git for staging; `modes` names files with new modes.
///
/// With `core.fileMode = false` git ignores modes. If the file system keeps them, this run reads
/// them: these paths can only have the modes just written.
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

/// Files whose new mode git would not record by itself.
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

/// Stages paths from standard input, and removes missing ones. A file may replace a directory, and
/// the reverse.
pub(super) const STAGING: [&str; 6] =
    ["update-index", "--add", "--remove", "--replace", "-z", "--stdin"];

/// A git process that reads the index while files are written, then gets the paths. Dropped before,
/// it changes nothing.
pub struct Staging(GitProcess);

impl Staging {
    /// Starts git after files with `modes` are written; it locks the index.
    pub fn start(repository: &Repository, modes: &[(RepoPath, Mode)]) -> Result<Self> {
        let git = git_with_modes(repository, modes)?.args(STAGING);
        git.start().map(Self)
    }

    /// Sends the paths; git continues until `wait`.
    pub fn feed(&mut self, paths: &[RepoPath]) {
        self.0.feed(list(paths));
    }

    pub fn wait(self) -> Result<()> {
        self.0.finish().map(|_| ())
    }

    pub fn finish(mut self, paths: &[RepoPath]) -> Result<()> {
        self.feed(paths);
        self.wait()
    }
}
