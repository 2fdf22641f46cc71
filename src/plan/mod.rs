//! The task plan of a branch: the steps an agent works through. Pure.
//!
//! A [`TaskPlan`] is always valid: steps trimmed, not empty, within the limits, at most one in
//! progress.

pub mod record;
pub mod request;
pub mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use record::{PlanRecord, PlanVersion};
pub use request::PlanUpdate;

use crate::error::{Error, Result};

pub mod codes {
    crate::codes! {
        PLAN_INVALID = "plan_invalid", Invalid, "the plan breaks a rule; the message names the step";
    }
}

pub const MAX_STEPS: usize = 200;
/// After trimming.
pub const MAX_STEP_CHARS: usize = 2_000;
/// After trimming.
pub const MAX_EXPLANATION_CHARS: usize = 10_000;

/// How far a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    Pending,
    /// Being worked on; at most one step is.
    InProgress,
    /// Done.
    Completed,
}

impl StepStatus {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }

    pub fn parse(word: &str) -> Option<Self> {
        [Self::Pending, Self::InProgress, Self::Completed]
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
    /// The task: trimmed, not empty, at most 2,000 characters.
    pub step: String,
    /// How far it is.
    pub status: StepStatus,
}

/// How many steps are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Progress {
    /// Done.
    pub completed: usize,
    /// Being worked on: 0 or 1.
    pub in_progress: usize,
    /// Not begun.
    pub pending: usize,
}

impl Progress {
    pub fn total(self) -> usize {
        self.completed + self.in_progress + self.pending
    }
}

/// A valid list of steps; may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct TaskPlan(Vec<PlanStep>);

impl TaskPlan {
    /// # Errors
    /// `plan_invalid`, with the index (from 0) of the bad step.
    pub fn new(mut steps: Vec<PlanStep>) -> Result<Self> {
        if steps.len() > MAX_STEPS {
            return Err(invalid(
                MAX_STEPS,
                format!("{} steps are more than the {MAX_STEPS} a plan may have", steps.len()),
            )
            .hint("list only open steps; `aye log` keeps the finished ones"));
        }
        let mut working = None;
        for (index, step) in steps.iter_mut().enumerate() {
            trim(&mut step.step);
            if step.step.is_empty() {
                return Err(invalid(index, format!("step {} is empty", index + 1))
                    .hint("describe the step"));
            }
            let chars = step.step.chars().count();
            if chars > MAX_STEP_CHARS {
                return Err(invalid(
                    index,
                    format!(
                        "step {} has {chars} characters, more than {MAX_STEP_CHARS}",
                        index + 1
                    ),
                )
                .hint("put the details into the explanation or a file"));
            }
            if step.status == StepStatus::InProgress
                && let Some(first) = working.replace(index)
            {
                return Err(invalid(
                    index,
                    format!(
                        "steps {} and {} are both in_progress; at most one may be",
                        first + 1,
                        index + 1
                    ),
                )
                .hint("mark one of them completed or pending"));
            }
        }
        Ok(Self(steps))
    }

    pub fn steps(&self) -> &[PlanStep] {
        &self.0
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn progress(&self) -> Progress {
        let count = |status| self.0.iter().filter(|step| step.status == status).count();
        Progress {
            completed: count(StepStatus::Completed),
            in_progress: count(StepStatus::InProgress),
            pending: count(StepStatus::Pending),
        }
    }
}

/// Trims whitespace and invisible characters from both ends.
fn trim(text: &mut String) {
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || crate::text::is_unsafe(c));
    if trimmed.len() != text.len() {
        *text = trimmed.to_owned();
    }
}

/// The `related_task_id` of step `number` (from 1).
pub fn task_id(number: usize) -> String {
    format!("plan:{number}")
}

/// The step (from 1) that a `related_task_id` names.
pub fn step_of(task_id: &str) -> Option<usize> {
    let number = task_id.strip_prefix("plan:")?;
    let digits = number.bytes().all(|b| b.is_ascii_digit());
    number.parse().ok().filter(|number| digits && *number > 0)
}

fn invalid(index: usize, message: String) -> Error {
    Error::new(&codes::PLAN_INVALID, message).with("index", index)
}

#[cfg(test)]
mod tests;
