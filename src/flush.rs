//! How the files of one command reach the disk: with as few waits for the drive as their file
//! system allows.
//!
//! A flush per file costs a wait for the drive each, and a small proposal has a dozen objects.
//! ext4 and XFS commit changes of names and sizes in order: once the *content* of the new files is
//! written out, and that of the ref that names them, flushing the directory in which the ref gets its
//! name makes all of it durable at once, for what came before it in the journal is on the disk before
//! it is. git relies on the same
//! (`core.fsyncMethod=batch` in git-config(1)). Everywhere else each file is flushed, and each
//! directory in which it got its name. (An ext4 made without its journal gets no more than with git:
//! a power cut there can take what it likes.)

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// Most files that wait for their flush at once: a process may have few open, 256 on some systems.
pub(crate) const OPEN: usize = 64;

/// What is done with new files before they get their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Method {
    /// Nothing: what can be rebuilt, or `core.fsync=none`.
    No,
    /// Each is flushed, and then the directories of their names.
    Each,
    /// Their content is written out. What is renamed or flushed later (a ref) comes after them.
    Ordered,
}

impl Method {
    /// What durable files below `directory` need, when what names them is below `barrier`.
    pub fn durable(directory: &Path, barrier: &Path) -> Self {
        if ordered(directory) && same_device(directory, barrier) {
            Self::Ordered
        } else {
            Self::Each
        }
    }

    /// Sees off the directories in which files have got their names.
    pub fn directories(self, directories: &BTreeSet<PathBuf>) {
        if self == Self::Each {
            directories.iter().for_each(|directory| flush_directory(directory));
        }
    }

    /// Sees `files` off.
    ///
    /// # Errors
    /// The system's, of writing to the disk.
    pub fn files(self, files: &[File]) -> io::Result<()> {
        self.files_while(files, &mut || ())
    }

    /// As [`Method::files`], and calls `meanwhile` once: while the drive writes, where the files do
    /// not wait for it one by one.
    ///
    /// # Errors
    /// As [`Method::files`].
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

/// Makes the names in `directory` durable where the system can (Windows cannot, nor needs to).
pub(crate) fn flush_directory(directory: &Path) {
    let _ = sync_directory(directory);
}

/// The same, and says where it fails.
///
/// # Errors
/// The system's, of opening the directory and of writing to the disk.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    File::open(directory).and_then(|directory| directory.sync_all())
}

/// Whether the file system of `directory` commits names and sizes in the order they were made.
#[cfg(target_os = "linux")]
fn ordered(directory: &Path) -> bool {
    // statfs(2).
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

/// Starts writing all of `files` out. Only a head start: what fails here fails again in [`wait`].
#[cfg(target_os = "linux")]
fn start(files: &[File]) {
    for file in files {
        let _ = sync_file_range(file, libc::SYNC_FILE_RANGE_WRITE);
    }
}

/// Waits until each of `files` is written out.
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

/// sync_file_range(2) over the whole of `file`; no crate at hand has it.
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
        for method in [Method::No, Method::Each, Method::Ordered] {
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
        // proc(5) is neither, and another device than any directory for temporary files.
        assert_eq!(Method::durable(Path::new("/proc/self"), directory.path()), Method::Each);
        assert_eq!(Method::durable(directory.path(), Path::new("/proc/self")), Method::Each);
        assert_eq!(Method::durable(&directory.path().join("none"), directory.path()), Method::Each);
    }
}
