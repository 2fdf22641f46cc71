//! The new content: untouched lines as they are, each hunk's new lines in the place of its old
//! ones.

use std::collections::BTreeSet;

use super::{Hunk, Kind, Pass, Spot, Text, key};

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
            let kept = &hunk.lines[spot.cut.0..hunk.lines.len() - spot.cut.1];
            for line in kept.iter().filter(|line| line.kind != Kind::Removed) {
                out.extend_from_slice(line.bytes);
            }
        } else {
            adapted(&mut out, text, hunk, spot);
        }
        done = spot.end;
    }
    out.extend_from_slice(text.lines(done..text.len()));
    out
}

/// A hunk that fits but for the line endings: context keeps the file's own bytes, new lines take
/// the file's line ending, and the file keeps its final newline, or its want of one, unless the
/// hunk speaks of it.
fn adapted(out: &mut Vec<u8>, text: &Text<'_>, hunk: &Hunk<'_>, spot: &Spot) {
    let ending = ending(text, spot.start);
    let mut at = spot.start;
    for line in &hunk.lines {
        if line.kind == Kind::Added {
            terminate(out, ending);
            out.extend_from_slice(&key(line.bytes, Pass::Ending, false));
            out.extend_from_slice(ending);
        } else {
            if line.kind == Kind::Context {
                terminate(out, ending);
                out.extend_from_slice(text.line(at));
            }
            at += 1;
        }
    }
    let reaches_end = spot.end == text.len();
    let spoken = hunk.lines.iter().any(|line| !line.bytes.ends_with(b"\n"));
    let wants = match hunk.new_lines().last() {
        Some(last) if spoken => last.bytes.ends_with(b"\n"),
        _ => text.bytes().ends_with(b"\n"),
    };
    if reaches_end && !wants {
        let keep = out.strip_suffix(b"\r\n").or_else(|| out.strip_suffix(b"\n"));
        let len = keep.map_or(out.len(), <[u8]>::len);
        out.truncate(len);
    } else if reaches_end {
        terminate(out, ending);
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
