//! The plan as event data.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{PlanStep, TaskPlan};
use crate::error::{Error, Result};
use crate::proposal::{Data, StoredEvent};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanRecord {
    /// Short name; `HEAD` when detached.
    pub branch: String,
    pub plan: TaskPlan,
    pub explanation: Option<String>,
}

#[derive(Serialize, Deserialize)]
struct Wire {
    branch: String,
    plan: Vec<PlanStep>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
}

impl PlanRecord {
    pub fn to_value(&self) -> Result<Value> {
        serde_json::to_value(Wire {
            branch: self.branch.clone(),
            plan: self.plan.steps().to_vec(),
            explanation: self.explanation.clone(),
        })
        .map_err(|error| Error::bug(error.to_string()))
    }

    /// `None` if malformed or invalid: events of other clones are not trusted, and a bad one is
    /// ignored.
    pub fn from_value(value: &Value) -> Option<Self> {
        let wire = Wire::deserialize(value).ok()?;
        Some(Self {
            branch: wire.branch,
            plan: TaskPlan::new(wire.plan).ok()?,
            explanation: super::request::explanation(wire.explanation).ok()?,
        })
    }
}

/// The plan that one event set.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanVersion {
    /// Name of the actor.
    pub by: String,
    pub at: DateTime<Utc>,
    pub plan: TaskPlan,
    pub explanation: Option<String>,
}

impl PlanVersion {
    /// `None` unless the event is a valid plan event.
    pub fn new(stamped: &StoredEvent) -> Option<Self> {
        let Data::Plan(value) = &stamped.event.data else { return None };
        let PlanRecord { plan, explanation, .. } = PlanRecord::from_value(value)?;
        let (by, at) = (stamped.event.actor.name.clone(), stamped.event.time);
        Some(Self { by, at, plan, explanation })
    }
}
