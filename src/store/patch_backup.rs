//! `refs/aye/before/<patch>`: a tree of the files as they were before a direct patch, where HEAD
//! has other content. No other ref leads to it, so git would prune it, and an undo could not
//! restore the files. The ref stays in this clone: a person may not have committed the content.

use std::collections::BTreeSet;

use gix::ObjectId;
use gix::objs::Tree;

use super::objects::Batch;
use super::{Store, refs, trees};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::flush::FlushMethod;
use crate::proposal::Entry;

fn name(patch: &str) -> String {
    format!("{}{patch}", refs::BEFORE)
}

impl Store {
    /// Keeps the `files` that the direct patch `patch` has overwritten, except content that HEAD
    /// has.
    pub fn keep_before<'f>(
        &self,
        patch: &str,
        files: impl Iterator<Item = (&'f RepoPath, &'f Entry)>,
    ) -> Result<()> {
        let is_in_head = |(path, entry): &(&RepoPath, &Entry)| {
            self.repository().id_in_head(path).as_ref() == Some(&entry.id)
        };
        let files = files.filter(|file| !is_in_head(file));
        let leaves: Result<Vec<_>> = files.map(|(path, it)| trees::leaf(path, Some(it))).collect();
        let leaves = leaves?;
        if leaves.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new(self.repository());
        let tree = trees::edit(self.repository().repo(), &mut batch, Tree::empty(), &leaves)?;
        batch.write(FlushMethod::No)?;
        refs::set(self.repository(), &name(patch), tree)
    }

    pub fn forget_before(&self, patch: &str) -> Result<()> {
        refs::remove(self.repository(), &name(patch))
    }

    /// The refs whose trees have one of `blobs` (hex) at any path: a file may have been moved
    /// since.
    pub(super) fn before_with(&self, blobs: &BTreeSet<String>) -> Result<Vec<String>> {
        let mut found = Vec::new();
        refs::each(self.repository(), refs::BEFORE, |name, tree| found.push((name, tree)))?;
        let has = |tree: ObjectId| {
            let Ok(tree) = self.repository().repo().find_tree(tree) else { return true };
            let Ok(files) = tree.traverse().breadthfirst.files() else { return true };
            files.into_iter().any(|file| blobs.contains(&file.oid.to_string()))
        };
        Ok(found.into_iter().filter(|(_, tree)| has(*tree)).map(|(name, _)| name).collect())
    }
}
