//! Git told what to stage: written paths and their modes, while it runs beside.

use super::refuse::with_index;
use crate::changeset::{File, Mode, RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::git::{Git, Running};
use crate::proposal::Entry;
use crate::store::Store;

/// Git in this very repository, where a path is a path.
pub(super) fn git(store: &Store) -> Result<Git> {
    Ok(literally(store.git()?))
}

fn literally(git: Git) -> Git {
    let others = ["GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"];
    // Git takes none of them beside it.
    others.into_iter().fold(git.env("GIT_LITERAL_PATHSPECS", "1"), |git, name| git.env(name, "0"))
}

/// As [`git`], for taking `paths` from the work tree where files that were just written got other
/// modes than git has of them, those of `modes`.
///
/// With `core.fileMode = false` git does not look at modes, and would leave them as they were (or
/// give a new file the usual one). Where the file system keeps them, it is told to look: for these
/// paths nothing but what was written can be found.
pub(super) fn git_with_modes(store: &Store, modes: &[(RepoPath, Mode)]) -> Result<Git> {
    let git = git(store)?;
    if modes.is_empty() || store.has_modes() {
        return Ok(git);
    }
    let worktree = store.worktree()?.without_conversion();
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

/// HEAD's commit; `None` before the first one.
pub(super) fn head(store: &Store) -> Result<Option<gix::ObjectId>> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(&crate::git::codes::GIT_FAILED, format!("HEAD cannot be read: {error}"))
            .hint("`git status` shows what is wrong with it")
    };
    let mut head = store.repo().head().map_err(|error| failed(&error))?;
    if head.is_unborn() {
        return Ok(None);
    }
    let id = head.try_peel_to_id().map_err(|error| failed(&error))?;
    Ok(id.map(gix::Id::detach))
}

/// Most bytes of paths given to git as arguments at once.
pub(super) const ARGUMENTS: usize = 100_000;

pub(super) fn chunks(paths: &[RepoPath]) -> Vec<&[RepoPath]> {
    let (mut found, mut start, mut size) = (Vec::new(), 0, 0);
    for (index, path) in paths.iter().enumerate() {
        size += path.as_bstr().len() + 1;
        if size > ARGUMENTS {
            found.push(&paths[start..index]);
            (start, size) = (index, path.as_bstr().len() + 1);
        }
    }
    found.push(&paths[start..]);
    found.retain(|chunk| !chunk.is_empty());
    found
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
    pub fn start(store: &Store, modes: &[(RepoPath, Mode)]) -> Result<Self> {
        let git = git_with_modes(store, modes)?.args(STAGING);
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

/// Takes `paths` in the index back to HEAD (out of it, where HEAD does not have them or is
/// unborn).
///
/// # Errors
/// `git_failed`, `index_locked`.
pub fn unstage(store: &Store, paths: &[RepoPath]) -> Result<()> {
    let born = head(store)?.is_some();
    for some in chunks(paths) {
        with_index(store, || {
            let git = match born {
                // It looks at all files that have changed, not only at these.
                true => {
                    literally(store.git_without_filters()?).args(["reset", "--quiet", "HEAD", "--"])
                }
                false => git(store)?.args(["rm", "--quiet", "--cached", "--ignore-unmatch", "--"]),
            };
            git.args(some.iter().map(RepoPath::to_path)).run()
        })?;
    }
    Ok(())
}

/// Puts `entries` into the index; a path without one is removed from it. Work tree files stay.
///
/// # Errors
/// `git_failed`, `index_locked`.
pub fn restage(store: &Store, entries: &[(&RepoPath, Option<Entry>)]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let mut lines = Vec::new();
    for (path, entry) in entries {
        let none = store.repo().object_hash().null().to_string();
        let (mode, id) =
            entry.as_ref().map_or(("0", &none), |entry| (entry.mode.as_ref(), &entry.id));
        lines.extend_from_slice(format!("{mode} {id}\t").as_bytes());
        lines.extend_from_slice(path.as_bstr());
        lines.push(0);
    }
    with_index(store, || {
        git(store)?.args(["update-index", "-z", "--index-info"]).stdin(lines.clone()).run()
    })
    .map(drop)
}

/// Notes the present sizes of `paths` in the index, which has what is stored of them. A file that
/// lies there with other line endings than before is as long as git remembers only by chance, and
/// git takes any other length for a change without a look at what is in it.
///
/// # Errors
/// `git_failed`.
pub fn note_sizes(store: &Store, paths: &[RepoPath]) -> Result<()> {
    let mut found = Vec::new();
    for some in chunks(paths) {
        let other = git(store)?
            .args(["diff-files", "--name-only", "--no-ext-diff", "--diff-filter=M", "-z", "--"])
            .args(some.iter().map(RepoPath::to_path));
        found.extend(other.run()?);
    }
    if found.is_empty() {
        return Ok(());
    }
    git(store)?.args(["update-index", "-z", "--stdin"]).stdin(found).run().map(|_| ())
}

pub(super) fn list(paths: &[RepoPath]) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path.as_bstr());
        list.push(0);
    }
    list
}
