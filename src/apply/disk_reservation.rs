//! Reserves disk space for a commit's record.

use std::fs::File;

use crate::error::{Error, Result};
use crate::repository::Repository;

/// Bytes for an event: objects, trees, ref and directories.
const RECORD: u64 = 256 * 1024;

/// Bytes per file: its line in the event and its tree entry.
const FILE: u64 = 1024;

/// An unnamed file that takes space; freed on drop or kill.
pub struct DiskReservation(#[expect(dead_code, reason = "it is there to be closed")] File);

impl DiskReservation {
    /// Reserves space for a record of `files` files, where the file system can.
    ///
    /// # Errors
    /// `disk_full`.
    pub fn hold(repository: &Repository, files: usize) -> Result<Self> {
        let failed = |error: std::io::Error| Error::io("hold room for the record", &error);
        let file = tempfile::tempfile_in(repository.private_dir()).map_err(failed)?;
        #[cfg(target_os = "linux")]
        {
            let size = RECORD + FILE * files as u64;
            let held = rustix::fs::fallocate(&file, rustix::fs::FallocateFlags::empty(), 0, size);
            if let Err(rustix::io::Errno::NOSPC | rustix::io::Errno::DQUOT) = held {
                return Err(failed(std::io::ErrorKind::StorageFull.into()));
            }
        }
        #[cfg(not(target_os = "linux"))]
        let _ = (files, RECORD, FILE);
        crate::failpoint!("apply.room", io).map_err(failed)?;
        Ok(Self(file))
    }
}
