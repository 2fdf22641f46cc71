//! The new content: untouched lines as they are, each hunk's new lines in the place of its old
//! ones.

use std::collections::BTreeSet;

use super::{Hunk, LineKind, Pass, Spot, Text, key};
use crate::changeset::locate::BOM;
use crate::changeset::unified::Line;

/// Builds the new content from the old `text` and the places of the hunks.
pub(super) fn write(text: &Text<'_>, hunks: &[Hunk<'_>], spots: &BTreeSet<Spot>) -> Vec<u8> {
    let grown: usize =
        hunks.iter().flat_map(|hunk| &hunk.lines).map(|line| line.bytes.len() + 1).sum();
    let mut out = Vec::with_capacity(text.bytes().len() + grown);
    let mut done = 0;
    for spot in spots {
        out.extend_from_slice(text.lines(done..spot.start));
        let hunk = &hunks[spot.hunk];
        if spot.pass == Pass::Exact {
            exact(&mut out, text, hunk, spot);
        } else {
            adapted(&mut out, text, hunk, spot);
        }
        done = spot.end;
    }
    out.extend_from_slice(text.lines(done..text.len()));
    out
}

/// A hunk that fits as it is. Its last line may have no newline, and the file's last line: neither is
/// joined with what follows. (git joins them.)
fn exact(out: &mut Vec<u8>, text: &Text<'_>, hunk: &Hunk<'_>, spot: &Spot) {
    let mut at = spot.start;
    for line in &hunk.lines {
        if line.kind != LineKind::Removed {
            terminate(out, ending(text, spot.start));
        }
        match line.kind {
            LineKind::Added => out.extend_from_slice(line.bytes),
            LineKind::Context => out.extend_from_slice(text.line(at)),
            LineKind::Removed => {}
        }
        at += usize::from(line.kind != LineKind::Added);
    }
    if spot.end < text.len() {
        terminate(out, ending(text, spot.end.saturating_sub(1)));
    }
}

/// A hunk that fits but for the line endings: context keeps the file's own bytes, new lines take
/// the file's line ending, and the file keeps its byte-order mark and its final newline, or its
/// want of them, unless the hunk speaks of them.
fn adapted(out: &mut Vec<u8>, text: &Text<'_>, hunk: &Hunk<'_>, spot: &Spot) {
    let ending = ending(text, spot.start);
    let mark = Mark::new(text, &hunk.lines, spot.start, out);
    let mut at = spot.start;
    for line in &hunk.lines {
        if line.kind == LineKind::Added {
            terminate(out, ending);
            out.extend_from_slice(&key(mark.off(line.bytes, out), Pass::Ending, false));
            out.extend_from_slice(ending);
        } else {
            if line.kind == LineKind::Context {
                terminate(out, ending);
                out.extend_from_slice(mark.off_line(text, at));
            }
            at += 1;
        }
    }
    mark.put(out, spot.end < text.len());
    let reaches_end = spot.end == text.len();
    let spoken = hunk.lines.iter().any(|line| !line.bytes.ends_with(b"\n"));
    let wants = match hunk.new_lines().last() {
        Some(last) if spoken => last.bytes.ends_with(b"\n"),
        _ => text.is_empty() || text.bytes().ends_with(b"\n"),
    };
    if reaches_end && !wants {
        let keep = out.strip_suffix(b"\r\n").or_else(|| out.strip_suffix(b"\n"));
        let len = keep.map_or(out.len(), <[u8]>::len);
        out.truncate(len);
    } else if reaches_end {
        terminate(out, ending);
    }
}

/// The byte-order mark of a file whose first lines are written anew. It belongs to the file and not
/// to its first line, so it stays in front whatever goes there; but a patch that shows it on one
/// side only changes it.
pub(in crate::changeset) struct Mark {
    /// Whether these lines are the file's first.
    first: bool,
    wanted: bool,
}

impl Mark {
    /// For `lines` that go to line `start` of `text` after what is in `out`.
    pub fn new(text: &Text<'_>, lines: &[Line<'_>], start: usize, out: &[u8]) -> Self {
        let is_marked = |line: &Line<'_>| line.bytes.starts_with(BOM);
        let old = lines.iter().find(|line| line.kind != LineKind::Added);
        let new = lines.iter().find(|line| line.kind != LineKind::Removed);
        let before = old.is_some_and(is_marked);
        let stays = new.is_none() || old.is_some_and(|line| line.kind == LineKind::Context);
        let after = new.is_some_and(is_marked) || (before && stays);
        let wanted = if before == after { text.bytes().starts_with(BOM) } else { after };
        Self { first: start == 0 && out.is_empty(), wanted }
    }

    /// A new line to put at the end of `out`, without the mark if it is the very first.
    pub fn off<'l>(&self, line: &'l [u8], out: &[u8]) -> &'l [u8] {
        line.strip_prefix(BOM).filter(|_| self.first && out.is_empty()).unwrap_or(line)
    }

    /// Line `at` of the file, without the mark.
    pub fn off_line<'t>(&self, text: &'t Text<'_>, at: usize) -> &'t [u8] {
        let line = text.line(at);
        line.strip_prefix(BOM).filter(|_| self.first && at == 0).unwrap_or(line)
    }

    /// Puts the mark in front, if there is anything for it to stand before.
    pub fn put(&self, out: &mut Vec<u8>, goes_on: bool) {
        if self.first && self.wanted && (goes_on || !out.is_empty()) {
            out.splice(0..0, BOM.iter().copied());
        }
    }
}

/// Ends the line that `out` ends in, if it is open.
fn terminate(out: &mut Vec<u8>, ending: &[u8]) {
    if !out.is_empty() && !out.ends_with(b"\n") {
        out.extend_from_slice(ending);
    }
}

/// The line ending in use at line `near`: that line's own, or its neighbour's above, or the
/// first line's.
pub(in crate::changeset) fn ending<'t>(text: &Text<'_>, near: usize) -> &'t [u8] {
    let has_crlf = |line: usize| {
        (line < text.len())
            .then(|| text.line(line))
            .and_then(|line| line.strip_suffix(b"\n").map(|content| content.ends_with(b"\r")))
    };
    let crlf = has_crlf(near).or_else(|| has_crlf(near.checked_sub(1)?)).or_else(|| has_crlf(0));
    if crlf == Some(true) { b"\r\n" } else { b"\n" }
}
