//! Which directory the top of a work tree is, whatever path leads there.

use std::path::Path;

use super::Worktree;
use crate::beneath::{Content, Place};

/// Longest `.git` file that is read: a path and a few words.
const LINK_LIMIT: u64 = 1 << 16;

impl Worktree {
    /// True if `path` is the directory that this work tree was opened at.
    pub fn is_at(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(Place::Directory(top)) = self.root.directory("".into()) else { return false };
        let known = top.own_stat().map(|stamp| stamp.identity).ok();
        known.is_some() && known == path.metadata().map(|at| (at.dev(), at.ino())).ok()
    }

    /// The content of the file `.git` at the top; `None` if that is a directory, or missing.
    pub fn git_link(&self) -> Option<Vec<u8>> {
        let Ok(Place::Directory(top)) = self.root.directory("".into()) else { return None };
        match top.read(".git".into(), LINK_LIMIT) {
            Ok(Content::File(bytes, _)) => Some(bytes),
            _ => None,
        }
    }
}
