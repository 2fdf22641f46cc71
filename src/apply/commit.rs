//! Commits through git, with its filters, hooks and signing.

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::io::{Seek as _, Write as _};

use bstr::ByteSlice;

use super::history;
use super::index::{chunks, git, head, list, staged_entry, tree_of, unstage, with_index};
use super::staging::{STAGING, git_with_modes};
use crate::changeset::{Mode, RepoPath};
use crate::error::{Error, Result};
use crate::git::Git;
use crate::proposal::document::file_path;
use crate::proposal::{Actor, Entry, Proposal, trailers};
use crate::repository::{Repository, damaged, tree_changes};
use crate::text;
use crate::worktree::journal::Journal;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposalCommit {
    /// Hex.
    pub id: String,
    /// Git's failure after the commit was made.
    pub warning: Option<String>,
    /// Other files that a hook put into the commit.
    pub extra_files: Vec<ExtraFile>,
}

/// A file in the commit that was not requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExtraFile {
    pub path: bstr::BString,
    /// The parent's entry.
    pub before: Option<Entry>,
    /// The commit's entry.
    pub after: Option<Entry>,
}

impl ProposalCommit {
    fn of(id: String, warning: Option<String>) -> Self {
        Self { id, warning, extra_files: Vec::new() }
    }
}

/// Commits exactly `paths`; `modes` names files with new modes. If HEAD has them already, returns
/// the proposal's earlier commit, if any. Git and its hooks inherit the lock of `journal`, so that
/// no process settles the files meanwhile.
///
/// # Errors
/// `git_failed`, `index_locked`. The index is as before, unless the error says otherwise.
pub fn commit(
    repository: &Repository,
    journal: &Journal,
    proposal: &Proposal,
    message: &str,
    paths: &[RepoPath],
    modes: &[(RepoPath, Mode)],
) -> Result<Option<ProposalCommit>> {
    // Standard input carries the message, so paths come in a file. A file replaced by a directory
    // goes with the first file inside: git would read its name as a submodule.
    let root = repository.work_dir().unwrap_or_default();
    let is_directory = |path: &RepoPath| {
        root.join(path.to_path()).symlink_metadata().is_ok_and(|found| found.is_dir())
    };
    let named: Vec<RepoPath> = paths.iter().filter(|path| !is_directory(path)).cloned().collect();
    let failed = |error: std::io::Error| Error::io("write the list of paths for git", &error);
    let mut file = tempfile::NamedTempFile::new_in(repository.private_dir()).map_err(failed)?;
    file.write_all(&list(&named)).map_err(failed)?;
    let mut from_file = OsString::from("--pathspec-from-file=");
    from_file.push(std::path::absolute(file.path()).map_err(failed)?);
    let git =
        || Ok::<Git, Error>(git_with_modes(repository, modes)?.inheriting(journal.inheritable()?));
    let commit = || {
        let git = git()?
            .args(["commit", "--quiet", "--only", "--file=-", "--cleanup=whitespace"])
            .arg(&from_file)
            .arg("--pathspec-file-nul")
            // aye's hooks would refuse the commit because the proposal is pending.
            .env(crate::git::COMMITTING, proposal.id.as_str());
        git.stdin_file(whole(repository, message)?).run()
    };
    with_index(repository, || git()?.args(STAGING).stdin(list(paths)).run())?;
    let before = head(repository)?;
    let made = match is_in_head(repository, paths) {
        Ok(true) => return Ok(made_before(repository, proposal)),
        Ok(false) => {
            make(repository, proposal, before, || with_index(repository, commit).err(), paths)
        }
        Err(error) => Err(error),
    };
    // A concurrent `git commit -a` may have won. HEAD's content must not be restored away.
    if made.is_err() && head(repository)? != before && is_as_in_head(repository, paths)? {
        return Ok(made_before(repository, proposal));
    }
    made.map(Some).map_err(|error| match unstage(repository, paths) {
        Ok(()) => error,
        Err(second) => left_staged(error, &second),
    })
}

fn made_before(repository: &Repository, proposal: &Proposal) -> Option<ProposalCommit> {
    let found = history::commit_of(repository, &proposal.id, proposal.created_at.timestamp());
    found.map(|id| ProposalCommit::of(id.to_string(), None))
}

/// Adds that the index still has the uncommitted files.
fn left_staged(error: Error, second: &Error) -> Error {
    let hint =
        "its files are staged still: `git restore --staged FILE` takes each out of the index";
    error.hint(hint).with("index_not_restored", second.message().to_owned())
}

/// Other changes of commit `id`; empty unless `onto` is its parent.
fn beside(
    repository: &Repository,
    onto: Option<gix::ObjectId>,
    id: gix::ObjectId,
    paths: &[RepoPath],
) -> Result<Vec<ExtraFile>> {
    let repo = repository.repo();
    let commit =
        repo.find_commit(id).map_err(|error| damaged(format_args!("commit {id}"), &error))?;
    if commit.parent_ids().map(gix::Id::detach).ne(onto) {
        return Ok(Vec::new());
    }
    let tree = |id: gix::ObjectId| tree_of(repository, &id.to_string()).map(|tree| tree.id);
    let (old, new) = (onto.map(tree).transpose()?, tree(id)?);
    let mut before = match old {
        Some(old) => tree_changes(repo, Some(new), old)?,
        None => BTreeMap::new(),
    };
    let asked: HashSet<&bstr::BStr> = paths.iter().map(RepoPath::as_bstr).collect();
    let changes = tree_changes(repo, old, new)?.into_iter();
    let others = changes.filter(|(path, _)| !asked.contains(path.as_bstr()));
    let found = others.map(|(path, after)| {
        let before = before.remove(&path).flatten();
        ExtraFile { path, before, after }
    });
    Ok(found.collect())
}

/// Updates unchanged index entries to what a hook committed besides: for a partial commit git drops
/// what its hooks stage.
///
/// # Errors
/// `git_failed`, `index_locked`.
pub fn update_index_of_extras(repository: &Repository, beside: &[ExtraFile]) -> Result<()> {
    let paths = beside.iter().filter_map(|file| {
        let path = RepoPath::new(file.path.as_bstr()).ok()?;
        (staged_entry(repository, &path) == file.before).then_some(path)
    });
    unstage(repository, &paths.collect::<Vec<_>>())
}

fn make(
    repository: &Repository,
    proposal: &Proposal,
    before: Option<gix::ObjectId>,
    commit: impl FnOnce() -> Option<Error>,
    paths: &[RepoPath],
) -> Result<ProposalCommit> {
    let is_of = |head| history::is_of(repository.repo(), head, &proposal.id);
    let refused = commit();
    repository.clear_head_cache();
    let Ok(now) = head(repository) else {
        // The commit may exist, so files are restored only if git shows that HEAD did not move.
        let said = git(repository)?.args(["rev-parse", "--verify", "HEAD"]).text();
        let warning = refused.map(|error| error.message().to_owned());
        let unmoved = said.as_ref().ok() == before.map(|id| id.to_string()).as_ref();
        return match warning {
            Some(error) if unmoved => Err(Error::new(&crate::git::codes::GIT_FAILED, error)),
            warning => Ok(ProposalCommit::of(said.unwrap_or_else(|_| "HEAD".into()), warning)),
        };
    };
    let moved = now.filter(|head| Some(*head) != before);
    match (moved, refused) {
        // Git may fail after the commit: at the index, or on a full disk.
        (Some(head), refused) if refused.is_none() || is_of(head) => {
            // A hook may have added a commit on top.
            let below = || history::commit_of(repository, &proposal.id, 0);
            let id = if is_of(head) { None } else { below() }.unwrap_or(head);
            let warning = refused.map(|error| error.message().to_owned());
            // On failure the range check still reports such files.
            let beside = beside(repository, before, id, paths).unwrap_or_default();
            Ok(ProposalCommit { id: id.to_string(), warning, extra_files: beside })
        }
        (_, Some(error)) => Err(error),
        (_, None) => {
            let error = Error::new(&crate::git::codes::GIT_FAILED, "git commit made no commit");
            Err(error.hint("look for a hook that takes it back"))
        }
    }
}

fn whole(repository: &Repository, text: &str) -> Result<std::fs::File> {
    let write = || -> std::io::Result<std::fs::File> {
        let mut file = tempfile::tempfile_in(repository.private_dir())?;
        file.write_all(text.as_bytes())?;
        file.rewind()?;
        Ok(file)
    };
    write().map_err(|error| Error::io("write the commit message for git", &error))
}

fn is_in_head(repository: &Repository, paths: &[RepoPath]) -> Result<bool> {
    is_same(repository, &["diff-index", "--cached", "--quiet", "HEAD", "--"], paths)
}

fn is_as_in_head(repository: &Repository, paths: &[RepoPath]) -> Result<bool> {
    is_same(repository, &["diff", "--quiet", "--no-ext-diff", "HEAD", "--"], paths)
}

fn is_same(repository: &Repository, comparison: &[&str], paths: &[RepoPath]) -> Result<bool> {
    if head(repository)?.is_none() {
        return Ok(false);
    }
    for some in chunks(paths) {
        let same =
            git(repository)?.args(comparison).args(some.iter().map(RepoPath::to_path)).answer()?;
        if !same.ok() {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The description, then trailers for proposer and reviewers.
///
/// # Errors
/// `invalid_config`.
pub fn message(
    repository: &Repository,
    reviewers: &[Actor],
    proposal: &Proposal,
    given: Option<&str>,
) -> Result<String> {
    let described = trailers::described(proposal);
    let given = given.or(described.as_deref()).unwrap_or_default();
    // Another program may have put any characters into the proposal.
    let given = text::lines(given.trim());
    let body = if given.is_empty() {
        let first = text::one_line(&file_path(proposal.current()));
        match proposal.current().changes.len() {
            0 | 1 => format!("Change {first}"),
            n => format!("Change {first} and {} more", n - 1),
        }
    } else {
        given
    };
    let settings = repository.settings()?;
    let lines = trailers::of(proposal, reviewers, settings.trailers, settings.assisted_by);
    if lines.is_empty() {
        return Ok(format!("{body}\n"));
    }
    let lines: Vec<_> = lines.iter().map(|line| text::one_line(line)).collect();
    Ok(format!("{body}\n\n{}\n", lines.join("\n")))
}
