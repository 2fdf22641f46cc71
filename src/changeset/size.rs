//! The setting that lets a file in that is larger than others may be.

/// Bytes by which the limit of a file is raised.
const STEP: u64 = 50 << 20;

/// What `aye.maxFileSize` has to be for a file of `size` bytes, with room for what is added to it.
pub fn setting_for(size: u64) -> String {
    format!("{}m", (size / STEP + 1).saturating_mul(STEP >> 20))
}
