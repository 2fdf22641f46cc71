//! Hunks: the line-by-line difference of two contents, on bytes and split at LF alone.
//!
//! One backend for everything that shows, emits or takes apart a difference, so that the hunk a
//! reviewer sees is the hunk a patch carries and the hunk that is applied. The algorithm is
//! histogram with git's indent heuristic, from gitoxide's fork of imara-diff, which fixes the
//! order in which sliders are moved and is in the binary anyway.

mod compose;
mod text;

pub use compose::{Choice, compose};
pub use text::Text;
pub(crate) use text::count_lines;

use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

use bstr::ByteSlice as _;
use gix::diff::blob::{Algorithm, InternedInput};
use serde::{Deserialize, Serialize};

/// Lines of context around a change, unless asked otherwise: git's own.
pub const CONTEXT: usize = 3;

/// Bytes of a file, 10 MiB, from which on nothing is told of its lines unless that is asked for.
pub const MOST_BYTES: usize = 10 << 20;

/// The same of the lines in which one content differs from the other, from the first to the last of them.
pub const MOST_LINES: usize = 200_000;

/// One run of changed lines: `before` lines were replaced by `after` lines. 0-based line numbers;
/// one of the two may be empty, never both. Between two edits there is at least one equal line.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Edit {
    /// Lines of the first content.
    pub before: Range<usize>,
    /// Lines of the second content.
    pub after: Range<usize>,
}

/// A run of edits with the context they are shown in. 0-based line numbers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hunk {
    /// Lines of the first content, context included.
    pub before: Range<usize>,
    /// Lines of the second content, context included.
    pub after: Range<usize>,
    /// Which of the difference's edits are in it.
    pub edits: Range<usize>,
}

impl fmt::Display for Hunk {
    /// The unified diff's `@@ -1,3 +1,4 @@`, counted as git counts.
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

/// Which side a line of a difference is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Side {
    /// In both contents.
    Context,
    /// In the first content alone.
    Removed,
    /// In the second content alone.
    Added,
}

impl Side {
    /// The unified diff's first column.
    pub fn sign(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Removed => '-',
            Self::Added => '+',
        }
    }
}

/// One line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<'a> {
    /// Which side it is on.
    pub side: Side,
    /// Its bytes, with the LF if it has one. Only the last line of a content may lack it.
    pub bytes: &'a [u8],
    /// 0-based number in the first content; `None` for an added line.
    pub before: Option<usize>,
    /// 0-based number in the second content; `None` for a removed line.
    pub after: Option<usize>,
}

impl<'a> Line<'a> {
    /// The bytes without the LF.
    pub fn content(&self) -> &'a [u8] {
        self.bytes.strip_suffix(b"\n").unwrap_or(self.bytes)
    }

    /// False for the last line of a content that does not end in LF.
    pub fn is_terminated(&self) -> bool {
        self.bytes.ends_with(b"\n")
    }
}

/// How many lines a difference adds and removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Counts {
    /// Lines in the second content alone.
    pub added: usize,
    /// Lines in the first content alone.
    pub removed: usize,
}

impl fmt::Display for Counts {
    /// `+12 −3`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "+{} −{}", self.added, self.removed)
    }
}

impl std::ops::AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.added += other.added;
        self.removed += other.removed;
    }
}

/// How many lines changes add and remove together, as far as that can be told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Lines {
    /// That many.
    Counted(Counts),
    /// A file is binary, or too much changes for its lines to be counted.
    NotByLines,
    /// Content that it takes is not here.
    #[default]
    NotHere,
}

impl Lines {
    /// The count, if there is one.
    pub fn counts(self) -> Option<Counts> {
        match self {
            Self::Counted(counts) => Some(counts),
            Self::NotByLines | Self::NotHere => None,
        }
    }
}

/// The difference of two contents.
#[derive(Clone, Debug)]
pub struct Diff<'a> {
    before: Text<'a>,
    after: Text<'a>,
    edits: Vec<Edit>,
}

impl<'a> Diff<'a> {
    /// Compares `before` with `after`. Borrowed bytes are not copied; owned ones
    /// (`Vec<u8>`) make a `Diff<'static>`.
    ///
    /// Of contents that differ in too much to be told ([`is_large`]) all from the first to the last line in which
    /// they do is one edit.
    pub fn new(before: impl Into<Cow<'a, [u8]>>, after: impl Into<Cow<'a, [u8]>>) -> Self {
        let (before, after) = (Text::new(before), Text::new(after));
        let edits = if is_large(before.bytes(), after.bytes()) {
            vec![one_edit(before.bytes(), after.bytes())]
        } else {
            edits(&before, &after)
        };
        Self { before, after, edits }
    }

    /// As [`Diff::new`], however much that takes: for what somebody has asked for by its name.
    pub fn exact(before: impl Into<Cow<'a, [u8]>>, after: impl Into<Cow<'a, [u8]>>) -> Self {
        let (before, after) = (Text::new(before), Text::new(after));
        let edits = edits(&before, &after);
        Self { before, after, edits }
    }

    /// The first content.
    pub fn before(&self) -> &Text<'a> {
        &self.before
    }

    /// The second content.
    pub fn after(&self) -> &Text<'a> {
        &self.after
    }

    /// The runs of changed lines, in order.
    pub fn edits(&self) -> &[Edit] {
        &self.edits
    }

    /// How many lines are added and removed.
    pub fn counts(&self) -> Counts {
        self.counts_of(0..self.edits.len())
    }

    /// How many lines the edits of `range` add and remove.
    pub fn counts_of(&self, range: Range<usize>) -> Counts {
        let mut counts = Counts::default();
        for edit in &self.edits[range] {
            counts += Counts { added: edit.after.len(), removed: edit.before.len() };
        }
        counts
    }

    /// The edits grouped into hunks with `context` lines around them. As in git, edits whose
    /// contexts touch share a hunk.
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

    /// The edits of `range` (not empty) as one hunk with up to `context` lines around them,
    /// which stop at the neighbouring edits.
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

    /// One hunk for each edit of `hunk`: what splitting it as far as it goes gives. A single
    /// element when it cannot be split.
    pub fn split(&self, hunk: &Hunk, context: usize) -> Vec<Hunk> {
        hunk.edits.clone().map(|edit| self.hunk(edit..edit + 1, context)).collect()
    }

    /// The lines of `hunk`, removed before added in each edit.
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
                        side: Side::Removed,
                        bytes,
                        before: Some(before - 1),
                        after: None,
                    });
                }
                if before >= current.before.end && after < current.after.end {
                    after += 1;
                    let bytes = self.after.line(after - 1);
                    return Some(Line {
                        side: Side::Added,
                        bytes,
                        before: None,
                        after: Some(after - 1),
                    });
                }
                if before >= current.before.end {
                    edit = edits.next();
                    // The next edit starts at least one equal line further on.
                }
            }
            if before >= end {
                return None;
            }
            (before, after) = (before + 1, after + 1);
            Some(Line {
                side: Side::Context,
                bytes: self.before.line(before - 1),
                before: Some(before - 1),
                after: Some(after - 1),
            })
        })
    }

    /// What git prints after the second `@@`: the nearest line above the hunk that starts with a
    /// letter, `_` or `$` and so probably names what the hunk is in. Looks at most 2,000 lines up.
    pub fn heading(&self, hunk: &Hunk) -> Option<&[u8]> {
        (hunk.before.start.saturating_sub(2000)..hunk.before.start)
            .rev()
            .map(|number| self.before.line(number).trim_ascii_end())
            .find(|line| {
                line.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'_' | b'$'))
            })
    }
}

/// Whether telling two contents apart line by line takes more than a list, or a look at a proposal, may take: time
/// grows with the square of the lines that differ, and their writer chooses these.
pub fn is_large(before: &[u8], after: &[u8]) -> bool {
    let longest = before.len().max(after.len());
    // A line has a byte at least.
    if longest <= MOST_LINES || before == after {
        return false;
    }
    if longest > MOST_BYTES {
        return true;
    }
    let (a, b) = middle(before, after);
    count_lines(&before[a]).max(count_lines(&after[b])) > MOST_LINES
}

/// The bytes between the lines with which two contents begin alike, and those with which they end alike.
fn middle(before: &[u8], after: &[u8]) -> (Range<usize>, Range<usize>) {
    let alike = before.iter().zip(after).take_while(|(a, b)| a == b).count();
    let start = before[..alike].rfind_byte(b'\n').map_or(0, |at| at + 1);
    let (a, b) = (&before[start..], &after[start..]);
    let alike = a.iter().rev().zip(b.iter().rev()).take_while(|(a, b)| a == b).count();
    let tail = &a[a.len() - alike..];
    // The line in which they differ last ends in what is alike.
    let end = tail.find_byte(b'\n').map_or(0, |at| alike - at - 1);
    (start..before.len() - end, start..after.len() - end)
}

/// The one edit of two contents that differ.
fn one_edit(before: &[u8], after: &[u8]) -> Edit {
    let lines = |range: Range<usize>, bytes: &[u8]| {
        let start = count_lines(&bytes[..range.start]);
        start..start + count_lines(&bytes[range])
    };
    let (a, b) = middle(before, after);
    Edit { before: lines(a, before), after: lines(b, after) }
}

/// How many lines turning `before` into `after` adds and removes, and the lines of `before` that it
/// touches, from 0; `None` is a file that is not there. Cheaper than [`Diff::new`] where nothing else is
/// wanted of the difference.
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

fn edits(before: &Text<'_>, after: &Text<'_>) -> Vec<Edit> {
    if before.bytes() == after.bytes() {
        return Vec::new();
    }
    let input = InternedInput::new(before.bytes(), after.bytes());
    let mut diff = gix::diff::blob::Diff::compute(Algorithm::Histogram, &input);
    diff.postprocess_lines(&input);
    let wide = |range: Range<u32>| range.start as usize..range.end as usize;
    diff.hunks().map(|h| Edit { before: wide(h.before), after: wide(h.after) }).collect()
}

#[cfg(test)]
mod tests;
