//! Room on the disk for the record of a commit, held while git and its hooks run.

use std::fs::File;

use crate::error::{Error, Result};
use crate::repository::Repository;

/// What the objects of an event, the trees above them, the ref and the directories of these
/// may take, in bytes.
const RECORD: u64 = 256 * 1024;

/// What one file of the proposal may add to them: its line in the event, its tree entry.
const FILE: u64 = 1024;

/// A file without a name that takes up room. Dropped, also by a kill, the room is free again.
pub struct Room(#[expect(dead_code, reason = "it is there to be closed")] File);

impl Room {
    /// Holds room for the record of `files` files where the file system can; the rest is chance.
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
