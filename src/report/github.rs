//! GitHub Actions workflow commands: `::warning file=…,line=…,title=…::message`.
//!
//! The runner defines format and escaping (`actions/runner`, `ActionCommand.TryParseV2`;
//! `actions/toolkit`, `core/src/command.ts`). Text is made terminal-safe first: the log viewer
//! interprets escape sequences.

use std::fmt::Write as _;

use super::{Finding, Level, Report};
use crate::text::escape;

pub(super) fn render(report: &Report) -> String {
    report.findings.iter().map(|finding| annotation(finding, report.name)).collect()
}

fn annotation(finding: &Finding, tool: &str) -> String {
    let command = match finding.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "notice",
    };
    let mut out = format!("::{command} ");
    if let Some(path) = finding.path_bytes() {
        let _ = write!(out, "file={},", property(&escape::bytes_line(path)));
        if let Some((first, last)) = finding.line_range() {
            let _ = write!(out, "line={first},endLine={last},");
            // The runner accepts columns within one line only.
            if let Some((start, end)) = finding.column_range().filter(|_| first == last) {
                let _ = write!(out, "col={start},endColumn={end},");
            }
        }
    }
    let title = format!("aye {tool}: {}", finding.rule);
    let _ = write!(out, "title={}::", property(&escape::line(&title)));
    out += &data(&escape::line(&finding.message));
    for line in finding.hint.iter().flat_map(|hint| hint.lines()) {
        let _ = write!(out, "%0Ahint: {}", data(&escape::line(line)));
    }
    out.push('\n');
    out
}

fn data(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
