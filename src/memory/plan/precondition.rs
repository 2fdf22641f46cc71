//! What a staged operation was written for, and whether that still holds.

use serde::{Deserialize, Serialize};

use crate::memory::markdown::{Document, lines};
use crate::memory::problem::Problem;

/// How a precondition is checked. The words are those of the public format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The section's text is the same.
    RequireSectionContentMatch,
    /// The section is there; it may have grown.
    RequireSectionResolvable,
    /// There is no such file.
    RequireFileAbsent,
    /// There is such a file; with a hash: unchanged.
    RequireFilePresent,
}

/// One thing an operation was written for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Precondition {
    /// Index of the operation.
    pub operation_index: usize,
    /// File, relative to the store.
    pub path: String,
    /// Section; its heading where it has no id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// What is asked.
    pub policy: Policy,
    /// Hash of the text, where it has to be the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

/// A precondition that no longer holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// Index of the operation.
    pub operation_index: usize,
    /// File, relative to the store.
    pub path: String,
    /// Section.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// What was asked.
    pub policy: Policy,
    /// What is so instead.
    pub message: String,
}

/// Compares what was recorded with what planning finds now; `problems` are those of planning,
/// which say why a target cannot be found.
pub fn drift(recorded: &[Precondition], now: &[Precondition], problems: &[Problem]) -> Vec<Drift> {
    let why = |was: &Precondition, otherwise: &str| {
        let about = |problem: &&Problem| {
            problem.operation == Some(was.operation_index)
                && matches!(
                    problem.field.as_deref(),
                    Some("path" | "section_id" | "heading" | "parent_section_id")
                )
        };
        problems.iter().find(about).map_or(otherwise.to_owned(), |problem| problem.message.clone())
    };
    let same_target = |a: &Precondition, b: &Precondition| {
        a.operation_index == b.operation_index && a.path == b.path && {
            let file = |p: &Precondition| {
                matches!(p.policy, Policy::RequireFileAbsent | Policy::RequireFilePresent)
            };
            file(a) == file(b)
        }
    };
    recorded
        .iter()
        .filter_map(|was| {
            let message = match now.iter().find(|is| same_target(was, is)) {
                None => match was.policy {
                    Policy::RequireSectionContentMatch | Policy::RequireSectionResolvable => {
                        why(was, "the section is gone")
                    }
                    _ => why(was, "the file cannot be read"),
                },
                Some(is) => match (was.policy, is.policy) {
                    (Policy::RequireFileAbsent, Policy::RequireFilePresent) => {
                        "the file exists by now".to_owned()
                    }
                    (Policy::RequireFilePresent, Policy::RequireFileAbsent) => {
                        "the file is gone".to_owned()
                    }
                    _ if was.hash.is_some() && was.hash != is.hash => match was.policy {
                        Policy::RequireFilePresent => "the file was changed since".to_owned(),
                        _ => "the section was changed since".to_owned(),
                    },
                    _ => return None,
                },
            };
            Some(Drift {
                operation_index: was.operation_index,
                path: was.path.clone(),
                section_id: was.section_id.clone(),
                policy: was.policy,
                message,
            })
        })
        .collect()
}

/// `sha1:` and the hash of `text`, whatever its line endings and the blanks at its end: another
/// section that is added behind does not change this one.
pub fn hash(text: &str) -> String {
    let text = lines::with_ending(text.trim_end(), "\n");
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(text.as_bytes());
    let hex = hasher.try_finalize().map_or_else(|_| "0".repeat(40), |id| id.to_hex().to_string());
    format!("sha1:{hex}")
}

/// How a section is named in preconditions and answers: its id, else its heading.
pub fn name<'d>(document: &'d Document<'_>, i: usize) -> &'d str {
    let section = &document.sections[i];
    section.id.as_deref().unwrap_or(&section.heading)
}
