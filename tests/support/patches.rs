//! Patches read by the library, as `aye patch` reads them: without a start of the program for each.

use super::Repo;
use aye::changeset::{File, RepoPath, Snapshot, patch};
use aye::error::Result;
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

/// Files of which git makes binary changes.
struct Files<'a>(&'a Tree);

impl Snapshot for Files<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        self.0.file(path)
    }

    fn binary(&self, before: &[u8], patch: &[u8], most: usize) -> Result<Vec<u8>> {
        aye::repository::binary::apply(before, patch, most)
    }
}

pub fn read(tree: &Tree, patch: &str) -> Result<patch::CompiledPatch> {
    read_as(patch.as_bytes(), tree, &patch::Options::default())
}

pub fn read_as(
    patch: &[u8],
    tree: &Tree,
    options: &patch::Options,
) -> Result<patch::CompiledPatch> {
    patch::read(patch, &Files(tree), options)
}

/// What `compiled`, which was read for `before`, makes of it.
pub fn after(before: &Tree, compiled: &patch::CompiledPatch) -> Tree {
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
