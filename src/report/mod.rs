//! Findings and their reports: one model, printed as text, JSON, GitHub workflow annotations or SARIF 2.1.0.
//!
//! Used by every command that looks for something and says what it found (`check`, `scan`,
//! `memory lint`). Each reporter escapes on its own terms, so findings carry raw text.

mod github;
mod json;
mod sarif;
mod text;

use std::borrow::Cow;

use bstr::{BStr, BString};

pub use json::Document;

use crate::error::Result;

/// How much a finding matters. Ordered: a note is less than a warning, a warning less than an error.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Worth knowing; nothing has to be done.
    Note,
    /// Wants attention.
    Warning,
    /// Must be put right.
    Error,
}

impl Level {
    /// `note`, `warning` or `error`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// The forms a report can be printed in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportFormat {
    /// For people: a line per finding, its remedy below it, a count at the end.
    Text,
    /// One document, `aye/<report>@1`.
    Json,
    /// GitHub Actions workflow commands, which become annotations on the pull request.
    Github,
    /// SARIF 2.1.0, for code-scanning services.
    Sarif,
}

/// A kind of finding, as rule catalogues list it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Stable id, `snake_case`.
    pub id: Cow<'static, str>,
    /// What it finds, one sentence.
    pub summary: Cow<'static, str>,
    /// What to do about it in general; may be empty.
    pub help: Cow<'static, str>,
}

impl Rule {
    /// A rule with its id, one-sentence summary and general remedy.
    pub const fn new(id: &'static str, summary: &'static str, help: &'static str) -> Self {
        Self { id: Cow::Borrowed(id), summary: Cow::Borrowed(summary), help: Cow::Borrowed(help) }
    }
}

/// Where a finding is. Lines and columns count from 1; columns count Unicode characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// Relative to the repository's top, `/`-separated, raw bytes.
    pub path: BString,
    /// First and last line, if known.
    pub lines: Option<(u32, u32)>,
    /// First column, and the one after the last; only together with lines.
    pub columns: Option<(u32, u32)>,
}

/// One thing found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Id of the [`Rule`].
    pub rule: Cow<'static, str>,
    /// How much it matters.
    pub level: Level,
    /// One sentence, lower case; may quote untrusted text as it is.
    pub message: String,
    /// What to type or do about this one.
    pub hint: Option<String>,
    /// Where, if it is in a file.
    pub place: Option<Place>,
    /// A file to show it at where a form wants one and it is in none, relative to the repository's top: one that
    /// the commit changes which it is about.
    pub beside: Option<BString>,
    /// The proposal it is about.
    pub proposal_id: Option<String>,
    /// Whoever may push can have brought it about, so it fails nothing, whatever its level.
    pub is_by_others: bool,
    /// A text that stays the same for the same finding in later runs, if the finder has a better
    /// one than rule, proposal, path and message together.
    pub fingerprint: Option<String>,
}

impl Finding {
    /// A finding of `rule`.
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
            beside: None,
            proposal_id: None,
            is_by_others: false,
            fingerprint: None,
        }
    }

    /// At most a warning, by which no report fails.
    #[must_use]
    pub fn by_others(mut self) -> Self {
        (self.level, self.is_by_others) = (self.level.min(Level::Warning), true);
        self
    }

    /// Adds what to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Says which file it is in (relative to the repository's top).
    #[must_use]
    pub fn path(mut self, path: impl AsRef<[u8]>) -> Self {
        self.place = Some(Place { path: path.as_ref().into(), lines: None, columns: None });
        self
    }

    /// Says which lines of the file, first to last, from 1. Without [`Finding::path`] no effect.
    #[must_use]
    pub fn lines(mut self, first: u32, last: u32) -> Self {
        if let Some(place) = &mut self.place {
            place.lines = Some((first.max(1), last.max(first).max(1)));
        }
        self
    }

    /// Says which columns, from 1; `end` is the one after the last. Needs [`Finding::lines`].
    #[must_use]
    pub fn columns(mut self, start: u32, end: u32) -> Self {
        if let Some(place) = &mut self.place {
            place.columns = Some((start.max(1), end.max(start).max(1)));
        }
        self
    }

    /// Says which proposal it is about.
    #[must_use]
    pub fn proposal(mut self, id: impl Into<String>) -> Self {
        self.proposal_id = Some(id.into());
        self
    }

    /// Gives it a stable fingerprint of its own.
    #[must_use]
    pub fn fingerprint(mut self, text: impl Into<String>) -> Self {
        self.fingerprint = Some(text.into());
        self
    }

    fn path_bytes(&self) -> Option<&BStr> {
        self.place.as_ref().map(|place| place.path.as_ref())
    }

    /// Lines, without those that were set wrongly.
    fn line_range(&self) -> Option<(u32, u32)> {
        self.place.as_ref().and_then(|place| place.lines)
    }

    /// Columns, only where they mean something: together with lines.
    fn column_range(&self) -> Option<(u32, u32)> {
        self.place.as_ref().filter(|place| place.lines.is_some()).and_then(|place| place.columns)
    }
}

/// What a command found, ready to be printed.
#[derive(Clone, Debug)]
pub struct Report {
    name: &'static str,
    rules: Vec<Rule>,
    findings: Vec<Finding>,
    fail_on: Option<Level>,
    clean: &'static str,
}

impl Report {
    /// An empty report of the command `name` (`check`, `scan`); its document is `aye/<name>@1`.
    pub fn new(name: &'static str) -> Self {
        Self {
            name,
            rules: Vec::new(),
            findings: Vec::new(),
            fail_on: Some(Level::Warning),
            clean: "nothing found",
        }
    }

    /// The rules that were looked for, whether or not they found something.
    #[must_use]
    pub fn rules(mut self, rules: impl IntoIterator<Item = Rule>) -> Self {
        self.rules.extend(rules);
        self
    }

    /// The least level that makes the report fail; `None`: it never does. Default: warning.
    #[must_use]
    pub fn fail_on(mut self, level: Option<Level>) -> Self {
        self.fail_on = level;
        self
    }

    /// What the text form says when there is nothing to say, lower case, no full stop.
    #[must_use]
    pub fn when_clean(mut self, text: &'static str) -> Self {
        self.clean = text;
        self
    }

    /// Adds a finding; the order of adding is the order of printing.
    pub fn push(&mut self, finding: Finding) {
        self.findings.push(finding);
    }

    /// Adds findings.
    pub fn extend(&mut self, findings: impl IntoIterator<Item = Finding>) {
        self.findings.extend(findings);
    }

    /// The findings so far.
    pub fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Orders findings: the worst first, then by path, line and proposal. Stable.
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

    /// True when a finding reaches the level that [`Report::fail_on`] set: exit status 1.
    pub fn failed(&self) -> bool {
        let fails = |finding: &Finding| self.fail_on.is_some_and(|level| finding.level >= level);
        self.findings.iter().filter(|finding| !finding.is_by_others).any(fails)
    }

    /// How many findings have `level`.
    pub fn count(&self, level: Level) -> usize {
        self.findings.iter().filter(|finding| finding.level == level).count()
    }

    /// The whole report in `format`, with a final newline where there is text at all.
    /// `color` concerns the text form only.
    ///
    /// # Errors
    /// `internal_error` if it cannot be serialised.
    pub fn render(&self, format: ReportFormat, color: bool) -> Result<String> {
        match format {
            ReportFormat::Text => Ok(text::render(self, color)),
            ReportFormat::Json => json::json(self),
            ReportFormat::Github => Ok(github::render(self)),
            ReportFormat::Sarif => sarif::render(self),
        }
    }
}

#[cfg(test)]
mod tests;
