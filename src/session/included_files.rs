//! Copies of ignored files for a tree (`.worktreeinclude`), and the agent's edits to them.

use std::collections::HashSet;
use std::fs::Metadata;
use std::path::Path;
use std::time::UNIX_EPOCH;

use bstr::{BString, ByteSlice as _};

use super::times;
use super::tree::git;
use crate::beneath::{Content, open_last};
use crate::changeset::{RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::worktree::{Reader, Worktree};

/// Size, modification time and path of each copy, NUL-terminated, in the tree's `.git/info`. An
/// agent that writes there can only hide its own files.
const LIST: &str = "aye-included";

/// In place of size and time.
const LOCAL: &str = "- -";

/// Bytes.
const MOST: u64 = 16 << 20;

/// Copies ignored files named in `.gitignore` syntax: settings and keys that tests need. The copies
/// stay ignored.
///
/// So do `local_files`, which their client writes to: edits of them are not work.
pub(super) fn copy(repository: &Repository, tree: &Path, local_files: &[&str]) -> Result<()> {
    let Some(top) = repository.work_dir() else { return Ok(()) };
    let list = |exclude: &str, paths: &[&str]| {
        let git = git(repository)?.directory(&top).env("GIT_LITERAL_PATHSPECS", "1");
        let args = ["ls-files", "-z", "--others", "--ignored", exclude, "--"];
        git.args(args).args(paths).run()
    };
    let has = |path: &&&str| top.join(path).symlink_metadata().is_ok();
    let local_files: Vec<&str> = local_files.iter().filter(has).copied().collect();
    let mut wanted = Vec::new();
    let mut ignored = Vec::new();
    if top.join(".worktreeinclude").is_file() {
        wanted = list("--exclude-from=.worktreeinclude", &[])?;
        ignored = list("--exclude-standard", &[])?;
    } else if !local_files.is_empty() {
        ignored = list("--exclude-standard", &local_files)?;
    }
    let ignored: HashSet<&[u8]> = ignored.split(|byte| *byte == 0).collect();
    let wanted = wanted.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    let is_local = |name: &[u8]| local_files.iter().any(|local| local.as_bytes() == name);
    let wanted = wanted.filter(|name| !is_local(name));
    let mut copies = Vec::new();
    for name in wanted.chain(local_files.iter().map(|local| local.as_bytes())) {
        let Ok(path) = name.to_path() else { continue };
        let (from, to) = (top.join(path), tree.join(path));
        let facts = from.symlink_metadata().ok().filter(Metadata::is_file);
        let Some(facts) = facts.filter(|_| ignored.contains(name)) else { continue };
        let copied = to.parent().map_or(Ok(()), std::fs::create_dir_all);
        let copied = copied.and_then(|()| std::fs::copy(&from, &to));
        let copied = copied.and_then(|_| times::keep(&to, &facts));
        let facts = copied.and_then(|()| to.symlink_metadata()).map_err(|error| {
            Error::io(format_args!("copy {} into the session's tree", from.display()), &error)
        })?;
        let stamp = if is_local(name) { LOCAL.to_owned() } else { stamp(&facts) };
        copies.extend([stamp.as_bytes(), b" ", name, b"\0"].concat());
    }
    std::fs::write(tree.join(".git/info").join(LIST), copies)
        .map_err(|error| Error::io("list what is copied into the session's tree", &error))
}

fn list(tree: &Path) -> Vec<u8> {
    let read = || {
        let info = open_last(tree)
            .ok()?
            .open_directory(".git".into())
            .ok()?
            .open_directory("info".into())
            .ok()?;
        match info.read(LIST.into(), MOST).ok()? {
            Content::File(bytes, _) => Some(bytes),
            _ => None,
        }
    };
    read().unwrap_or_default()
}

/// Path and original stamp.
fn lines(list: &[u8]) -> impl Iterator<Item = (RepoPath, &[u8])> {
    list.split(|byte| *byte == 0).filter_map(|line| {
        let at = line.find_iter(b" ").nth(1)?;
        let (made, path) = (line.get(..at)?, line.get(at + 1..)?);
        Some((RepoPath::from_tree(path).ok()?, made))
    })
}

pub(super) fn paths(tree: &Path) -> Vec<BString> {
    lines(&list(tree)).map(|(path, _)| path.as_bstr().to_owned()).collect()
}

/// Copies that differ from their original stamp and from the checkout.
pub(super) fn edited(repository: &Repository, tree: &Path, reader: &Reader<'_>) -> Vec<BString> {
    let checkout = repository.worktree().ok();
    let checkout = checkout.as_ref().map(Worktree::reader);
    let is_edited = |path: &RepoPath, made: &[u8]| {
        let facts = tree.join(path.to_path()).symlink_metadata();
        if made == LOCAL.as_bytes() || facts.is_ok_and(|facts| stamp(&facts).as_bytes() == made) {
            return false;
        }
        match (reader.file(path), checkout.as_ref().map(|checkout| checkout.file(path))) {
            (Ok(None), _) => false,
            (Ok(Some(copy)), Some(Ok(Some(own)))) => copy.bytes != own.bytes,
            _ => true,
        }
    };
    let list = list(tree);
    let edited = lines(&list).filter(|(path, made)| is_edited(path, made));
    edited.map(|(path, _)| path.as_bstr().to_owned()).collect()
}

/// Size, and modification time in nanoseconds.
fn stamp(facts: &Metadata) -> String {
    let modified = facts.modified().ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    format!("{} {}", facts.len(), modified.unwrap_or_default().as_nanos())
}
