//! Where else the content of a proposal is: what a purge does not reach.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use super::Subjects;
use super::subjects::each_proposal;
use crate::changeset::RepoPath;
use crate::changeset::Snapshot as _;
use crate::error::Result;
use crate::proposal::event::Verdict;
use crate::proposal::{Data, Entry, ProposalId, Stamped};
use crate::store::{Store, View};

/// Where content stands that aye cannot purge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Where {
    /// In a file of the work tree.
    WorkTree,
    /// In a commit that a branch, a tag or another ref of the project leads to.
    History,
}

/// Content of a proposal that stands in the project itself.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Standing {
    /// The file.
    pub path: RepoPath,
    /// Object id of the blob, hex.
    pub blob: String,
    /// Where.
    pub place: Where,
}

/// What the events of some proposals have made of files: blobs (hex) by path.
#[derive(Debug)]
pub struct Contents {
    blobs: BTreeMap<RepoPath, BTreeSet<String>>,
    /// What they were made of: of each file the pairs of blobs.
    steps: BTreeSet<(RepoPath, String, String)>,
}

impl Contents {
    /// The blobs, hex.
    pub(in crate::store) fn blobs(&self) -> BTreeSet<String> {
        self.blobs.values().flatten().cloned().collect()
    }
}

/// The files that an event names, each with both sides.
fn sides(stamped: &Stamped) -> Vec<(RepoPath, [Option<Entry>; 2])> {
    let changes = stamped.event.data.changes().iter();
    let changes =
        changes.map(|change| (change.path.clone(), [change.before.clone(), change.after.clone()]));
    let papers = stamped.papers.as_ref().and_then(|papers| papers.manifest.as_ref());
    let decided = papers.into_iter().flat_map(|manifest| manifest.written());
    let written = stamped.event.data.written().iter().cloned().chain(decided);
    changes.chain(written.map(|file| (file.path, [file.before, file.after]))).collect()
}

fn is_undo(stamped: &Stamped) -> bool {
    matches!(&stamped.event.data, Data::Decision(said) if said.verdict == Verdict::Undo)
}

/// The lines of `text` that say something: a bracket, or a blank one, stands in every file.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let lines = text.lines().map(|line| line.trim());
    lines.filter(|line| line.len() >= SHORTEST && line.iter().any(u8::is_ascii_alphanumeric))
}

/// Bytes of a line by which content is known again.
const SHORTEST: usize = 6;

impl Store {
    /// What the events about `subjects` have made of files, or the blob that was named.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn purge_contents(&self, view: &View<'_>, subjects: &Subjects) -> Result<Contents> {
        let mut found = Contents { blobs: BTreeMap::new(), steps: BTreeSet::new() };
        let mut gather = |stamped: &Stamped| {
            // An undo leads to content that was there before.
            if is_undo(stamped) {
                return;
            }
            for (path, [before, after]) in sides(stamped) {
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

    /// Where they stand in the project itself.
    ///
    /// # Errors
    /// `git_failed`; those of the file system.
    pub fn standing(&self, contents: &Contents) -> Result<Vec<Standing>> {
        let mut found = BTreeSet::new();
        if contents.blobs.is_empty() {
            return Ok(Vec::new());
        }
        let paths = contents.blobs.keys().map(|path| path.to_path().into_os_string());
        let listed = self
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
                    found.insert(Standing { path: path.clone(), blob: blob.clone(), place })
                };
                if objects.contains(blob.as_bytes()) {
                    add(Where::History);
                }
                if self.repository().work_dir().is_some()
                    && let Ok(Some(file)) = self.repository().worktree()?.file(path)
                    && self.entry_of(&file)?.id == *blob
                {
                    add(Where::WorkTree);
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    /// The other proposals that keep something of these contents here: an event of theirs names one of the
    /// blobs, or another one of the same file that has lines which these have added.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn naming_too(
        &self,
        view: &View<'_>,
        subjects: &Subjects,
        contents: &Contents,
    ) -> Result<Vec<ProposalId>> {
        let blobs = contents.blobs();
        let (mut found, mut near) = (BTreeSet::new(), BTreeSet::new());
        each_proposal(view, |thread| {
            if subjects.targets.iter().any(|target| target.thread == thread.id) {
                return;
            }
            for (path, sides) in thread.history.events().iter().flat_map(sides) {
                for id in sides.into_iter().flatten().map(|entry| entry.id) {
                    if blobs.contains(&id) {
                        found.insert(thread.id);
                    } else if contents.blobs.contains_key(&path) {
                        near.insert((path.clone(), id, thread.id));
                    }
                }
            }
        })?;
        let added = self.added(contents);
        let mut with_lines: BTreeMap<String, bool> = BTreeMap::new();
        for (path, id, proposal) in near {
            let Some(added) = added.get(&path).filter(|_| !found.contains(&proposal)) else {
                continue;
            };
            let has = with_lines.entry(id).or_insert_with_key(|id| self.has_lines(id, added));
            if *has {
                found.insert(proposal);
            }
        }
        Ok(found.iter().map(|thread| view.name(thread)).collect())
    }

    /// Whether the blob `id` has one of the lines `added`.
    pub(in crate::store) fn has_lines(&self, id: &str, added: &BTreeSet<Vec<u8>>) -> bool {
        self.blob(id).is_ok_and(|text| lines(&text).any(|line| added.contains(line)))
    }

    /// The lines that contents have added to their files, as far as they are here.
    pub(in crate::store) fn added<'c>(
        &self,
        contents: &'c Contents,
    ) -> BTreeMap<&'c RepoPath, BTreeSet<Vec<u8>>> {
        let mut added: BTreeMap<&RepoPath, BTreeSet<Vec<u8>>> = BTreeMap::new();
        for (path, before, after) in &contents.steps {
            let text = |id: &String| self.blob(id).unwrap_or_default();
            let (before, after) = (text(before), text(after));
            let old: BTreeSet<&[u8]> = lines(&before).collect();
            let new = lines(&after).filter(|line| !old.contains(line)).map(<[u8]>::to_vec);
            added.entry(path).or_default().extend(new);
        }
        added
    }
}
