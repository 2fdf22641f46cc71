//! Limits and error codes of patches. A larger patch is refused before anything is built from it.

use super::file::File;
use crate::error::{Error, Result, codes as general};

pub mod codes {
    crate::codes! {
        PATCH_INVALID = "patch_invalid", Invalid, "the input is not a patch, or is malformed";
        PATCH_UNSUPPORTED = "patch_unsupported", Invalid, "the patch has a format that only another program reads";
        HUNK_FAILED = "hunk_failed", Conflict, "the file does not have the lines of a hunk";
        HUNK_AMBIGUOUS = "hunk_ambiguous", Conflict, "the file has the lines of a hunk more than once";
        BINARY_MISMATCH = "binary_mismatch", Conflict, "a binary hunk belongs to other content";
        FILE_MODE_REFUSED = "file_mode_refused", Invalid, "the patch creates a file that is not regular, or sets special mode bits";
        ALREADY_APPLIED = "already_applied", Negative, "the files have every change of the patch already";
    }
}

/// In bytes.
pub const PATCH: usize = 64 << 20;
/// In bytes.
pub const LINE: usize = 8 << 20;
pub const LINES: usize = 4_000_000;
/// Hunks, or chunks of an envelope.
pub const HUNKS: usize = 200_000;
pub const FILES: usize = 50_000;
/// Bytes of one resulting file.
pub const FILE: usize = 128 << 20;
/// Bytes of all files read and written.
pub const TOTAL: usize = 512 << 20;

/// Remainder of [`TOTAL`].
#[derive(Debug)]
pub(super) struct Budget(usize);

impl Default for Budget {
    fn default() -> Self {
        Self(TOTAL)
    }
}

impl Budget {
    /// For one more file.
    pub fn left(&self) -> usize {
        FILE.min(self.0)
    }

    /// # Errors
    /// `size_limit_exceeded`, for the file or the total.
    pub fn spend(&mut self, file: Option<&File>) -> Result<()> {
        let bytes = file.map_or(0, |file| file.bytes.len());
        if bytes > FILE {
            return Err(too_large(bytes, FILE));
        }
        match self.0.checked_sub(bytes) {
            Some(left) => self.0 = left,
            None => {
                let what = format!("the files of the patch have over {TOTAL} bytes in all");
                return Err(Error::new(&general::SIZE_LIMIT, what)
                    .hint("split the patch into smaller ones"));
            }
        }
        Ok(())
    }
}

pub(super) fn too_large(bytes: usize, limit: usize) -> Error {
    let what = format!("a file of the patch has {bytes} bytes; the limit is {limit}");
    Error::new(&general::SIZE_LIMIT, what).hint("split the patch into smaller ones")
}
