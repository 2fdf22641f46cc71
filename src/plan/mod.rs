//! The task plan: the list of steps an agent works through, and its history.
//!
//! Pure. A [`TaskPlan`] is always valid: steps trimmed, not empty, within the limits, at most one of
//! them in progress. The whole list replaces the one before; [`diff()`] says what that changed.

pub mod diff;
pub mod history;
pub mod record;
pub mod request;
pub mod text;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use diff::{Change, diff};
pub use history::{History, Version};
pub use record::{Key, Record};
pub use request::Request;

use crate::error::{Error, Result};

/// Error codes of the plan.
pub mod codes {
    crate::codes! {
        PLAN_INVALID = "plan_invalid", Invalid, "the plan breaks a rule; the step's index is given";
        PLAN_STEP_NOT_FOUND = "plan_step_not_found", NotFound, "the plan has no step of that number";
    }
}

/// Most steps of a plan.
pub const MAX_STEPS: usize = 200;
/// Most characters of a step, after trimming.
pub const MAX_STEP_CHARS: usize = 2_000;
/// Most characters of an explanation, after trimming.
pub const MAX_EXPLANATION_CHARS: usize = 10_000;

/// How far a step is.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
    clap::ValueEnum,
)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum StepStatus {
    /// Not begun.
    #[default]
    Pending,
    /// Being worked on; at most one step is.
    #[value(alias = "in-progress")]
    InProgress,
    /// Done.
    Completed,
}

impl StepStatus {
    /// The contract's word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::InProgress => "in_progress",
            Self::Completed => "completed",
        }
    }

    /// Reads the contract's word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Pending, Self::InProgress, Self::Completed]
            .into_iter()
            .find(|status| status.as_str() == word)
    }
}

/// One step.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// What is to be done: trimmed, not empty, at most 2,000 characters.
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
    /// All steps.
    pub fn total(self) -> usize {
        self.completed + self.in_progress + self.pending
    }
}

/// A valid list of steps; may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(transparent)]
pub struct TaskPlan(Vec<Step>);

impl TaskPlan {
    /// Trims and checks `steps`.
    ///
    /// # Errors
    /// `plan_invalid` with the index (from 0) of the first step that breaks a rule.
    pub fn new(mut steps: Vec<Step>) -> Result<Self> {
        if steps.len() > MAX_STEPS {
            return Err(invalid(
                MAX_STEPS,
                format!("{} steps are more than the {MAX_STEPS} a plan may have", steps.len()),
            )
            .hint("keep the plan to what is ahead; the log remembers what was done"));
        }
        let mut working = None;
        for (index, step) in steps.iter_mut().enumerate() {
            trim(&mut step.step);
            if step.step.is_empty() {
                return Err(invalid(index, format!("step {} is empty", index + 1))
                    .hint("say what is to be done"));
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

    /// The steps, in order.
    pub fn steps(&self) -> &[Step] {
        &self.0
    }

    /// True without steps.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The step of that number, from 1.
    ///
    /// # Errors
    /// `plan_step_not_found`.
    pub fn step(&self, number: usize) -> Result<&Step> {
        number.checked_sub(1).and_then(|index| self.0.get(index)).ok_or_else(|| {
            let have = match self.0.len() {
                0 => "the plan has no steps".to_owned(),
                1 => "the plan has one step".to_owned(),
                n => format!("the plan has {n} steps"),
            };
            Error::new(&codes::PLAN_STEP_NOT_FOUND, format!("there is no step {number}: {have}"))
                .hint("`aye plan` shows their numbers, from 1")
        })
    }

    /// The plan with another status at step `number` (from 1).
    ///
    /// # Errors
    /// `plan_step_not_found`; `plan_invalid` if another step is in progress already.
    pub fn with_status(&self, number: usize, status: StepStatus) -> Result<Self> {
        self.step(number)?;
        let mut steps = self.0.clone();
        steps[number - 1].status = status;
        Self::new(steps)
    }

    /// The plan with a new step at place `number` (from 1), or at the end.
    ///
    /// # Errors
    /// `plan_invalid` as in [`TaskPlan::new`]; `plan_step_not_found` if the place is past the end.
    pub fn with_step(&self, step: Step, number: Option<usize>) -> Result<Self> {
        let index = match number {
            None => self.0.len(),
            Some(number) if number == self.0.len() + 1 => self.0.len(),
            Some(number) => {
                self.step(number)?;
                number - 1
            }
        };
        let mut steps = self.0.clone();
        steps.insert(index, step);
        Self::new(steps)
    }

    /// How many steps are in which state.
    pub fn progress(&self) -> Progress {
        let count = |status| self.0.iter().filter(|step| step.status == status).count();
        Progress {
            completed: count(StepStatus::Completed),
            in_progress: count(StepStatus::InProgress),
            pending: count(StepStatus::Pending),
        }
    }
}

/// Trims blanks, line ends and characters that nobody sees from both ends, in place.
fn trim(text: &mut String) {
    let trimmed = text.trim_matches(|c: char| c.is_whitespace() || crate::text::is_unsafe(c));
    if trimmed.len() != text.len() {
        *text = trimmed.to_owned();
    }
}

fn invalid(index: usize, message: String) -> Error {
    Error::new(&codes::PLAN_INVALID, message).with("index", index)
}

#[cfg(test)]
mod tests;
