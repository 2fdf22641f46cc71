//! Findings and their reports, printed as text, JSON, GitHub annotations or SARIF 2.1.0.
//!
//! Findings carry raw text; each reporter escapes it for its format.

mod github;
mod json;
mod sarif;
mod text;

use std::borrow::Cow;

use bstr::{BStr, BString};

pub use json::ReportDocument;

use crate::error::Result;

/// How much a finding matters. Ordered: a note is less than a warning, a warning less than an
/// error.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing; nothing has to be done.
    Note,
    /// Deserves attention.
    Warning,
    /// Must be fixed.
    Error,
}

impl Level {
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    Text,
    /// One document, `aye/<report>@1`.
    Json,
    Github,
    Sarif,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable, `snake_case`.
    pub id: Cow<'static, str>,
    /// One sentence.
    pub summary: Cow<'static, str>,
    /// General remedy; may be empty.
    pub help: Cow<'static, str>,
}

impl Rule {
    pub const fn new(id: &'static str, summary: &'static str, help: &'static str) -> Self {
        Self { id: Cow::Borrowed(id), summary: Cow::Borrowed(summary), help: Cow::Borrowed(help) }
    }
}

/// Lines and columns count from 1; columns count Unicode characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FindingLocation {
    /// Relative to the repository's top, `/`-separated, raw bytes.
    pub path: BString,
    /// First and last.
    pub lines: Option<(u32, u32)>,
    /// First, and the one after the last. Ignored without lines.
    pub columns: Option<(u32, u32)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    pub rule: Cow<'static, str>,
    pub level: Level,
    /// One sentence, lower case; may quote untrusted text unescaped.
    pub message: String,
    pub hint: Option<String>,
    pub place: Option<FindingLocation>,
    /// Shown by formats that need a file if `place` is absent: a file that the commit in question
    /// changes.
    pub fallback_path: Option<BString>,
    pub proposal_id: Option<String>,
    /// True if anyone who may push can cause it; no report fails by it, whatever its level.
    pub is_advisory: bool,
    /// Set if rule, proposal, path and message do not identify the finding in later runs.
    pub fingerprint: Option<String>,
}

impl Finding {
    pub fn new(
        rule: impl Into<Cow<'static, str>>,
        level: Level,
        message: impl Into<String>,
    ) -> Self {
        Self {
            rule: rule.into(),
            level,
            message: message.into(),
            hint: None,
            place: None,
            fallback_path: None,
            proposal_id: None,
            is_advisory: false,
            fingerprint: None,
        }
    }

    /// Lowers the level to a warning at most, by which no report fails.
    #[must_use]
    pub fn advisory(mut self) -> Self {
        (self.level, self.is_advisory) = (self.level.min(Level::Warning), true);
        self
    }

    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    #[must_use]
    pub fn path(mut self, path: impl AsRef<[u8]>) -> Self {
        self.place =
            Some(FindingLocation { path: path.as_ref().into(), lines: None, columns: None });
        self
    }

    /// `first` and `last` count from 1. No effect before [`Finding::path`].
    #[must_use]
    pub fn lines(mut self, first: u32, last: u32) -> Self {
        if let Some(place) = &mut self.place {
            place.lines = Some((first.max(1), last.max(first).max(1)));
        }
        self
    }

    /// From 1; `end` is one after the last. Needs [`Finding::lines`].
    #[must_use]
    pub fn columns(mut self, start: u32, end: u32) -> Self {
        if let Some(place) = &mut self.place {
            place.columns = Some((start.max(1), end.max(start).max(1)));
        }
        self
    }

    #[must_use]
    pub fn proposal(mut self, id: impl Into<String>) -> Self {
        self.proposal_id = Some(id.into());
        self
    }

    #[must_use]
    pub fn fingerprint(mut self, text: impl Into<String>) -> Self {
        self.fingerprint = Some(text.into());
        self
    }

    fn path_bytes(&self) -> Option<&BStr> {
        self.place.as_ref().map(|place| place.path.as_ref())
    }

    fn line_range(&self) -> Option<(u32, u32)> {
        self.place.as_ref().and_then(|place| place.lines)
    }

    fn column_range(&self) -> Option<(u32, u32)> {
        self.place.as_ref().filter(|place| place.lines.is_some()).and_then(|place| place.columns)
    }
}

#[derive(Clone, Debug)]
pub struct Report {
    name: &'static str,
    rules: Vec<Rule>,
    findings: Vec<Finding>,
    fail_on: Option<Level>,
    clean: &'static str,
}

impl Report {
    /// The document's schema is `aye/<name>@1`.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            rules: Vec::new(),
            findings: Vec::new(),
            fail_on: Some(Level::Warning),
            clean: "nothing found",
        }
    }

    /// Rules that were checked, with or without findings.
    #[must_use]
    pub fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// Lowest level that fails the report; `None` never fails. Default: warning.
    #[must_use]
    pub fn fail_on(mut self, level: Option<Level>) -> Self {
        self.fail_on = level;
        self
    }

    /// Lower case, no full stop.
    #[must_use]
    pub fn when_clean(mut self, text: &'static str) -> Self {
        self.clean = text;
        self
    }

    /// Findings print in the order of adding.
    pub fn push(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
    }

    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Worst first, then by path, line and proposal. Stable.
    pub fn sort(&mut self) {
        self.findings.sort_by(|a, b| {
            (b.level, a.path_bytes(), a.line_range(), &a.proposal_id).cmp(&(
                a.level,
                b.path_bytes(),
                b.line_range(),
                &b.proposal_id,
            ))
        });
    }

    /// True if the command exits with 1.
    pub fn failed(&self) -> bool {
        let fails = |finding: &Finding| self.fail_on.is_some_and(|level| finding.level >= level);
        self.findings.iter().filter(|finding| !finding.is_advisory).any(fails)
    }

    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// Ends in a newline unless empty. `color` concerns the text form only.
    pub fn render(&self, format: ReportFormat, color: bool) -> Result<String> {
        match format {
            ReportFormat::Text => Ok(text::render(self, color)),
            ReportFormat::Json => json::render(self),
            ReportFormat::Github => Ok(github::render(self)),
            ReportFormat::Sarif => sarif::render(self),
        }
    }
}

#[cfg(test)]
mod tests;
