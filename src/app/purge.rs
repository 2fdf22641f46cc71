//! Content that a purge does not reach: in the project's files and history, and in other proposals.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use crate::changeset::{RepoPath, Snapshot as _};
use crate::error::Result;
use crate::proposal::ProposalId;
use crate::store::{PurgedBlobs, Store, Subjects, View, changed_files};

/// A place that aye cannot purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CopyPlace {
    /// In a file of the work tree.
    WorkTree,
    /// In a commit of a branch, a tag or another ref of the project.
    History,
}

/// Content of a proposal in the project itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RemainingCopy {
    pub path: RepoPath,
    /// Object id of the blob, hex.
    pub blob: String,
    pub place: CopyPlace,
}

/// The lines of `text` with enough characters and a letter or digit: others occur in every file.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.lines().map(|line| line.trim());
    lines.filter(|line| line.len() >= SHORTEST && line.iter().any(u8::is_ascii_alphanumeric))
}

/// Bytes of a line that identifies content.
const SHORTEST: usize = 6;

/// The places of `contents` in the project itself.
///
/// # Errors
/// `git_failed`.
pub fn standing(store: &Store, contents: &PurgedBlobs) -> Result<Vec<RemainingCopy>> {
    let mut found = BTreeSet::new();
    if contents.blobs.is_empty() {
        return Ok(Vec::new());
    }
    let paths = contents.blobs.keys().map(|path| path.to_path().into_os_string());
    let listed = store
        .repository()
        .git()?
        .args(["--literal-pathspecs", "rev-list", "--objects", "--exclude=refs/aye/*", "--all"])
        .arg("--")
        .args(paths)
        .run()?;
    let objects: BTreeSet<&[u8]> =
        listed.lines().filter_map(|line| line.split_str(" ").next()).collect();
    for (path, blobs) in &contents.blobs {
        for blob in blobs {
            let mut add = |place| {
                found.insert(RemainingCopy { path: path.clone(), blob: blob.clone(), place })
            };
            if objects.contains(blob.as_bytes()) {
                add(CopyPlace::History);
            }
            if store.repository().work_dir().is_some()
                && let Ok(Some(file)) = store.repository().worktree()?.file(path)
                && store.entry_of(&file)?.id == *blob
            {
                add(CopyPlace::WorkTree);
            }
        }
    }
    Ok(found.into_iter().collect())
}

/// The other proposals with some of these contents: an event names one of the blobs, or a blob of
/// the same file with lines that these contents have added.
pub fn naming_too(
    store: &Store,
    view: &View<'_>,
    subjects: &Subjects,
    contents: &PurgedBlobs,
) -> Result<Vec<ProposalId>> {
    let blobs = contents.blobs();
    let (mut found, mut near) = (BTreeSet::new(), BTreeSet::new());
    view.each_proposal(|thread| {
        if subjects.targets.iter().any(|target| target.thread() == thread.id) {
            return;
        }
        for (path, sides) in thread.history.events().iter().flat_map(changed_files) {
            for id in sides.into_iter().flatten().map(|entry| entry.id) {
                if blobs.contains(&id) {
                    found.insert(thread.id);
                } else if contents.blobs.contains_key(&path) {
                    near.insert((path.clone(), id, thread.id));
                }
            }
        }
    })?;
    let added = added(store, contents);
    let mut with_lines: BTreeMap<String, bool> = BTreeMap::new();
    for (path, id, proposal) in near {
        let Some(added) = added.get(&path).filter(|_| !found.contains(&proposal)) else {
            continue;
        };
        let has = with_lines.entry(id).or_insert_with_key(|id| has_lines(store, id, added));
        if *has {
            found.insert(proposal);
        }
    }
    Ok(found.iter().map(|thread| view.name(thread)).collect())
}

fn has_lines(store: &Store, id: &str, added: &BTreeSet<Vec<u8>>) -> bool {
    store.blob(id).is_ok_and(|text| lines(&text).any(|line| added.contains(line)))
}

/// The lines that contents have added to their files, if the blobs are here.
fn added<'c>(
    store: &Store,
    contents: &'c PurgedBlobs,
) -> BTreeMap<&'c RepoPath, BTreeSet<Vec<u8>>> {
    let mut added: BTreeMap<&RepoPath, BTreeSet<Vec<u8>>> = BTreeMap::new();
    for (path, before, after) in &contents.steps {
        let text = |id: &String| store.blob(id).unwrap_or_default();
        let (before, after) = (text(before), text(after));
        let old: BTreeSet<&[u8]> = lines(&before).collect();
        let new = lines(&after).filter(|line| !old.contains(line)).map(<[u8]>::to_vec);
        added.entry(path).or_default().extend(new);
    }
    added
}
