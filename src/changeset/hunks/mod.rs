//! Hunks: the line difference of two contents, on bytes, split at LF alone.
//!
//! One backend shows, emits and splits differences: the hunk in a review is the hunk in the patch
//! and the hunk applied. The algorithm is histogram with git's indent heuristic. gitoxide's fork of
//! imara-diff fixes the order in which sliders move, and is linked anyway.

mod partial;
mod text;

pub use partial::{Choice, compose};
pub use text::Text;
pub(crate) use text::count_lines;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bstr::ByteSlice as _;
use gix::diff::blob::{Algorithm, InternedInput};
use serde::{Deserialize, Serialize};

/// As in git.
pub const CONTEXT: usize = 3;

/// Largest file in bytes compared by lines by default.
pub const MOST_BYTES: usize = 10 << 20;

/// Most lines by default, from the first to the last difference.
pub const MOST_LINES: usize = 200_000;

/// A run of changed lines, 0-based. One side may be empty, never both. At least one equal line
/// separates two edits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LineEdit {
    pub before: Range<usize>,
    pub after: Range<usize>,
}

/// Lines are 0-based.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hunk {
    /// Context included.
    pub before: Range<usize>,
    /// Context included.
    pub after: Range<usize>,
    pub edits: Range<usize>,
}

impl fmt::Display for Hunk {
    /// As git counts: `@@ -1,3 +1,4 @@`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let side = |f: &mut fmt::Formatter<'_>, range: &Range<usize>| match range.len() {
            0 => write!(f, "{},0", range.start),
            1 => write!(f, "{}", range.start + 1),
            n => write!(f, "{},{n}", range.start + 1),
        };
        f.write_str("@@ -")?;
        side(f, &self.before)?;
        f.write_str(" +")?;
        side(f, &self.after)?;
        f.write_str(" @@")
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LineSide {
    Context,
    Removed,
    Added,
}

impl LineSide {
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    pub side: LineSide,
    /// With the LF; only the last line may lack it.
    pub bytes: &'a [u8],
    /// 0-based; `None` for an added line.
    pub before: Option<usize>,
    /// 0-based; `None` for a removed line.
    pub after: Option<usize>,
}

impl<'a> Line<'a> {
    /// Without the LF.
    pub fn content(&self) -> &'a [u8] {
        self.bytes.strip_suffix(b"\n").unwrap_or(self.bytes)
    }

    /// False for a last line without LF.
    pub fn is_terminated(&self) -> bool {
        self.bytes.ends_with(b"\n")
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Counts {
    pub added: usize,
    pub removed: usize,
}

impl fmt::Display for Counts {
    /// `+12 −3`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{} −{}", self.added, self.removed)
    }
}

impl Counts {
    pub fn sum(self) -> usize {
        self.added + self.removed
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.removed += other.removed;
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lines {
    Counted(Counts),
    /// A file is binary or too large.
    NotByLines,
    /// Content is missing.
    #[default]
    NotHere,
}

impl Lines {
    pub fn counts(self) -> Option<Counts> {
        match self {
            Self::Counted(counts) => Some(counts),
            Self::NotByLines | Self::NotHere => None,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Diff<'a> {
    before: Text<'a>,
    after: Text<'a>,
    edits: Vec<LineEdit>,
}

impl<'a> Diff<'a> {
    /// Borrowed bytes are not copied; owned ones (`Vec<u8>`) make a `Diff<'static>`.
    ///
    /// Contents that differ too much ([`is_large`]) have one edit.
    pub fn new(before: impl Into<Cow<'a, [u8]>>, after: impl Into<Cow<'a, [u8]>>) -> Self {
        let (before, after) = (Text::new(before), Text::new(after));
        let edits = if is_large(before.bytes(), after.bytes()) {
            vec![one_edit(before.bytes(), after.bytes())]
        } else {
            edits(&before, &after)
        };
        Self { before, after, edits }
    }

    /// At any cost, for an explicit request.
    pub fn exact(before: impl Into<Cow<'a, [u8]>>, after: impl Into<Cow<'a, [u8]>>) -> Self {
        let (before, after) = (Text::new(before), Text::new(after));
        let edits = edits(&before, &after);
        Self { before, after, edits }
    }

    pub fn before(&self) -> &Text<'a> {
        &self.before
    }

    pub fn after(&self) -> &Text<'a> {
        &self.after
    }

    pub fn edits(&self) -> &[LineEdit] {
        &self.edits
    }

    pub fn counts(&self) -> Counts {
        self.counts_of(0..self.edits.len())
    }

    pub fn counts_of(&self, range: Range<usize>) -> Counts {
        let mut counts = Counts::default();
        for edit in &self.edits[range] {
            counts += Counts { added: edit.after.len(), removed: edit.before.len() };
        }
        counts
    }

    /// As in git, edits whose contexts touch share a hunk.
    pub fn hunks(&self, context: usize) -> Vec<Hunk> {
        let mut hunks = Vec::new();
        let mut start = 0;
        for end in 1..=self.edits.len() {
            let apart = match self.edits.get(end) {
                Some(next) => {
                    let gap = next.before.start - self.edits[end - 1].before.end;
                    gap > context.saturating_mul(2)
                }
                None => true,
            };
            if apart {
                hunks.push(self.hunk(start..end, context));
                start = end;
            }
        }
        hunks
    }

    /// `range` is not empty. Up to `context` lines stop at neighbouring edits.
    pub fn hunk(&self, range: Range<usize>, context: usize) -> Hunk {
        let (first, last) = (&self.edits[range.start], &self.edits[range.end - 1]);
        let above = match range.start.checked_sub(1) {
            Some(previous) => first.before.start - self.edits[previous].before.end,
            None => first.before.start,
        };
        let below = match self.edits.get(range.end) {
            Some(next) => next.before.start - last.before.end,
            None => self.before.len() - last.before.end,
        };
        let (above, below) = (above.min(context), below.min(context));
        Hunk {
            before: first.before.start - above..last.before.end + below,
            after: first.after.start - above..last.after.end + below,
            edits: range,
        }
    }

    /// One hunk for each edit.
    pub fn split(&self, hunk: &Hunk, context: usize) -> Vec<Hunk> {
        hunk.edits.clone().map(|edit| self.hunk(edit..edit + 1, context)).collect()
    }

    /// `hunk` without lines that differ in whitespace alone, as in `git diff -w`: one hunk of the
    /// same lines.
    pub fn ignoring_space(&self, hunk: &Hunk) -> (Diff<'_>, Hunk) {
        let before = without_space(self.before.lines(hunk.before.clone()));
        let after = without_space(self.after.lines(hunk.after.clone()));
        let mut edits = Diff::new(before, after).edits;
        for edit in &mut edits {
            let lower = |range: &Range<usize>, by: usize| range.start + by..range.end + by;
            edit.before = lower(&edit.before, hunk.before.start);
            edit.after = lower(&edit.after, hunk.after.start);
        }
        let hunk = Hunk { edits: 0..edits.len(), ..hunk.clone() };
        (Diff { before: self.before.borrowed(), after: self.after.borrowed(), edits }, hunk)
    }

    /// The whole file as one hunk.
    pub fn whole(&self) -> Hunk {
        Hunk {
            before: 0..self.before.len(),
            after: 0..self.after.len(),
            edits: 0..self.edits.len(),
        }
    }

    /// Removed before added lines in each edit.
    pub fn lines<'d>(&'d self, hunk: &Hunk) -> impl Iterator<Item = Line<'d>> + use<'d, 'a> {
        let mut edits = self.edits[hunk.edits.clone()].iter();
        let mut edit = edits.next();
        let (mut before, mut after) = (hunk.before.start, hunk.after.start);
        let end = hunk.before.end;
        std::iter::from_fn(move || {
            if let Some(current) = edit {
                if current.before.contains(&before) {
                    before += 1;
                    let bytes = self.before.line(before - 1);
                    return Some(Line {
                        side: LineSide::Removed,
                        bytes,
                        before: Some(before - 1),
                        after: None,
                    });
                }
                if before >= current.before.end && after < current.after.end {
                    after += 1;
                    let bytes = self.after.line(after - 1);
                    return Some(Line {
                        side: LineSide::Added,
                        bytes,
                        before: None,
                        after: Some(after - 1),
                    });
                }
                if before >= current.before.end {
                    edit = edits.next();
                }
            }
            if before >= end {
                return None;
            }
            (before, after) = (before + 1, after + 1);
            Some(Line {
                side: LineSide::Context,
                bytes: self.after.line(after - 1),
                before: Some(before - 1),
                after: Some(after - 1),
            })
        })
    }

    /// Git's text after the second `@@`: the nearest line above that starts with a letter, `_` or
    /// `$`, within 2,000 lines.
    pub fn heading(&self, hunk: &Hunk) -> Option<&[u8]> {
        (hunk.before.start.saturating_sub(2000)..hunk.before.start)
            .rev()
            .map(|number| self.before.line(number).trim_ascii_end())
            .find(|line| {
                line.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'$'))
            })
    }
}

fn without_space(lines: &[u8]) -> Vec<u8> {
    let is_space = |byte: u8| byte != b'\n' && (byte.is_ascii_whitespace() || byte == b'\x0b');
    let mut out: Vec<u8> = lines.iter().copied().filter(|byte| !is_space(*byte)).collect();
    // A missing LF at the end is whitespace, too.
    if !lines.is_empty() && !lines.ends_with(b"\n") {
        out.push(b'\n');
    }
    out
}

/// True if a line diff costs more than a list or a review may take. Time grows with the square of
/// the differing lines, and their author chooses them.
pub fn is_large(before: &[u8], after: &[u8]) -> bool {
    let longest = before.len().max(after.len());
    // Every line has a byte.
    if longest <= MOST_LINES || before == after {
        return false;
    }
    if longest > MOST_BYTES {
        return true;
    }
    let (a, b) = middle(before, after);
    count_lines(&before[a]).max(count_lines(&after[b])) > MOST_LINES
}

/// Bytes between equal first and last lines.
fn middle(before: &[u8], after: &[u8]) -> (Range<usize>, Range<usize>) {
    let alike = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let start = before[..alike].rfind_byte(b'\n').map_or(0, |at| at + 1);
    let (a, b) = (&before[start..], &after[start..]);
    let alike = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = &a[a.len() - alike..];
    // The equal tail begins inside the last differing line.
    let end = tail.find_byte(b'\n').map_or(0, |at| alike - at - 1);
    (start..before.len() - end, start..after.len() - end)
}

fn one_edit(before: &[u8], after: &[u8]) -> LineEdit {
    let lines = |range: Range<usize>, bytes: &[u8]| {
        let start = count_lines(&bytes[..range.start]);
        start..start + count_lines(&bytes[range])
    };
    let (a, b) = middle(before, after);
    LineEdit { before: lines(a, before), after: lines(b, after) }
}

/// Counts, and the lines of `before` that change, from 0; `None` is a missing file. Cheaper than
/// [`Diff::new`].
pub fn measure(before: Option<&[u8]>, after: Option<&[u8]>) -> (Counts, Vec<Range<u32>>) {
    let lines = |bytes: Option<&[u8]>| bytes.map_or(0, count_lines);
    match (before.unwrap_or_default(), after.unwrap_or_default()) {
        (a, b) if a == b => (Counts::default(), Vec::new()),
        (a, b) if a.is_empty() || b.is_empty() => {
            let counts = Counts { added: lines(after), removed: lines(before) };
            let all = 0..u32::try_from(counts.removed).unwrap_or(u32::MAX);
            (counts, std::iter::once(all).collect())
        }
        (a, b) => {
            let input = InternedInput::new(a, b);
            let diff = gix::diff::blob::Diff::compute(Algorithm::Histogram, &input);
            let counts = Counts {
                added: diff.count_additions() as usize,
                removed: diff.count_removals() as usize,
            };
            (counts, diff.hunks().map(|hunk| hunk.before).collect())
        }
    }
}

fn edits(before: &Text<'_>, after: &Text<'_>) -> Vec<LineEdit> {
    if before.bytes() == after.bytes() {
        return Vec::new();
    }
    let input = InternedInput::new(before.bytes(), after.bytes());
    let mut diff = gix::diff::blob::Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let wide = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|h| LineEdit { before: wide(h.before), after: wide(h.after) }).collect()
}

#[cfg(test)]
mod tests;
