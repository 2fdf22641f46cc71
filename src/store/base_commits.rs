//! Commits on top of a base with some files changed. The tree of a session is compared with them;
//! they are not part of the log.

use chrono::{DateTime, Utc};
use gix::ObjectId;
use gix::objs::{Kind, Tree};

use super::objects::{Batch, object_id};
use super::{Store, trees, write};
use crate::changeset::merge::MergeLabels;
use crate::changeset::plan::{MergeStatus, plan};
use crate::changeset::{File, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::{Actor, ActorKind, Revision};

impl Store {
    /// A commit on `base` with the changes of `revision`, authored by `aye` at the time of the
    /// revision.
    ///
    /// # Errors
    /// `object_missing` without the commit `base`.
    pub fn commit_above(&self, base: &str, revision: &Revision, message: &str) -> Result<String> {
        let changes = revision.changes.iter();
        let leaves =
            changes.map(|change| trees::leaf(&change.path, change.after.as_ref())).collect();
        self.above(base, Batch::new(self.repository()), leaves, revision.at, message)
    }

    /// As [`Store::commit_above`], for a revision that was made on other files than those of
    /// `base`. Its changes are merged; a file that does not merge is taken from the revision.
    pub fn commit_onto(&self, base: &str, revision: &Revision, message: &str) -> Result<String> {
        let planned = || -> Result<Vec<(RepoPath, Option<File>)>> {
            let changes = self.changeset(revision)?.into_changes();
            let sides = MergeLabels { ours: "", theirs: "" };
            let plan = plan(&changes, &*self.repository().files_of(object_id(base)?)?, sides)?;
            let made = changes.into_iter().zip(plan.files);
            Ok(made
                .map(|(change, planned)| match planned.outcome {
                    MergeStatus::Conflict(_) => (change.path, change.after),
                    _ => (planned.path, planned.after),
                })
                .collect())
        };
        match planned() {
            Ok(files) => self.commit_with(base, files, revision.at, message),
            Err(_) => self.commit_above(base, revision, message),
        }
    }

    /// A commit on `base` with the files that `revision` changes as they were before it.
    pub fn commit_below(&self, base: &str, revision: &Revision, message: &str) -> Result<String> {
        // A moved file's source was there; the change of the source path says so.
        let changes = revision.changes.iter().filter(|change| change.origin.is_none());
        let leaves =
            changes.map(|change| trees::leaf(&change.path, change.before.as_ref())).collect();
        self.above(base, Batch::new(self.repository()), leaves, revision.at, message)
    }

    /// A commit on `base` with `files`; `None` removes a file.
    pub fn commit_with(
        &self,
        base: &str,
        files: Vec<(RepoPath, Option<File>)>,
        at: DateTime<Utc>,
        message: &str,
    ) -> Result<String> {
        let mut batch = Batch::new(self.repository());
        let mut leaf = |(path, file): (RepoPath, Option<File>)| -> Result<trees::Leaf> {
            let content = match file {
                Some(file) => Some((batch.add(Kind::Blob, &file.bytes)?, file.mode)),
                None => None,
            };
            Ok((trees::components(&[], &path), content))
        };
        let leaves = files.into_iter().map(&mut leaf).collect();
        self.above(base, batch, leaves, at, message)
    }

    fn above(
        &self,
        base: &str,
        mut batch: Batch<'_>,
        leaves: Result<Vec<trees::Leaf>>,
        at: DateTime<Utc>,
        message: &str,
    ) -> Result<String> {
        let missing = |error: &dyn std::fmt::Display| {
            Error::new(
                &crate::repository::codes::OBJECT_MISSING,
                format!("the commit {base} cannot be read: {error}"),
            )
            .hint("`aye doctor` names the missing object")
        };
        let parent = ObjectId::from_hex(base.as_bytes()).map_err(|error| missing(&error))?;
        let commit =
            self.repository().repo().find_commit(parent).map_err(|error| missing(&error))?;
        let tree = commit.tree().map_err(|error| missing(&error))?;
        let tree = Tree::from(tree.decode().map_err(|error| missing(&error))?);
        let mut leaves = leaves?;
        // Removals first: a file may take the place of a directory.
        leaves.sort_by_key(|(_, content)| content.is_some());
        let tree = trees::edit(self.repository().repo(), &mut batch, tree, &leaves)?;
        let nobody = Actor {
            name: "aye".to_owned(),
            email: "aye@localhost".to_owned(),
            kind: ActorKind::Human,
        };
        let commit =
            trees::commit(&mut batch, tree, &[parent], &nobody, at.timestamp(), &[], message)?;
        write::write_out(self, &mut batch)?;
        Ok(commit.to_string())
    }
}
