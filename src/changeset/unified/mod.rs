//! The unified dialect: output of `git diff`, `git show`, `git format-patch` and GNU `diff -u`,
//! borrowed from the input.
//!
//! Only syntax is read; [`super::patch`] applies it. The reference is git's `apply.c`. The result
//! says if more was accepted (wrong counts, a missing mode line).

mod binary;
mod cursor;
mod header;
mod hunk;
mod mail;
pub mod names;
mod parse;
mod refusal;
#[cfg(test)]
mod tests;

pub use binary::Block;
pub(in crate::changeset) use mail::starts_commit;
pub use names::HeaderName;
pub use parse::parse;
pub(in crate::changeset) use refusal::{excerpt, invalid, unsupported};

#[derive(Clone, Debug, Default)]
pub struct FilePatch<'a> {
    /// Line in the patch, from 1.
    pub number: usize,
    /// Commit in a series, from 0; each applies to the result of the one before.
    pub stage: usize,
    /// Text after `diff --git `.
    pub git: Option<&'a [u8]>,
    pub old: Option<HeaderName>,
    pub new: Option<HeaderName>,
    /// `rename from` or `copy from`.
    pub from: Option<Vec<u8>>,
    /// `rename to` or `copy to`.
    pub to: Option<Vec<u8>>,
    /// `from` keeps its content.
    pub copy: bool,
    /// `old mode`, or the mode of a deleted file.
    pub old_mode: Option<u32>,
    /// `new mode`, or the mode of a new file.
    pub new_mode: Option<u32>,
    /// Mode of the `index` line.
    pub index_mode: Option<u32>,
    pub creates: bool,
    pub deletes: bool,
    /// Ids of the `index` line, perhaps abbreviated.
    pub index: Option<(&'a [u8], &'a [u8])>,
    /// `similarity index` below 100 %: the content changes too.
    pub alters: bool,
    pub hunks: Vec<PatchHunk<'a>>,
    /// Forward, and backward where given.
    pub binary: Option<[Option<Block<'a>>; 2]>,
    /// Transport wrote CRLF into the header, so a CR at a line's end is not content.
    pub crlf: bool,
    /// `Binary files … differ`: the change is not in the patch.
    pub content_missing: bool,
}

impl FilePatch<'_> {
    /// True if a change is announced but absent.
    pub(super) fn is_cut_off(&self) -> bool {
        const EMPTY: [&str; 2] = [
            "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
            "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
        ];
        let is_headed = self.git.is_some() && self.hunks.is_empty();
        if !is_headed || self.binary.is_some() || self.content_missing {
            return false;
        }
        let none = |id: &[u8]| {
            let empty = EMPTY.iter().any(|empty| empty.as_bytes().starts_with(id));
            empty || id.iter().all(|b| *b == b'0')
        };
        let other_content =
            self.index.is_some_and(|(old, new)| old != new && !(none(old) && none(new)));
        let changes_mode = self.old_mode.is_some() && self.new_mode.is_some();
        let says_nothing = !(self.creates || self.deletes || self.from.is_some() || changes_mode);
        self.alters || self.old.is_some() || self.new.is_some() || says_nothing || other_content
    }

    pub fn reverse(&mut self) {
        std::mem::swap(&mut self.old, &mut self.new);
        std::mem::swap(&mut self.from, &mut self.to);
        std::mem::swap(&mut self.old_mode, &mut self.new_mode);
        std::mem::swap(&mut self.creates, &mut self.deletes);
        self.index = self.index.map(|(old, new)| (new, old));
        self.binary = self.binary.map(|[forward, backward]| [backward, forward]);
        for hunk in &mut self.hunks {
            hunk.reverse();
        }
    }
}

#[derive(Clone, Debug)]
pub struct PatchHunk<'a> {
    /// Line in the patch, from 1.
    pub number: usize,
    /// First line, from 1 (0: before the first, for an empty range). `None` for a bare `@@`.
    pub old_start: Option<usize>,
    /// As `old_start`.
    pub new_start: Option<usize>,
    pub lines: Vec<PatchLine<'a>>,
    /// Counts were wrong or missing.
    pub recounted: bool,
    /// Input ends before all counted lines: wrong counts, or a truncated patch.
    pub short: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PatchLine<'a> {
    pub kind: LineKind,
    /// With the LF, unless `\ No newline at end of file` follows.
    pub bytes: &'a [u8],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    Context,
    Removed,
    Added,
}

impl<'a> PatchHunk<'a> {
    pub fn old_lines(&self) -> impl Iterator<Item = &PatchLine<'a>> {
        self.lines.iter().filter(|line| line.kind != LineKind::Added)
    }

    pub fn new_lines(&self) -> impl Iterator<Item = &PatchLine<'a>> {
        self.lines.iter().filter(|line| line.kind != LineKind::Removed)
    }

    pub fn counts(&self) -> (usize, usize) {
        let count = |kind| self.lines.iter().filter(|line| line.kind == kind).count();
        (count(LineKind::Added), count(LineKind::Removed))
    }

    /// After the last change.
    pub fn trailing_context(&self) -> usize {
        self.lines.iter().rev().take_while(|line| line.kind == LineKind::Context).count()
    }

    fn reverse(&mut self) {
        std::mem::swap(&mut self.old_start, &mut self.new_start);
        for line in &mut self.lines {
            line.kind = match line.kind {
                LineKind::Context => LineKind::Context,
                LineKind::Removed => LineKind::Added,
                LineKind::Added => LineKind::Removed,
            };
        }
    }
}
