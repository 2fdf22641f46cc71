//! Files that stopped processes have left, and files and directories that aye cannot write.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use bstr::{BStr, ByteSlice as _};
use chrono::{DateTime, Utc};

use crate::beneath::{Access, FileKind};
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::repository::{Repository, trial};
use crate::store::{Store, View};
use crate::worktree::{Worktree, is_temporary};

/// A younger temporary file may belong to a process that is still writing.
const YOUNG: Duration = Duration::from_secs(600);

/// A file or directory that no process will use again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Leftover {
    /// A temporary file in a work tree: its top, and the path in it.
    File(PathBuf, RepoPath),
    /// A temporary file in `.git/aye`, by its name.
    Private(String),
    /// The directory of a trial whose process has ended.
    Trial(PathBuf),
}

/// Finds temporary files in the directories of proposals' files (with `everywhere`, in all), in
/// `.agent-memory/` and in `.git/aye`, and trials.
pub(super) fn find(
    store: &Store,
    view: &View<'_>,
    everywhere: bool,
    now: DateTime<Utc>,
) -> Result<Vec<Leftover>> {
    let mut found = Vec::new();
    let mut directories = BTreeSet::new();
    view.open_paths(|path, _, _| {
        directories.extend(path.to_path().parent().map(Path::to_owned));
    })?;
    for root in store.repository().work_trees() {
        let mut files = BTreeSet::new();
        let below = |top: &Path, deep| temporaries(&root, top, deep, now);
        files.extend(below(&root, everywhere));
        files.extend(below(&root.join(".agent-memory"), true));
        for directory in directories.iter().filter(|_| !everywhere) {
            files.extend(below(&root.join(directory), false));
        }
        found.extend(files.into_iter().map(|path| Leftover::File(root.clone(), path)));
    }
    if let Ok(Some(private)) = store.repository().private() {
        for (name, kind) in private.dir().entries_with_kind().unwrap_or_default() {
            let path = private.path().join(name.to_path_lossy());
            if kind == FileKind::File && is_private(name.as_bstr()) && is_old(&path, now) {
                found.push(Leftover::Private(name.to_string()));
            }
        }
    }
    found.extend(trial::stale(&store.repository().common_dir).into_iter().map(Leftover::Trial));
    Ok(found)
}

/// Removes leftovers, unless a journal may still need the files. The store's lock keeps other
/// processes away. Returns sentences about the removed ones.
///
/// # Errors
/// `busy`, `private_dir_unsafe`.
pub(super) fn remove(store: &Store, found: &[Leftover]) -> Result<Vec<String>> {
    let private = store.repository().make_private()?;
    let _lock = store.lock()?;
    let journals = private.inside("journal")?.map(|journal| journal.dir().is_empty());
    let mut removed = Vec::new();
    if !journals.is_none_or(|empty| empty.unwrap_or(false)) {
        return Ok(removed);
    }
    for leftover in found {
        let done = match leftover {
            Leftover::File(root, path) => {
                Worktree::open(root).and_then(|tree| tree.remove_file(path)).unwrap_or(false)
            }
            Leftover::Private(name) => private.dir().unlink(name.as_str().into()).is_ok(),
            Leftover::Trial(path) => {
                trial::sweep(&store.repository().common_dir);
                path.symlink_metadata().is_err()
            }
        };
        if done {
            removed.push(format!("{} removed", leftover.path(store).display()));
        }
    }
    Ok(removed)
}

/// Lock files of git that are older than any step of a git command, with their age. They are never
/// removed here: their owner may only be slow.
pub(super) fn stale_locks(repository: &Repository, now: DateTime<Utc>) -> Vec<(PathBuf, Duration)> {
    let common = [
        "packed-refs.lock",
        "packed-refs.new",
        "config.lock",
        "shallow.lock",
        "objects/maintenance.lock",
    ];
    let common = common.iter().map(|name| repository.common_dir.join(name));
    let own = ["index.lock", "HEAD.lock"].iter().map(|name| repository.repo.git_dir().join(name));
    let refs = walkdir::WalkDir::new(repository.common_dir.join("refs/aye")).into_iter().flatten();
    let refs = refs.map(walkdir::DirEntry::into_path);
    let refs = refs.filter(|path| path.extension().is_some_and(|end| end == "lock"));
    common
        .chain(own)
        .chain(refs)
        .filter(|path| is_old(path, now))
        .filter_map(|path| Some((path.clone(), age(&path, now)?)))
        .collect()
}

/// Errors for files and directories that a proposal would have to write. A file is created in the
/// object directory and in `.git/aye`, and removed again.
pub(super) fn unwritable(repository: &Repository) -> Vec<Error> {
    let mut found = Vec::new();
    let objects = repository.repo.objects.store_ref().path();
    let name = format!("tmp_obj_aye{:016x}", crate::beneath::random_id());
    let probe = objects.join(name);
    match std::fs::OpenOptions::new().write(true).create_new(true).open(&probe) {
        Ok(_) => drop(std::fs::remove_file(&probe)),
        Err(error) => found.push(Error::file("write to", objects, &error)),
    }
    if let Ok(Some(private)) = repository.private() {
        let name = format!(".probe-{:016x}", crate::beneath::random_id());
        match private.dir().open(name.as_str().into(), Access::New) {
            Ok(_) => drop(private.dir().unlink(name.as_str().into())),
            Err(error) => found.push(Error::file("write to", private.path(), &error)),
        }
        for (name, kind) in private.dir().entries_with_kind().unwrap_or_default() {
            if kind == FileKind::File {
                found.extend(barred(&private.path().join(name.to_path_lossy())));
            }
        }
    }
    let directories = |top: PathBuf| {
        let found = walkdir::WalkDir::new(top).into_iter().flatten();
        found.filter(|e| e.file_type().is_dir()).map(walkdir::DirEntry::into_path)
    };
    found.extend(directories(repository.common_dir.join("refs/aye")).filter_map(|p| barred(&p)));
    let fans = (0..=u8::MAX).map(|byte| objects.join(format!("{byte:02x}")));
    found.extend(fans.filter_map(|fan| barred(&fan)));
    found
}

impl Leftover {
    pub(super) fn path(&self, store: &Store) -> PathBuf {
        match self {
            Self::File(root, path) => root.join(path.to_path()),
            Self::Private(name) => store.repository().private_dir().join(name),
            Self::Trial(path) => path.clone(),
        }
    }
}

/// An error if `path` exists and cannot be written.
fn barred(path: &Path) -> Option<Error> {
    use rustix::fs::Access as Wanted;
    match rustix::fs::access(path, Wanted::WRITE_OK) {
        Err(rustix::io::Errno::NOENT) | Ok(()) => None,
        Err(error) => Some(Error::file("write to", path, &error.into())),
    }
}

/// Temporary files of aye's in `top`, and below it if `deep`, as paths in the work tree `root`.
/// `projection_unexpected` reports those of projections.
fn temporaries(root: &Path, top: &Path, deep: bool, now: DateTime<Utc>) -> Vec<RepoPath> {
    let depth = if deep { usize::MAX } else { 1 };
    let found = walkdir::WalkDir::new(top).min_depth(1).max_depth(depth).into_iter();
    found
        .filter_entry(|entry| entry.file_name() != ".git")
        .flatten()
        .filter(|entry| entry.file_type().is_file())
        .filter(|entry| is_temporary(entry.file_name().as_encoded_bytes()))
        .filter(|entry| is_old(entry.path(), now))
        .filter_map(|entry| {
            let path = entry.path().strip_prefix(root).ok()?;
            RepoPath::new(<[u8]>::from_path(path)?).ok()
        })
        .filter(|path| !path.as_bstr().starts_with(b".agent-memory/proposals/prop_"))
        .collect()
}

/// True for a name in `.git/aye` that only a temporary file has: a list of paths for git
/// (`.tmpAbCd12`), or a file that was not renamed into place (`.probe-0123456789abcdef`).
fn is_private(name: &BStr) -> bool {
    let Some(rest) = name.strip_prefix(b".") else { return false };
    if let Some(random) = rest.strip_prefix(b"tmp") {
        return random.len() == 6 && random.iter().all(u8::is_ascii_alphanumeric);
    }
    rest.rsplitn_str(2, "-").next().is_some_and(is_random) && rest.contains_str("-")
}

fn is_random(text: &[u8]) -> bool {
    text.len() == 16 && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

fn age(path: &Path, now: DateTime<Utc>) -> Option<Duration> {
    let changed = path.symlink_metadata().ok()?.modified().ok()?;
    (now - DateTime::<Utc>::from(changed)).to_std().ok()
}

fn is_old(path: &Path, now: DateTime<Utc>) -> bool {
    age(path, now).is_some_and(|age| age >= YOUNG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_that_aye_makes_are_its_temporaries() {
        assert!(is_temporary(b".aye-tmp-0123456789abcdef"));
        for other in [".aye-tmp-", ".aye-tmp-notes", ".aye-tmp-0123456789ABCDEF", "aye-tmp-0"] {
            assert!(!is_temporary(other.as_bytes()), "{other}");
        }
        for own in [".tmpAb12cd", ".probe-0123456789abcdef", ".idle-0123456789abcdef"] {
            assert!(is_private(own.into()), "{own}");
        }
        for other in ["probe", ".tmp", ".tmpabc", ".probe-1", ".0123456789abcdef", "tmpAb12cd"] {
            assert!(!is_private(other.into()), "{other}");
        }
    }
}
