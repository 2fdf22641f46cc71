//! Follows lines from one content to another, and replaces lines.

use std::ops::Range;

use bstr::ByteSlice as _;

use super::hunks::{Diff, Text};

/// The place of `lines` of `before` (from 0) in `after`; `None` if a line is gone or another was
/// inserted. Moved lines are found if both contents hold them exactly once.
///
/// # Panics
/// If `lines` ends beyond `before`.
pub fn follow(before: &[u8], after: &[u8], lines: Range<usize>) -> Option<Range<usize>> {
    let diff = Diff::new(before, after);
    let mut moved = 0_isize;
    for edit in diff.edits() {
        let is_above = edit.before.end <= lines.start;
        let is_below = edit.before.start >= lines.end;
        match (is_above, is_below) {
            (true, _) => moved += edit.after.len() as isize - edit.before.len() as isize,
            (false, true) => break,
            (false, false) => return find_moved(diff.before(), diff.after(), &lines),
        }
    }
    let start = lines.start.checked_add_signed(moved)?;
    Some(start..start + lines.len())
}

fn find_moved(before: &Text<'_>, after: &Text<'_>, lines: &Range<usize>) -> Option<Range<usize>> {
    let wanted = before.lines(lines.clone());
    if wanted.trim().is_empty() || only_place(before.bytes(), wanted).is_none() {
        return None;
    }
    let at = only_place(after.bytes(), wanted)?;
    let start = after.bytes()[..at].find_iter(b"\n").count();
    Some(start..start + lines.len())
}

/// `None` unless the whole lines `wanted` occur once.
fn only_place(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    let is_whole = |at: &usize| {
        let end = at + wanted.len();
        let starts = *at == 0 || bytes[*at - 1] == b'\n';
        starts && (wanted.ends_with(b"\n") || end == bytes.len())
    };
    let mut from = 0;
    let mut found = std::iter::from_fn(|| {
        let at = from + bytes[from..].find(wanted)?;
        from = at + 1;
        Some(at)
    })
    .filter(is_whole);
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// Replaces `lines` (from 0). If they end in CRLF, a replacement with LF alone gets CRLF. The last
/// line keeps its LF or the lack of one; then other lines of the file decide the ending.
///
/// # Panics
/// If `lines` ends beyond the last line.
pub fn replace(bytes: &[u8], lines: Range<usize>, replacement: &str) -> Vec<u8> {
    let text = Text::new(bytes);
    let old = text.lines(lines.clone());
    let has_crlf = if old.contains(&b'\n') {
        old.lines_with_terminator().all(|line| line.ends_with(b"\r\n") || !line.ends_with(b"\n"))
    } else {
        mostly_crlf(bytes)
    };
    let mut new = if has_crlf && !replacement.contains('\r') {
        replacement.replace('\n', "\r\n").into_bytes()
    } else {
        replacement.as_bytes().to_owned()
    };
    let end: &[u8] = if has_crlf { b"\r\n" } else { b"\n" };
    if old.ends_with(b"\n") && !new.is_empty() && !new.ends_with(b"\n") {
        new.extend_from_slice(end);
    } else if !old.ends_with(b"\n") && new.ends_with(b"\n") {
        let is_crlf = new.ends_with(b"\r\n");
        new.truncate(new.len() - if is_crlf { 2 } else { 1 });
    }
    let before = text.lines(0..lines.start);
    let after = text.lines(lines.end..text.len());
    [before, new.as_slice(), after].concat()
}

fn mostly_crlf(bytes: &[u8]) -> bool {
    let crlf = bytes.find_iter(b"\r\n").count();
    crlf * 2 > bytes.find_iter(b"\n").count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    type Case = (&'static str, &'static str, Range<usize>, Option<Range<usize>>);

    #[test]
    fn lines_are_followed_until_they_change() {
        let cases: [Case; 12] = [
            ("a\nb\nc\n", "a\nb\nc\n", 1..2, Some(1..2)),
            ("a\nb\nc\n", "x\ny\na\nb\nc\n", 1..3, Some(3..5)),
            ("a\nb\nc\n", "b\nc\n", 1..3, Some(0..2)),
            ("a\nb\nc\n", "a\nb\nc\nd\n", 1..3, Some(1..3)),
            ("a\nb\nc\n", "a\nB\nc\n", 1..2, None),
            ("a\nb\nc\n", "a\nb\nx\nc\n", 1..3, None),
            ("a\nb\nc\n", "a\nx\nb\nc\n", 1..3, Some(2..4)),
            ("a\nb\nc\n", "", 0..1, None),
            // Moved.
            ("f\n1\n2\n3\n4\n", "1\n2\n3\n4\nf\n", 0..1, Some(4..5)),
            // Twice in one content: ambiguous.
            ("f\n1\n2\n3\n4\n", "1\n2\nf\n3\n4\nf\n", 0..1, None),
            ("}\n1\n2\n3\n}\n", "1\n2\n3\n4\n}\n", 0..1, None),
            // The last line lost its LF: another line.
            ("a\nb\n", "a\nb", 1..2, None),
        ];
        for (before, after, lines, expected) in cases {
            let found = follow(before.as_bytes(), after.as_bytes(), lines.clone());
            assert_eq!(found, expected, "{before:?} {after:?} {lines:?}");
        }
    }

    #[test]
    fn a_replacement_keeps_the_ends_of_lines() {
        let cases: [(&str, Range<usize>, &str, &str); 11] = [
            ("a\nb\nc\n", 1..2, "x\ny", "a\nx\ny\nc\n"),
            ("a\nb\nc\n", 1..2, "x\n", "a\nx\nc\n"),
            ("a\nb\nc\n", 1..3, "", "a\n"),
            ("a\nb", 1..2, "x\n", "a\nx"),
            ("a\nb", 1..2, "x", "a\nx"),
            ("a\r\nb\r\n", 1..2, "x\ny\n", "a\r\nx\r\ny\r\n"),
            ("a\r\nb\r\n", 0..1, "x\r\ny", "x\r\ny\r\nb\r\n"),
            ("a\r\nb", 1..2, "x\n", "a\r\nx"),
            ("a\r\nb", 1..2, "x\ny", "a\r\nx\r\ny"),
            ("a\r\nb\nc\nd", 3..4, "x\ny", "a\r\nb\nc\nx\ny"),
            ("a", 0..1, "x\ny", "x\ny"),
        ];
        for (before, lines, replacement, expected) in cases {
            let found = replace(before.as_bytes(), lines, replacement);
            assert_eq!(
                found.as_bstr(),
                expected.as_bytes().as_bstr(),
                "{before:?} {replacement:?}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_found_is_the_same_lines(
            before in proptest::collection::vec("[abc]\n", 1..12),
            after in proptest::collection::vec("[abc]\n", 0..12),
            start in 0..12_usize,
            len in 1..4_usize,
        ) {
            let start = start.min(before.len() - 1);
            let lines = start..(start + len).min(before.len());
            let (old, new) = (before.concat(), after.concat());
            if let Some(found) = follow(old.as_bytes(), new.as_bytes(), lines.clone()) {
                prop_assert_eq!(&before[lines], &after[found]);
            }
        }
    }
}
