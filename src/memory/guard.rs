//! What looks over every text before it is written: secrets, unsafe characters.
//!
//! The scanner itself is the room [`crate::secrets`]; this is how the memory room asks it.

use crate::error::Code;
use crate::secrets::allow::{self, Limits, Region};
use crate::secrets::unsafe_text::{self, Severity};
use crate::secrets::{AllowRegions, Options, Scanner};

use super::response::Response;
use super::settings::Settings;

use crate::secrets::codes;

/// One thing found in a text. Never holds the secret.
#[derive(Clone, Debug, PartialEq)]
pub struct Found {
    /// `secret_detected`, `unsafe_text`, `allowlist_…`.
    pub code: &'static Code,
    /// What exactly, such as `github_token` or `bidi_control`.
    pub kind: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// For people.
    pub message: String,
    /// What to do about it.
    pub fix: String,
}

impl Found {
    /// Whether the text gives orders to who reads it: read by all agents as reviewed, it is theirs to follow.
    pub fn is_order(&self) -> bool {
        let orders = [
            "agent_instruction", "hidden_comment", "fetched_and_run", "encoded_command",
            "encoded_blob",
        ];
        orders.contains(&self.kind.as_str())
    }
}

/// What came of looking a text over.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Screened {
    /// Has to go.
    pub blocking: Vec<Found>,
    /// Would have to go, but for the regions that the text brings.
    pub excused: Vec<Found>,
    /// To be shown to the reviewer.
    pub warnings: Vec<Found>,
    /// The reasons of the regions that the text itself takes out of the scan, and no commit has as
    /// they are; they need a person.
    pub allowed_regions: Vec<String>,
}

/// Looks texts over.
pub trait Guard {
    /// What is wrong with the lines of `after` that `before` does not have; what is wrong with
    /// the others is a warning. `committed` is the file as HEAD has it, empty where it has none:
    /// what stands there as it is has been agreed on.
    fn screen(&self, committed: &str, before: &str, after: &str) -> Screened;
}

/// Lets everything pass: where drift alone is asked for, and in tests of the planner.
#[derive(Clone, Copy, Debug, Default)]
pub struct Open;

impl Guard for Open {
    fn screen(&self, _committed: &str, _before: &str, _after: &str) -> Screened {
        Screened::default()
    }
}

/// The real thing: the scanner and the check for unsafe text, as the manifest sets them.
#[derive(Debug)]
pub struct Scan {
    scanner: Scanner,
    limits: Limits,
    on: bool,
}

impl Scan {
    /// A guard with the manifest's switches. `allowed` are fingerprints of known false alarms.
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
            // Regions are told apart here, by what HEAD has of them.
            regions: AllowRegions::Ignored,
        };
        Self { scanner: Scanner::new(&options), limits, on: security.secret_scan }
    }

    /// Takes what the scanner finds out of an answer, whose messages quote what was given.
    pub fn redact(&self, answer: &mut Response) {
        let redact = |text: &mut String| {
            // A part of a path counts as a word of its own, as in [`parts`].
            let apart = text.replace('/', "\u{0}");
            if let std::borrow::Cow::Owned(clean) = self.scanner.redacted(&apart) {
                *text = clean.replace('\u{0}', "/");
            }
            if let std::borrow::Cow::Owned(clean) = self.scanner.redacted(text) {
                *text = clean;
            }
        };
        answer.message.iter_mut().chain(&mut answer.provenance_violations).for_each(redact);
        for violation in &mut answer.violations {
            [
                Some(&mut violation.field),
                Some(&mut violation.message),
                violation.section_id.as_mut(),
                violation.fix.as_mut(),
            ]
            .into_iter()
            .flatten()
            .for_each(redact);
        }
        answer.findings.iter_mut().for_each(|found| redact(&mut found.approximate_location));
    }
}

/// A path as words: what is a token in a name must not pass for a piece of base64 between slashes.
pub fn parts(path: &str) -> String {
    path.replace('/', " ")
}

impl Guard for Scan {
    fn screen(&self, committed: &str, before: &str, after: &str) -> Screened {
        let mut screened = Screened::default();
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
            if !brought.is_empty() && !scan.blocking.is_empty() {
                allowed.extend(bytes(&brought));
                let outside = self.scanner.scan_added_outside(before, after, &allowed);
                let is_outside = |finding: &_| outside.blocking.contains(finding);
                (scan.blocking, excused) = scan.blocking.into_iter().partition(is_outside);
            }
            let found = |finding: &crate::secrets::Finding| Found {
                code: &codes::SECRET_DETECTED,
                kind: finding.kind.to_owned(),
                line: finding.line,
                column: finding.column,
                message: format!(
                    "{} at line {}, column {}",
                    finding.title, finding.line, finding.column
                ),
                fix: format!(
                    "take it out; if it is a known false alarm, a person can allow {}",
                    finding.fingerprint
                ),
            };
            screened.blocking.extend(scan.blocking.iter().map(found));
            screened.excused.extend(excused.iter().map(found));
            screened.warnings.extend(scan.warnings.iter().map(found));
        }
        let is_new = |region: &Region| !before.contains(&after[region.whole.clone()]);
        screened.allowed_regions =
            brought.into_iter().filter(is_new).map(|region| region.reason).collect();
        for issue in unsafe_text::check_instructions(before.as_bytes(), after.as_bytes()) {
            let found = Found {
                code: &codes::UNSAFE_TEXT,
                kind: issue.kind.to_owned(),
                line: issue.line,
                column: issue.column,
                message: issue.message,
                fix: "write it with plain characters".to_owned(),
            };
            match issue.severity {
                Severity::Blocking => screened.blocking.push(found),
                Severity::Warning => screened.warnings.push(found),
            }
        }
        screened
    }
}

impl Scan {
    /// The allowed regions of `after`. Markers that it brings are well formed and within the limits,
    /// or refused.
    fn regions(&self, before: &str, after: &str, screened: &mut Screened) -> Vec<Region> {
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
                screened.blocking.push(Found {
                    code: error.code(),
                    kind: "allow_marker".to_owned(),
                    line: usize::try_from(line).unwrap_or(1),
                    column: 1,
                    message: error.message().to_owned(),
                    fix: error.hint_text().unwrap_or("mend or remove the marker").to_owned(),
                });
            }
        }
        Vec::new()
    }
}
