//! The versions of a plan, from its events in their order.

use chrono::{DateTime, Utc};

use super::{Change, Record, TaskPlan, diff};
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
    pub plan: TaskPlan,
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

    /// Where in the present list (from 0) the step stands that was number `number` (from 1) when a
    /// proposal named it, at `then`. `known` says that it was of this plan: then it may have been
    /// made before the plan was.
    pub fn follow(&self, number: usize, then: DateTime<Utc>, known: bool) -> Option<usize> {
        let first = self.0.iter().rposition(|version| version.at <= then);
        let first = first.or(known.then_some(0))?;
        let versions = self.0.get(first..)?;
        let place = number.checked_sub(1)?;
        versions.first()?.plan.steps().get(place)?;
        versions
            .windows(2)
            .try_fold(place, |place, pair| moved(&pair[0].plan, &pair[1].plan, place))
    }

    /// Every version, newest first, with what it changed in the one before (in an empty plan, for
    /// the first). The changes are worked out as they are asked for.
    pub fn newest_first(&self) -> impl Iterator<Item = (&Version, Vec<Change>)> {
        (0..self.0.len()).rev().map(|index| {
            let empty = TaskPlan::default();
            let before = index.checked_sub(1).map_or(&empty, |before| &self.0[before].plan);
            (&self.0[index], diff(before, &self.0[index].plan))
        })
    }
}

/// Where the step at `place` in `old` stands in `new`, if it is still there: told by its text, and
/// if that alone was changed in the whole list, by its place.
fn moved(old: &TaskPlan, new: &TaskPlan, place: usize) -> Option<usize> {
    let (old, new) = (old.steps(), new.steps());
    let text = &old[place].step;
    let before = old[..place].iter().filter(|step| step.step == *text).count();
    let mut same = new.iter().enumerate().filter(|(_, step)| step.step == *text);
    if let Some((at, _)) = same.nth(before) {
        return Some(at);
    }
    let mut pairs = old.iter().zip(new).enumerate();
    let others = pairs.all(|(at, (old, new))| at == place || old.step == new.step);
    (old.len() == new.len() && others).then_some(place)
}
