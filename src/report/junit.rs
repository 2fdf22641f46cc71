//! JUnit XML, in the subset that Jenkins (`junit-10.xsd`), GitLab and the Maven Surefire schema
//! all accept: one suite, one test case per finding.
//!
//! A finding that makes the report fail is a `failure`, any other is a passed case with its text
//! as `system-out`; a clean report is one passed case, because viewers call an empty suite broken.

use std::fmt::Write as _;

use super::{Finding, Report};
use crate::text::escape;

pub(super) fn render(report: &Report) -> String {
    let failures = report.findings.iter().filter(|finding| report.fails(finding)).count();
    let tests = report.findings.len().max(1);
    let suite = format!("aye {}", report.name);
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        out,
        "<testsuites tests=\"{tests}\" failures=\"{failures}\" errors=\"0\">\n  \
         <testsuite name=\"{suite}\" tests=\"{tests}\" failures=\"{failures}\" errors=\"0\" skipped=\"0\">"
    );
    for finding in &report.findings {
        case(&mut out, report, finding, &suite);
    }
    if report.findings.is_empty() {
        let _ = writeln!(
            out,
            "    <testcase classname=\"{suite}\" name=\"{}\" time=\"0\"/>",
            xml(report.clean)
        );
    }
    out += "  </testsuite>\n</testsuites>\n";
    out
}

fn case(out: &mut String, report: &Report, finding: &Finding, suite: &str) {
    let mut place = finding.path_bytes().map(|p| escape::bytes_line(p)).unwrap_or_default();
    if let Some((line, _)) = finding.line_range() {
        let _ = write!(place, ":{line}");
    }
    let mut name = finding.rule.to_string();
    for part in [finding.proposal_id.as_deref().unwrap_or_default(), &place] {
        if !part.is_empty() {
            let _ = write!(name, " {part}");
        }
    }
    let mut body = escape::line(&finding.message).into_owned();
    for line in finding.hint.iter().flat_map(|hint| hint.lines()) {
        let _ = write!(body, "\nhint: {}", escape::line(line));
    }
    let _ = writeln!(
        out,
        "    <testcase classname=\"{suite}\" name=\"{}\" time=\"0\">",
        xml(&escape::line(&name))
    );
    let body = xml(&body);
    if report.fails(finding) {
        let message = xml(&escape::line(&finding.message)).into_owned();
        let level = finding.level.name();
        let _ =
            writeln!(out, "      <failure type=\"{level}\" message=\"{message}\">{body}</failure>");
    } else {
        let _ = writeln!(out, "      <system-out>{body}</system-out>");
    }
    out.push_str("    </testcase>\n");
}

/// Text for an element or a quoted attribute. Characters that XML 1.0 has no way to express and
/// `escape` leaves alone (U+FFFE, U+FFFF and kin) become `\u{…}`.
fn xml(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.chars().any(|c| matches!(c, '&' | '<' | '>' | '"' | '\'' | '\u{fffe}' | '\u{ffff}')) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            '\'' => out += "&apos;",
            '\u{fffe}' | '\u{ffff}' => {
                let _ = write!(out, "\\u{{{:x}}}", c as u32);
            }
            c => out.push(c),
        }
    }
    out.into()
}
