//! HEAD: branch, commit, and its files for a repository without work tree.

use std::cell::{Cell, RefCell};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

use bstr::ByteSlice as _;
use gix::ObjectId;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;

use super::Repository;
use super::filters::Filters;
use super::policy::Policy;
use crate::changeset::{self, File, Mode, RepoPath, Snapshot};
use crate::error::{Error, Result, codes};
use crate::proposal::statement::Target;
use crate::worktree::Conversion as _;

/// Files of HEAD or of `commit`; none on an unborn branch.
struct CommitFiles<'repository> {
    repository: &'repository Repository,
    commit: Option<ObjectId>,
    limit: u64,
}

/// Read at once, so that its parts agree.
#[derive(Clone)]
pub struct HeadState {
    /// Full ref name; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// `None` on an unborn branch, or if unreadable.
    pub commit: Option<ObjectId>,
    pub is_unborn: bool,
}

/// Pins HEAD as first read; see `Repository::pin_head`.
pub struct PinnedHead<'repository>(&'repository Pin);

/// HEAD and policy, and the number of `PinnedHead`s.
#[derive(Default)]
pub(super) struct Pin {
    head: RefCell<Option<HeadState>>,
    policy: RefCell<Option<Policy>>,
    count: Cell<usize>,
}

impl Pin {
    pub(super) fn policy(&self) -> Option<Policy> {
        self.policy.borrow().clone()
    }

    pub(super) fn keep(&self, policy: &Policy) {
        self.policy.replace((self.count.get() > 0).then(|| policy.clone()));
    }

    fn clear(&self) {
        self.head.take();
        self.policy.take();
    }
}

impl Drop for PinnedHead<'_> {
    fn drop(&mut self) {
        self.0.count.set(self.0.count.get() - 1);
        if self.0.count.get() == 0 {
            self.0.clear();
        }
    }
}

const LONGEST: usize = 4 * 1024;

/// Reads a ref's file with three system calls; gix takes six.
pub(crate) fn line(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = [0; LONGEST];
    match std::fs::File::open(path)?.read(&mut content)? {
        LONGEST => Err(io::Error::new(ErrorKind::InvalidData, "it has more than a line")),
        length => Ok(content[..length].to_vec()),
    }
}

impl Repository {
    /// Caches HEAD and policy while the guard lives, or until `Repository::clear_head_cache`.
    pub fn pin_head(&self) -> PinnedHead<'_> {
        self.pin.count.set(self.pin.count.get() + 1);
        PinnedHead(&self.pin)
    }

    /// Clears the cache, after waiting for a lock or moving HEAD.
    pub fn clear_head_cache(&self) {
        self.pin.clear();
    }

    pub(crate) fn checkout(&self) -> Result<HeadState, gix::Error> {
        if let Some(head) = &*self.pin.head.borrow() {
            return Ok(head.clone());
        }
        let head = match self.on_a_branch() {
            Some(head) => head,
            None => {
                let mut head = self.repo.head()?;
                let branch = head.referent_name().map(|name| name.to_string());
                let is_unborn = head.is_unborn();
                let commit = head.try_peel_to_id().ok().flatten().map(gix::Id::detach);
                HeadState { branch, commit, is_unborn }
            }
        };
        if self.pin.count.get() > 0 {
            self.pin.head.replace(Some(head.clone()));
        }
        Ok(head)
    }

    /// The usual case: gix takes fifteen system calls.
    fn on_a_branch(&self) -> Option<HeadState> {
        let head = line(&self.repo.git_dir().join("HEAD")).ok()?;
        let branch = head.strip_prefix(b"ref: ")?.trim_end().to_str().ok()?.to_owned();
        let is_branch = branch.starts_with("refs/heads/");
        if !is_branch || gix::validate::reference::name(branch.as_str().into()).is_err() {
            return None;
        }
        let commit = match line(&self.common_dir.join(&branch)) {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                self.repo.refs.cached_packed_buffer().ok()??.try_find(&*branch).ok()??.target()
            }
            found => ObjectId::from_hex(found.ok()?.trim_end()).ok()?,
        };
        let is_commit = self.header(commit).is_ok_and(|(kind, _)| kind == Kind::Commit);
        is_commit.then_some(HeadState {
            branch: Some(branch),
            commit: Some(commit),
            is_unborn: false,
        })
    }

    pub fn head_commit(&self) -> Option<ObjectId> {
        self.checkout().ok()?.commit
    }

    pub fn head_tree(&self) -> Option<ObjectId> {
        let commit = self.repo.find_commit(self.head_commit()?).ok()?;
        commit.tree_id().ok().map(gix::Id::detach)
    }

    /// HEAD as the target of a decision; `None` before the first commit.
    pub fn head_target(&self) -> Option<Target> {
        let head = self.checkout().ok()?;
        Some(Target { commit: Some(head.commit?.to_string()), name: head.branch })
    }

    /// Full name; `None` if HEAD is detached.
    pub fn head_ref(&self) -> Option<String> {
        self.checkout().ok()?.branch
    }

    /// Short name, or `HEAD` if detached.
    pub fn branch(&self) -> String {
        let name = self.head_ref();
        let name = name.and_then(|name| gix::refs::FullName::try_from(name).ok());
        name.map_or_else(|| "HEAD".into(), |name| name.shorten().to_string())
    }

    /// Hex id of HEAD's blob at `path`.
    pub fn id_in_head(&self, path: &RepoPath) -> Option<String> {
        let tree = self.repo.find_commit(self.checkout().ok()?.commit?).ok()?.tree().ok()?;
        let found = tree.lookup_entry(path.components().map(|name| name.to_vec())).ok()??;
        found.mode().is_blob().then(|| found.object_id().to_string())
    }

    pub fn file_in_head(&self, path: &RepoPath) -> Option<File> {
        let limit = self.settings().ok()?.max_file_size;
        CommitFiles { repository: self, commit: None, limit }.file(path).ok()?
    }

    /// The base of a proposal: the work tree, or HEAD in a bare repository.
    pub fn files(&self) -> Result<Box<dyn Snapshot + '_>> {
        if self.work_dir().is_some() {
            return Ok(Box::new(self.worktree()?));
        }
        Ok(Box::new(CommitFiles {
            repository: self,
            commit: None,
            limit: self.settings()?.max_file_size,
        }))
    }

    pub fn files_of(&self, commit: ObjectId) -> Result<Box<dyn Snapshot + '_>> {
        let limit = self.settings()?.max_file_size;
        Ok(Box::new(CommitFiles { repository: self, commit: Some(commit), limit }))
    }
}

impl Snapshot for CommitFiles<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        let repo = &self.repository.repo;
        let broken = |error: &dyn std::fmt::Display| {
            Error::new(
                &super::codes::OBJECT_MISSING,
                format!("{} cannot be looked up in HEAD: {error}", path.display()),
            )
            .hint("`git fsck` reports the damaged object")
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
