//! Turns findings into a report.

use std::collections::BTreeSet;

use super::{ALLOW_LIST, ScannedText};
use crate::report::{Finding, Level, Report, Rule};
use crate::secrets::unsafe_text::{Issue, IssueSeverity};
use crate::secrets::{self, ScanFindings, rules::RULES};

#[derive(Debug, Default)]
pub struct TextFindings {
    pub scan: ScanFindings,
    pub issues: Vec<Issue>,
    /// Size in bytes; the text was not scanned.
    pub too_large: Option<u64>,
}

impl TextFindings {
    pub fn is_empty(&self) -> bool {
        self.scan.is_clean() && self.issues.is_empty() && self.too_large.is_none()
    }
}

pub fn report(found: impl IntoIterator<Item = (ScannedText, TextFindings)>) -> Report {
    let mut report = Report::new("scan")
        .rules(rules())
        .fail_on(Some(Level::Error))
        .when_clean("no secrets or unsafe text found");
    // A secret in a later commit of the same file is the same finding.
    let mut seen = BTreeSet::new();
    for (text, found) in found {
        if let Some(size) = found.too_large {
            let message =
                format!("not scanned: {size} bytes, more than the limit of {}", super::SIZE_LIMIT);
            report.push(Finding::new("not_scanned", Level::Note, message).path(&text.path));
        }
        for (level, findings) in
            [(Level::Error, &found.scan.new_findings), (Level::Warning, &found.scan.warnings)]
        {
            for finding in findings {
                let again = (text.path.clone(), finding.fingerprint.clone());
                if text.commit.is_some() && (level < Level::Error || !seen.insert(again)) {
                    continue;
                }
                report.push(secret(&text, level, finding));
            }
        }
        report_issues(&mut report, &text, &found.issues);
    }
    report
}

fn report_issues(report: &mut Report, text: &ScannedText, issues: &[Issue]) {
    for issue in issues {
        // Reordered source is an attack; the rest may have a reason outside memory.
        let level = match (issue.severity, issue.kind) {
            (_, "invalid_utf8") => continue,
            (IssueSeverity::Blocking, "bidi_control") => Level::Error,
            _ => Level::Warning,
        };
        let (line, column) = (number(issue.line), number(issue.column));
        let finding = Finding::new(issue.kind, level, message_of(text, &issue.message))
            .path(&text.path)
            .lines(line, line)
            .columns(column, column + 1);
        report.push(finding);
    }
}

fn secret(text: &ScannedText, level: Level, finding: &secrets::Finding) -> Finding {
    let old = if level == Level::Error { "" } else { ", in a line that was there before" };
    let message = format!("{} ({} bytes){old}", finding.title, finding.length);
    let hint = match text.commit {
        Some(_) => "withdraw the credential: it stays in the history; a false alarm goes into ",
        None => "take it out and withdraw it if it was shared; a false alarm goes into ",
    };
    let hint = format!("{hint}{ALLOW_LIST}: “{} <reason>”", finding.fingerprint);
    Finding::new(finding.kind, level, message_of(text, &message))
        .hint(hint)
        .path(&text.path)
        .lines(number(finding.line), number(finding.end_line))
        .columns(number(finding.column), number(finding.end_column))
        .fingerprint(&finding.fingerprint)
}

fn message_of(text: &ScannedText, message: &str) -> String {
    match &text.commit {
        Some(commit) => format!("{message}, in commit {commit}"),
        None => message.to_string(),
    }
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn rules() -> Vec<Rule> {
    const WITHDRAW: &str =
        "Take it out, keep it in a secret store, and withdraw it if it was shared.";
    const REWRITE: &str = "Rewrite the text without it.";
    let mut all: Vec<Rule> =
        RULES.iter().map(|rule| Rule::new(rule.id, rule.title, WITHDRAW)).collect();
    all.extend([
        Rule::new("private_key_block", "Private key", WITHDRAW),
        Rule::new("connection_string_password", "Password in a connection string", WITHDRAW),
        Rule::new("bidi_control", "Bidirectional control that reorders text", REWRITE),
        Rule::new("invisible", "Character that cannot be seen", REWRITE),
        Rule::new("control", "Control character", REWRITE),
        Rule::new("agent_instruction", "Phrase aimed at agents rather than readers", REWRITE),
        Rule::new("not_scanned", "File too large to be scanned", ""),
    ]);
    all
}
