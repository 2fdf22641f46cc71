//! Identity of a work tree's top directory.

use std::path::Path;

use super::Worktree;
use crate::beneath::{Content, DirectoryLookup};

const LINK_LIMIT: u64 = 1 << 16;

impl Worktree {
    pub fn is_at(&self, path: &Path) -> bool {
        use std::os::unix::fs::MetadataExt as _;
        let Ok(DirectoryLookup::Directory(top)) = self.root.directory("".into()) else {
            return false;
        };
        let known = top.own_stat().map(|stamp| stamp.identity).ok();
        known.is_some() && known == path.metadata().map(|at| (at.dev(), at.ino())).ok()
    }

    /// `None` for a directory or no file.
    pub fn git_link(&self) -> Option<Vec<u8>> {
        let Ok(DirectoryLookup::Directory(top)) = self.root.directory("".into()) else {
            return None;
        };
        match top.read(".git".into(), LINK_LIMIT) {
            Ok(Content::File(bytes, _)) => Some(bytes),
            _ => None,
        }
    }
}
