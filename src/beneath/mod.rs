//! Confines file access beneath a root.
//!
//! `Root::directory` opens a directory, follows no symlink and refuses other repositories. `Dir`
//! works on single names in it. A directory is an open descriptor: renaming it changes nothing.

use std::hash::{BuildHasher as _, Hasher as _};
use std::rc::Rc;

use bstr::BString;

pub mod clear;
mod unix;

pub use unix::{Dir, Root, open_last, set_worktree_umask};

pub mod codes {
    crate::codes! {
        SYMLINK = "symlink_in_way", Invalid, "the path is a symlink or leads through one";
        SUBMODULE = "in_submodule", Invalid, "the path is inside a submodule or another repository";
    }
}

/// The target of a path's directory part.
#[derive(Debug)]
pub enum DirectoryLookup<F = Dir> {
    Directory(Rc<F>),
    /// The existing part of the path; empty for the root.
    Missing(BString),
    /// The path of a file where a directory is needed.
    Blocked(BString),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    File,
    Directory,
    Symlink,
    /// A device, pipe or socket.
    Special,
}

/// Identity and state of a file: equal stamps mean unwritten since.
///
/// The change time is excluded, because our own rename updates it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    pub kind: FileKind,
    /// Device and inode; zero where unsupported.
    pub identity: (u64, u64),
    pub size: u64,
    /// Last write, seconds and nanoseconds.
    pub modified: (i64, u32),
    /// Includes setuid, setgid and sticky.
    pub permissions: u32,
    /// Hard links.
    pub links: u64,
}

impl Stamp {
    /// As git: the owner may execute it.
    pub fn executable(&self) -> bool {
        self.permissions & 0o100 != 0
    }

    pub fn is_same_file(&self, other: &Self) -> bool {
        self.identity == other.identity && self.identity != (0, 0)
    }
}

#[derive(Debug)]
pub enum Content {
    Missing,
    File(Vec<u8>, Stamp),
    /// Size of a file over the limit.
    TooLarge(u64),
    Other(Stamp),
}

#[derive(Clone, Copy, Debug)]
pub struct NewFile {
    /// `None` for the default through the umask.
    pub permissions: Option<u32>,
    /// True if the default includes execution.
    pub executable: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    Read,
    /// Creates the file if missing.
    Lock,
    /// The file must not exist.
    New,
}

/// Unique among processes in practice, not secret.
pub fn random_id() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}
