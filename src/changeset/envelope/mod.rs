//! The envelope dialect of coding agents: `*** Begin Patch` … `*** End Patch`.
//!
//! The grammar is that of `apply_patch` in OpenAI's Codex. That tool takes the first of several
//! matches, deletes a file moved onto itself, inserts at the end of the file, and mixes line
//! endings. This reader asks, or does the plain thing.

mod apply;
mod parse;
#[cfg(test)]
mod tests;
mod update;

pub use apply::compile;
pub use parse::{is_envelope, parse, refuse_command};

use super::unified::{LineKind, PatchLine};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation<'a> {
    /// Line in the patch, from 1.
    pub number: usize,
    /// Without surrounding whitespace.
    pub path: &'a [u8],
    pub kind: OperationKind<'a>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OperationKind<'a> {
    /// Lines without endings.
    Add(Vec<&'a [u8]>),
    Delete,
    Update {
        /// `*** Move to:`
        to: Option<&'a [u8]>,
        /// Top to bottom.
        chunks: Vec<Chunk<'a>>,
    },
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chunk<'a> {
    /// Line in the patch, from 1.
    pub number: usize,
    /// Lines named by `@@`, each below the one before.
    pub anchors: Vec<&'a [u8]>,
    /// Without line endings.
    pub lines: Vec<PatchLine<'a>>,
    /// `*** End of File`.
    pub at_end: bool,
    /// Entirely empty lines at the end: context, or space between sections.
    pub loose_tail: usize,
}

impl<'a> Chunk<'a> {
    /// Less `cut` at the end.
    fn old_lines(&self, cut: usize) -> Vec<&'a [u8]> {
        let old = self.kept(cut).iter().filter(|line| line.kind != LineKind::Added);
        old.map(|line| line.bytes).collect()
    }

    /// Less `cut` at the end.
    fn kept(&self, cut: usize) -> &[PatchLine<'a>] {
        &self.lines[..self.lines.len() - cut]
    }

    /// Lines to drop at the end, in the order to try.
    fn cuts(&self) -> Vec<usize> {
        if self.loose_tail == 0 { vec![0] } else { vec![0, self.loose_tail] }
    }

    /// Empty context at the end may be the file's final newline, from a text split at newlines.
    fn final_newline(&self) -> Option<usize> {
        let last = self.lines.last().filter(|_| self.loose_tail == 0)?;
        (last.kind == LineKind::Context && last.bytes.is_empty()).then_some(1)
    }

    fn count(&self, kind: LineKind) -> usize {
        self.lines.iter().filter(|line| line.kind == kind).count()
    }
}
