//! The files that trees name, and those that differ between two.

use std::collections::BTreeMap;

use bstr::BString;
use gix::ObjectId;

use super::{Repository, damaged};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::Entry;

impl Repository {
    /// The file, symlink or submodule that `tree` holds at `path`.
    pub(crate) fn entry_at(&self, tree: Option<ObjectId>, path: &RepoPath) -> Option<Entry> {
        let tree = self.repo.find_tree(tree?).ok()?;
        let found = tree.lookup_entry(path.components().map(|name| name.to_vec())).ok()??;
        (!found.mode().is_tree()).then(|| tree_entry(found.mode(), found.object_id()))
    }
}

/// The files that differ between two trees, and what the second one holds; `None` for the first
/// tree means nothing was there.
///
/// # Errors
/// `object_missing` if a tree cannot be read.
pub fn tree_changes(
    repo: &gix::Repository,
    before: Option<ObjectId>,
    after: ObjectId,
) -> Result<BTreeMap<BString, Option<Entry>>> {
    use gix::diff::tree::{Recorder, recorder::Change};
    let failed = |error: &dyn std::fmt::Display| damaged("a tree", error);
    let data = |id: Option<ObjectId>| -> Result<Vec<u8>> {
        let Some(id) = id else { return Ok(Vec::new()) };
        Ok(std::mem::take(&mut repo.find_tree(id).map_err(|e| failed(&e))?.data))
    };
    let (old, new) = (data(before)?, data(Some(after))?);
    let kind = repo.object_hash();
    let mut recorder = Recorder::default();
    gix::diff::tree(
        gix::objs::TreeRefIter::from_bytes(&old, kind),
        gix::objs::TreeRefIter::from_bytes(&new, kind),
        gix::diff::tree::State::default(),
        &repo.objects,
        &mut recorder,
    )
    .map_err(|e| failed(&e))?;
    let mut found = BTreeMap::new();
    for change in recorder.records {
        let (mode, id, path, gone) = match change {
            Change::Addition { entry_mode, oid, path, .. }
            | Change::Modification { entry_mode, oid, path, .. } => (entry_mode, oid, path, false),
            Change::Deletion { entry_mode, oid, path, .. } => (entry_mode, oid, path, true),
        };
        if !mode.is_tree() {
            // A file that became a directory is deleted and added at once; what is there counts.
            if gone {
                found.entry(path).or_insert(None);
            } else {
                found.insert(path, Some(tree_entry(mode, id)));
            }
        }
    }
    Ok(found)
}

/// A tree's entry as events name it.
pub fn tree_entry(mode: gix::objs::tree::EntryMode, id: ObjectId) -> Entry {
    if mode.is_executable() {
        Entry::new(id.to_string(), "100755")
    } else if mode.is_blob() {
        Entry::new(id.to_string(), "100644")
    } else {
        // A symlink or submodule: never equal to what a proposal approves.
        Entry::new(id.to_string(), &format!("{:06o}", mode.value()))
    }
}
