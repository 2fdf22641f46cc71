//! The envelope dialect: `*** Begin Patch` … `*** End Patch`, as coding agents write it.
//!
//! The grammar is that of the `apply_patch` tool of OpenAI's Codex. Where that tool is known to do
//! harm (the first of several matches, a move onto itself that deletes, an insertion that lands at
//! the end of the file, mixed line endings), this reader asks or does the plain thing instead.

mod apply;
mod parse;
#[cfg(test)]
mod tests;
mod update;

pub use apply::compile;
pub use parse::{is_envelope, parse, refuse_command};

use super::unified::{Line, LineKind};

/// One file operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<'a> {
    /// Line of the patch it starts on, counted from 1.
    pub number: usize,
    /// The path as written, without blanks around it.
    pub path: &'a [u8],
    /// What to do there.
    pub kind: Change<'a>,
}

/// What an operation does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change<'a> {
    /// Create the file with these lines (without their endings).
    Add(Vec<&'a [u8]>),
    /// Delete it.
    Delete,
    /// Change it, and perhaps move it.
    Update {
        /// `*** Move to:`
        to: Option<&'a [u8]>,
        /// The changes, top to bottom.
        chunks: Vec<Chunk<'a>>,
    },
}

/// One run of context and changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Line of the patch it starts on, counted from 1.
    pub number: usize,
    /// The lines named by `@@`, in order; each is looked for below the one before.
    pub anchors: Vec<&'a [u8]>,
    /// Context and changes, without line endings.
    pub lines: Vec<Line<'a>>,
    /// `*** End of File`: it is at the end.
    pub at_end: bool,
    /// How many lines at its end are entirely empty in the patch. They may be context, or only
    /// space between sections.
    pub loose_tail: usize,
}

impl<'a> Chunk<'a> {
    /// The lines it finds, less `cut` at the end.
    fn old_lines(&self, cut: usize) -> Vec<&'a [u8]> {
        let old = self.kept(cut).iter().filter(|line| line.kind != LineKind::Added);
        old.map(|line| line.bytes).collect()
    }

    /// Its lines, less `cut` at the end.
    fn kept(&self, cut: usize) -> &[Line<'a>] {
        &self.lines[..self.lines.len() - cut]
    }

    /// How many lines at its end may be left out, in the order to try.
    fn cuts(&self) -> Vec<usize> {
        if self.loose_tail == 0 { vec![0] } else { vec![0, self.loose_tail] }
    }

    /// The one line at its end that may stand for the newline the file ends in, as where a text is
    /// taken apart at its newlines: empty context.
    fn final_newline(&self) -> Option<usize> {
        let last = self.lines.last().filter(|_| self.loose_tail == 0)?;
        (last.kind == LineKind::Context && last.bytes.is_empty()).then_some(1)
    }

    fn count(&self, kind: LineKind) -> usize {
        self.lines.iter().filter(|line| line.kind == kind).count()
    }
}
