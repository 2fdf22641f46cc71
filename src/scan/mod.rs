//! What a scan reads: files and directories, what is staged, the commits of a range; and the report
//! of what was found there. What a secret is, is [`crate::secrets`]' to know.

mod changes;
mod files;
pub mod gate;
mod report;

use std::borrow::Cow;
use std::collections::BTreeSet;

use bstr::BString;

use crate::error::{Error, Result};
use crate::secrets::allow::{self, Limits};
use crate::secrets::unsafe_text::{self, Issue};
use crate::secrets::{AllowRegions, Options, Scan, Scanner};

pub use changes::{base as range_base, file_at, range, staged};
pub use files::{paths, stdin};
pub use report::{Found, report};

/// Error codes of reading what is to be scanned.
pub mod codes {
    crate::codes! {
        PATH_MISSING = "path_not_found", NotFound, "a path on the command line does not exist";
        INVALID_RANGE = "invalid_range", NotFound, "the range of commits names something that is not there";
        GIT_READ = "git_read_failed", Refused, "an object, the index or a ref cannot be read";
    }
}

/// Where the list of known false alarms lies, relative to the repository's top.
pub const ALLOW_LIST: &str = ".agent-memory/scan-allow";

/// Files larger than this are named and passed over.
pub const SIZE_LIMIT: u64 = 10 * 1024 * 1024;

/// One text to scan.
#[derive(Debug)]
pub struct Text {
    /// Relative to the repository's top where there is one.
    pub path: BString,
    /// The commit that brought it, abbreviated, for a range.
    pub commit: Option<String>,
    /// What was there before; `None` where every line counts as new.
    pub before: Option<Vec<u8>>,
    /// What is there now.
    pub after: Content,
}

impl Text {
    /// Drops the content; the place stays.
    pub fn forget(&mut self) {
        self.before = None;
        self.after = Content::Text(Vec::new());
    }
}

/// The content of a file, as far as it is scanned.
#[derive(Debug)]
pub enum Content {
    /// Text.
    Text(Vec<u8>),
    /// Larger than [`SIZE_LIMIT`]; the size in bytes.
    TooLarge(u64),
}

/// What to look for.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Characters and phrases that mislead.
    pub text: bool,
    /// Fingerprints of known false alarms.
    pub allow: BTreeSet<String>,
}

/// Scans one text after another.
pub struct Finder {
    whole: Scanner,
    change: Scanner,
    text: bool,
}

impl Finder {
    /// A finder of what is `wanted`.
    pub fn new(wanted: &Wanted) -> Self {
        let options = |regions| Options {
            allow_fingerprints: wanted.allow.clone(),
            regions,
            ..Options::default()
        };
        Self {
            whole: Scanner::new(&options(AllowRegions::Honoured(Limits::default()))),
            change: Scanner::new(&options(AllowRegions::Reviewed(Limits::default()))),
            text: wanted.text,
        }
    }

    /// What is in `text`.
    pub fn find(&self, text: &Text) -> Found {
        let after = match &text.after {
            Content::Text(after) => after,
            Content::TooLarge(size) => return Found { too_large: Some(*size), ..Found::default() },
        };
        if is_binary(after) {
            return Found::default();
        }
        let (scan, mut issues) = match &text.before {
            None => {
                let blocking = self.whole.scan(after);
                (Scan { blocking, warnings: Vec::new() }, self.issues(|| unsafe_text::check(after)))
            }
            Some(before) => (
                self.change.scan_added(before, after),
                self.issues(|| unsafe_text::check_added(before, after)),
            ),
        };
        if !issues.is_empty() && is_compressed(after) {
            // Nothing but noise; what a rule recognises by its form is found all the same.
            issues.clear();
        }
        Found { scan, issues, too_large: None }
    }

    fn issues(&self, check: impl FnOnce() -> Vec<Issue>) -> Vec<Issue> {
        if self.text { check() } else { Vec::new() }
    }
}

/// As git decides it: a NUL byte near the start. UTF-16 with a byte order mark is text.
fn is_binary(bytes: &[u8]) -> bool {
    !bytes.starts_with(b"\xff\xfe")
        && !bytes.starts_with(b"\xfe\xff")
        && bytes[..bytes.len().min(8000)].contains(&0)
}

/// As a PDF, which begins as text: more than one byte in a hundred is a control character that no text has, and it
/// is not UTF-8.
fn is_compressed(bytes: &[u8]) -> bool {
    let is_control = |b: &&u8| matches!(b, 0..=7 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    std::str::from_utf8(bytes).is_err()
        && bytes.iter().filter(is_control).count() > 16 + bytes.len() / 100
}

/// The fingerprints of an allow-list file.
///
/// # Errors
/// `allowlist_parse_error`, naming the file.
pub fn allow_list(bytes: &[u8]) -> Result<BTreeSet<String>> {
    let text: Cow<'_, str> = String::from_utf8_lossy(bytes);
    allow::list(&text).map_err(|error| {
        let line = error.details().iter().find(|(key, _)| *key == "line").map(|(_, v)| v.clone());
        Error::new(error.code(), format!("{ALLOW_LIST}: {}", error.message()))
            .hint(error.hint_text().unwrap_or_default())
            .with("line", line.unwrap_or_default())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compressed_is_told_from_old_encodings() {
        let noise = (0..20_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8);
        let noise: Vec<u8> = noise.filter(|byte| *byte != 0).collect();
        let pdf = [&b"%PDF-1.5\n"[..], &b"1 0 obj\n".repeat(1_500), &noise].concat();
        assert!(is_compressed(&pdf) && !is_binary(&pdf));
        assert!(!is_compressed(&b"Stra\xdfe \x1b[1m\n".repeat(500)));
        assert!(!is_compressed("\u{7}\u{8}\u{1}\n".repeat(500).as_bytes()));
        assert!(!is_binary(b"\xff\xfea\0"));
    }
}
