//! Work in the git directory of a session's tree, which removing the tree would lose: branches not
//! checked out, a stash, an unfinished operation.
//!
//! The git directory belongs to the agent: aye reads it as files, through no symlink, and runs no
//! git there. Unreadable entries count as work.

use std::collections::BTreeMap;
use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::ObjectId;

use super::head::{MOST, line, packed};
use crate::beneath::{Content, Dir, FileKind, open_last};
use crate::repository::Repository;
use crate::text::shell;

/// Files of unfinished operations: name, operation, commands that end it. A rebase also leaves
/// CHERRY_PICK_HEAD.
const OPERATIONS: [(&str, &str, &str); 7] = [
    ("rebase-merge", "a rebase", "rebase --continue or --abort"),
    ("rebase-apply/applying", "a git am", "am --continue or --abort"),
    ("rebase-apply", "a rebase", "rebase --continue or --abort"),
    ("REVERT_HEAD", "a revert", "revert --continue or --abort"),
    ("CHERRY_PICK_HEAD", "a cherry-pick", "cherry-pick --continue or --abort"),
    ("MERGE_HEAD", "a merge", "merge --continue or --abort"),
    ("BISECT_LOG", "a bisect", "bisect reset"),
];

/// Also present between two picks or reverts of a series.
const SERIES: &str = "sequencer/todo";

/// Kind and remedy by the ref's prefix; `NAME` is the rest.
const REFS: [(&str, &str); 6] = [
    (
        "refs/heads/",
        "is a branch, whose commits HEAD may not have: git merge NAME, or git branch -d NAME where it has them",
    ),
    (
        "refs/tags/",
        "is a tag of commits that HEAD may not have: git merge NAME, or git tag -d NAME",
    ),
    ("refs/stash", "is a stash: git stash pop"),
    ("refs/notes/", "has notes, which no proposal holds: git update-ref -d refs/notes/NAME"),
    ("refs/", "is a ref to what HEAD may not have: git update-ref -d refs/NAME"),
    ("", "is the HEAD of another work tree: git merge its commit, git worktree remove it"),
];

const DEEP: usize = 128;

/// Untrusted paths in `tree`, each with kind and remedy. A ref counts unless the repository has its
/// commit or HEAD equals it: nothing here reads objects that only the tree has.
pub fn of(repository: &Repository, tree: &Path, name: &str) -> Vec<(String, String)> {
    let Ok(git) = open_last(tree).and_then(|top| top.open_directory(".git".into())) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    let then = format!("in the tree, then aye session submit {name}");
    if let Some((path, what, command)) = operation(&git) {
        let why = format!("is {what} that is not finished: git {command} {then}");
        found.push((format!(".git/{path}"), why));
    }
    if git.stat("reftable".into()).is_ok() {
        let why =
            "holds refs in a format that aye does not read: git refs migrate --ref-format=files";
        found.push((".git/reftable".to_owned(), format!("{why} {then}")));
    }
    let refs = refs(&git);
    let head = head(&git, &refs);
    for (path, id) in refs {
        // A remote has the commit, or a bisect is named by `operation`.
        let is_others = path.starts_with(b"refs/remotes/") || path.starts_with(b"refs/bisect/");
        if is_others || Some(id) == head || repository.repo().has_object(id) {
            continue;
        }
        let name = path.to_str_lossy();
        let kind = REFS.iter().find_map(|(start, why)| Some((name.strip_prefix(start)?, why)));
        if let Some((rest, why)) = kind {
            let why = why.replace("NAME", &shell::word(rest));
            found.push((format!(".git/{path}"), format!("{why} {then}")));
        }
    }
    found
}

fn operation(git: &Dir) -> Option<(&'static str, &'static str, &'static str)> {
    let has = |path: &str| match path.split_once('/') {
        Some((above, name)) => {
            git.open_directory(above.into()).is_ok_and(|above| above.stat(name.into()).is_ok())
        }
        None => git.stat(path.into()).is_ok(),
    };
    OPERATIONS.into_iter().find(|(path, ..)| has(path)).or_else(|| {
        let todo = git.open_directory("sequencer".into()).ok()?.read("todo".into(), MOST).ok()?;
        match todo {
            Content::File(text, _) if text.starts_with(b"revert") => {
                Some((SERIES, "a revert", "revert --continue or --abort"))
            }
            Content::Missing => None,
            _ => Some((SERIES, "a cherry-pick", "cherry-pick --continue or --abort")),
        }
    })
}

/// Commits or tags by ref, and HEADs of linked work trees by path. Symbolic refs are excluded.
fn refs(git: &Dir) -> BTreeMap<BString, ObjectId> {
    let mut found = BTreeMap::new();
    packed(git, |(id, name)| {
        found.extend(hex(id).map(|id| (BString::from(name), id)));
        None::<()>
    });
    if let Ok(refs) = git.open_directory("refs".into()) {
        loose(&refs, "refs/", DEEP, &mut found);
    }
    let worktrees = git.open_directory("worktrees".into());
    for name in worktrees.iter().flat_map(|all| all.names().unwrap_or_default()) {
        let own = worktrees.iter().find_map(|all| all.open_directory(name.as_bstr()).ok());
        let id = own.and_then(|own| hex(&line(&own, "HEAD".into())?));
        found.extend(id.map(|id| (BString::from(format!("worktrees/{name}/HEAD")), id)));
    }
    found
}

fn loose(directory: &Dir, prefix: &str, deep: usize, found: &mut BTreeMap<BString, ObjectId>) {
    for (name, kind) in directory.entries_with_kind().unwrap_or_default() {
        let path = [prefix.as_bytes(), &name].concat();
        match kind {
            FileKind::Directory if deep > 0 => {
                if let Ok(below) = directory.open_directory(name.as_bstr()) {
                    loose(&below, &format!("{}/", path.as_bstr()), deep - 1, found);
                }
            }
            FileKind::File if !name.ends_with(b".lock") => {
                let id = line(directory, name.as_bstr()).and_then(|text| hex(&text));
                found.extend(id.map(|id| (BString::from(path), id)));
            }
            _ => {}
        }
    }
}

fn hex(text: &[u8]) -> Option<ObjectId> {
    ObjectId::from_hex(text).ok()
}

pub(super) fn head_of(tree: &Path) -> Option<ObjectId> {
    let git = open_last(tree).and_then(|top| top.open_directory(".git".into())).ok()?;
    head(&git, &refs(&git))
}

fn head(git: &Dir, refs: &BTreeMap<BString, ObjectId>) -> Option<ObjectId> {
    let text = line(git, "HEAD".into())?;
    match text.strip_prefix(b"ref: ") {
        Some(name) => refs.get(name.trim().as_bstr()).copied(),
        None => hex(&text),
    }
}
