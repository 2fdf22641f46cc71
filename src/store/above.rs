//! A commit above another with some files changed: what the tree of a session is compared with. No part of the
//! log.

use chrono::{DateTime, Utc};
use gix::ObjectId;
use gix::objs::{Kind, Tree};

use super::objects::{Batch, object_id};
use super::{Store, trees, write};
use crate::changeset::merge::Sides;
use crate::changeset::plan::{Resolved, plan};
use crate::changeset::{File, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::{Actor, ActorKind, Revision};

impl Store {
    /// The commit with the changes of `revision` made, by nobody in particular, at the time of the revision.
    ///
    /// # Errors
    /// `object_missing` without the commit `base`; those of writing.
    pub fn commit_above(&self, base: &str, revision: &Revision, message: &str) -> Result<String> {
        let changes = revision.changes.iter();
        let leaves =
            changes.map(|change| trees::leaf(&change.path, change.after.as_ref())).collect();
        self.above(base, Batch::new(self.repository()), leaves, revision.at, message)
    }

    /// As [`Store::commit_above`], of a revision that was made on other files than those of `base`: what it changed
    /// is changed there, and where that does not fit its own file stands.
    ///
    /// # Errors
    /// As [`Store::commit_above`].
    pub fn commit_onto(&self, base: &str, revision: &Revision, message: &str) -> Result<String> {
        let planned = || -> Result<Vec<(RepoPath, Option<File>)>> {
            let changes = self.changeset(revision)?.into_changes();
            let sides = Sides { ours: "", theirs: "" };
            let plan = plan(&changes, &*self.repository().files_of(object_id(base)?)?, sides)?;
            let made = changes.into_iter().zip(plan.files);
            Ok(made
                .map(|(change, planned)| match planned.outcome {
                    Resolved::Conflict(_) => (change.path, change.after),
                    _ => (planned.path, planned.after),
                })
                .collect())
        };
        match planned() {
            Ok(files) => self.commit_with(base, files, revision.at, message),
            Err(_) => self.commit_above(base, revision, message),
        }
    }

    /// The commit with the files that `revision` changes as they were before, by the time of the revision.
    ///
    /// # Errors
    /// As [`Store::commit_above`].
    pub fn commit_below(&self, base: &str, revision: &Revision, message: &str) -> Result<String> {
        // What comes from elsewhere was there; the change of that place says so.
        let changes = revision.changes.iter().filter(|change| change.origin.is_none());
        let leaves =
            changes.map(|change| trees::leaf(&change.path, change.before.as_ref())).collect();
        self.above(base, Batch::new(self.repository()), leaves, revision.at, message)
    }

    /// The commit with `files` as they are here; those that are `None` are gone.
    ///
    /// # Errors
    /// As [`Store::commit_above`].
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
            .hint("`aye doctor` looks for what is missing")
        };
        let parent = ObjectId::from_hex(base.as_bytes()).map_err(|error| missing(&error))?;
        let commit =
            self.repository().repo().find_commit(parent).map_err(|error| missing(&error))?;
        let tree = commit.tree().map_err(|error| missing(&error))?;
        let tree = Tree::from(tree.decode().map_err(|error| missing(&error))?);
        let mut leaves = leaves?;
        // A file in the place of a directory comes after what was in it.
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
