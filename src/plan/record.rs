//! A version of a plan as an event carries it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Step, TaskPlan};
use crate::error::{Error, Result};
use crate::proposal::{Data, Stamped};

/// The data of a plan event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Short name of the branch; `HEAD` when detached.
    pub branch: String,
    /// The whole list.
    pub plan: TaskPlan,
    /// Why.
    pub explanation: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    branch: String,
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
            branch: self.branch.clone(),
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
            branch: wire.branch,
            plan: TaskPlan::new(wire.plan).ok()?,
            explanation: super::request::explanation(wire.explanation).ok()?,
        })
    }
}

/// A plan as one event made it.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// Name of the person or agent.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
    /// The list.
    pub plan: TaskPlan,
    /// Why.
    pub explanation: Option<String>,
}

impl Version {
    /// The version that an event brought; `None` if it is no plan event, or not a valid one.
    pub fn new(stamped: &Stamped) -> Option<Self> {
        let Data::Plan(value) = &stamped.event.data else { return None };
        let Record { plan, explanation, .. } = Record::from_value(value)?;
        let (by, at) = (stamped.event.actor.name.clone(), stamped.event.time);
        Some(Self { by, at, plan, explanation })
    }
}
