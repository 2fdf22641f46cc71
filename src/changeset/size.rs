//! The setting that allows a larger file.

/// Step, in bytes.
const STEP: u64 = 50 << 20;

/// Value of `aye.maxFileSize` for `size` bytes, with room to grow.
pub fn setting_for(size: u64) -> String {
    format!("{}m", (size / STEP + 1).saturating_mul(STEP >> 20))
}
