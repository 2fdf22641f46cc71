//! The versions of plans, from the plan events in their order.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};

use super::{Change, Key, Plan, Record, diff};
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
    /// What it changed in the version before (in an empty plan, for the first).
    pub changes: Vec<Change>,
}

/// All versions of all plans.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct History(BTreeMap<Key, Vec<Version>>);

impl History {
    /// Reads the plan events among `events`, which are in causal order
    /// ([`fold::order`](crate::proposal::fold::order)). The last one of a plan is its present state.
    pub fn new<'a>(events: impl IntoIterator<Item = &'a Stamped>) -> Self {
        let mut history = Self::default();
        for stamped in events {
            if let Data::Plan(value) = &stamped.event.data
                && let Some(record) = Record::from_value(value)
            {
                history.push(stamped, record);
            }
        }
        history
    }

    fn push(&mut self, stamped: &Stamped, record: Record) {
        let versions = self.0.entry(record.key).or_default();
        let empty = Plan::default();
        let before = versions.last().map_or(&empty, |version| &version.plan);
        let changes = diff(before, &record.plan);
        versions.push(Version {
            event: stamped.id.clone(),
            by: stamped.event.actor.clone(),
            at: stamped.event.time,
            plan: record.plan,
            explanation: record.explanation,
            changes,
        });
    }

    /// Every version of one plan, oldest first.
    pub fn versions(&self, key: &Key) -> &[Version] {
        self.0.get(key).map_or(&[], Vec::as_slice)
    }

    /// The present version of one plan, if it was ever set.
    pub fn current(&self, key: &Key) -> Option<&Version> {
        self.versions(key).last()
    }

    /// The plans of a branch with their present version, in order of name.
    pub fn of_branch<'a>(
        &'a self,
        branch: &'a str,
    ) -> impl Iterator<Item = (&'a Key, &'a Version)> + 'a {
        self.0
            .iter()
            .filter(move |(key, _)| key.branch == branch)
            .filter_map(|(key, versions)| Some((key, versions.last()?)))
    }
}
