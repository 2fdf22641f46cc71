//! Refusals to stage or commit: other changes, ignored paths, a locked index.

use std::fmt::Display;

use bstr::{BStr, ByteSlice};
use gix::index::entry::{self, Stage};
use gix::state::InProgress;

use super::codes;
use super::index::{entry_in, entry_of, has, head, listed, refuse_locked_index};
use crate::changeset::{File, RepoPath};
use crate::error::{Code, Error, Result};
use crate::proposal::Proposal;
use crate::proposal::event::FileOutcome;
use crate::repository::Repository;
use crate::store::Store;

/// Refuses paths with other changes, which the commit would include; `edited` have them, also if
/// new to git.
///
/// Filtered files are refused, too: git would store other bytes than approved.
///
/// # Errors
/// `uncommitted_changes`, `index_locked`, `filtered_file`.
pub fn refuse_uncommitted(
    repository: &Repository,
    paths: &[RepoPath],
    edited: &[&RepoPath],
) -> Result<()> {
    repository.refuse_foreign(paths, "apply it without --commit, then commit it with git")?;
    refuse_locked_index(repository)?;
    if let Ok(index) = repository.repo().index_or_empty() {
        paths.iter().try_for_each(|path| refuse_unseen(&index, path))?;
        let is_known = |path: &RepoPath| {
            index.entry_range(path.as_bstr()).is_some() || repository.id_in_head(path).is_some()
        };
        if let Some(path) = edited.iter().find(|path| !is_known(path)) {
            return Err(taken_along(path.display()));
        }
    }
    let status = ["status", "--porcelain=v1", "-z", "--untracked-files=no", "--no-renames", "--"];
    let found = listed(repository, &status, paths)?;
    // Each entry is two letters, a space and the path.
    match found.split(|byte| *byte == 0).find_map(|entry| entry.get(3..)) {
        Some(name) => Err(taken_along(name.as_bstr())),
        None => Ok(()),
    }
}

/// Refuses a commit if HEAD differs from the decision's base: it would include other changes. Files
/// that HEAD lacks and generated files are exempt.
///
/// # Errors
/// `uncommitted_changes`, `git_failed`.
pub fn refuse_other_base(store: &Store, proposal: &Proposal) -> Result<()> {
    let Some(head) = store.repository().head_commit() else { return Ok(()) };
    let head = head.to_string();
    let decision = proposal.apply_here(&store.clone_ids());
    let written = decision.map_or(&[][..], |decision| &decision.written);
    for file in written.iter().filter(|file| file.outcome != FileOutcome::Derived) {
        let base = entry_in(store.repository(), &head, &file.path)?;
        if base.is_some() && base != file.before {
            return Err(taken_along(file.path.display()));
        }
    }
    Ok(())
}

/// Refuses paths that git ignores and HEAD lacks.
///
/// # Errors
/// `uncommitted_changes`.
pub fn refuse_ignored(repository: &Repository, paths: &[RepoPath]) -> Result<()> {
    match repository.ignored(&mut paths.iter())?.first() {
        Some(path) => Err(refusal(
            &codes::UNCOMMITTED_CHANGES,
            path.display(),
            "is ignored by one of your .gitignore files",
        )
        .hint("let git track it, or drop the memory settings for git")),
        None => Ok(()),
    }
}

fn taken_along(name: impl Display) -> Error {
    let why = "has uncommitted changes, and the commit would take them along";
    refusal(&codes::UNCOMMITTED_CHANGES, name, why)
        .hint("commit or stash them first, or apply without --commit")
}

fn refusal(code: &'static Code, name: impl Display, why: &str) -> Error {
    Error::new(code, format!("{name} {why}")).with("path", name.to_string())
}

/// Refuses files whose index entry differs from the work tree, like `git apply --index`: a staged
/// change would be lost, an unstaged one staged. A file staged unchanged only needs an index
/// without other changes. Files new to git are exempt.
///
/// `files` are paths with present and future file in git's form.
///
/// # Errors
/// `uncommitted_changes`, `index_locked`.
pub fn refuse_unstaged<'a>(
    repository: &Repository,
    files: impl Iterator<Item = (&'a RepoPath, Option<&'a File>, Option<&'a File>)>,
) -> Result<()> {
    refuse_locked_index(repository)?;
    // Git decides on unreadable entries and on filtered files.
    let index = repository.repo().index_or_empty().ok();
    let (mut written, mut left) = (Vec::new(), Vec::new());
    for (path, now, after) in files {
        if let Some(index) = &index {
            refuse_unseen(index, path)?;
        }
        if !index.as_ref().is_some_and(|index| has(index, path, now)) {
            if now == after { &mut left } else { &mut written }.push(path.clone());
        }
    }
    let diff = ["diff", "--name-only", "--no-renames", "--no-ext-diff", "-z"];
    let mut found = listed(repository, &[&diff[..], &["--"]].concat(), &written)?;
    found.extend(listed(repository, &[&diff[..], &["--cached", "--"]].concat(), &left)?);
    match found.split(|byte| *byte == 0).find(|name| !name.is_empty()) {
        Some(name) => {
            let why = "is not the same in the index, and staging it would mix them";
            Err(refusal(&codes::UNCOMMITTED_CHANGES, name.as_bstr(), why)
                .hint("stage or stash its changes first, or drop --index"))
        }
        None => Ok(()),
    }
}

pub fn as_staged<'a>(
    repository: &Repository,
    files: impl Iterator<Item = (&'a RepoPath, Option<&'a File>)>,
) -> Vec<RepoPath> {
    let Ok(index) = repository.repo().index_or_empty() else { return Vec::new() };
    files.filter(|(path, file)| has(&index, path, *file)).map(|(path, _)| path.clone()).collect()
}

/// Paths whose index entry differs from HEAD: a commit includes them. Entries of `git add
/// --intent-to-add` do not count.
///
/// # Errors
/// `git_failed`.
pub fn staged(repository: &Repository, paths: &[RepoPath]) -> Result<Vec<RepoPath>> {
    let Ok(index) = repository.repo().index_or_empty() else { return Ok(Vec::new()) };
    let head = head(repository)?.map(|id| id.to_string());
    let mut found = Vec::new();
    for path in paths {
        let entry = entry_of(&index, path);
        let committed =
            head.as_ref().map(|id| entry_in(repository, id, path)).transpose()?.flatten();
        if entry != committed {
            found.push(path.clone());
        }
    }
    Ok(found)
}

/// # Errors
/// `unmerged`.
pub fn refuse_unmerged<'a>(
    repository: &Repository,
    mut paths: impl Iterator<Item = &'a RepoPath>,
) -> Result<()> {
    let Ok(index) = repository.repo().index_or_empty() else { return Ok(()) };
    let is_unmerged = |path: &&RepoPath| {
        let found = index.entry_range(path.as_bstr());
        let mut entries = found.into_iter().flat_map(|range| &index.entries()[range]);
        entries.any(|entry| entry.stage() != Stage::Unconflicted)
    };
    paths.find(is_unmerged).map_or(Ok(()), |path| Err(unmerged(path.as_bstr())))
}

/// Refuses to restore `paths` during a merge, rebase or the like that continues from their staged
/// content.
///
/// # Errors
/// `unmerged`.
pub fn refuse_underway<'a>(
    repository: &Repository,
    paths: impl Iterator<Item = &'a RepoPath> + Clone,
) -> Result<()> {
    refuse_unmerged(repository, paths.clone())?;
    if let None | Some(InProgress::Bisect) = repository.repo().state() {
        return Ok(());
    }
    let (Ok(index), Some(head)) = (repository.repo().index_or_empty(), head(repository)?) else {
        return Ok(());
    };
    let head = head.to_string();
    for path in paths {
        if entry_of(&index, path) != entry_in(repository, &head, path)? {
            let why = "is staged for a merge, rebase or the like that is not done, which would go on without it if it \
                       were undone";
            return Err(refusal(&codes::UNMERGED, path.display(), why).hint(
                "finish that first, name other files, or leave the files as they are (propose --keep, \
                 adopt without --put-back)",
            ));
        }
    }
    Ok(())
}

pub fn unmerged(path: &BStr) -> Error {
    let why = "has merge conflicts that are not settled, and would lose them";
    refusal(&codes::UNMERGED, path, why)
        .hint("settle them and `git add` the file first, or name other files")
}

/// Refuses files marked `assume-unchanged` or `skip-worktree`: git would silently ignore the
/// change.
pub(super) fn refuse_unseen(index: &gix::index::State, path: &RepoPath) -> Result<()> {
    let entry = index.entry_by_path_and_stage(path.as_bstr(), Stage::Unconflicted);
    let flags = entry.map_or(entry::Flags::empty(), |entry| entry.flags);
    let mark = if flags.contains(entry::Flags::ASSUME_VALID) {
        "assume-unchanged"
    } else if flags.contains(entry::Flags::SKIP_WORKTREE) {
        "skip-worktree"
    } else {
        return Ok(());
    };
    let name = path.display();
    let why = format!("is marked {mark} in the index, so git would not take the change");
    Err(refusal(&codes::UNCOMMITTED_CHANGES, &name, &why)
        .hint(format!("`git update-index --no-{mark} {name}` takes the mark away")))
}
