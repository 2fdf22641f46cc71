//! The unified dialect: everything `git diff`, `git show`, `git format-patch` and GNU `diff -u`
//! print, read as bytes and borrowed from the input.
//!
//! Reading is syntax only; what the names and hunks mean for present files is judged in
//! [`super::patch`]. The reference is git's own `apply.c`; where this reader accepts more (wrong
//! counts, a missing mode line), it says so in the result.

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
pub use names::Side;
pub use parse::parse;
pub(in crate::changeset) use refusal::{excerpt, invalid, unsupported};

/// What a patch says about one file.
#[derive(Clone, Debug, Default)]
pub struct FilePatch<'a> {
    /// Line of the patch its header starts on, counted from 1.
    pub number: usize,
    /// Which commit of a series it belongs to, counted from 0. Each is judged on the result of
    /// the one before.
    pub stage: usize,
    /// What follows `diff --git `, if it has such a line.
    pub git: Option<&'a [u8]>,
    /// The `---` line.
    pub old: Option<Side>,
    /// The `+++` line.
    pub new: Option<Side>,
    /// `rename from` and `rename to`, or `copy from` and `copy to`.
    pub from: Option<Vec<u8>>,
    /// See `from`.
    pub to: Option<Vec<u8>>,
    /// The content of `from` stays where it was.
    pub copy: bool,
    /// `old mode`, or the mode of a deleted file.
    pub old_mode: Option<u32>,
    /// `new mode`, or the mode of a new file.
    pub new_mode: Option<u32>,
    /// Mode of the `index` line, which stays the same.
    pub index_mode: Option<u32>,
    /// It has a `new file mode` line.
    pub creates: bool,
    /// It has a `deleted file mode` line.
    pub deletes: bool,
    /// The blob ids of the `index` line, perhaps abbreviated.
    pub index: Option<(&'a [u8], &'a [u8])>,
    /// Its `similarity index` says that the content changes too.
    pub alters: bool,
    /// What changes, in the order of the patch.
    pub hunks: Vec<Hunk<'a>>,
    /// A binary change: forward, and backward where given.
    pub binary: Option<[Option<Block<'a>>; 2]>,
    /// Its header ends its lines in CRLF: so does whatever the patch went through, and a CR at the
    /// end of a line is none of its text.
    pub crlf: bool,
    /// `Binary files … differ`: there is a change, but not in the patch.
    pub content_missing: bool,
}

impl FilePatch<'_> {
    /// Where it says that there is a change and not what: a header whose rest was cut off.
    pub(super) fn is_cut_off(&self) -> bool {
        // By SHA-1 and by SHA-256.
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

    /// The same change backwards.
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

/// One hunk of text.
#[derive(Clone, Debug)]
pub struct Hunk<'a> {
    /// Line of the patch that starts with `@@`, counted from 1.
    pub number: usize,
    /// First line in the old file, counted from 1 (0: before the first, for an empty range).
    /// `None` for a bare `@@`.
    pub old_start: Option<usize>,
    /// The same in the new file.
    pub new_start: Option<usize>,
    /// The lines.
    pub lines: Vec<Line<'a>>,
    /// The counts in the header were wrong, or there were none.
    pub recounted: bool,
    /// The input ends before all the lines that the header counts: wrong counts, or a patch that
    /// was cut off.
    pub short: bool,
}

/// One line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// In which of the two files it is.
    pub kind: LineKind,
    /// Its bytes with the LF, without where `\ No newline at end of file` follows.
    pub bytes: &'a [u8],
}

/// In which of the two files a line is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineKind {
    /// In both.
    Context,
    /// In the old file.
    Removed,
    /// In the new file.
    Added,
}

impl<'a> Hunk<'a> {
    /// The lines it finds in the old file.
    pub fn old_lines(&self) -> impl Iterator<Item = &Line<'a>> {
        self.lines.iter().filter(|line| line.kind != LineKind::Added)
    }

    /// The lines it leaves in the new file.
    pub fn new_lines(&self) -> impl Iterator<Item = &Line<'a>> {
        self.lines.iter().filter(|line| line.kind != LineKind::Removed)
    }

    /// How many lines it adds and removes.
    pub fn counts(&self) -> (usize, usize) {
        let count = |kind| self.lines.iter().filter(|line| line.kind == kind).count();
        (count(LineKind::Added), count(LineKind::Removed))
    }

    /// How many context lines there are after the last change.
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
