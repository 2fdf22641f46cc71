//! Hunks and chunks held against a present file: where they belong, and the report of it. Both dialects are
//! judged by it.

pub(super) mod failure;
pub(super) mod overlay;
pub(super) mod place;
mod report;
pub(super) mod write;

pub use report::{Action, Compiled, Dialect, FileReport, HunkReport};

/// How to read a patch.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Leading components to take off each name of a unified diff (`-p`). `None`: one, or none
    /// where the names have no prefixes.
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
