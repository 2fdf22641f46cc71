//! Checks that the parts of a recorded change agree with each other.

use bstr::ByteSlice as _;

use super::codes;
use crate::changeset::{File, FileChange, Mode, RepoPath, snippet};
use crate::error::{Error, Result};
use crate::proposal::Entry;

/// Limit of bytes searched for the snippets of one file: their number times its size.
const MOST_SEARCHED: usize = 8 << 30;

fn contradicts(path: &RepoPath, why: impl FnOnce(&str) -> String) -> Error {
    let path = path.display().to_string();
    Error::new(&codes::EVENT_CONTRADICTS, why(&path))
        .with("path", path)
        .hint("the event names one result and produces another; reject it")
}

/// Refuses an entry whose mode no proposal has, such as a symlink's.
///
/// # Errors
/// `event_contradicts`.
pub(super) fn mode(path: &RepoPath, entry: &Entry) -> Result<()> {
    if Mode::parse(&entry.mode).is_some() {
        return Ok(());
    }
    let mode: String = entry.mode.chars().take(16).collect();
    Err(contradicts(path, |path| {
        format!("the mode recorded for '{path}' is '{mode}', and a proposal holds regular files")
    }))
}

/// Refuses content with another SHA-256 than the event records: a decision names that one.
///
/// # Errors
/// `event_contradicts`.
pub(super) fn content(path: &RepoPath, file: &File, sha256: Option<&str>) -> Result<()> {
    if sha256.is_none_or(|sha256| sha256 == crate::sha256::hex(&file.bytes)) {
        return Ok(());
    }
    Err(contradicts(path, |path| {
        format!("the content of '{path}' has another SHA-256 than the event says")
    }))
}

/// Refuses a change whose snippets do not turn `before` into `after`. In a file that has changed
/// since the snippets are written, so they have to be what was shown.
///
/// # Errors
/// `event_contradicts`.
pub(super) fn check(change: &FileChange) -> Result<()> {
    if change.snippets.is_empty() || fits(change) {
        return Ok(());
    }
    Err(contradicts(&change.path, |path| {
        format!(
            "the old and new text recorded for '{path}' do not lead from its old to its new content"
        )
    }))
}

fn fits(change: &FileChange) -> bool {
    let (Some(before), Some(after)) = (&change.before, &change.after) else { return false };
    if change.snippets.len().saturating_mul(before.bytes.len()) > MOST_SEARCHED {
        return false;
    }
    snippet::apply_all(&change.path, before, &change.snippets)
        .is_ok_and(|made| made.bytes == after.bytes || stored(&made.bytes) == stored(&after.bytes))
}

/// `bytes` without line endings and the text of `$Id: …$`, which git may convert when it stores
/// content.
fn stored(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.lines_with_terminator() {
        let mut rest = line.strip_suffix(b"\r\n").unwrap_or(line);
        while let Some(at) = rest.find(b"$Id:") {
            let end = rest[at + 4..].find_byte(b'$');
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(b"$Id");
            rest = &rest[end.map_or(at + 4, |end| at + 4 + end)..];
        }
        out.extend_from_slice(rest);
        if line.ends_with(b"\r\n") {
            out.push(b'\n');
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::changeset::{Occurrence, Snippet};

    fn change(before: &str, after: &str, old: &str, new: &str) -> FileChange {
        FileChange {
            path: RepoPath::new("f").unwrap(),
            before: Some(File::regular(before.as_bytes().to_vec())),
            after: Some(File::regular(after.as_bytes().to_vec())),
            origin: None,
            snippets: vec![Snippet {
                old: old.into(),
                new: new.into(),
                occurrence: Occurrence::Unique,
            }],
        }
    }

    #[test]
    fn snippets_have_to_lead_to_the_new_content() {
        assert!(check(&change("one\ntwo\n", "one\nTWO\n", "two", "TWO")).is_ok());
        assert!(check(&change("one\ntwo\n", "one\nTWO\n", "two", "EVIL")).is_err());
        assert!(check(&change("one\ntwo\n", "one\nTWO\n", "three", "EVIL")).is_err());
    }

    #[test]
    fn what_git_converts_is_no_contradiction() {
        assert!(check(&change("a\nb\n", "A\nB\n", "a\nb", "A\r\nB")).is_ok());
        assert!(check(&change("x\n", "$Id$ y\n", "x", "$Id: 123 $ y")).is_ok());
    }
}
