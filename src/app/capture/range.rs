//! Changes of commits and ranges.

use std::ffi::OsStr;

use bstr::ByteSlice as _;
use gix::ObjectId;

use crate::changeset::patch;
use crate::changeset::{Changeset, File, FileChange, Mode, RepoPath, Snapshot, store_form};
use crate::error::{Error, Result, codes};
use crate::repository::{HINT_COMMIT_WITH_GIT, Repository};
use crate::store::Store;

/// `kind` is a peeling suffix, such as `^{commit}`.
///
/// # Errors
/// `invalid_argument`.
pub(in crate::app) fn resolve(repository: &Repository, rev: &OsStr, kind: &str) -> Result<String> {
    let mut spec = rev.to_owned();
    spec.push(kind);
    let found = repository
        .git()?
        .args(["rev-parse", "--verify", "--quiet", "--end-of-options"])
        .arg(&spec)
        .text();
    found.map_err(|_| {
        Error::new(&codes::INVALID_ARGUMENT, format!("'{}' names no commit", rev.to_string_lossy()))
            .hint("give a branch, a tag or a commit id, as to git show")
    })
}

/// The first parent, or the empty tree.
///
/// # Errors
/// `invalid_argument` if a shallow clone lacks the parent: all files would look new.
pub(super) fn parent(repository: &Repository, id: &str) -> Result<String> {
    if let Ok(parent) = resolve(repository, format!("{id}^1").as_ref(), "") {
        return Ok(parent);
    }
    let repo = repository.repo();
    let boundary = repo.shallow_commits().ok().flatten();
    let commit = ObjectId::from_hex(id.as_bytes()).ok();
    if commit.is_some_and(|id| boundary.is_some_and(|commits| commits.contains(&id))) {
        let why = format!("the parent of commit {id:.12} is not in this shallow clone");
        return Err(Error::new(&codes::INVALID_ARGUMENT, why).hint(
            "fetch it: git fetch --deepen=1; or propose a patch of the commit: aye propose --patch FILE",
        ));
    }
    Ok(ObjectId::empty_tree(repo.object_hash()).to_string())
}

/// Ends of `A..B` or `A...B`; a missing one is HEAD.
pub(super) fn ends(repository: &Repository, range: &OsStr) -> Result<(String, String)> {
    let text = range.to_string_lossy().into_owned();
    let (from, to, symmetric) = if let Some((from, to)) = text.split_once("...") {
        (from, to, true)
    } else if let Some((from, to)) = text.split_once("..") {
        (from, to, false)
    } else {
        return Err(Error::new(&codes::INVALID_ARGUMENT, format!("'{text}' is not a range"))
            .hint("give A..B, or one commit with --commit"));
    };
    let id = |rev: &str| {
        let rev = if rev.is_empty() { "HEAD" } else { rev };
        resolve(repository, rev.as_ref(), "^{commit}")
    };
    let (from, to) = (id(from)?, id(to)?);
    if !symmetric {
        return Ok((from, to));
    }
    let base = repository.git()?.args(["merge-base", &from, &to]).text().map_err(|_| {
        Error::new(&codes::INVALID_ARGUMENT, format!("the ends of '{text}' have no common commit"))
            .hint("name the two ends with '..' between them")
    })?;
    Ok((base, to))
}

/// The commits of a range along the first parents, oldest first.
///
/// # Errors
/// `invalid_argument`.
pub fn commits(repository: &Repository, range: &OsStr) -> Result<Vec<String>> {
    let (from, to) = ends(repository, range)?;
    let args = ["rev-list", "--reverse", "--first-parent"];
    let listed = repository.git()?.args(args).arg(format!("{from}..{to}")).text()?;
    Ok(listed.lines().map(str::to_owned).collect())
}

pub(super) fn between(store: &Store, from: &str, to: &str) -> Result<Changeset> {
    let args = ["diff-tree", "-r", "-z", "--raw", "--no-commit-id", "--full-index", "--no-renames"];
    let raw = store.repository().git()?.args(args).args([from, to]).run()?;
    let mut fields = raw.split(|b| *b == 0);
    let mut changes = Vec::new();
    let broken = || Error::bug("git diff-tree printed something unknown");
    while let Some(head) = fields.next().filter(|head| !head.is_empty()) {
        let head = head.to_str().map_err(|_| broken())?;
        let words: Vec<&str> = head.trim_start_matches(':').split(' ').collect();
        let [old_mode, new_mode, old_id, new_id, _] = words[..] else { return Err(broken()) };
        let path = RepoPath::from_tree(fields.next().ok_or_else(broken)?)?;
        let file = |mode: &str, id: &str, path: &RepoPath| -> Result<Option<File>> {
            if mode == "000000" {
                return Ok(None);
            }
            let mode = mode_of(mode, path)?;
            Ok(Some(File { bytes: store.blob(id)?, mode }))
        };
        let (before, after) = (file(old_mode, old_id, &path)?, file(new_mode, new_id, &path)?);
        changes.push(FileChange { path, before, after, origin: None, snippets: Vec::new() });
    }
    in_stored_form(&mut changes, &*store.repository().files()?)?;
    let changeset = Changeset::new(changes)?;
    store.repository().refuse_foreign(
        changeset.changes().iter().map(|change| &change.path),
        HINT_COMMIT_WITH_GIT,
    )?;
    Ok(changeset)
}

/// Converts text that was never normalised into git's stored form, as files are read from the work
/// tree. Otherwise a written file would differ from its proposal. The before side uses present
/// attributes, the after side the attributes that come with it.
fn in_stored_form(changes: &mut [FileChange], files: &dyn Snapshot) -> Result<()> {
    for change in &mut *changes {
        let Some(before) = &mut change.before else { continue };
        if let Some(stored) = files.stored(&change.path, &before.bytes)? {
            before.bytes = stored;
        }
    }
    store_form(changes, files)
}

pub(super) fn mode_of(mode: &str, path: &RepoPath) -> Result<Mode> {
    let bits = u32::from_str_radix(mode, 8).unwrap_or(0);
    patch::check_mode(bits, path)
}
