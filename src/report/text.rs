//! The form for people.

use std::fmt::Write as _;

use super::{Finding, Level, Report};
use crate::text::escape;

pub(super) fn render(report: &Report, color: bool) -> String {
    let mut out = String::new();
    for finding in &report.findings {
        finding_lines(&mut out, finding, color);
    }
    out += &summary(report);
    out.push('\n');
    out
}

fn finding_lines(out: &mut String, finding: &Finding, color: bool) {
    let (on, off) = match (color, finding.level) {
        (false, _) => ("", ""),
        (true, Level::Error) => ("\u{1b}[1;31m", "\u{1b}[0m"),
        (true, Level::Warning) => ("\u{1b}[1;33m", "\u{1b}[0m"),
        (true, Level::Note) => ("\u{1b}[1;36m", "\u{1b}[0m"),
    };
    let _ = write!(out, "{on}{}[{}]{off}: ", finding.level.name(), escape::line(&finding.rule));
    if let Some(path) = finding.path_bytes() {
        *out += &escape::bytes_name(path);
        match (finding.line_range(), finding.column_range()) {
            (Some((line, _)), Some((column, _))) => {
                let _ = write!(out, ":{line}:{column}");
            }
            (Some((line, _)), None) => {
                let _ = write!(out, ":{line}");
            }
            (None, _) => {}
        }
        *out += ": ";
    }
    *out += &escape::line(&finding.message);
    out.push('\n');
    for line in finding.hint.iter().flat_map(|hint| hint.lines()) {
        let _ = writeln!(out, "  hint: {}", escape::line(line));
    }
}

fn summary(report: &Report) -> String {
    let counted = |level: Level| match report.count(level) {
        0 => None,
        1 => Some(format!("1 {}", level.name())),
        n => Some(format!("{n} {}s", level.name())),
    };
    let parts: Vec<String> =
        [Level::Error, Level::Warning, Level::Note].into_iter().filter_map(counted).collect();
    if parts.is_empty() { report.clean.to_owned() } else { parts.join(", ") }
}
