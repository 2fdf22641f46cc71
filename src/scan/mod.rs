//! Reads files, the index and commit ranges, and reports what `secrets` finds there.

mod changes;
mod files;
pub mod gate;
mod report;

use std::collections::BTreeSet;

use bstr::BString;

use crate::secrets::allow::Limits;
use crate::secrets::unsafe_text::{self, Issue};
use crate::secrets::{AllowRegions, Options, ScanFindings, Scanner};

pub use changes::{base as range_base, file_at, range, staged};
pub use files::{paths, stdin};
pub use report::{TextFindings, report};

pub mod codes {
    crate::codes! {
        PATH_MISSING = "path_not_found", NotFound, "a path on the command line does not exist";
        INVALID_RANGE = "invalid_range", NotFound, "the range of commits names an unknown revision";
        GIT_READ = "git_read_failed", Refused, "an object, the index or a ref cannot be read";
    }
}

/// List of known false alarms, relative to the repository's top.
pub const ALLOW_LIST: &str = ".agent-memory/scan-allow";

/// Bytes. Larger files are reported and not scanned.
pub const SIZE_LIMIT: u64 = 10 * 1024 * 1024;

#[derive(Debug)]
pub struct ScannedText {
    /// Relative to the repository's top if there is one.
    pub path: BString,
    /// Abbreviated, for a range.
    pub commit: Option<String>,
    /// `None` if every line counts as new.
    pub before: Option<Vec<u8>>,
    pub after: Content,
}

impl ScannedText {
    pub fn drop_content(&mut self) {
        self.before = None;
        self.after = Content::Text(Vec::new());
    }
}

#[derive(Debug)]
pub enum Content {
    Text(Vec<u8>),
    /// Over [`SIZE_LIMIT`]; size in bytes.
    TooLarge(u64),
}

#[derive(Clone, Debug)]
pub struct ScanOptions {
    /// Search for misleading characters and phrases.
    pub text: bool,
    /// Fingerprints of false alarms.
    pub allow: BTreeSet<String>,
}

pub struct TextScanner {
    whole: Scanner,
    change: Scanner,
    text: bool,
}

impl TextScanner {
    pub fn new(wanted: &ScanOptions) -> Self {
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

    pub fn find(&self, text: &ScannedText) -> TextFindings {
        let after = match &text.after {
            Content::Text(after) => after,
            Content::TooLarge(size) => {
                return TextFindings { too_large: Some(*size), ..TextFindings::default() };
            }
        };
        if is_binary(after) {
            return TextFindings::default();
        }
        let (scan, mut issues) = match &text.before {
            None => {
                let blocking = self.whole.scan(after);
                (
                    ScanFindings { new_findings: blocking, warnings: Vec::new() },
                    self.issues(|| unsafe_text::check(after)),
                )
            }
            Some(before) => (
                self.change.scan_added(before, after),
                self.issues(|| unsafe_text::check_added(before, after)),
            ),
        };
        if !issues.is_empty() && is_compressed(after) {
            // Compressed noise; rules still match by form.
            issues.clear();
        }
        TextFindings { scan, issues, too_large: None }
    }

    fn issues(&self, check: impl FnOnce() -> Vec<Issue>) -> Vec<Issue> {
        if self.text { check() } else { Vec::new() }
    }
}

/// git's test, but UTF-16 with a byte order mark is text.
fn is_binary(bytes: &[u8]) -> bool {
    !bytes.starts_with(b"\xff\xfe")
        && !bytes.starts_with(b"\xfe\xff")
        && bytes[..bytes.len().min(8000)].contains(&0)
}

/// For PDFs, which begin as text: more than 1 % control characters and invalid UTF-8.
fn is_compressed(bytes: &[u8]) -> bool {
    let is_control = |b: &&u8| matches!(b, 0..=7 | 0x0e..=0x1a | 0x1c..=0x1f | 0x7f);
    std::str::from_utf8(bytes).is_err()
        && bytes.iter().filter(is_control).count() > 16 + bytes.len() / 100
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
