//! The new content: untouched lines as they are, each hunk's new lines in the place of its old
//! ones.

use std::ops::Range;

use crate::changeset::hunks::Text;
use crate::changeset::locate::{BOM, Pass, key};
use crate::changeset::unified::{Line, LineKind};

/// The new content while it is built from the old one, top to bottom.
pub(in crate::changeset) struct Writer<'t> {
    text: &'t Text<'t>,
    out: Vec<u8>,
    /// Lines of the old content that are dealt with.
    done: usize,
}

impl<'t> Writer<'t> {
    /// With room for `more` bytes than there are in `text`.
    pub fn new(text: &'t Text<'t>, more: usize) -> Self {
        Self { text, out: Vec::with_capacity(text.bytes().len() + more), done: 0 }
    }

    /// Puts `lines`, byte for byte, in the place of the old lines `at`. Their last line may have no newline, and
    /// the file's last line: neither is joined with what follows. (git joins them.)
    pub fn exactly(&mut self, lines: &[Line<'_>], at: Range<usize>) {
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

    /// Puts `lines` in the place of the old lines `at` that they equal but for the endings: context keeps the
    /// file's own bytes, new lines take the file's line ending, and the file keeps its byte-order mark unless
    /// they show it on one side only.
    pub fn adapted(&mut self, lines: &[Line<'_>], at: Range<usize>) {
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

    /// Ends the file in a newline, or in none.
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

    /// The new content, with what is left of the old one.
    pub fn finish(mut self) -> Vec<u8> {
        self.copy(self.text.len());
        self.out
    }

    /// Copies old lines, up to line `to`.
    fn copy(&mut self, to: usize) {
        self.out.extend_from_slice(self.text.lines(self.done..to));
        self.done = to;
    }

    /// Ends the last line, if it is open.
    fn terminate(&mut self, ending: &[u8]) {
        if !self.out.is_empty() && !self.out.ends_with(b"\n") {
            self.out.extend_from_slice(ending);
        }
    }
}

/// Does the byte-order mark stand in front of `text` once its first lines are written anew as `lines`? It belongs
/// to the file and not to its first line, so it stays whatever goes there; but a patch that shows it on one side
/// only changes it.
fn wants_mark(text: &Text<'_>, lines: &[Line<'_>]) -> bool {
    let is_marked = |line: &Line<'_>| line.bytes.starts_with(BOM);
    let old = lines.iter().find(|line| line.kind != LineKind::Added);
    let new = lines.iter().find(|line| line.kind != LineKind::Removed);
    let before = old.is_some_and(is_marked);
    let stays = new.is_none() || old.is_some_and(|line| line.kind == LineKind::Context);
    let after = new.is_some_and(is_marked) || (before && stays);
    if before == after { text.bytes().starts_with(BOM) } else { after }
}

/// The line ending in use at line `near`: that line's own, or its neighbour's above, or the
/// first line's.
fn ending<'t>(text: &Text<'_>, near: usize) -> &'t [u8] {
    let has_crlf = |line: usize| {
        (line < text.len())
            .then(|| text.line(line))
            .and_then(|line| line.strip_suffix(b"\n").map(|content| content.ends_with(b"\r")))
    };
    let crlf = has_crlf(near).or_else(|| has_crlf(near.checked_sub(1)?)).or_else(|| has_crlf(0));
    if crlf == Some(true) { b"\r\n" } else { b"\n" }
}
