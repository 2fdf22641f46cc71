//! A content split into lines.

use std::borrow::Cow;
use std::ops::Range;

use bstr::ByteSlice as _;

/// A line includes its LF; the last may lack it. CR is an ordinary byte.
#[derive(Clone, Debug)]
pub struct Text<'a> {
    bytes: Cow<'a, [u8]>,
    ends: Vec<usize>,
}

impl<'a> Text<'a> {
    pub fn new(bytes: impl Into<Cow<'a, [u8]>>) -> Self {
        let bytes = bytes.into();
        let mut end = 0;
        // Room for lines of ordinary length: a large index is not moved as it grows.
        let mut ends = Vec::with_capacity(bytes.len() / 32 + 1);
        ends.extend(bytes.lines_with_terminator().map(|line| {
            end += line.len();
            end
        }));
        Self { bytes, ends }
    }

    pub(super) fn borrowed(&self) -> Text<'_> {
        Text { bytes: Cow::Borrowed(&self.bytes), ends: self.ends.clone() }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// From 0, with its LF.
    ///
    /// # Panics
    /// If there is no such line.
    pub fn line(&self, number: usize) -> &[u8] {
        self.lines(number..number + 1)
    }

    /// From 0.
    ///
    /// # Panics
    /// If `range` ends beyond the last line.
    pub fn lines(&self, range: Range<usize>) -> &[u8] {
        &self.bytes[self.start(range.start)..self.start(range.end)]
    }

    fn start(&self, line: usize) -> usize {
        line.checked_sub(1).map_or(0, |previous| self.ends[previous])
    }
}

/// A last line without LF counts.
pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    bytes.find_iter(b"\n").count() + usize::from(!bytes.is_empty() && !bytes.ends_with(b"\n"))
}
