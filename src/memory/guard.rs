//! Screens every text before it is written, with the scanners of `secrets`.

use std::borrow::Cow;

use serde_json::Value;

use super::problem::Problem;
use super::settings::Settings;
use crate::error::Code;
use crate::secrets::allow::{self, Limits, Region};
use crate::secrets::unsafe_text::{self, IssueSeverity};
use crate::secrets::{AllowRegions, Finding, Options, Scanner, codes};

fn finding_problem(
    code: &'static Code,
    kind: &str,
    line: usize,
    message: impl Into<String>,
    fix: impl Into<String>,
) -> Problem {
    let mut problem = Problem::new(code, message).line(line).fix(fix);
    problem.finding = Some(kind.to_owned());
    problem
}

/// True if a finding orders its reader: agents read memory as reviewed and would obey.
pub fn is_order(problem: &Problem) -> bool {
    let orders = [
        "agent_instruction", "hidden_comment", "fetched_and_run", "encoded_command", "encoded_blob",
    ];
    problem.finding.as_deref().is_some_and(|kind| orders.contains(&kind))
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screening {
    /// Must be removed.
    pub blocking: Vec<Problem>,
    /// Would block, but lies in an allowed region of the text.
    pub in_allowed_regions: Vec<Problem>,
    pub warnings: Vec<Problem>,
    /// Reasons of allowed regions that HEAD lacks; they need a person.
    pub allowed_regions: Vec<String>,
}

pub trait Guard {
    /// Problems in lines of `after` that `before` lacks block; others are warnings. `committed` is
    /// the file in HEAD or empty: its regions have been agreed on.
    fn screen(&self, committed: &str, before: &str, after: &str) -> Screening;
}

/// Accepts everything; to detect drift, and for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoGuard;

impl Guard for NoGuard {
    fn screen(&self, _committed: &str, _before: &str, _after: &str) -> Screening {
        Screening::default()
    }
}

/// Scanner and check for unsafe text, as the manifest sets them.
#[derive(Debug)]
pub struct ScanGuard {
    scanner: Scanner,
    limits: Limits,
    on: bool,
}

impl ScanGuard {
    /// `allowed` are fingerprints of known false alarms.
    pub fn new(settings: &Settings, allowed: std::collections::BTreeSet<String>) -> Self {
        let security = &settings.manifest.security;
        let limits = Limits {
            max_bytes_per_file: security.allowlist_limits.max_bytes_per_file,
            max_regions_per_file: security.allowlist_limits.max_regions_per_file,
            max_bytes_per_region: security.allowlist_limits.max_bytes_per_region,
        };
        let options = Options {
            secrets: security.secret_scan,
            allow_fingerprints: allowed,
            // `screen` compares regions with HEAD.
            regions: AllowRegions::Ignored,
        };
        Self { scanner: Scanner::new(&options), limits, on: security.secret_scan }
    }

    /// Redacts secrets in an answer, whose messages quote the request.
    pub fn redact(&self, answer: &mut Value) {
        match answer {
            Value::String(text) => {
                // Scan path components as words, like [`parts`].
                let apart = text.replace('/', "\u{0}");
                if let Cow::Owned(clean) = self.scanner.redacted(&apart) {
                    *text = clean.replace('\u{0}', "/");
                }
                if let Cow::Owned(clean) = self.scanner.redacted(text) {
                    *text = clean;
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.redact(item)),
            Value::Object(map) => map.values_mut().for_each(|value| self.redact(value)),
            _ => {}
        }
    }
}

/// A path as words: slashes would make a token look like base64.
pub fn path_words(path: &str) -> String {
    path.replace('/', " ")
}

impl Guard for ScanGuard {
    fn screen(&self, committed: &str, before: &str, after: &str) -> Screening {
        let mut screened = Screening::default();
        let regions = self.regions(before, after, &mut screened);
        let (agreed, brought): (Vec<_>, Vec<_>) = regions
            .into_iter()
            .partition(|region| committed.contains(&after[region.whole.clone()]));
        if self.on {
            let bytes = |regions: &[Region]| -> Vec<_> {
                regions.iter().map(|region| region.bytes.clone()).collect()
            };
            let mut allowed = bytes(&agreed);
            let mut excused = Vec::new();
            let mut scan = self.scanner.scan_added_outside(before, after, &allowed);
            if !brought.is_empty() && !scan.new_findings.is_empty() {
                allowed.extend(bytes(&brought));
                let outside = self.scanner.scan_added_outside(before, after, &allowed);
                let is_outside = |finding: &_| outside.new_findings.contains(finding);
                (scan.new_findings, excused) = scan.new_findings.into_iter().partition(is_outside);
            }
            let found = |finding: &Finding| {
                let message = format!(
                    "{} at line {}, column {}",
                    finding.title, finding.line, finding.column
                );
                let fix = format!(
                    "take it out; if it is a known false alarm, a person can allow {}",
                    finding.fingerprint
                );
                finding_problem(&codes::SECRET_DETECTED, finding.kind, finding.line, message, fix)
            };
            screened.blocking.extend(scan.new_findings.iter().map(found));
            screened.in_allowed_regions.extend(excused.iter().map(found));
            screened.warnings.extend(scan.warnings.iter().map(found));
        }
        let is_new = |region: &Region| !before.contains(&after[region.whole.clone()]);
        screened.allowed_regions =
            brought.into_iter().filter(is_new).map(|region| region.reason).collect();
        for issue in unsafe_text::check_instructions(before.as_bytes(), after.as_bytes()) {
            let fix = "write it with plain characters";
            let found =
                finding_problem(&codes::UNSAFE_TEXT, issue.kind, issue.line, issue.message, fix);
            match issue.severity {
                IssueSeverity::Blocking => screened.blocking.push(found),
                IssueSeverity::Warning => screened.warnings.push(found),
            }
        }
        screened
    }
}

impl ScanGuard {
    /// Allowed regions of `after`. Markers that it adds are well formed and within limits, or
    /// refused.
    fn regions(&self, before: &str, after: &str, screened: &mut Screening) -> Vec<Region> {
        let markers = |text: &str| allow::markers(text.as_bytes()).len();
        match allow::regions(after.as_bytes(), &self.limits) {
            Ok(regions) => return regions,
            Err(_) if markers(after) <= markers(before) => {}
            Err(error) => {
                let line = error
                    .details()
                    .iter()
                    .find(|(key, _)| *key == "line")
                    .and_then(|(_, line)| line.as_u64())
                    .unwrap_or(1);
                let line = usize::try_from(line).unwrap_or(1);
                let fix = error.hint_text().unwrap_or("repair or remove the marker");
                let found =
                    finding_problem(error.code(), "allow_marker", line, error.message(), fix);
                screened.blocking.push(found);
            }
        }
        Vec::new()
    }
}
