//! A commit above another with the changes of a revision made: what the tree of a session is compared
//! with. No part of the log.

use gix::ObjectId;
use gix::objs::Tree;

use super::objects::Batch;
use super::{Store, pending, trees, write};
use crate::error::{Error, Result};
use crate::proposal::{Actor, ActorKind, Revision};

impl Store {
    /// The commit, by nobody in particular, at the time of `revision`.
    ///
    /// # Errors
    /// `object_missing` without the commit `base`; those of writing.
    pub fn commit_above(&self, base: &str, revision: &Revision, message: &str) -> Result<String> {
        let missing = |error: &dyn std::fmt::Display| {
            Error::new(
                &crate::repository::codes::OBJECT_MISSING,
                format!("the commit {base} cannot be read: {error}"),
            )
            .hint("`aye doctor` looks for what is missing")
        };
        let parent = ObjectId::from_hex(base.as_bytes()).map_err(|error| missing(&error))?;
        let commit = self.repo.find_commit(parent).map_err(|error| missing(&error))?;
        let tree = commit.tree().map_err(|error| missing(&error))?;
        let tree = Tree::from(tree.decode().map_err(|error| missing(&error))?);
        // A file in the place of a directory comes after what was in it.
        let (written, gone): (Vec<_>, Vec<_>) =
            revision.changes.iter().partition(|change| change.after.is_some());
        let changes = gone.into_iter().chain(written);
        let leaves: Result<Vec<trees::Leaf>> =
            changes.map(|change| pending::leaf(&change.path, &change.after)).collect();
        let mut batch = Batch::new(&self.repo);
        let tree = trees::edit(&self.repo, &mut batch, tree, &leaves?)?;
        let nobody = Actor {
            name: "aye".to_owned(),
            email: "aye@localhost".to_owned(),
            kind: ActorKind::Human,
        };
        let seconds = revision.at.timestamp();
        let commit = trees::commit(&mut batch, tree, &[parent], &nobody, seconds, message)?;
        write::write_out(self, &mut batch)?;
        Ok(commit.to_string())
    }
}
