//! SARIF 2.1.0 (OASIS).
//!
//! Paths are percent-encoded and relative to `%SRCROOT%`, which services resolve to the
//! repository's top. Every result has a line: GitHub refuses the whole file otherwise.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Finding, Level, Report, Rule};
use crate::error::{Error, Result};
use crate::text::escape;

const SCHEMA: &str =
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// Location of findings without a file.
const POLICY: &[u8] = b".agent-memory/policy.toml";

pub(super) fn render(report: &Report) -> Result<String> {
    let rules = catalogue(report);
    let results: Vec<Value> =
        report.findings.iter().map(|finding| result(finding, &rules)).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "aye",
                "fullName": format!("aye {}", report.name),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.iter().map(descriptor).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "automationDetails": { "id": format!("aye/{}/", report.name) },
            "results": results,
        }],
    });
    let text = serde_json::to_string_pretty(&log).map_err(|e| Error::bug(e.to_string()))?;
    Ok(escape::json(&text).into_owned() + "\n")
}

fn catalogue(report: &Report) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::with_capacity(report.rules.len());
    let mut seen = std::collections::HashSet::new();
    for rule in &report.rules {
        if seen.insert(rule.id.clone()) {
            rules.push(rule.clone());
        }
    }
    for finding in &report.findings {
        if seen.insert(finding.rule.clone()) {
            let id = finding.rule.clone();
            rules.push(Rule { summary: id.clone(), id, help: "".into() });
        }
    }
    rules
}

fn descriptor(rule: &Rule) -> Value {
    let mut value = json!({
        "id": rule.id,
        "shortDescription": { "text": nonempty(&rule.summary) },
    });
    if !rule.help.is_empty() {
        value["help"] = json!({ "text": rule.help });
    }
    value
}

fn result(finding: &Finding, rules: &[Rule]) -> Value {
    let mut message = finding.message.to_string();
    for line in finding.hint.iter().flat_map(|hint| hint.lines()) {
        let _ = write!(message, "\nhint: {line}");
    }
    let level = match finding.level {
        Level::Error => "error",
        Level::Warning => "warning",
        Level::Note => "note",
    };
    let mut value = json!({
        "ruleId": finding.rule,
        "level": level,
        "message": { "text": nonempty(&message) },
        "locations": [location(finding)],
        "partialFingerprints": { "aye/v1": fingerprint(finding) },
    });
    if let Some(index) = rules.iter().position(|rule| rule.id == finding.rule) {
        value["ruleIndex"] = index.into();
    }
    if let Some(id) = &finding.proposal_id {
        value["properties"] = json!({ "proposal_id": id });
    }
    value
}

/// Findings without a file point at the first line of `fallback_path`, or else of the policy file, which
/// stands for settings, threads and decisions.
fn location(finding: &Finding) -> Value {
    let beside = finding.fallback_path.as_ref().map(|path| path.as_slice());
    let path = finding.path_bytes().map(|path| path.as_ref()).or(beside);
    let path = path.filter(|path| !path.is_empty()).unwrap_or(POLICY);
    let mut region = json!({ "startLine": 1 });
    if let Some((first, last)) = finding.line_range() {
        region = json!({ "startLine": first, "endLine": last });
        if let Some((start, end)) = finding.column_range() {
            region["startColumn"] = start.into();
            region["endColumn"] = end.into();
        }
    }
    json!({ "physicalLocation": {
        "artifactLocation": { "uri": uri(path), "uriBaseId": "%SRCROOT%" },
        "region": region,
    }})
}

fn fingerprint(finding: &Finding) -> String {
    if let Some(text) = &finding.fingerprint {
        return text.to_string();
    }
    // A message may count days and would change the fingerprint.
    let subject = finding.proposal_id.as_deref().unwrap_or(&finding.message);
    let path = finding.path_bytes().map(|path| uri(path)).unwrap_or_default();
    format!("{}:{subject}:{path}", finding.rule)
}

/// SARIF forbids empty texts here.
fn nonempty(text: &str) -> &str {
    if text.is_empty() { "-" } else { text }
}

/// Keeps RFC 3986 unreserved characters and `/`.
fn uri(path: &[u8]) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                out.push(char::from(*byte));
            }
            byte => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}
