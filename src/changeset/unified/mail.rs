//! Where a commit begins among the patches of a series: in a mailbox, or in what `git log -p` prints.

use bstr::ByteSlice as _;

/// Is `line`, with `next` below it, the first of a mail or of a commit in a log, so that what
/// follows builds on what came before?
pub(in crate::changeset) fn starts_commit(line: &[u8], next: &[u8]) -> bool {
    let Some(id) = line.strip_prefix(b"commit ") else {
        return starts_mail(line) || is_oneline(line, next);
    };
    // `git log --boundary`, `--left-right` and the like put a sign before the id.
    let id = if id.get(1) == Some(&b' ') { &id[2..] } else { id };
    let digits = id.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    let ends = id.get(digits).is_none_or(u8::is_ascii_whitespace);
    let fields = [&b"Author: "[..], b"Merge: ", b"Reflog: ", b"tree "];
    let headed = || fields.iter().any(|field| next.starts_with(field));
    ends && (matches!(digits, 40 | 64) || (digits >= 4 && headed()))
}

/// How `git log --oneline`, `--format=%H` and `git diff-tree --stdin` begin a commit.
fn is_oneline(line: &[u8], next: &[u8]) -> bool {
    let digits = line.iter().take_while(|b| b.is_ascii_hexdigit()).count();
    line.get(digits).is_none_or(u8::is_ascii_whitespace)
        && (matches!(digits, 40 | 64) || (digits >= 7 && next.starts_with(b"diff --git ")))
}

/// `From 1234… Mon Sep 17 00:00:00 2001`: the line of a mailbox that a mail starts with. Whoever
/// sent it may stand there too.
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
