//! Finds sources of copied files among unchanged files of HEAD.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;

use super::Repository;
use crate::changeset::{FileChange, RepoPath, moves};

const MOST_CREATED: usize = 20;
const MOST_COMPARED: usize = 10;

impl Repository {
    /// Appends files of HEAD that a created file names as origin or resembles by four fifths, as
    /// changes without difference.
    #[must_use]
    pub fn with_sources(&self, mut changes: Vec<FileChange>) -> Vec<FileChange> {
        self.name_copied(&mut changes);
        self.with_named_sources(changes)
    }

    #[must_use]
    pub fn with_named_sources(&self, mut changes: Vec<FileChange>) -> Vec<FileChange> {
        let own: BTreeSet<&RepoPath> = changes.iter().map(|change| &change.path).collect();
        let created = changes.iter().filter(|change| change.before.is_none());
        let named: BTreeSet<RepoPath> = created
            .filter_map(|change| change.origin.clone())
            .filter(|origin| !own.contains(origin))
            .collect();
        for path in named {
            let Some(file) = self.file_in_head(&path) else { continue };
            let (before, after) = (Some(file.clone()), Some(file));
            changes.push(FileChange { path, before, after, origin: None, snippets: Vec::new() });
        }
        changes
    }

    fn name_copied(&self, changes: &mut [FileChange]) {
        let own: BTreeSet<RepoPath> = changes.iter().map(|change| change.path.clone()).collect();
        let is_open = |change: &&mut FileChange| {
            let size = change.after.as_ref().map_or(0, |after| after.bytes.len());
            change.before.is_none() && change.origin.is_none() && size >= moves::SMALLEST
        };
        let mut index = None;
        for change in changes.iter_mut().filter(is_open).take(MOST_CREATED) {
            let index = index.get_or_insert_with(|| self.repo.index().ok());
            let (Some(index), Some(after)) = (index, &change.after) else { return };
            let (path, size) = (change.path.clone(), after.bytes.len());
            let mut like: Vec<(bool, usize, RepoPath)> = index
                .entries()
                .iter()
                .filter(|entry| entry.stage_raw() == 0)
                .filter_map(|entry| {
                    let bytes = entry.path(index);
                    let theirs = entry.stat.size as usize;
                    let is_near = !moves::is_apart(size, theirs, moves::COPIED);
                    let is_like = is_near && extension(bytes) == extension(path.as_bstr());
                    let theirs = is_like.then(|| RepoPath::from_tree(bytes).ok()).flatten();
                    theirs.map(|theirs| (entry.stat.size as usize, theirs))
                })
                .filter(|(_, theirs)| !own.contains(theirs))
                .map(|(bytes, theirs)| {
                    let is_beside = theirs.parents().next() == path.parents().next()
                        || theirs.file_name() == path.file_name();
                    (!is_beside, bytes.abs_diff(size), theirs)
                })
                .collect();
            like.sort();
            let mut best = None;
            for (_, _, theirs) in like.into_iter().take(MOST_COMPARED) {
                let Some(file) = self.file_in_head(&theirs) else { continue };
                let score = moves::similarity(&file.bytes, &after.bytes);
                if score >= moves::COPIED && best.as_ref().is_none_or(|(most, _)| score > *most) {
                    best = Some((score, theirs));
                }
            }
            change.origin = best.map(|(_, origin)| origin);
        }
    }
}

/// The extension with its dot.
fn extension(path: &bstr::BStr) -> Option<&[u8]> {
    let name = path.rsplit(|byte| *byte == b'/').next()?;
    name.rfind_byte(b'.').map(|at| &name[at..])
}
