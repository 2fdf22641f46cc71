//! Index and HEAD of this work tree.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use gix::index::entry::{Flags, Stage};

use crate::changeset::{File, RepoPath};
use crate::error::{Error, Result};
use crate::git::Git;
use crate::git::codes::GIT_FAILED;
use crate::proposal::Entry;
use crate::repository::{Repository, damaged};
use crate::store::entry_of as hashed;

/// Git on this repository, with literal pathspecs.
pub(super) fn git(repository: &Repository) -> Result<Git> {
    Ok(literally(repository.git()?))
}

fn literally(git: Git) -> Git {
    let others = ["GIT_GLOB_PATHSPECS", "GIT_NOGLOB_PATHSPECS", "GIT_ICASE_PATHSPECS"];
    // Git refuses the others in combination.
    others.into_iter().fold(git.env("GIT_LITERAL_PATHSPECS", "1"), |git, name| git.env(name, "0"))
}

/// `None` on an unborn branch.
pub(super) fn head(repository: &Repository) -> Result<Option<gix::ObjectId>> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(&crate::git::codes::GIT_FAILED, format!("HEAD cannot be read: {error}"))
            .hint("`git status` names the fault")
    };
    let mut head = repository.repo().head().map_err(|error| failed(&error))?;
    if head.is_unborn() {
        return Ok(None);
    }
    let id = head.try_peel_to_id().map_err(|error| failed(&error))?;
    Ok(id.map(gix::Id::detach))
}

/// Bytes of path arguments per git call.
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

pub(super) fn list(paths: &[RepoPath]) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(path.as_bstr());
        list.push(0);
    }
    list
}

/// Longest wait for the index, as for an editor's `git add`.
const PATIENCE: Duration = Duration::from_secs(3);

/// Retries until git gets the index lock, for which it does not wait.
///
/// # Errors
/// `index_locked`.
pub(super) fn with_index<T>(
    repository: &Repository,
    mut run: impl FnMut() -> Result<T>,
) -> Result<T> {
    let until = Instant::now() + PATIENCE;
    loop {
        match run() {
            Err(error) if error.is(&GIT_FAILED) && error.message().contains("index.lock") => {
                if Instant::now() >= until {
                    return Err(crate::worktree::index::locked(&lock_of_index(repository)));
                }
                std::thread::sleep(Duration::from_millis(20));
            }
            done => return done,
        }
    }
}

pub(super) fn lock_of_index(repository: &Repository) -> PathBuf {
    let mut lock = repository.repo().index_path().into_os_string();
    lock.push(".lock");
    lock.into()
}

/// Refuses before any write if the index is locked.
///
/// # Errors
/// `index_locked`.
pub fn refuse_locked_index(repository: &Repository) -> Result<()> {
    // During the hooks of `git commit -a` they get `index.lock` as index.
    let lock = lock_of_index(repository);
    match lock.symlink_metadata() {
        Ok(_) => Err(crate::worktree::index::locked(&lock)),
        Err(_) => Ok(()),
    }
}

/// True if `index` has exactly `file` at `path`, without conflicts.
pub(super) fn has(index: &gix::index::State, path: &RepoPath, file: Option<&File>) -> bool {
    let Some(file) = file else { return index.entry_range(path.as_bstr()).is_none() };
    let staged = entry_of(index, path);
    staged.is_some_and(|staged| hashed(index.object_hash(), file).is_ok_and(|it| it == staged))
}

/// Resets `paths` in the index to HEAD, which may lack them.
///
/// # Errors
/// `git_failed`, `index_locked`.
pub fn unstage(repository: &Repository, paths: &[RepoPath]) -> Result<()> {
    let born = head(repository)?.is_some();
    for some in chunks(paths) {
        with_index(repository, || {
            let git = match born {
                // `git reset` compares all changed files, so filters could run.
                true => literally(repository.git_without_filters()?)
                    .args(["reset", "--quiet", "HEAD", "--"]),
                false => {
                    git(repository)?.args(["rm", "--quiet", "--cached", "--ignore-unmatch", "--"])
                }
            };
            git.args(some.iter().map(RepoPath::to_path)).run()
        })?;
    }
    Ok(())
}

/// # Errors
/// `git_failed` for an unreadable commit.
pub(super) fn tree_of<'s>(repository: &'s Repository, id: &str) -> Result<gix::Tree<'s>> {
    let failed = |error: &dyn std::fmt::Display| {
        Error::new(&GIT_FAILED, format!("commit {id} cannot be read: {error}"))
            .hint("`git fsck` reports the damaged object")
    };
    let id = gix::ObjectId::from_hex(id.as_bytes()).map_err(|error| failed(&error))?;
    let commit = repository.repo().find_commit(id).map_err(|error| failed(&error))?;
    commit.tree().map_err(|error| failed(&error))
}

/// # Errors
/// `git_failed` for an unreadable commit.
pub fn entry_in(repository: &Repository, id: &str, path: &RepoPath) -> Result<Option<Entry>> {
    let found = tree_of(repository, id)?.lookup_entry(path.components().map(|name| name.to_vec()));
    let found = found.map_err(|error| damaged(format_args!("a tree of commit {id}"), &error))?;
    Ok(found.filter(|entry| !entry.mode().is_tree()).map(|entry| {
        Entry::new(entry.object_id().to_string(), &format!("{:06o}", entry.mode().value()))
    }))
}

/// The entry at `path`; `None` for a conflict or `git add --intent-to-add`.
pub fn staged_entry(repository: &Repository, path: &RepoPath) -> Option<Entry> {
    entry_of(&*repository.repo().index_or_empty().ok()?, path)
}

pub(super) fn entry_of(index: &gix::index::State, path: &RepoPath) -> Option<Entry> {
    let entry = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted)?;
    let is_added = !entry.flags.contains(Flags::INTENT_TO_ADD);
    is_added.then(|| Entry::new(entry.id.to_string(), &format!("{:06o}", entry.mode.bits())))
}

/// Git's output for all `paths`, in several calls if needed.
pub(super) fn listed(
    repository: &Repository,
    arguments: &[&str],
    paths: &[RepoPath],
) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    for some in chunks(paths) {
        let git = git(repository)?.args(arguments).args(some.iter().map(RepoPath::to_path));
        found.extend(git.run()?);
    }
    Ok(found)
}

/// Sets index entries; `None` removes one. The work tree is not changed.
///
/// # Errors
/// `git_failed`, `index_locked`.
pub fn restage(repository: &Repository, entries: &[(&RepoPath, Option<Entry>)]) -> Result<()> {
    if entries.is_empty() {
        return Ok(());
    }
    let lines =
        index_lines(repository, entries.iter().map(|(path, entry)| (*path, entry.as_ref())));
    with_index(repository, || {
        git(repository)?.args(["update-index", "-z", "--index-info"]).stdin(lines.clone()).run()
    })
    .map(drop)
}

/// Input of `git update-index -z --index-info`; `None` removes an entry.
pub fn index_lines<'e>(
    repository: &Repository,
    entries: impl Iterator<Item = (&'e RepoPath, Option<&'e Entry>)> + Clone,
) -> Vec<u8> {
    let none = repository.repo().object_hash().null().to_string();
    let mut lines = Vec::new();
    // Deletions come first: a file may replace a directory, or the reverse.
    let gone = entries.clone().filter(|(_, entry)| entry.is_none());
    for (path, entry) in gone.chain(entries.filter(|(_, entry)| entry.is_some())) {
        let (mode, id) = entry.map_or(("0", &none), |entry| (entry.mode.as_ref(), &entry.id));
        lines.extend_from_slice(format!("{mode} {id}\t").as_bytes());
        lines.extend_from_slice(path.as_bstr());
        lines.push(0);
    }
    lines
}

/// Updates sizes in the index for `paths`, whose blobs it has. Git treats a new length, as by other
/// line endings, as a change without reading the file.
pub fn note_sizes(repository: &Repository, paths: &[RepoPath]) -> Result<()> {
    let changed = ["diff-files", "--name-only", "--no-ext-diff", "--diff-filter=M", "-z", "--"];
    let found = listed(repository, &changed, paths)?;
    if found.is_empty() {
        return Ok(());
    }
    git(repository)?.args(["update-index", "-z", "--stdin"]).stdin(found).run().map(|_| ())
}
