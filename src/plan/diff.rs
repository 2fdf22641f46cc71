//! What changed from one version of a plan to the next.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

use super::{StepStatus, TaskPlan};

/// One change. Numbers count from 1: `from` in the old list, `to` in the new one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "change", rename_all = "snake_case")]
pub enum Change {
    /// A step that was not there.
    Added {
        /// Its number in the new list.
        to: usize,
        /// Its text.
        step: String,
        /// Its status.
        status: StepStatus,
    },
    /// A step that is gone.
    Removed {
        /// Its number in the old list.
        from: usize,
        /// Its text.
        step: String,
        /// Its last status.
        status: StepStatus,
    },
    /// The same step, further or less far.
    Status {
        /// Its number in the new list.
        to: usize,
        /// Its text.
        step: String,
        /// The status before.
        before: StepStatus,
        /// The status now.
        after: StepStatus,
    },
    /// The same step in another order than its neighbours.
    Moved {
        /// Its number in the old list.
        from: usize,
        /// Its number in the new list.
        to: usize,
        /// Its text.
        step: String,
    },
}

/// What turns `old` into `new`: removed steps first, then by place in the new list. Steps are the
/// same where their text is; of equal texts the first pairs with the first.
pub fn diff(old: &TaskPlan, new: &TaskPlan) -> Vec<Change> {
    let mut places: HashMap<&str, std::collections::VecDeque<usize>> = HashMap::new();
    for (index, step) in old.steps().iter().enumerate() {
        places.entry(&step.step).or_default().push_back(index);
    }
    let pairs: Vec<Option<usize>> = new
        .steps()
        .iter()
        .map(|step| places.get_mut(step.step.as_str()).and_then(|queue| queue.pop_front()))
        .collect();
    let mut changes = removed(old, &pairs);
    let stays = longest_rising(&pairs);
    for (index, step) in new.steps().iter().enumerate() {
        let text = || step.step.clone();
        let Some(from) = pairs[index] else {
            changes.push(Change::Added { to: index + 1, step: text(), status: step.status });
            continue;
        };
        if !stays[index] {
            changes.push(Change::Moved { from: from + 1, to: index + 1, step: text() });
        }
        let before = old.steps()[from].status;
        if before != step.status {
            changes.push(Change::Status {
                to: index + 1,
                step: text(),
                before,
                after: step.status,
            });
        }
    }
    changes
}

fn removed(old: &TaskPlan, pairs: &[Option<usize>]) -> Vec<Change> {
    let kept: std::collections::HashSet<usize> = pairs.iter().flatten().copied().collect();
    old.steps()
        .iter()
        .enumerate()
        .filter(|(index, _)| !kept.contains(index))
        .map(|(index, step)| Change::Removed {
            from: index + 1,
            step: step.step.clone(),
            status: step.status,
        })
        .collect()
}

/// Which paired steps keep their order: a longest increasing run of old places. The others moved.
fn longest_rising(pairs: &[Option<usize>]) -> Vec<bool> {
    let found: Vec<(usize, usize)> =
        pairs.iter().enumerate().filter_map(|(new, old)| old.map(|old| (new, old))).collect();
    // At most 200 steps: the quadratic way is short and quick enough.
    let mut best: Vec<(usize, Option<usize>)> = Vec::with_capacity(found.len());
    for (i, (_, old)) in found.iter().enumerate() {
        let before = (0..i)
            .filter(|j| found[*j].1 < *old)
            .max_by_key(|j| (best[*j].0, std::cmp::Reverse(*j)));
        best.push((before.map_or(1, |j| best[j].0 + 1), before));
    }
    let mut stays = vec![false; pairs.len()];
    let mut at = (0..found.len()).max_by_key(|i| (best[*i].0, std::cmp::Reverse(*i)));
    while let Some(i) = at {
        stays[found[i].0] = true;
        at = best[i].1;
    }
    stays
}
