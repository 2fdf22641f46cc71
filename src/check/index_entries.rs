//! Object ids of unmodified files, taken from git's index without reading the files.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use gix::index::entry::{Flags, Mode, stat};

use crate::changeset::RepoPath;
use crate::proposal::Entry;
use crate::repository::Repository;
use crate::repository::stat_match::is_untouched;

pub(super) struct UnmodifiedIndex(Option<Index>);

struct Index {
    index: gix::worktree::Index,
    top: PathBuf,
    options: stat::Options,
    /// False for a symlink.
    directories: HashMap<PathBuf, bool>,
}

impl UnmodifiedIndex {
    /// Knows no file if the index is unreadable.
    pub(super) fn read(repository: &Repository) -> Self {
        let repo = repository.repo();
        let read = || {
            let options = repo.stat_options().ok()?;
            let (index, top) = (repo.index().ok()?, repo.workdir()?.to_owned());
            Some(Index { index, top, options, directories: HashMap::new() })
        };
        Self(read())
    }

    /// `None` if modified.
    pub(super) fn entry(&mut self, path: &RepoPath) -> Option<Entry> {
        let Index { index, top, options, directories } = self.0.as_mut()?;
        let entry = index.entry_by_path(path.as_bstr())?;
        let mode = match entry.mode {
            Mode::FILE => "100644",
            Mode::FILE_EXECUTABLE => "100755",
            _ => return None,
        };
        // git does not check such entries, so they prove nothing.
        let blind = Flags::ASSUME_VALID | Flags::SKIP_WORKTREE | Flags::INTENT_TO_ADD;
        if entry.flags.intersects(blind) || entry.stage_raw() != 0 {
            return None;
        }
        let file = top.join(path.to_path());
        if !is_real(directories, top, file.parent()?) {
            return None;
        }
        let facts = gix::index::fs::Metadata::from_path_no_follow(&file).ok()?;
        let is_same = facts.is_file()
            && facts.is_executable() == (entry.mode == Mode::FILE_EXECUTABLE)
            && is_untouched(index, entry, &facts, *options);
        is_same.then(|| Entry { id: entry.id.to_string(), mode: mode.into() })
    }
}

/// True if no directory below `top` is a symlink.
fn is_real(known: &mut HashMap<PathBuf, bool>, top: &Path, directory: &Path) -> bool {
    if directory == top {
        return true;
    }
    if let Some(is_it) = known.get(directory) {
        return *is_it;
    }
    let is_it = directory.symlink_metadata().is_ok_and(|found| found.is_dir())
        && directory.parent().is_some_and(|above| is_real(known, top, above));
    known.insert(directory.to_owned(), is_it);
    is_it
}
