//! Reaching files beneath a root, and nothing else.
//!
//! [`Root::directory`] opens a directory without following any symlink and refuses other repositories;
//! [`Dir`] then works on single names inside it, which cannot lead anywhere else. A directory is an open
//! descriptor, so it stays the same directory whatever happens to its name.

use std::hash::{BuildHasher as _, Hasher as _};
use std::rc::Rc;

use bstr::BString;

pub mod clear;
mod unix;

pub use unix::{Dir, Root, keep_umask, open_last};

/// Error codes of paths that lead elsewhere.
pub mod codes {
    crate::codes! {
        SYMLINK = "symlink_in_way", Invalid, "the path is a symlink, or leads through one";
        SUBMODULE = "in_submodule", Invalid, "the path is, or lies inside, a submodule or another repository";
    }
}

/// What the directory part of a path leads to.
#[derive(Debug)]
pub enum Place<F = Dir> {
    /// The directory, open.
    Directory(Rc<F>),
    /// It does not exist; the part of it that does (empty: the root).
    Missing(BString),
    /// A file stands where a directory is needed; its path.
    Blocked(BString),
}

/// What kind of thing has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Symlink,
    /// A device, pipe or socket.
    Special,
}

/// Identity and state of a file, enough to tell whether it is still the same one, unwritten.
///
/// The change time is left out: a rename, which is our own doing, moves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// What it is.
    pub kind: FileKind,
    /// Device and inode; zero where the system has none.
    pub identity: (u64, u64),
    /// Size in bytes.
    pub size: u64,
    /// Last write, seconds and nanoseconds.
    pub written: (i64, u32),
    /// Permission bits, with setuid, setgid and sticky.
    pub permissions: u32,
    /// Number of names.
    pub links: u64,
}

impl Stamp {
    /// Git's own test: the owner may execute it.
    pub fn executable(&self) -> bool {
        self.permissions & 0o100 != 0
    }

    /// True if both are of one file; `false` where the system does not tell.
    pub fn is_same_file(&self, other: &Self) -> bool {
        self.identity == other.identity && self.identity != (0, 0)
    }
}

/// What was found under a name.
#[derive(Debug)]
pub enum Content {
    /// Nothing.
    Missing,
    /// A regular file.
    File(Vec<u8>, Stamp),
    /// A regular file of more bytes than asked for; its size.
    TooLarge(u64),
    /// Anything else.
    Other(Stamp),
}

/// How a new file is made.
#[derive(Clone, Copy, Debug)]
pub struct NewFile {
    /// The permission bits it must have; `None`: the usual ones, through the umask.
    pub permissions: Option<u32>,
    /// Whether the usual ones include execution.
    pub executable: bool,
}

/// What a file that is opened by [`Dir::open`] is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reading; it must exist.
    Read,
    /// Locking, reading and writing; created if need be.
    Lock,
    /// Writing; it must not exist.
    New,
}

/// A number that no other process has just drawn. Not a secret.
pub fn random() -> u64 {
    std::hash::RandomState::new().build_hasher().finish()
}
