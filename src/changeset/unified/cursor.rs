//! A place in a patch, by lines, and what can be seen from it.

use bstr::ByteSlice as _;

/// A place in the patch, by lines. Cheap to copy for looking ahead.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    input: &'a [u8],
    number: usize,
}

impl<'a> Cursor<'a> {
    /// On the first line of `input`.
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, number: 1 }
    }

    /// Everything from here on.
    pub fn rest(&self) -> &'a [u8] {
        self.input
    }

    /// The line it is on, without the LF.
    pub fn peek(&self) -> Option<&'a [u8]> {
        if self.input.is_empty() {
            return None;
        }
        Some(&self.input[..self.input.find_byte(b'\n').unwrap_or(self.input.len())])
    }

    /// The line it is on, with its LF.
    pub fn peek_raw(&self) -> Option<&'a [u8]> {
        self.peek().map(|line| &self.input[..(line.len() + 1).min(self.input.len())])
    }

    /// As `peek`, and goes on to the next line.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.input = self.input.get(line.len() + 1..).unwrap_or_default();
        self.number += 1;
        Some(line)
    }

    /// True where nothing but blanks follows.
    pub fn is_at_end(&self) -> bool {
        self.input.trim_ascii().is_empty()
    }

    /// The place one line below, for looking ahead.
    pub fn below(&self) -> Self {
        let mut below = self.clone();
        below.next();
        below
    }

    /// True on the last line with anything on it.
    pub fn is_last(&self) -> bool {
        self.below().is_at_end()
    }

    /// Number of the line it is on, counted from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Does the line it is on start like this?
    pub fn is_on(&self, start: &[u8]) -> bool {
        self.input.starts_with(start)
    }

    /// The first line from here on that is not empty.
    pub fn below_space(&self) -> Self {
        let mut below = self.clone();
        while below.peek().is_some_and(|line| line.trim_ascii().is_empty()) {
            below.next();
        }
        below
    }

    /// Is it on `--- ` with `+++ ` and a hunk in the lines after it, the last perhaps below space?
    pub fn starts_file(&self) -> bool {
        if !self.is_on(b"--- ") || !self.below().is_on(b"+++ ") {
            return false;
        }
        let ahead = self.below().below();
        ahead.is_on(b"@@") || ahead.below_space().starts_hunk()
    }

    /// Is it on the first line of a hunk rather than of a text?
    pub fn starts_hunk(&self) -> bool {
        let numbered = self.is_on(b"@@ -") && self.input.get(4).is_some_and(u8::is_ascii_digit);
        let is_change = |next: &u8| matches!(next, b' ' | b'+' | b'-');
        numbered || (self.is_on(b"@@") && self.below().input.first().is_some_and(is_change))
    }
}
