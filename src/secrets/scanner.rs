//! The scanner: options in, findings out.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice as _;

use super::added_lines::AddedLines;
use super::allow::{self, Limits};
use super::encoding::readable;
use super::finding::{self, Finding, Span};
use super::prefilter::{self, Target};
use super::rules::{self, RULES};
use super::{keys, value};

#[derive(Clone, Debug)]
pub struct Options {
    pub secrets: bool,
    /// See [`allow::list`].
    pub allow_fingerprints: BTreeSet<String>,
    pub regions: AllowRegions,
}

impl Default for Options {
    fn default() -> Self {
        Self { secrets: true, allow_fingerprints: BTreeSet::new(), regions: AllowRegions::Ignored }
    }
}

/// Treatment of `<!-- @secret-scan: allow … -->` regions. Malformed regions or regions over the
/// limits allow nothing; [`allow::regions`] names the error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllowRegions {
    Ignored,
    Honoured(Limits),
    /// For [`Scanner::scan_added`]: regions count if both markers were there before. A change
    /// cannot bring its own allow-list.
    Reviewed(Limits),
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScanFindings {
    /// In added or changed lines.
    pub new_findings: Vec<Finding>,
    /// In unchanged lines.
    pub warnings: Vec<Finding>,
}

impl ScanFindings {
    pub fn is_clean(&self) -> bool {
        self.new_findings.is_empty() && self.warnings.is_empty()
    }
}

/// Finds credentials in bytes of any encoding, in linear time.
///
/// Cheap to create: all scanners share the patterns, which are built on first use.
#[derive(Clone, Debug, Default)]
pub struct Scanner {
    options: Options,
}

impl Scanner {
    pub fn new(options: &Options) -> Self {
        Self { options: options.clone() }
    }

    /// By offset, without overlaps.
    pub fn scan(&self, text: &[u8]) -> Vec<Finding> {
        let text = &readable(text);
        let spans = self.drop_allowed(text, self.spans(text), None);
        self.drop_known(finding::describe(text, &spans))
    }

    /// Findings in `after`, split by whether an added or changed line is touched.
    pub fn scan_added(&self, before: &[u8], after: &[u8]) -> ScanFindings {
        let after = &readable(after);
        let spans = self.spans(after);
        if spans.is_empty() {
            return ScanFindings::default();
        }
        let added = AddedLines::between(&readable(before), after);
        let spans = self.drop_allowed(after, spans, Some(&added));
        self.by_novelty(after, spans, &added)
    }

    fn by_novelty(&self, after: &[u8], spans: Vec<Span>, added: &AddedLines) -> ScanFindings {
        let (new, old): (Vec<Span>, Vec<Span>) =
            spans.into_iter().partition(|span| added.touches(span.start, span.end));
        ScanFindings {
            new_findings: self.drop_known(finding::describe(after, &new)),
            warnings: self.drop_known(finding::describe(after, &old)),
        }
    }

    /// Like [`Scanner::scan_added`], but with `regions` ([`allow::Region::bytes`] of `after`) that
    /// the caller vouches for instead of the options' regions.
    pub fn scan_added_outside(
        &self,
        before: &str,
        after: &str,
        regions: &[std::ops::Range<usize>],
    ) -> ScanFindings {
        let mut spans = self.spans(after.as_bytes());
        spans.retain(|span| !is_within(span, regions));
        if spans.is_empty() {
            return ScanFindings::default();
        }
        let added = AddedLines::between(before.as_bytes(), after.as_bytes());
        self.by_novelty(after.as_bytes(), spans, &added)
    }

    /// Replaces each secret by its kind: messages may quote text.
    pub fn redacted<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let spans = self.spans(text.as_bytes());
        if spans.is_empty() {
            return Cow::Borrowed(text);
        }
        let (mut out, mut at) = (Vec::new(), 0);
        for span in spans {
            out.extend_from_slice(&text.as_bytes()[at..span.start]);
            out.extend_from_slice(format!("[{}]", span.kind).as_bytes());
            at = span.end;
        }
        out.extend_from_slice(&text.as_bytes()[at..]);
        Cow::Owned(String::from_utf8_lossy(&out).into_owned())
    }

    fn spans(&self, text: &[u8]) -> Vec<Span> {
        let mut spans = Vec::new();
        if self.options.secrets {
            secrets(text, &mut spans);
        }
        final_spans(text, spans)
    }

    fn drop_allowed(
        &self,
        text: &[u8],
        mut spans: Vec<Span>,
        added: Option<&AddedLines>,
    ) -> Vec<Span> {
        let (limits, reviewed) = match &self.options.regions {
            AllowRegions::Ignored => return spans,
            AllowRegions::Honoured(limits) => (limits, false),
            AllowRegions::Reviewed(limits) => (limits, true),
        };
        if spans.is_empty() {
            return spans;
        }
        let mut regions = allow::regions(text, limits).unwrap_or_default();
        if reviewed {
            // The adjacent bytes belong to the markers' lines.
            regions.retain(|region| {
                let (start, end) = (region.bytes.start, region.bytes.end);
                added.is_some_and(|a| !a.touches(start - 1, start) && !a.touches(end, end + 1))
            });
        }
        let regions: Vec<_> = regions.into_iter().map(|region| region.bytes).collect();
        spans.retain(|span| !is_within(span, &regions));
        spans
    }

    fn drop_known(&self, mut findings: Vec<Finding>) -> Vec<Finding> {
        findings.retain(|f| !self.options.allow_fingerprints.contains(&f.fingerprint));
        findings
    }
}

/// Drops documented values and overlaps.
fn final_spans(text: &[u8], mut spans: Vec<Span>) -> Vec<Span> {
    spans.retain(|span| !value::is_documented(&text[span.start..span.end]));
    finding::drop_overlaps(spans)
}

fn is_within(span: &Span, regions: &[std::ops::Range<usize>]) -> bool {
    regions.iter().any(|region| region.start <= span.start && span.end <= region.end)
}

/// A provider rule runs over a window around its keyword that no match can leave. Windows that meet
/// are joined: each rule reads each byte at most once.
fn secrets(text: &[u8], spans: &mut Vec<Span>) {
    let mut windows: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    prefilter::scan(text, |target, start, end| match target {
        Target::Rule(index) if !RULES[index].accepts_case(&text[start..end]) => {}
        Target::Rule(index) => {
            // Word boundaries look at one more byte on each side.
            let reach = RULES[index].max_len + 1;
            let (from, to) = line_window(text, start, end, reach);
            match windows.get_mut(&index) {
                Some(open) if from <= open.1 => open.1 = open.1.max(to),
                Some(open) => {
                    rules::matches(index, text, open.0, open.1, spans);
                    *open = (from, to);
                }
                None => {
                    windows.insert(index, (from, to));
                }
            }
        }
        other => spans.extend(read(text, other, start)),
    });
    for (index, (from, to)) in windows {
        rules::matches(index, text, from, to, spans);
    }
}

fn read(text: &[u8], target: Target, start: usize) -> Option<Span> {
    match target {
        Target::PrivateKey => keys::private_key(text, start),
        Target::Connection => keys::connection(text, start),
        Target::Rule(_) => None,
    }
}

/// Widens by `reach`, within the line.
fn line_window(text: &[u8], start: usize, end: usize, reach: usize) -> (usize, usize) {
    let floor = start.saturating_sub(reach);
    let from = text[floor..start].rfind_byte(b'\n').map_or(floor, |p| floor + p + 1);
    let ceiling = (end + reach).min(text.len());
    let to = text[end..ceiling].find_byte(b'\n').map_or(ceiling, |p| end + p);
    (from, to)
}

#[cfg(test)]
impl Scanner {
    pub(super) fn scan_without_prefilter(&self, text: &[u8]) -> Vec<Finding> {
        let mut spans = Vec::new();
        if self.options.secrets {
            for index in 0..RULES.len() {
                rules::matches(index, text, 0, text.len(), &mut spans);
            }
            prefilter::scan_slowly(text, |target, start, _| {
                spans.extend(read(text, target, start));
            });
        }
        let spans = self.drop_allowed(text, final_spans(text, spans), None);
        self.drop_known(finding::describe(text, &spans))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OPEN: &str = "<!-- @secret-scan: allow reason=\"docs\" -->";
    const END: &str = "<!-- @secret-scan: end -->";

    fn token() -> String {
        format!("ghp_{}", "aB3xQ9zL4mPnR7tY2vK8wE5jH1uF6oI0sD2y")
    }

    #[test]
    fn a_finding_tells_place_and_length_only() {
        let text = format!("ok\nünï {} x\n", token());
        let found = Scanner::default().scan(text.as_bytes());
        assert_eq!(found.len(), 1, "{found:?}");
        let f = &found[0];
        assert_eq!(
            (f.kind, f.line, f.column, f.end_column, f.length),
            ("github_token", 2, 5, 45, 40)
        );
        let shown = format!("{f:?}{}", serde_json::to_string(f).expect("json"));
        assert!(!shown.contains(&token()[4..12]), "{shown}");
    }

    #[test]
    fn what_a_word_goes_on_from_is_not_a_token() {
        let kinds = |text: &str| -> Vec<&str> {
            Scanner::default().scan(text.as_bytes()).iter().map(|found| found.kind).collect()
        };
        let hex = "5b2c59932001997786b176dec02bd16128ee9ea8";
        let pulumi = format!("pul-{hex}");
        assert_eq!(kinds(&format!("x {pulumi} y")), ["pulumi_token"]);
        assert_eq!(kinds(&format!("\"a\\n{pulumi}\\nb\"")), ["pulumi_token"]);
        assert_eq!(kinds(&format!("?a=1%26{pulumi}")), ["pulumi_token"]);
        for text in [format!("assets/vi{pulumi}.png"), format!("a {pulumi}{hex}.png")] {
            assert_eq!(kinds(&text), [""; 0], "{text}");
        }
        assert_eq!(kinds(&format!("sgp_{}", "5".repeat(40))), [""; 0]);
    }

    #[test]
    fn messages_are_redacted() {
        let scanner = Scanner::default();
        let text = format!("ünï '{}', and '{}' too", token(), token());
        let clean = "ünï '[github_token]', and '[github_token]' too";
        assert_eq!(scanner.redacted(&text), clean);
        assert!(matches!(scanner.redacted("plain"), Cow::Borrowed("plain")));
    }

    #[test]
    fn old_lines_warn_and_new_lines_block() {
        let scanner = Scanner::default();
        let before = format!("a\nx={}\nb\n", token());
        let same = scanner.scan_added(before.as_bytes(), format!("new\n{before}").as_bytes());
        assert_eq!((same.new_findings.len(), same.warnings.len()), (0, 1));
        let second = format!("{before}y={}\n", token());
        let copied = scanner.scan_added(before.as_bytes(), second.as_bytes());
        assert_eq!((copied.new_findings.len(), copied.warnings.len()), (1, 1));
        assert_eq!(copied.new_findings[0].line, 4);
        assert!(scanner.scan_added(b"", b"nothing\n").is_clean());
    }

    #[test]
    fn regions_and_fingerprints_allow() {
        let text = format!("{OPEN}\n{}\n{END}\n{}\n", token(), token());
        let with = |regions| Scanner::new(&Options { regions, ..Options::default() });
        assert_eq!(with(AllowRegions::Ignored).scan(text.as_bytes()).len(), 2);
        let honoured = with(AllowRegions::Honoured(Limits::default())).scan(text.as_bytes());
        assert_eq!(honoured.iter().map(|f| f.line).collect::<Vec<_>>(), [4]);
        let allow_fingerprints = [honoured[0].fingerprint.clone()].into();
        let scanner = Scanner::new(&Options { allow_fingerprints, ..Options::default() });
        assert_eq!(scanner.scan(text.as_bytes()), []);
    }

    #[test]
    fn a_change_cannot_bring_its_own_region() {
        let scanner = Scanner::new(&Options {
            regions: AllowRegions::Reviewed(Limits::default()),
            ..Options::default()
        });
        let region = format!("{OPEN}\nkey\n{END}\n");
        let filled = region.replace("key", &token());
        assert_eq!(scanner.scan_added(region.as_bytes(), filled.as_bytes()).new_findings.len(), 0);
        assert_eq!(scanner.scan_added(b"", filled.as_bytes()).new_findings.len(), 1);
        let moved_end = filled.replace("<!-- @secret-scan: end", "<!--  @secret-scan: end");
        assert_eq!(
            scanner.scan_added(region.as_bytes(), moved_end.as_bytes()).new_findings.len(),
            1
        );
    }
}
