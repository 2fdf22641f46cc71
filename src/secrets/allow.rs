//! Known false alarms: marked regions and a list of fingerprints.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::error::{Error, Result};

use super::codes;
use super::value::find;

/// Limits on allowed text; 0 means unlimited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    pub max_bytes_per_file: usize,
    pub max_regions_per_file: usize,
    pub max_bytes_per_region: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { max_bytes_per_file: 1024, max_regions_per_file: 10, max_bytes_per_region: 512 }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Byte offsets between the two markers.
    pub bytes: Range<usize>,
    /// Byte offsets with both markers.
    pub whole: Range<usize>,
    /// From 1.
    pub line: usize,
    pub reason: String,
}

/// May be malformed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Marker {
    /// Byte offsets; an unclosed comment ends with its line.
    pub bytes: Range<usize>,
    /// From 1.
    pub line: usize,
    pub kind: MarkerKind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MarkerKind {
    /// `<!-- @secret-scan: allow reason="…" -->`; holds the reason.
    Allow(String),
    /// `allow` without a reason, or with an empty one.
    NoReason,
    /// `<!-- @secret-scan: end -->`
    End,
    Unknown,
}

/// In order, without malformed ones in code spans. A proposal with any is refused: it must not
/// bring its own allow-list.
pub fn markers(text: &[u8]) -> Vec<Marker> {
    const OPEN: &[u8] = b"<!--";
    const NAME: &[u8] = b"@secret-scan:";
    let mut all = Vec::new();
    let mut at = 0;
    let mut line = 1;
    let mut counted = 0;
    while let Some(found) = find(&text[at..], OPEN) {
        let start = at + found;
        let inner = start + OPEN.len();
        at = inner;
        let body = text[inner..].trim_ascii_start();
        let Some(said) = body.strip_prefix(NAME) else { continue };
        line += text[counted..start].iter().filter(|b| **b == b'\n').count();
        counted = start;
        let first_line = said.iter().position(|b| *b == b'\n').unwrap_or(said.len());
        let close = find(&said[..first_line], b"-->");
        let said_start = text.len() - said.len();
        let end = said_start + close.map_or(first_line, |p| p + 3);
        let kind = match close {
            Some(close) => kind_of(&said[..close]),
            None => MarkerKind::Unknown,
        };
        // Prose may quote a marker in a code span, unless it would open or end a region.
        let quoted = start > 0 && text[start - 1] == b'`';
        if quoted && matches!(kind, MarkerKind::Unknown | MarkerKind::NoReason) {
            at = end;
            continue;
        }
        all.push(Marker { bytes: start..end, line, kind });
        at = end;
    }
    all
}

fn kind_of(said: &[u8]) -> MarkerKind {
    let said = said.trim_ascii();
    if said == b"end" {
        return MarkerKind::End;
    }
    let Some(rest) = said.strip_prefix(b"allow") else { return MarkerKind::Unknown };
    if rest.is_empty() {
        return MarkerKind::NoReason;
    }
    let reason =
        rest.trim_ascii_start().strip_prefix(b"reason=\"").and_then(|r| r.strip_suffix(b"\""));
    match reason {
        Some(reason) if reason.contains(&b'"') || !rest[0].is_ascii_whitespace() => {
            MarkerKind::Unknown
        }
        Some(reason) if reason.trim_ascii().is_empty() => MarkerKind::NoReason,
        Some(reason) => MarkerKind::Allow(String::from_utf8_lossy(reason).into_owned()),
        None => MarkerKind::Unknown,
    }
}

/// # Errors
/// `allowlist_parse_error` if a marker is malformed, nested, unpaired or without a reason;
/// `allowlist_limit_exceeded` beyond `limits`. Details name the line.
pub fn regions(text: &[u8], limits: &Limits) -> Result<Vec<Region>> {
    let regions = pair(markers(text))?;
    check(&regions, limits)?;
    Ok(regions)
}

fn pair(markers: Vec<Marker>) -> Result<Vec<Region>> {
    const SHAPE: &str =
        "write <!-- @secret-scan: allow reason=\"why\" --> … <!-- @secret-scan: end -->";
    let wrong = |line: usize, what: &str| {
        Error::new(&codes::ALLOWLIST_PARSE, format!("the allow marker on line {line} {what}"))
            .hint(SHAPE)
            .with("line", line)
    };
    let mut regions = Vec::new();
    let mut open: Option<(Marker, String)> = None;
    for marker in markers {
        let line = marker.line;
        match (marker.kind.clone(), open.take()) {
            (MarkerKind::Unknown, _) => return Err(wrong(line, "cannot be read")),
            (MarkerKind::NoReason, _) => return Err(wrong(line, "gives no reason")),
            (MarkerKind::Allow(_), Some((outer, _))) => {
                return Err(wrong(
                    line,
                    &format!("is inside the region opened on line {}", outer.line),
                ));
            }
            (MarkerKind::Allow(reason), None) => open = Some((marker, reason)),
            (MarkerKind::End, None) => {
                return Err(wrong(line, "ends a region that was never opened"));
            }
            (MarkerKind::End, Some((begin, reason))) => regions.push(Region {
                bytes: begin.bytes.end..marker.bytes.start,
                whole: begin.bytes.start..marker.bytes.end,
                line: begin.line,
                reason,
            }),
        }
    }
    match open {
        Some((marker, _)) => Err(wrong(marker.line, "opens a region that is never ended")),
        None => Ok(regions),
    }
}

fn check(regions: &[Region], limits: &Limits) -> Result<()> {
    let over = |what: &str, is: usize, limit: usize, line: usize| {
        let message = format!("{what}: {is}, the limit is {limit}");
        Error::new(&codes::ALLOWLIST_LIMIT, message)
            .hint("allow less text: only the line that needs it")
            .with("line", line)
    };
    let exceeds = |is: usize, limit: usize| limit != 0 && is > limit;
    if exceeds(regions.len(), limits.max_regions_per_file) {
        let line = regions[limits.max_regions_per_file].line;
        return Err(over(
            "too many allow regions",
            regions.len(),
            limits.max_regions_per_file,
            line,
        ));
    }
    let mut total = 0;
    for region in regions {
        let size = region.bytes.len();
        total += size;
        if exceeds(size, limits.max_bytes_per_region) {
            return Err(over(
                "an allow region has too many bytes",
                size,
                limits.max_bytes_per_region,
                region.line,
            ));
        }
        if exceeds(total, limits.max_bytes_per_file) {
            return Err(over(
                "the allow regions have too many bytes together",
                total,
                limits.max_bytes_per_file,
                region.line,
            ));
        }
    }
    Ok(())
}

/// One fingerprint and its reason per line; `#` starts a comment.
///
/// # Errors
/// `allowlist_parse_error` for a line without either.
pub fn list(bytes: &[u8]) -> Result<BTreeSet<String>> {
    let mut all = BTreeSet::new();
    for (index, line) in String::from_utf8_lossy(bytes).lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let number = index + 1;
        let wrong = |what: &str| {
            Error::new(
                &codes::ALLOWLIST_PARSE,
                format!(".agent-memory/scan-allow: line {number} {what}"),
            )
            .hint("each line is a fingerprint as `aye scan` prints it, a space, and the reason")
            .with("line", number)
        };
        let (fingerprint, reason) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        if !is_fingerprint(fingerprint) {
            return Err(wrong("does not start with a fingerprint"));
        }
        if reason.trim().is_empty() {
            return Err(wrong("gives no reason"));
        }
        all.insert(fingerprint.to_string());
    }
    Ok(all)
}

/// `<type>:<hex>`
pub fn is_fingerprint(text: &str) -> bool {
    text.split_once(':').is_some_and(|(kind, hex)| {
        !kind.is_empty()
            && kind.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
            && matches!(hex.len(), 5 | 10)
            && hex.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "<!-- @secret-scan: allow reason=\"docs\" -->";
    const END: &str = "<!-- @secret-scan: end -->";

    #[test]
    fn a_pair_is_a_region() {
        let text = format!("a\n{OPEN}\nbody\n{END}\n");
        let found = regions(text.as_bytes(), &Limits::default()).expect("regions");
        assert_eq!(found.len(), 1);
        assert_eq!((&text[found[0].bytes.clone()], found[0].line), ("\nbody\n", 2));
        assert_eq!(found[0].reason, "docs");
    }

    #[test]
    fn a_marker_in_a_code_span_is_prose_unless_it_would_open_a_region() {
        let prose =
            "see `<!-- @secret-scan: allow reason=... -->` and `<!-- @secret-scan: allow -->`";
        assert_eq!(markers(prose.as_bytes()), []);
        let quoted = format!("`{OPEN}`\nbody\n{END}\n");
        assert_eq!(markers(quoted.as_bytes()).len(), 2);
    }

    #[test]
    fn broken_markers_say_where() {
        for (text, line) in [
            (format!("{OPEN}\n{OPEN}\n{END}"), 2),
            (format!("x\n{END}"), 2),
            (format!("\n\n{OPEN}\n"), 3),
            ("<!-- @secret-scan: allow -->\n".into(), 1),
            ("<!-- @secret-scan: allow reason=\" \" -->\n".into(), 1),
            ("<!-- @secret-scan: allowed reason=\"x\" -->\n".into(), 1),
            ("<!--@secret-scan:allow reason=\"x\"\n-->".into(), 1),
        ] {
            let error = regions(text.as_bytes(), &Limits::default()).expect_err(&text);
            assert!(error.is(&codes::ALLOWLIST_PARSE), "{text}: {error}");
            assert_eq!(error.details(), [("line", line.into())], "{text}");
        }
    }

    #[test]
    fn limits_hold_and_zero_sets_them_aside() {
        let text = format!("{OPEN}{}{END}", "x".repeat(513));
        let limits = Limits::default();
        assert!(
            regions(text.as_bytes(), &limits).expect_err("too long").is(&codes::ALLOWLIST_LIMIT)
        );
        let loose = Limits { max_bytes_per_region: 0, ..limits };
        assert_eq!(regions(text.as_bytes(), &loose).expect("allowed").len(), 1);
        let many = format!("{OPEN}x{END}\n").repeat(11);
        assert!(regions(many.as_bytes(), &limits).is_err());
        let total = format!("{OPEN}{}{END}\n", "x".repeat(400)).repeat(3);
        assert!(regions(total.as_bytes(), &limits).is_err());
    }

    #[test]
    fn lists_need_reasons() {
        let text = "# known\nssn:0a1b2  in the parser's own test\n\n";
        assert_eq!(
            list(text.as_bytes()).expect("list").into_iter().collect::<Vec<_>>(),
            ["ssn:0a1b2"]
        );
        assert!(list(b"ssn:0a1b2").is_err());
        assert!(list(b"hunter2 my password").is_err());
    }
}
