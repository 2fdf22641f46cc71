//! The start of a commit in a mailbox or in `git log -p` output.

use bstr::ByteSlice as _;

/// The first line of a mail or logged commit: later changes build on earlier ones.
pub(in crate::changeset) fn starts_commit(line: &[u8], next: &[u8]) -> bool {
    let Some(id) = line.strip_prefix(b"commit ") else {
        return starts_mail(line) || is_oneline(line, next);
    };
    // `git log --boundary`, `--left-right` and others put a sign before the id.
    let id = if id.get(1) == Some(&b' ') { &id[2..] } else { id };
    let digits = id.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let ends = id.get(digits).is_none_or(u8::is_ascii_whitespace);
    let fields = [&b"Author: "[..], b"Merge: ", b"Reflog: ", b"tree "];
    let headed = || fields.iter().any(|field| next.starts_with(field));
    ends && (matches!(digits, 40 | 64) || (digits >= 4 && headed()))
}

/// `git log --oneline`, `--format=%H` or `git diff-tree --stdin`.
fn is_oneline(line: &[u8], next: &[u8]) -> bool {
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    line.get(digits).is_none_or(u8::is_ascii_whitespace)
        && (matches!(digits, 40 | 64) || (digits >= 7 && next.starts_with(b"diff --git ")))
}

/// A mailbox's `From 1234… Mon Sep 17 00:00:00 2001`, perhaps with the sender.
fn starts_mail(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else { return false };
    let words: Vec<_> = rest.fields().collect();
    let is_id =
        |word: &[u8]| matches!(word.len(), 40 | 64) && word.iter().all(u8::is_ascii_hexdigit);
    let is_time = |word: &[u8]| word.iter().filter(|b| **b == b':').count() == 2;
    let is_year = |word: &[u8]| word.len() == 4 && word.iter().all(u8::is_ascii_digit);
    words.first().is_some_and(|word| is_id(word))
        || matches!(words.as_slice(), [.., time, year] if is_time(time) && is_year(year))
}
