//! Builds the new content from untouched lines and new lines of hunks.

use std::ops::Range;

use crate::changeset::hunks::Text;
use crate::changeset::locate::{BOM, Pass, key};
use crate::changeset::unified::{LineKind, PatchLine};

pub(in crate::changeset) struct Writer<'t> {
    text: &'t Text<'t>,
    out: Vec<u8>,
    /// Old lines consumed.
    done: usize,
}

impl<'t> Writer<'t> {
    /// Reserves `more` bytes.
    pub fn new(text: &'t Text<'t>, more: usize) -> Self {
        Self { text, out: Vec::with_capacity(text.bytes().len() + more), done: 0 }
    }

    /// Replaces the old lines `at`, byte for byte. A last line without newline, in either, is not
    /// joined with the next, unlike in git.
    pub fn exactly(&mut self, lines: &[PatchLine<'_>], at: Range<usize>) {
        self.copy(at.start);
        for line in lines {
            if line.kind != LineKind::Removed {
                self.terminate(ending(self.text, at.start));
            }
            match line.kind {
                LineKind::Added => self.out.extend_from_slice(line.bytes),
                LineKind::Context => self.out.extend_from_slice(self.text.line(self.done)),
                LineKind::Removed => {}
            }
            self.done += usize::from(line.kind != LineKind::Added);
        }
        if at.end < self.text.len() {
            self.terminate(ending(self.text, at.end.saturating_sub(1)));
        }
    }

    /// Replaces the old lines `at`, which equal `lines` but for line endings. Context keeps the
    /// file's bytes, new lines get its line ending.
    pub fn adapted(&mut self, lines: &[PatchLine<'_>], at: Range<usize>) {
        self.copy(at.start);
        let ending = ending(self.text, at.start);
        let first = at.start == 0 && self.out.is_empty();
        let mark = first && wants_mark(self.text, lines);
        for line in lines {
            if line.kind != LineKind::Removed {
                self.terminate(ending);
            }
            let added = key(line.bytes, Pass::Ending, false);
            let bytes = match line.kind {
                LineKind::Added => &*added,
                LineKind::Context => self.text.line(self.done),
                LineKind::Removed => &[],
            };
            let is_first = match line.kind {
                LineKind::Context => first && self.done == 0,
                _ => first && self.out.is_empty(),
            };
            self.out
                .extend_from_slice(bytes.strip_prefix(BOM).filter(|_| is_first).unwrap_or(bytes));
            if line.kind == LineKind::Added {
                self.out.extend_from_slice(ending);
            }
            self.done += usize::from(line.kind != LineKind::Added);
        }
        if mark && (at.end < self.text.len() || !self.out.is_empty()) {
            self.out.splice(0..0, BOM.iter().copied());
        }
    }

    pub fn end(&mut self, newline: bool) {
        self.copy(self.text.len());
        if newline {
            self.terminate(ending(self.text, self.text.len()));
        } else {
            let keep = self.out.strip_suffix(b"\r\n").or_else(|| self.out.strip_suffix(b"\n"));
            let len = keep.map_or(self.out.len(), <[u8]>::len);
            self.out.truncate(len);
        }
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.copy(self.text.len());
        self.out
    }

    fn copy(&mut self, to: usize) {
        self.out.extend_from_slice(self.text.lines(self.done..to));
        self.done = to;
    }

    fn terminate(&mut self, ending: &[u8]) {
        if !self.out.is_empty() && !self.out.ends_with(b"\n") {
            self.out.extend_from_slice(ending);
        }
    }
}

/// The byte-order mark belongs to the file, not to its first line; a patch that shows it on one
/// side only changes it.
fn wants_mark(text: &Text<'_>, lines: &[PatchLine<'_>]) -> bool {
    let is_marked = |line: &PatchLine<'_>| line.bytes.starts_with(BOM);
    let old = lines.iter().find(|line| line.kind != LineKind::Added);
    let new = lines.iter().find(|line| line.kind != LineKind::Removed);
    let before = old.is_some_and(is_marked);
    let stays = new.is_none() || old.is_some_and(|line| line.kind == LineKind::Context);
    let after = new.is_some_and(is_marked) || (before && stays);
    if before == after { text.bytes().starts_with(BOM) } else { after }
}

/// From line `near`, or the line above, or the first line.
fn ending<'t>(text: &Text<'_>, near: usize) -> &'t [u8] {
    let has_crlf = |line: usize| {
        (line < text.len())
            .then(|| text.line(line))
            .and_then(|line| line.strip_suffix(b"\n").map(|content| content.ends_with(b"\r")))
    };
    let crlf = has_crlf(near).or_else(|| has_crlf(near.checked_sub(1)?)).or_else(|| has_crlf(0));
    if crlf == Some(true) { b"\r\n" } else { b"\n" }
}
