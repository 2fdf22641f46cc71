//! codes
/// Error codes of patches.
pub mod codes {
    crate::codes! {
        PATCH_INVALID = "patch_invalid", Invalid, "the input is no patch, or a malformed one";
        HUNK_FAILED = "hunk_failed", Conflict, "a hunk's lines are not in the file";
        HUNK_AMBIGUOUS = "hunk_ambiguous", Conflict, "a hunk's lines are in the file more than once and nothing says which is meant";
        BINARY_MISMATCH = "binary_mismatch", Conflict, "a binary hunk was made for another content";
        FILE_MODE_REFUSED = "file_mode_refused", Invalid, "the patch makes or changes something that is no regular file, or sets special mode bits";
        ALREADY_APPLIED = "already_applied", Negative, "every change of the patch is there already";
    }
}
