//! The response of `memory.propose_update`, field by field as in the contract.

use serde::{Deserialize, Serialize};

use super::intent::Routing;
use super::problem::Problem;

/// The three outcomes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum MemoryOutcome {
    /// Written.
    Applied,
    /// Waits for a person.
    Staged,
    /// Refused; nothing was written.
    #[default]
    Rejected,
}

/// The response. Fields that do not apply are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Response {
    /// `applied`, `staged` or `rejected`.
    pub status: MemoryOutcome,
    /// On rejection: stable reason code.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Detail for people.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How it was let in, and why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub routing: Option<Routing>,
    /// The proposal in the store, when staged or applied.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposal_id: Option<String>,
    /// On staged: the directory under `.agent-memory/staging/`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staging_id: Option<String>,
    /// Paths the proposal touches, relative to `.agent-memory/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<String>,
    /// On `secret_detected` and kin: type and line, never the text.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub findings: Vec<Finding>,
    /// Everything that is wrong, for any reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub violations: Vec<Violation>,
    /// On `provenance_violation`: missing sources.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub provenance_violations: Vec<String>,
    /// On applied: time, RFC 3339 UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub applied_at: Option<String>,
    /// Sections touched.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub affected_sections: Vec<AffectedSection>,
    /// On applied: true if a search sees the change at once. The index follows the files, so this
    /// is always so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_updated: Option<bool>,
    /// Advisories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// On staged: seconds until it expires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub staging_ttl_seconds: Option<u64>,
    /// On staged: always true.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_approval_required: Option<bool>,
    /// On staged: the command that shows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_command: Option<String>,
    /// The same change is pending already; this is that proposal.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub duplicate: bool,
}

/// Place of a finding that must not be written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Finding {
    /// Kind, such as `github_token`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Line within the field, from 1.
    pub line: usize,
    /// Field and line in words.
    pub approximate_location: String,
    /// The operation; absent for the request's own fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_index: Option<usize>,
    /// The fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Violation {
    /// Field of the request or operation, or labelled field of the section.
    pub field: String,
    /// The problem.
    pub message: String,
    /// The operation; absent for the request's own fields.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub operation_index: Option<usize>,
    /// The section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// Line within the field, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// Reason code of this violation.
    pub code: String,
    /// The fix.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fix: Option<String>,
}

/// A section that was touched.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, schemars::JsonSchema,
)]
pub struct AffectedSection {
    /// File, relative to `.agent-memory/`.
    pub file: String,
    /// Section id, as operations accept it: from its marker, else derived from its heading.
    pub section_id: String,
    /// Its heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub heading: Option<String>,
}

impl Response {
    pub fn new(status: MemoryOutcome) -> Self {
        Self { status, ..Self::default() }
    }

    /// Lists all `problems`; the first is the reason.
    pub fn rejected(problems: &[Problem]) -> Self {
        let mut response = Self::new(MemoryOutcome::Rejected);
        let first = problems.first();
        response.reason = first.map(|problem| problem.code.id.to_owned());
        response.message = first.map(|problem| {
            let more = problems.len() - 1;
            let rest = if more == 0 { String::new() } else { format!(" (and {more} more)") };
            format!("{}{rest}", problem.located())
        });
        for problem in problems {
            let field = problem.field.clone().unwrap_or_default();
            if let Some(kind) = &problem.finding {
                response.findings.push(Finding {
                    kind: kind.clone(),
                    line: problem.line.unwrap_or(1),
                    approximate_location: format!("{field}, line {}", problem.line.unwrap_or(1)),
                    operation_index: problem.operation,
                    fix: problem.fix.clone(),
                });
            }
            if problem.code.id == super::codes::PROVENANCE.id {
                response.provenance_violations.push(problem.located());
            }
            response.violations.push(Violation {
                field,
                message: problem.message.clone(),
                operation_index: problem.operation,
                section_id: problem.section_id.clone(),
                line: problem.line,
                code: problem.code.id.to_owned(),
                fix: problem.fix.clone(),
            });
        }
        response
    }
}
