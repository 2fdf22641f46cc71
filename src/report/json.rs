//! The JSON document: names are stable, fields are only ever added.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Finding, Level, Report};
use crate::changeset::bytes;
use crate::error::{Error, Result};
use crate::text::escape;

/// A report as JSON. `schema` is `aye/<command>@1`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ReportDocument<'a> {
    /// Name and version of this shape.
    pub schema: String,
    /// False when something was found that makes the command exit with 1.
    pub ok: bool,
    /// How many findings of each level.
    pub summary: Summary,
    /// The findings, in the order of printing.
    pub findings: Vec<FindingItem<'a>>,
}

/// How many findings of each level.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// Findings of level `error`.
    pub error: usize,
    /// Findings of level `warning`.
    pub warning: usize,
    /// Findings of level `note`.
    pub note: usize,
}

/// One finding.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FindingItem<'a> {
    /// Stable id of the kind of finding.
    pub rule: &'a str,
    /// `error`, `warning` or `note`.
    pub level: Level,
    /// One sentence.
    pub message: &'a str,
    /// Remedy.
    pub hint: Option<&'a str>,
    /// The file, relative to the repository's top; `{"base64": …}` where it is not UTF-8.
    pub file_path: Option<bytes::Text<'a>>,
    /// First line, from 1.
    pub start_line: Option<u32>,
    /// Last line.
    pub end_line: Option<u32>,
    /// First column, from 1, in Unicode characters.
    pub start_column: Option<u32>,
    /// The column after the last.
    pub end_column: Option<u32>,
    /// The proposal that the finding is about.
    pub proposal_id: Option<&'a str>,
    /// Stable text that identifies the finding in later runs.
    pub fingerprint: Option<&'a str>,
}

impl<'a> FindingItem<'a> {
    fn new(finding: &'a Finding) -> Self {
        Self {
            rule: &finding.rule,
            level: finding.level,
            message: &finding.message,
            hint: finding.hint.as_deref(),
            file_path: finding.path_bytes().map(|path| bytes::Text(path)),
            start_line: finding.line_range().map(|lines| lines.0),
            end_line: finding.line_range().map(|lines| lines.1),
            start_column: finding.column_range().map(|columns| columns.0),
            end_column: finding.column_range().map(|columns| columns.1),
            proposal_id: finding.proposal_id.as_deref(),
            fingerprint: finding.fingerprint.as_deref(),
        }
    }
}

fn document(report: &Report) -> ReportDocument<'_> {
    ReportDocument {
        schema: format!("aye/{}@1", report.name),
        ok: !report.failed(),
        summary: Summary {
            error: report.count(Level::Error),
            warning: report.count(Level::Warning),
            note: report.count(Level::Note),
        },
        findings: report.findings.iter().map(FindingItem::new).collect(),
    }
}

pub(super) fn render(report: &Report) -> Result<String> {
    let text = serde_json::to_string_pretty(&document(report));
    let text = text.map_err(|e| Error::bug(e.to_string()))?;
    Ok(escape::json(&text).into_owned() + "\n")
}
