//! Makes a command's files durable with few waits for the disk.
//!
//! A flush per file waits for the disk each time, and a small proposal has a dozen objects. ext4
//! and XFS commit names and sizes in order. Once the *contents* of new files and of their ref are
//! written out, one flush of the ref's directory makes all durable. Git relies on this, too
//! (`core.fsyncMethod=batch` in git-config(1)). Elsewhere each file and directory is flushed. ext4
//! without a journal gives no guarantee, as with git.

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Files waiting for a flush: some systems allow 256 open ones.
pub(crate) const OPEN: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FlushMethod {
    /// For rebuildable files and `core.fsync=none`.
    No,
    /// Flushes each file, then the directories.
    Each,
    /// Writes contents out; a later rename or flush (of a ref) is ordered after them.
    Ordered,
}

impl FlushMethod {
    /// For files below `directory` that a name below `barrier` makes reachable.
    pub fn durable(directory: &Path, barrier: &Path) -> Self {
        if ordered(directory) && same_device(directory, barrier) {
            Self::Ordered
        } else {
            Self::Each
        }
    }

    /// Flushes the directories of new names, where needed.
    pub fn directories(self, directories: &BTreeSet<PathBuf>) {
        if self == Self::Each {
            directories.iter().for_each(|directory| flush_directory(directory));
        }
    }

    pub fn files(self, files: &[File]) -> io::Result<()> {
        self.files_while(files, &mut || ())
    }

    /// Also calls `meanwhile` once: for `Ordered`, while the disk writes.
    pub fn files_while(self, files: &[File], meanwhile: &mut dyn FnMut()) -> io::Result<()> {
        if self == Self::Ordered {
            start(files);
        }
        meanwhile();
        match self {
            Self::No => Ok(()),
            Self::Each => files.iter().try_for_each(File::sync_data),
            Self::Ordered => wait(files),
        }
    }
}

/// Flushes the names in `directory`; errors are ignored.
pub(crate) fn flush_directory(directory: &Path) {
    let _ = sync_directory(directory);
}

pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all())
}

/// True if the file system commits names and sizes in order.
#[cfg(target_os = "linux")]
fn ordered(directory: &Path) -> bool {
    // Magic numbers of statfs(2).
    const EXT: u64 = 0xEF53;
    const XFS: u64 = 0x5846_5342;
    rustix::fs::statfs(directory).is_ok_and(|facts| matches!(facts.f_type as u64, EXT | XFS))
}

#[cfg(not(target_os = "linux"))]
fn ordered(_directory: &Path) -> bool {
    false
}

fn same_device(a: &Path, b: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let device = |path: &Path| path.metadata().map(|facts| facts.dev()).ok();
    a == b || device(a).is_some_and(|at| Some(at) == device(b))
}

/// Starts writing `files` out; `wait` reports errors.
#[cfg(target_os = "linux")]
fn start(files: &[File]) {
    for file in files {
        let _ = sync_file_range(file, libc::SYNC_FILE_RANGE_WRITE);
    }
}

#[cfg(target_os = "linux")]
fn wait(files: &[File]) -> io::Result<()> {
    const WAIT: u32 = libc::SYNC_FILE_RANGE_WAIT_BEFORE
        | libc::SYNC_FILE_RANGE_WRITE
        | libc::SYNC_FILE_RANGE_WAIT_AFTER;
    for file in files {
        match sync_file_range(file, WAIT) {
            Err(error) if error.raw_os_error() == Some(libc::ENOSYS) => file.sync_data()?,
            other => other?,
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn start(_files: &[File]) {}

#[cfg(not(target_os = "linux"))]
fn wait(files: &[File]) -> io::Result<()> {
    files.iter().try_for_each(File::sync_data)
}

/// sync_file_range(2) on all of `file`; no dependency offers it.
#[cfg(target_os = "linux")]
#[allow(unsafe_code)]
fn sync_file_range(file: &File, flags: u32) -> io::Result<()> {
    use std::os::fd::AsRawFd as _;
    // SAFETY: the call takes an open descriptor and three numbers, and touches no memory of ours.
    let result = unsafe { libc::sync_file_range(file.as_raw_fd(), 0, 0, flags) };
    if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_leaves_the_content() {
        use std::io::Write as _;
        let directory = tempfile::tempdir().unwrap();
        for method in [FlushMethod::No, FlushMethod::Each, FlushMethod::Ordered] {
            let path = directory.path().join(format!("{method:?}"));
            let mut file = File::create(&path).unwrap();
            file.write_all(b"content").unwrap();
            let mut calls = 0;
            method.files_while(&[file], &mut || calls += 1).unwrap();
            assert_eq!((calls, std::fs::read(path).unwrap()), (1, b"content".to_vec()));
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn only_a_journalled_file_system_on_one_device_is_ordered() {
        let directory = tempfile::tempdir().unwrap();
        // proc(5) is neither, and on another device.
        assert_eq!(
            FlushMethod::durable(Path::new("/proc/self"), directory.path()),
            FlushMethod::Each
        );
        assert_eq!(
            FlushMethod::durable(directory.path(), Path::new("/proc/self")),
            FlushMethod::Each
        );
        assert_eq!(
            FlushMethod::durable(&directory.path().join("none"), directory.path()),
            FlushMethod::Each
        );
    }
}
