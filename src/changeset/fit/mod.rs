//! Fits hunks and chunks of both dialects to a present file.

pub(super) mod failure;
pub(super) mod overlay;
pub(super) mod place;
mod report;
pub(super) mod write;

pub use report::{CompiledPatch, Dialect, FileAction, FileReport, HunkReport};

#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Leading components to strip from names (`-p`). `None`: one, or none if the names have no
    /// prefixes.
    pub strip: Option<usize>,
    /// Unified diffs only.
    pub reverse: bool,
    /// Hunks without context go to their line numbers.
    pub unidiff_zero: bool,
    /// The caller's option, for hints.
    pub unidiff_zero_option: Option<&'static str>,
    /// The caller's option, for hints.
    pub strip_option: Option<&'static str>,
}
