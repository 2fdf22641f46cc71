//! Patches read by the library, as `aye patch` reads them: without a start of the program for each.

use super::Repo;
use aye::changeset::{File, RepoPath, patch};
use std::collections::BTreeMap;

pub type Tree = BTreeMap<RepoPath, File>;

pub fn path(name: &str) -> RepoPath {
    RepoPath::from_tree(name).expect("a sound name")
}

/// A tree of one file, `f`.
pub fn of(text: impl Into<Vec<u8>>) -> Tree {
    Tree::from([(path("f"), File::regular(text))])
}

/// The files of the work tree, none of them executable.
pub fn files(repo: &Repo) -> Tree {
    repo.snapshot().into_iter().map(|(name, bytes)| (path(&name), File::regular(bytes))).collect()
}

pub fn read(tree: &Tree, patch: &str) -> aye::error::Result<patch::Compiled> {
    patch::read(patch.as_bytes(), tree, &patch::Options::default())
}

/// What `compiled`, which was read for `before`, makes of it.
pub fn after(before: &Tree, compiled: &patch::Compiled) -> Tree {
    let mut tree = before.clone();
    for change in compiled.changeset.changes() {
        assert_eq!(tree.get(&change.path), change.before.as_ref(), "the before of the change");
        match &change.after {
            Some(file) => tree.insert(change.path.clone(), file.clone()),
            None => tree.remove(&change.path),
        };
    }
    tree
}
