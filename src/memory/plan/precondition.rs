//! Preconditions of a staged operation, and their drift.

use serde::{Deserialize, Serialize};

use crate::memory::codes;
use crate::memory::markdown::{Document, lines};
use crate::memory::problem::Problem;

/// Check of a precondition. The public format defines the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Policy {
    /// The section's text is the same.
    RequireSectionContentMatch,
    /// The section is there; it may have grown.
    RequireSectionResolvable,
    /// There is no such file.
    RequireFileAbsent,
    /// The file exists; with a hash, unchanged.
    RequireFilePresent,
}

/// State that an operation expects.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Precondition {
    /// Index of the operation.
    pub operation_index: usize,
    /// File, relative to the store.
    pub path: String,
    /// Section; its heading where it has no id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section_id: Option<String>,
    /// The check.
    pub policy: Policy,
    /// Hash of a text that must not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<String>,
}

impl Precondition {
    fn is_of_file(&self) -> bool {
        matches!(self.policy, Policy::RequireFileAbsent | Policy::RequireFilePresent)
    }

    /// Describes the change since, if any. `problems` of planning explain why a target is missing.
    fn drift(&self, now: &[Self], problems: &[Problem]) -> Option<String> {
        let is_it = |other: &&Self| {
            (other.operation_index, &other.path, other.is_of_file())
                == (self.operation_index, &self.path, self.is_of_file())
        };
        let what = if self.is_of_file() { "the file" } else { "the section" };
        match now.iter().find(is_it) {
            None => {
                let is_about = |problem: &&Problem| {
                    let fields = ["path", "section_id", "heading", "parent_section_id"];
                    problem.operation == Some(self.operation_index)
                        && problem.field.as_deref().is_some_and(|field| fields.contains(&field))
                };
                let why = problems.iter().find(is_about).map(|problem| problem.message.clone());
                Some(why.unwrap_or_else(|| format!("{what} is gone")))
            }
            Some(now) if self.is_of_file() && self.policy != now.policy => {
                let is_there = now.policy == Policy::RequireFilePresent;
                Some(format!("{what} {}", if is_there { "exists by now" } else { "is gone" }))
            }
            Some(now) if self.hash.is_some() && self.hash != now.hash => {
                Some(format!("{what} was changed since"))
            }
            Some(_) => None,
        }
    }
}

/// Compares `recorded` with a new plan's preconditions and problems.
pub fn drift(
    recorded: &[Precondition],
    now: &[Precondition],
    problems: &[Problem],
) -> Vec<Problem> {
    let drifted = recorded.iter().filter_map(|was| {
        let mut place = was.path.clone();
        place.extend(was.section_id.iter().flat_map(|id| ["#", id.as_str()]));
        let message = format!("{place}: {}", was.drift(now, problems)?);
        let mut problem = Problem::new(&codes::TARGET_DRIFT, message)
            .at(was.operation_index)
            .field("path")
            .fix("look at the file; reject it, and have it proposed again");
        problem.section_id = was.section_id.clone();
        Some(problem)
    });
    drifted.collect()
}

/// Ignores line endings and trailing whitespace: a section added behind must not change the hash.
pub fn hash(text: &str) -> String {
    let text = lines::with_ending(text.trim_end(), "\n");
    let mut hasher = gix::hash::hasher(gix::hash::Kind::Sha1);
    hasher.update(text.as_bytes());
    let hex = hasher.try_finalize().map_or_else(|_| "0".repeat(40), |id| id.to_hex().to_string());
    format!("sha1:{hex}")
}

/// The id, else the heading.
pub fn name<'d>(document: &'d Document<'_>, i: usize) -> &'d str {
    let section = &document.sections[i];
    section.id.as_deref().unwrap_or(&section.heading)
}
