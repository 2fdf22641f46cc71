//! The versions of a plan, from its events in their order.

use chrono::{DateTime, Utc};

use super::{Change, Plan, Record, diff};
use crate::proposal::{Actor, Data, Stamped};

/// One version of one plan.
#[derive(Clone, Debug, PartialEq)]
pub struct Version {
    /// Id of the event that brought it.
    pub event: String,
    /// Who.
    pub by: Actor,
    /// When.
    pub at: DateTime<Utc>,
    /// The list.
    pub plan: Plan,
    /// Why.
    pub explanation: Option<String>,
}

impl Version {
    /// The version that an event brought; `None` if it is no plan event, or not a valid one.
    pub fn new(stamped: &Stamped) -> Option<Self> {
        let Data::Plan(value) = &stamped.event.data else { return None };
        let record = Record::from_value(value)?;
        Some(Self {
            event: stamped.id.clone(),
            by: stamped.event.actor.clone(),
            at: stamped.event.time,
            plan: record.plan,
            explanation: record.explanation,
        })
    }
}

/// All versions of one plan, oldest first.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History(Vec<Version>);

impl History {
    /// Reads the events of one plan, which are in causal order
    /// ([`fold::order`](crate::proposal::fold::order)). The last one is its present state.
    pub fn new<'a>(events: impl IntoIterator<Item = &'a Stamped>) -> Self {
        Self(events.into_iter().filter_map(Version::new).collect())
    }

    /// Every version, newest first, with what it changed in the one before (in an empty plan, for
    /// the first). The changes are worked out as they are asked for.
    pub fn newest_first(&self) -> impl Iterator<Item = (&Version, Vec<Change>)> {
        (0..self.0.len()).rev().map(|index| {
            let empty = Plan::default();
            let before = index.checked_sub(1).map_or(&empty, |before| &self.0[before].plan);
            (&self.0[index], diff(before, &self.0[index].plan))
        })
    }
}
