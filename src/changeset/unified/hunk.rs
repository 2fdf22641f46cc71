//! One `@@` hunk; header and lines may disagree.

use bstr::ByteSlice as _;

use super::cursor::Cursor;
use super::refusal::{excerpt, invalid};
use super::{LineKind, PatchHunk, PatchLine};
use crate::error::Result;

/// Counts are claims until the lines confirm them.
struct Header {
    old_start: usize,
    old: usize,
    new_start: usize,
    new: usize,
}

/// Counts that the lines confirm are believed, as in git. Models often count too few: if counts are
/// wrong, or hunk lines continue right below the last counted one, all lines up to a certain end
/// are counted instead.
pub(super) fn read<'a>(cursor: &mut Cursor<'a>) -> Result<PatchHunk<'a>> {
    let number = cursor.number();
    let line = cursor.next().unwrap_or_default();
    let header = header(line, number)?;
    let start = cursor.clone();
    let old_start = header.as_ref().map(|header| header.old_start);
    let new_start = header.as_ref().map(|header| header.new_start);
    let counted = header.as_ref().and_then(|header| counted(cursor, header));
    if let Some(lines) = counted.filter(|_| !goes_on(cursor)) {
        return Ok(PatchHunk {
            number,
            old_start,
            new_start,
            lines,
            recounted: false,
            short: false,
        });
    }
    *cursor = start;
    let lines = uncounted(cursor)?;
    let mut hunk = PatchHunk { number, old_start, new_start, lines, recounted: true, short: false };
    if let Some(header) = header.filter(|_| cursor.is_at_end()) {
        let (old, new) = (hunk.old_lines().count(), hunk.new_lines().count());
        hunk.short = old <= header.old && new <= header.new;
        let removes = hunk.lines.last().is_some_and(|line| line.kind == LineKind::Removed);
        if hunk.short && removes && header.new - new > header.old - old {
            let what =
                "the patch ends where this hunk has removed lines, before what it counts as added";
            return Err(invalid(number, what)
                .hint("send the whole patch; if it is whole, correct the counts behind '@@'"));
        }
    }
    Ok(hunk)
}

/// `None` for a bare `@@` without numbers.
fn header(line: &[u8], number: usize) -> Result<Option<Header>> {
    let Some(rest) = line.strip_prefix(b"@@ -") else { return Ok(None) };
    let ranges = rest.split_once_str(" @@").and_then(|(ranges, _)| ranges.split_once_str(" +"));
    match ranges.map(|(old, new)| (range(old), range(new))) {
        Some((Some((old_start, old)), Some((new_start, new)))) => {
            Ok(Some(Header { old_start, old, new_start, new }))
        }
        _ => Err(invalid(number, format!("'{}' is not a hunk header", excerpt(line)))
            .hint("write it as '@@ -1,3 +1,4 @@', or drop the numbers: '@@'")),
    }
}

/// `1,2` or `1`: first line and count, in 32 bits.
fn range(text: &[u8]) -> Option<(usize, usize)> {
    let integer = |text: &[u8]| -> Option<u32> {
        let is_number = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
        text.to_str().ok().filter(|_| is_number)?.parse().ok()
    };
    let (start, len) = text.split_once_str(",").unwrap_or((text, b"1"));
    let (start, len) = (integer(start)?, integer(len)?);
    start.checked_add(len)?;
    Some((start as usize, len as usize))
}

/// `None` if the counted lines are not there.
fn counted<'a>(cursor: &mut Cursor<'a>, header: &Header) -> Option<Vec<PatchLine<'a>>> {
    let (mut old, mut new) = (header.old, header.new);
    // Counts are only claims: memory grows with the lines.
    let mut lines = Vec::new();
    while old > 0 || new > 0 {
        if is_header(cursor, old, new) {
            return None;
        }
        let line = body_line(cursor.peek_raw()?)?;
        let Some(line) = line else {
            no_newline(&mut lines)?;
            cursor.next();
            continue;
        };
        if line.kind != LineKind::Added {
            old = old.checked_sub(1)?;
        }
        if line.kind != LineKind::Removed {
            new = new.checked_sub(1)?;
        }
        lines.push(line);
        cursor.next();
    }
    if cursor.peek().is_some_and(is_remark) {
        no_newline(&mut lines)?;
        cursor.next();
    }
    Some(lines)
}

/// True on the header of the next file, if counts lack `old` and `new` lines.
///
/// Such a header looks like a removed and an added line. If exactly these two are missing, the
/// counts claim them, and the hunk below belongs to the same file. Otherwise the counts are wrong.
fn is_header(cursor: &Cursor<'_>, old: usize, new: usize) -> bool {
    (old, new) != (1, 1) && cursor.starts_file() && cursor.below().below().is_on(b"@@")
}

/// Ignores the counts.
fn uncounted<'a>(cursor: &mut Cursor<'a>) -> Result<Vec<PatchLine<'a>>> {
    let mut lines = Vec::new();
    // Trailing empty lines are more likely between hunks than inside.
    let mut solid = (0, cursor.clone());
    while let Some(text) = cursor.peek() {
        if ends(cursor, text) {
            break;
        }
        match cursor.peek_raw().and_then(body_line) {
            Some(Some(line)) => lines.push(line),
            Some(None) if no_newline(&mut lines).is_some() => {}
            _ => {
                let what = format!("'{}' is neither context nor a change", excerpt(text));
                return Err(invalid(cursor.number(), what).hint(
                    "in a hunk every line starts with ' ', '-' or '+', context with a space",
                ));
            }
        }
        cursor.next();
        if !text.trim_ascii().is_empty() || text.starts_with(b"+") {
            solid = (lines.len(), cursor.clone());
        }
    }
    lines.truncate(solid.0);
    *cursor = solid.1;
    Ok(lines)
}

/// `Some(None)` for the `\ No newline` remark, `None` for other text.
fn body_line(raw: &[u8]) -> Option<Option<PatchLine<'_>>> {
    let line = |kind, bytes| Some(Some(PatchLine { kind, bytes }));
    match raw.first()? {
        b' ' => line(LineKind::Context, &raw[1..]),
        b'-' => line(LineKind::Removed, &raw[1..]),
        b'+' => line(LineKind::Added, &raw[1..]),
        // Empty context that lost its space.
        b'\n' | b'\r' if raw == b"\n" || raw == b"\r\n" => line(LineKind::Context, raw),
        b'\\' if is_remark(raw) => Some(None),
        _ => None,
    }
}

/// `\ No newline at end of file` in any language. Without its space, which transport may drop, only
/// in English: file lines may start with a backslash.
fn is_remark(line: &[u8]) -> bool {
    line.starts_with(b"\\ ") || line.starts_with(b"\\No newline")
}

fn no_newline(lines: &mut [PatchLine<'_>]) -> Option<()> {
    let last = lines.last_mut()?;
    last.bytes = last.bytes.strip_suffix(b"\n").unwrap_or(last.bytes);
    Some(())
}

/// True if a hunk continues after its counted lines, directly or after context. Below an empty
/// line, or the `-- ` of a mail, such lines may be prose.
fn goes_on(cursor: &Cursor<'_>) -> bool {
    let mut ahead = cursor.clone();
    while let Some(text) = ahead.peek() {
        match text.first() {
            Some(b'+' | b'-') => return !ends(&ahead, text),
            Some(b' ') => ahead.next(),
            _ => return false,
        };
    }
    false
}

fn ends(cursor: &Cursor<'_>, text: &[u8]) -> bool {
    const STARTS: [&[u8]; 6] = [b"@@", b"diff ", b"From ", b"commit ", b"```", b"*** End Patch"];
    STARTS.iter().any(|start| text.starts_with(start))
        || cursor.starts_file()
        || is_signature(cursor, text)
}

/// `-- ` and a version: the end of a mail.
fn is_signature(cursor: &Cursor<'_>, text: &[u8]) -> bool {
    if text.trim_ascii_end() != b"--" {
        return false;
    }
    cursor
        .below()
        .peek()
        .is_none_or(|next| !matches!(next.first(), Some(b' ' | b'+' | b'-' | b'@' | b'\\')))
}
