//! Errors for unreadable input.

use bstr::ByteSlice as _;

use super::cursor::Cursor;
use crate::changeset::dialect;
use crate::changeset::limits::codes;
use crate::error::{Error, Result};

pub(in crate::changeset) fn unsupported(number: usize, what: &str) -> Error {
    Error::new(&codes::PATCH_UNSUPPORTED, format!("line {number} of the patch: this is {what}"))
        .with("line", number)
        .hint("make the patch with `git diff`, let `git mailinfo` decode a mail, or send the files themselves")
}

pub(in crate::changeset) fn invalid(number: usize, what: impl std::fmt::Display) -> Error {
    Error::new(&codes::PATCH_INVALID, format!("line {number} of the patch: {what}"))
        .with("line", number)
}

/// The first 160 bytes of a line.
pub(in crate::changeset) fn excerpt(line: &[u8]) -> String {
    let line = line.trim_end();
    let text = line[..line.len().min(160)].to_str_lossy();
    if line.len() > 160 { format!("{text}…") } else { text.into_owned() }
}

pub(super) fn merge_diff(number: usize) -> Error {
    invalid(number, "this is the combined diff of a merge, which names no single change")
        .hint("take the diff against one parent: `git diff HEAD^1 HEAD`")
}

/// Refuses formats of other programs, and other formats of git.
///
/// # Errors
/// `patch_invalid`, `patch_unsupported`.
pub(super) fn refuse_other_forms(line: &[u8], cursor: &Cursor<'_>) -> Result<()> {
    let (number, next) = (cursor.number(), cursor.below());
    let is_plain = is_command(line) && (next.is_on(b"< ") || next.is_on(b"> "));
    let is_foreign = is_plain
        || (line.starts_with(b"***************") && next.is_on(b"*** "))
        || (line.starts_with(b"Index: ") && next.is_on(b"====="))
        || line.trim_end() == b"# HG changeset patch";
    if is_foreign {
        return Err(unsupported(number, "a patch of another program than git"));
    }
    if is_encoded(line) {
        return Err(unsupported(number, "an encoded mail"));
    }
    if line.starts_with(b"diff --cc ") || line.starts_with(b"diff --combined ") {
        return Err(merge_diff(number));
    }
    let is_above_file = || {
        let file = next.below_space();
        file.is_on(b"diff --git ") || file.is_on(b"--- ")
    };
    if dialect::is_header(line) && !is_above_file() {
        let what = format!("'{}' is of an envelope, beside a unified diff", excerpt(line));
        return Err(invalid(number, what)
            .hint("send the envelope and the unified diff one after the other"));
    }
    if cursor.starts_hunk() {
        return Err(invalid(number, "a hunk without a file header above it")
            .hint("put '--- a/PATH' and '+++ b/PATH' above the first '@@'"));
    }
    Ok(())
}

/// A mail header that announces encoded text.
fn is_encoded(line: &[u8]) -> bool {
    let Some((name, encoding)) = line.split_once_str(":") else { return false };
    name.eq_ignore_ascii_case(b"content-transfer-encoding")
        && [&b"base64"[..], b"quoted-printable"]
            .iter()
            .any(|word| encoding.trim_ascii().eq_ignore_ascii_case(word))
}

/// `10,12c10`, as in plain `diff` output.
fn is_command(line: &[u8]) -> bool {
    let range =
        |text: &[u8]| !text.is_empty() && text.iter().all(|b| b.is_ascii_digit() || *b == b',');
    let mut parts = line.trim_end().splitn(2, |b| matches!(b, b'a' | b'c' | b'd'));
    parts.next().is_some_and(range) && parts.next().is_some_and(range)
}
