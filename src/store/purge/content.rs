//! Content that the purged proposals have made.

use std::collections::{BTreeMap, BTreeSet};

use super::Subjects;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::event::Verdict;
use crate::proposal::{Data, Entry, StoredEvent};
use crate::store::{Store, View};

#[derive(Debug)]
pub struct PurgedBlobs {
    /// Blobs (hex) by path.
    pub blobs: BTreeMap<RepoPath, BTreeSet<String>>,
    /// Path, old blob and new blob of each change.
    pub steps: BTreeSet<(RepoPath, String, String)>,
}

impl PurgedBlobs {
    pub fn blobs(&self) -> BTreeSet<String> {
        self.blobs.values().flatten().cloned().collect()
    }
}

/// The files that an event names, with both sides.
pub fn changed_files(stamped: &StoredEvent) -> Vec<(RepoPath, [Option<Entry>; 2])> {
    let changes = stamped.event.data.changes().iter();
    let changes =
        changes.map(|change| (change.path.clone(), [change.before.clone(), change.after.clone()]));
    let papers = stamped.documents.as_ref().and_then(|papers| papers.manifest.as_ref());
    let decided = papers.into_iter().flat_map(|manifest| manifest.written());
    let written = stamped.event.data.written().iter().cloned().chain(decided);
    changes.chain(written.map(|file| (file.path, [file.before, file.after]))).collect()
}

fn is_undo(stamped: &StoredEvent) -> bool {
    matches!(&stamped.event.data, Data::Decision(said) if said.verdict == Verdict::Undo)
}

impl Store {
    /// The results of the events of `subjects`, and the blob that was named.
    pub fn purge_contents(&self, view: &View<'_>, subjects: &Subjects) -> Result<PurgedBlobs> {
        let mut found = PurgedBlobs { blobs: BTreeMap::new(), steps: BTreeSet::new() };
        let mut gather = |stamped: &StoredEvent| {
            // An undo restores older content.
            if is_undo(stamped) {
                return;
            }
            for (path, [before, after]) in changed_files(stamped) {
                let (before, after) = (before.as_ref(), after.as_ref());
                let is_new = after.filter(|after| before.is_none_or(|b| b.id != after.id));
                let names_it = |id: &&String| subjects.blob.as_ref() == Some(id);
                let named = before.map(|before| &before.id).filter(names_it);
                let ids = is_new.map(|after| &after.id).into_iter().chain(named).cloned();
                found.blobs.entry(path.clone()).or_default().extend(ids);
                if let Some(after) = is_new {
                    let before = before.map(|before| before.id.clone()).unwrap_or_default();
                    found.steps.insert((path.clone(), before, after.id.clone()));
                }
            }
        };
        for target in &subjects.targets {
            if let Ok(thread) = view.threads.read(&target.thread) {
                thread.history.events().iter().for_each(&mut gather);
            }
        }
        found.blobs.retain(|_, blobs| !blobs.is_empty());
        Ok(found)
    }
}
