//! Where else the content of a proposal is: what a purge does not reach.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use super::Subjects;
use crate::changeset::RepoPath;
use crate::changeset::Snapshot as _;
use crate::error::Result;
use crate::proposal::{Data, Entry, ProposalId};
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
pub struct Contents(BTreeMap<RepoPath, BTreeSet<String>>);

impl Contents {
    /// The blobs, hex.
    pub(super) fn blobs(&self) -> BTreeSet<String> {
        self.0.values().flatten().cloned().collect()
    }
}

impl Store {
    /// What the events about `subjects` have made of files, or the blob that was named.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn purge_contents(&self, view: &View, subjects: &Subjects) -> Result<Contents> {
        let mut found: BTreeMap<RepoPath, BTreeSet<String>> = BTreeMap::new();
        let mut gather = |body: &[u8]| {
            let Some(event) = self.inflated(body) else { return };
            let mut add = |path: &RepoPath, before: Option<&Entry>, after: Option<&Entry>| {
                let is_new = after.filter(|after| before.is_none_or(|b| b.id != after.id));
                let names_it = |id: &&String| subjects.blob.as_ref() == Some(id);
                let named = before.map(|before| &before.id).filter(names_it);
                let ids = is_new.map(|after| &after.id).into_iter().chain(named).cloned();
                found.entry(path.clone()).or_default().extend(ids);
            };
            for change in event.data.changes() {
                add(&change.path, change.before.as_ref(), change.after.as_ref());
            }
            if let Data::Apply(apply) = &event.data {
                for file in apply.written.iter().chain(&apply.amended) {
                    add(&file.path, file.before.as_ref(), file.after.as_ref());
                }
            }
        };
        for target in &subjects.targets {
            view.each_body_of(&target.id, &mut gather)?;
        }
        found.retain(|_, blobs| !blobs.is_empty());
        Ok(Contents(found))
    }

    /// Where they stand in the project itself.
    ///
    /// # Errors
    /// `git_failed`; those of the file system.
    pub fn standing(&self, contents: &Contents) -> Result<Vec<Standing>> {
        let mut found = BTreeSet::new();
        if contents.0.is_empty() {
            return Ok(Vec::new());
        }
        let paths = contents.0.keys().map(|path| path.to_path().into_os_string());
        let listed = self
            .git()?
            .args(["--literal-pathspecs", "rev-list", "--objects", "--exclude=refs/aye/*", "--all"])
            .arg("--")
            .args(paths)
            .run()?;
        let objects: BTreeSet<&[u8]> =
            listed.lines().filter_map(|line| line.split_str(" ").next()).collect();
        for (path, blobs) in &contents.0 {
            for blob in blobs {
                let mut add = |place| {
                    found.insert(Standing { path: path.clone(), blob: blob.clone(), place })
                };
                if objects.contains(blob.as_bytes()) {
                    add(Where::History);
                }
                if self.work_dir().is_some()
                    && let Ok(Some(file)) = self.worktree()?.file(path)
                    && self.entry_of(&file)?.id == *blob
                {
                    add(Where::WorkTree);
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    /// The other proposals whose events name one of these blobs, and so keep it here.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn naming_too(
        &self,
        view: &View,
        subjects: &Subjects,
        contents: &Contents,
    ) -> Result<Vec<ProposalId>> {
        let blobs: BTreeSet<&str> = contents.0.values().flatten().map(String::as_str).collect();
        let mut found = BTreeSet::new();
        view.each_body(|proposal, _, body| {
            let is_other = subjects.targets.iter().all(|target| target.id.as_str() != proposal);
            if is_other && let Some(event) = self.inflated(body) {
                let sides = event.data.changes().iter().flat_map(|c| [&c.before, &c.after]);
                if sides.flatten().any(|entry| blobs.contains(entry.id.as_str())) {
                    found.insert(proposal.to_owned());
                }
            }
        })?;
        found.iter().map(|id| ProposalId::parse(id)).collect()
    }
}
