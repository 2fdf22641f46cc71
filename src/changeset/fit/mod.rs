//! Hunks and chunks held against a present file: where they belong, how sure that is, and the report of
//! it. Both dialects are judged by it.

pub(super) mod evidence;
pub(super) mod failure;
pub(super) mod place;
mod report;

pub use report::{Action, Compiled, Dialect, FileReport, HunkReport};

use super::limits::codes;
use crate::error::Error;

/// How to read a patch.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Leading components to take off each name of a unified diff (`-p`). `None`: one, or none
    /// where only that makes sense of the names.
    pub strip: Option<usize>,
    /// Apply it backwards. Unified diffs only.
    pub reverse: bool,
    /// Hunks without context are meant, and go where their line numbers say.
    pub unidiff_zero: bool,
    /// How the caller says that, for hints; `None` where it cannot.
    pub zero_is_said: Option<&'static str>,
    /// How the caller says `strip`, for hints; `None` where it cannot.
    pub strip_is_said: Option<&'static str>,
}

/// Failures that a patch which has been applied before runs into.
pub(super) fn may_be_applied(error: &Error) -> bool {
    use super::codes::{FILE_EXISTS, FILE_NOT_FOUND, NO_CHANGE};
    [&codes::HUNK_FAILED, &codes::BINARY_MISMATCH, &FILE_EXISTS, &FILE_NOT_FOUND, &NO_CHANGE]
        .into_iter()
        .any(|code| error.is(code))
}
