//! A version of a plan as an event carries it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Step, TaskPlan, codes};
use crate::error::{Error, Result};

/// The plan that has no name.
pub const DEFAULT_NAME: &str = "default";

/// Longest name of a plan, in characters.
pub const MAX_NAME_CHARS: usize = 64;

/// Which plan: there is one per branch and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Short name of the branch; `HEAD` when detached.
    pub branch: String,
    /// `default`, or the name given.
    pub name: String,
}

impl Key {
    /// The plan `name` (default if `None`) of `branch`.
    ///
    /// # Errors
    /// `plan_invalid` for a name that is empty, too long, or holds anything but letters, digits
    /// and `. _ -`.
    pub fn new(branch: impl Into<String>, name: Option<&str>) -> Result<Self> {
        let name = name.unwrap_or(DEFAULT_NAME);
        let fits = |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-');
        let length = name.chars().count();
        if length == 0 || length > MAX_NAME_CHARS || !name.chars().all(fits) {
            return Err(Error::new(&codes::PLAN_INVALID, format!("'{name}' cannot name a plan"))
                .with("field", "name")
                .hint("use letters, digits, '.', '_' and '-', at most 64 of them"));
        }
        Ok(Self { branch: branch.into(), name: name.to_owned() })
    }

    /// Branch and name in one text, the branch first; plans of one branch are neighbours.
    pub fn to_text(&self) -> String {
        // No branch and no plan has a control character in its name.
        format!("{}\n{}", self.branch, self.name)
    }

    /// Reads [`Key::to_text`] back.
    pub fn from_text(text: &str) -> Option<Self> {
        let (branch, name) = text.split_once('\n')?;
        Key::new(branch, Some(name)).ok()
    }

    /// What a proposal's `related_task_id` says to belong to step `number` (from 1) of this plan:
    /// `plan:3`, or `plan:NAME:3` for a named one.
    pub fn task_id(&self, number: usize) -> String {
        if self.name == DEFAULT_NAME {
            format!("plan:{number}")
        } else {
            format!("plan:{}:{number}", self.name)
        }
    }

    /// The step (from 1) of this plan that a `related_task_id` names, if it names one.
    pub fn step_of(&self, task_id: &str) -> Option<usize> {
        let rest = task_id.strip_prefix("plan:")?;
        let (name, number) = rest.rsplit_once(':').unwrap_or((DEFAULT_NAME, rest));
        if name != self.name || !number.bytes().all(|b| b.is_ascii_digit()) {
            return None;
        }
        number.parse().ok().filter(|number| *number > 0)
    }
}

/// The data of a plan event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Which plan.
    pub key: Key,
    /// The whole list.
    pub plan: TaskPlan,
    /// Why.
    pub explanation: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    branch: String,
    name: String,
    plan: Vec<Step>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
}

impl Record {
    /// As event data.
    ///
    /// # Errors
    /// `internal_error` if it cannot be written as JSON.
    pub fn to_value(&self) -> Result<Value> {
        serde_json::to_value(Wire {
            branch: self.key.branch.clone(),
            name: self.key.name.clone(),
            plan: self.plan.steps().to_vec(),
            explanation: self.explanation.clone(),
        })
        .map_err(|error| Error::bug(error.to_string()))
    }

    /// From event data. `None` if it is not of this shape or breaks the plan's rules: another
    /// clone's event is never trusted, and one that cannot be read is as if it were not there.
    pub fn from_value(value: &Value) -> Option<Self> {
        let wire = Wire::deserialize(value).ok()?;
        Some(Self {
            key: Key::new(wire.branch, Some(&wire.name)).ok()?,
            plan: TaskPlan::new(wire.plan).ok()?,
            explanation: super::request::explanation(wire.explanation).ok()?,
        })
    }
}
