//! `refs/aye/before/<patch>`: what stood in files before a direct patch, where HEAD does not have it, as a tree.
//! Nothing else leads to it, so git would prune it, and an undo could not put it back. This clone's alone: it may
//! be what a person has not committed.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;
use gix::ObjectId;
use gix::objs::Tree;

use super::objects::Batch;
use super::{Store, refs, trees};
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::flush::Method;
use crate::proposal::Entry;

fn name(patch: &str) -> String {
    format!("{}{patch}", refs::BEFORE)
}

impl Store {
    /// Keeps the `files` that stood before the direct patch with the id `patch`, whose content was written, as
    /// far as HEAD has something else there.
    ///
    /// # Errors
    /// If objects or the ref cannot be written.
    pub fn keep_before<'f>(
        &self,
        patch: &str,
        files: impl Iterator<Item = (&'f RepoPath, &'f Entry)>,
    ) -> Result<()> {
        let mut head = Head::new(self.repository().repo());
        let mut leaves = Vec::new();
        for (path, entry) in files.filter(|(path, entry)| head.id(path).as_ref() != Some(&entry.id))
        {
            let id = ObjectId::from_hex(entry.id.as_bytes())
                .map_err(|_| Error::bug(format!("'{}' is not an object id", entry.id)))?;
            leaves.push((trees::components(&[], path), Some((id, entry.file_mode()))));
        }
        if leaves.is_empty() {
            return Ok(());
        }
        let mut batch = Batch::new(self.repository());
        let tree = trees::edit(self.repository().repo(), &mut batch, Tree::empty(), &leaves)?;
        batch.write(Method::No)?;
        refs::set(self.repository(), &name(patch), tree)
    }

    /// Lets go of what stood before `patch`, which was undone.
    ///
    /// # Errors
    /// `busy`, `io_error`.
    pub fn forget_before(&self, patch: &str) -> Result<()> {
        refs::remove(self.repository(), &name(patch))
    }

    /// The refs of what stood before direct patches that have one of `blobs` (hex) at any path: a file may have been
    /// moved since.
    ///
    /// # Errors
    /// If the refs cannot be read.
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

/// The blobs that HEAD has, each directory read once.
struct Head<'r> {
    root: Option<gix::Tree<'r>>,
    directories: BTreeMap<Vec<BString>, Option<gix::Tree<'r>>>,
}

impl<'r> Head<'r> {
    fn new(repo: &'r gix::Repository) -> Self {
        Self { root: repo.head_tree().ok(), directories: BTreeMap::new() }
    }

    /// The id, hex, of the blob at `path`.
    fn id(&mut self, path: &RepoPath) -> Option<String> {
        let mut parts = trees::components(&[], path);
        let name = parts.pop()?;
        let root = self.root.as_ref()?;
        let tree = match parts.as_slice() {
            [] => Some(root),
            [..] => {
                let read = |parts: &Vec<BString>| {
                    let entry = root.lookup_entry(parts.iter().map(|part| part.to_vec()));
                    entry.ok()??.object().ok()?.try_into_tree().ok()
                };
                self.directories.entry(parts).or_insert_with_key(read).as_ref()
            }
        };
        let entry = tree?.find_entry(name.as_slice()).filter(|entry| entry.mode().is_blob())?;
        Some(entry.object_id().to_string())
    }
}
