//! Modification times in a new tree, by which a copied build compares sources. Copies keep their
//! original's time, tracked files with equal content the checkout's. Other files are as new as the
//! tree, and are rebuilt.

use std::fs::{self, Metadata};
use std::path::Path;
use std::{io, thread};

use bstr::ByteSlice as _;
use gix::index::entry::stat::Options;
use gix::index::entry::{Mode, Stat};
use gix::index::fs::Metadata as Facts;
use gix::index::{Entry, File, PathStorageRef, State, decode, write};

use crate::error::{Error, Result};
use crate::repository::{Repository, stat_match};

/// More threads would wait for the same file system; fewer files do not repay one.
const MOST: usize = 4;
const FEW: usize = 64;

pub(super) fn keep(to: &Path, facts: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::MetadataExt as _;

    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};
    let omitted = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let modified = Timespec { tv_sec: facts.mtime(), tv_nsec: facts.mtime_nsec() };
    let times = Timestamps { last_access: omitted, last_modification: modified };
    Ok(utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Gives files with equal content the checkout's times, in a tree just created by git. The index
/// records the times: git would otherwise read every file again.
pub(super) fn follow(repository: &Repository, tree: &Path) -> Result<()> {
    let Some(top) = repository.work_dir() else { return Ok(()) };
    let failed = |error: &io::Error| {
        Error::io(format_args!("keep the times of files in {}", tree.display()), error)
    };
    let broken = |error: gix::Error| failed(&io::Error::other(error.to_string()));
    let own = repository.repo().index_or_empty();
    let own = own.map_err(|error| failed(&io::Error::other(error.to_string())))?;
    let path = tree.join(".git/index");
    let kind = repository.repo().object_hash();
    let mut index = File::at(path, kind, false, decode::Options::default()).map_err(broken)?;
    let (entries, paths) = index.entries_mut_and_pathbacking();
    let follow = |entries: &mut [Entry]| {
        entries.iter_mut().try_for_each(|entry| one(entry, paths, (&own, &top), tree))
    };
    let threads = thread::available_parallelism().map_or(1, |count| count.get().min(MOST));
    let part = entries.len().div_ceil(threads).max(FEW);
    thread::scope(|scope| {
        let parts = entries.chunks_mut(part);
        let parts = parts
            .map(|part| thread::Builder::new().spawn_scoped(scope, || follow(part)))
            .collect::<io::Result<Vec<_>>>()?;
        let mut ends = parts.into_iter().map(|part| part.join());
        ends.try_for_each(|end| end.unwrap_or_else(|_| Err(io::ErrorKind::Other.into())))
    })
    .map_err(|error: io::Error| failed(&error))?;
    index.write(write::Options::default()).map_err(broken)
}

/// `own` is the index of the checkout at `top`.
fn one(
    entry: &mut Entry,
    paths: &PathStorageRef,
    (own, top): (&State, &Path),
    tree: &Path,
) -> io::Result<()> {
    let path = entry.path_in(paths);
    let Ok(inside) = path.to_path() else { return Ok(()) };
    if !matches!(entry.mode, Mode::FILE | Mode::FILE_EXECUTABLE) {
        return Ok(());
    }
    let (from, to) = (top.join(inside), tree.join(inside));
    let Ok(facts) = from.symlink_metadata() else { return Ok(()) };
    if !facts.is_file() || facts.len() != u64::from(entry.stat.size) {
        return Ok(());
    }
    let is_known = |known: &Entry| {
        known.id == entry.id
            && Facts::from_path_no_follow(&from)
                .is_ok_and(|facts| stat_match::is_untouched(own, known, &facts, Options::default()))
    };
    let is_same = || matches!((fs::read(&from), fs::read(&to)), (Ok(own), Ok(it)) if own == it);
    if own.entry_by_path(path).is_some_and(is_known) || is_same() {
        keep(&to, &facts)?;
        entry.stat = Stat::from_fs(&Facts::from_path_no_follow(&to)?).map_err(io::Error::other)?;
    }
    Ok(())
}
