//! What HEAD names: the branch, and the files for proposals where there is no work tree.

use std::cell::{Cell, RefCell};

use gix::ObjectId;
use gix::objs::tree::EntryKind;

use super::Repository;
use super::filters::Filters;
use crate::changeset::{self, File, Mode, RepoPath, Snapshot};
use crate::error::{Error, Result, codes};
use crate::proposal::statement::Target;
use crate::worktree::Conversion as _;

/// The files as HEAD has them, or another commit; none where HEAD is unborn.
struct Head<'repository> {
    repository: &'repository Repository,
    /// Another commit.
    commit: Option<ObjectId>,
    limit: u64,
}

/// HEAD, read once, so that all that is asked about it is about the same one.
#[derive(Clone)]
pub struct Checkout {
    /// The branch, whole, whether it has a commit or not; `None` where HEAD is detached.
    pub branch: Option<String>,
    /// The commit; `None` on an unborn branch, and where it cannot be read.
    pub commit: Option<ObjectId>,
    /// Nothing was committed on the branch.
    pub is_unborn: bool,
}

/// Until it is dropped, HEAD is what it was when it was first read: see [`Repository::pin_head`].
pub struct PinnedHead<'repository>(&'repository Pin);

/// HEAD as it was read first, and how many [`PinnedHead`]s want it to stay.
#[derive(Default)]
pub(super) struct Pin {
    head: RefCell<Option<Checkout>>,
    count: Cell<usize>,
}

impl Drop for PinnedHead<'_> {
    fn drop(&mut self) {
        self.0.count.set(self.0.count.get() - 1);
        if self.0.count.get() == 0 {
            self.0.head.take();
        }
    }
}

impl Repository {
    /// Reads HEAD once as long as the returned value lives: for a command that does not move it, and ends soon.
    pub fn pin_head(&self) -> PinnedHead<'_> {
        self.pin.count.set(self.pin.count.get() + 1);
        PinnedHead(&self.pin)
    }

    /// HEAD as it is now, unless it is pinned.
    ///
    /// # Errors
    /// Those of gix.
    pub(crate) fn checkout(&self) -> Result<Checkout, gix::Error> {
        if let Some(head) = &*self.pin.head.borrow() {
            return Ok(head.clone());
        }
        let mut head = self.repo.head()?;
        let branch = head.referent_name().map(|name| name.to_string());
        let is_unborn = head.is_unborn();
        let commit = head.try_peel_to_id().ok().flatten().map(gix::Id::detach);
        let head = Checkout { branch, commit, is_unborn };
        if self.pin.count.get() > 0 {
            self.pin.head.replace(Some(head.clone()));
        }
        Ok(head)
    }

    /// HEAD, for what is made on it; `None` before the first commit.
    pub fn target(&self) -> Option<Target> {
        let head = self.checkout().ok()?;
        Some(Target { commit: Some(head.commit?.to_string()), name: head.branch })
    }

    /// The whole name of the branch that is checked out, whether it has a commit or not; `None` where HEAD is
    /// detached.
    pub fn head_ref(&self) -> Option<String> {
        self.checkout().ok()?.branch
    }

    /// The short name of the branch that is checked out, `HEAD` if none is.
    pub fn branch(&self) -> String {
        let name = self.head_ref();
        let name = name.and_then(|name| gix::refs::FullName::try_from(name).ok());
        name.map_or_else(|| "HEAD".into(), |name| name.shorten().to_string())
    }

    /// The blob that HEAD has at `path`, by its hex id.
    pub fn id_in_head(&self, path: &RepoPath) -> Option<String> {
        let tree = self.repo.find_commit(self.checkout().ok()?.commit?).ok()?.tree().ok()?;
        let found = tree.lookup_entry(path.components().map(|name| name.to_vec())).ok()??;
        found.mode().is_blob().then(|| found.object_id().to_string())
    }

    /// The regular file that HEAD has at `path`; `None` where it has none, or one that cannot be read.
    pub fn file_in_head(&self, path: &RepoPath) -> Option<File> {
        let limit = self.settings().ok()?.max_file_size;
        Head { repository: self, commit: None, limit }.file(path).ok()?
    }

    /// The files that a proposal is made on: those of the work tree, or in a bare repository
    /// those of HEAD.
    ///
    /// # Errors
    /// As [`Repository::worktree`], but for `bare_repository`.
    pub fn files(&self) -> Result<Box<dyn Snapshot + '_>> {
        if self.work_dir().is_some() {
            return Ok(Box::new(self.worktree()?));
        }
        Ok(Box::new(Head { repository: self, commit: None, limit: self.settings()?.max_file_size }))
    }

    /// The files of a commit.
    ///
    /// # Errors
    /// `invalid_config`.
    pub fn files_of(&self, commit: ObjectId) -> Result<Box<dyn Snapshot + '_>> {
        let limit = self.settings()?.max_file_size;
        Ok(Box::new(Head { repository: self, commit: Some(commit), limit }))
    }
}

impl Snapshot for Head<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        let repo = &self.repository.repo;
        let broken = |error: &dyn std::fmt::Display| {
            Error::new(
                &super::codes::OBJECT_MISSING,
                format!("{} cannot be looked up in HEAD: {error}", path.display()),
            )
            .hint("`git fsck` reports what is damaged")
        };
        let head = || self.repository.checkout().ok()?.commit;
        let Some(id) = self.commit.or_else(head) else { return Ok(None) };
        let commit = repo.find_commit(id).map_err(|error| broken(&error))?;
        let tree = commit.tree().map_err(|error| broken(&error))?;
        let names = path.components().map(|name| name.to_vec());
        let Some(entry) = tree.lookup_entry(names).map_err(|error| broken(&error))? else {
            return Ok(None);
        };
        let refused = |code, what: &str| {
            Error::new(code, format!("{} {what}", path.display()))
                .with("path", path.display().to_string())
                .hint("name a regular file")
        };
        let mode = match entry.mode().kind() {
            EntryKind::Blob => Mode::Regular,
            EntryKind::BlobExecutable => Mode::Executable,
            EntryKind::Tree => return Err(refused(&changeset::codes::DIRECTORY, "is a directory")),
            EntryKind::Link => {
                return Err(refused(&crate::beneath::codes::SYMLINK, "is a symlink"));
            }
            EntryKind::Commit => {
                return Err(refused(&crate::beneath::codes::SUBMODULE, "is a submodule"));
            }
        };
        let size = repo.find_header(entry.object_id()).map(|header| header.size()).unwrap_or(0);
        if size > self.limit {
            return Err(refused(
                &codes::SIZE_LIMIT,
                &format!("has {size} bytes, over the limit of {}", self.limit),
            ));
        }
        let bytes = self.repository.blob(&entry.object_id().to_string())?;
        Ok(Some(File { bytes, mode }))
    }

    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        Filters::new(&self.repository.repo).merges_lines(path)
    }
}
