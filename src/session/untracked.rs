//! Untracked files of the checkout before a command: enough of each to notice that it is another one since. Git has
//! no copy of them, and nothing that is overwritten can be put back.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use bstr::{BString, ByteSlice as _};
use serde::{Deserialize, Serialize};

use super::tree;
use crate::error::Result;
use crate::repository::Repository;

/// Files that are compared, at most; of a checkout with more of them none is.
pub const MOST: usize = 20_000;

/// Size, last write in seconds and nanoseconds, and inode, which is 0 where the system has none.
type Facts = (u64, u64, u32, u64);

/// The files that git neither tracks nor ignores; `None` where there are more than [`MOST`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untracked(Option<Vec<(BString, Facts)>>);

/// How what a file held got lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// Another file is in its place.
    Overwritten,
    /// Nothing is.
    Removed,
}

impl Lost {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Overwritten => "overwritten",
            Self::Removed => "removed",
        }
    }
}

/// What became of the files.
#[derive(Debug, Default)]
pub struct Changed {
    /// Those that were not there.
    pub new: BTreeSet<BString>,
    /// Those that another file is in the place of, or none.
    pub lost: Vec<(BString, Lost)>,
    /// Those that have another name now, and the one that they had.
    pub moved: Vec<(BString, BString)>,
}

impl Untracked {
    /// Those of the checkout of `repository`.
    ///
    /// # Errors
    /// Those of git.
    pub fn of(repository: &Repository) -> Result<Self> {
        let Some(top) = repository.work_dir() else { return Ok(Self(Some(Vec::new()))) };
        let paths: BTreeSet<BString> =
            tree::untracked(repository)?.into_iter().take(MOST + 1).collect();
        if paths.len() > MOST {
            return Ok(Self(None));
        }
        let known = |path: BString| facts(&top, &path).map(|facts| (path, facts));
        Ok(Self(Some(paths.into_iter().filter_map(known).collect())))
    }

    /// Whether there are too many to compare them.
    pub fn is_too_many(&self) -> bool {
        self.0.is_none()
    }

    /// Whether `path` is one of them.
    pub fn has(&self, path: &BString) -> bool {
        self.0.iter().flatten().any(|(known, _)| known == path)
    }

    /// Looks no more for `paths`.
    pub fn forget(&mut self, paths: &BTreeSet<BString>) {
        if let Some(known) = &mut self.0 {
            known.retain(|(path, _)| !paths.contains(path));
        }
    }

    /// What became of them in the work tree at `top`, where they are `now`.
    pub fn changed(&self, now: &Self, top: &Path) -> Changed {
        let (Some(before), Some(now)) = (&self.0, &now.0) else { return Changed::default() };
        let known: BTreeSet<&BString> = before.iter().map(|(path, _)| path).collect();
        let mut changed = Changed::default();
        let mut gone = BTreeMap::new();
        let mut lost = BTreeSet::new();
        for (path, was) in before {
            match facts(top, path) {
                None => {
                    gone.insert(*was, path);
                    lost.insert(path);
                }
                Some(is) if is != *was => changed.lost.push((path.clone(), Lost::Overwritten)),
                Some(_) => {}
            }
        }
        for (path, is) in now.iter().filter(|(path, _)| !known.contains(path)) {
            // Where the system has no inodes, two files may be alike by chance.
            match (is.3 != 0).then(|| gone.remove(is)).flatten() {
                Some(was) => {
                    lost.remove(was);
                    changed.moved.push((path.clone(), was.clone()));
                }
                None => drop(changed.new.insert(path.clone())),
            }
        }
        changed.lost.extend(lost.into_iter().map(|path| (path.clone(), Lost::Removed)));
        changed
    }
}

/// `None` where there is nothing. What is in a directory, a repository of its own, is not looked at.
fn facts(top: &Path, path: &[u8]) -> Option<Facts> {
    let found = top.join(path.to_path().ok()?).symlink_metadata().ok()?;
    #[cfg(unix)]
    let inode = std::os::unix::fs::MetadataExt::ino(&found);
    #[cfg(not(unix))]
    let inode = 0;
    if found.is_dir() {
        return Some((0, 0, 0, inode));
    }
    let written = found.modified().ok()?.duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    Some((found.len(), written.as_secs(), written.subsec_nanos(), inode))
}
