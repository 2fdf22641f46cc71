//! A position in a patch, with lookahead.

use bstr::ByteSlice as _;

/// Cheap to copy, for lookahead.
#[derive(Clone)]
pub(super) struct Cursor<'a> {
    input: &'a [u8],
    number: usize,
}

impl<'a> Cursor<'a> {
    pub fn new(input: &'a [u8]) -> Self {
        Self { input, number: 1 }
    }

    pub fn rest(&self) -> &'a [u8] {
        self.input
    }

    /// Without the LF.
    pub fn peek(&self) -> Option<&'a [u8]> {
        if self.input.is_empty() {
            return None;
        }
        Some(&self.input[..self.input.find_byte(b'\n').unwrap_or(self.input.len())])
    }

    /// With the LF.
    pub fn peek_raw(&self) -> Option<&'a [u8]> {
        self.peek().map(|line| &self.input[..(line.len() + 1).min(self.input.len())])
    }

    /// Moves to the next line.
    pub fn next(&mut self) -> Option<&'a [u8]> {
        let line = self.peek()?;
        self.input = self.input.get(line.len() + 1..).unwrap_or_default();
        self.number += 1;
        Some(line)
    }

    /// Only whitespace follows.
    pub fn is_at_end(&self) -> bool {
        self.input.trim_ascii().is_empty()
    }

    /// One line below.
    pub fn below(&self) -> Self {
        let mut below = self.clone();
        below.next();
        below
    }

    /// Nothing but whitespace below.
    pub fn is_last(&self) -> bool {
        self.below().is_at_end()
    }

    /// Line number, from 1.
    pub fn number(&self) -> usize {
        self.number
    }

    pub fn is_on(&self, start: &[u8]) -> bool {
        self.input.starts_with(start)
    }

    /// First line that is not empty.
    pub fn below_space(&self) -> Self {
        let mut below = self.clone();
        while below.peek().is_some_and(|line| line.trim_ascii().is_empty()) {
            below.next();
        }
        below
    }

    /// On `--- `, followed by `+++ ` and a hunk, perhaps below empty lines.
    pub fn starts_file(&self) -> bool {
        if !self.is_on(b"--- ") || !self.below().is_on(b"+++ ") {
            return false;
        }
        let ahead = self.below().below();
        ahead.is_on(b"@@") || ahead.below_space().starts_hunk()
    }

    /// A hunk, not prose.
    pub fn starts_hunk(&self) -> bool {
        let numbered = self.is_on(b"@@ -") && self.input.get(4).is_some_and(u8::is_ascii_digit);
        let is_change = |next: &u8| matches!(next, b' ' | b'+' | b'-');
        numbered || (self.is_on(b"@@") && self.below().input.first().is_some_and(is_change))
    }
}
