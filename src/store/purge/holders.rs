//! The refs that hold something of a proposal.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use gix::ObjectId;

use crate::error::Result;
use crate::proposal::ProposalId;
use crate::store::lane::{Limits, Progress, Reader};
use crate::store::refs::{self, LaneRef};
use crate::store::{Store, View, pending, projection, settle};

/// A lane that holds something of a purged proposal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// The ref.
    pub name: String,
    /// The lane.
    pub lane: String,
    /// Who has written what it holds.
    pub by: Vec<String>,
}

impl Store {
    /// The refs of lanes whose history has something of `id` but that it was purged.
    pub(super) fn holding(&self, view: &View, id: &ProposalId) -> Result<BTreeSet<String>> {
        let events = view.events_of(id)?;
        let mut found = BTreeSet::new();
        for (name, position) in view.positions()? {
            let Some(ids) = events.get(refs::lane_of(&name)) else { continue };
            let tip = position.reached.and_then(|tip| ObjectId::from_hex(tip.as_bytes()).ok());
            if tip.is_some_and(|tip| has(&self.repository().repo, &name, tip, ids)) {
                found.insert(name);
            }
        }
        Ok(found)
    }

    /// The refs that hold something of `ids`: those that are superseded, or are no lanes and local; and
    /// the lanes that are neither.
    pub(super) fn holders(
        &self,
        view: &View,
        ids: &BTreeSet<ProposalId>,
    ) -> Result<(Vec<String>, Vec<Holder>)> {
        let mut holding: BTreeMap<String, BTreeSet<&ProposalId>> = BTreeMap::new();
        for id in ids {
            for name in self.holding(view, id)? {
                holding.entry(name).or_default().insert(id);
            }
        }
        let positions = view.positions()?;
        let tip = |name: &str| {
            let reached = positions.get(name)?.reached.as_deref()?;
            ObjectId::from_hex(reached.as_bytes()).ok()
        };
        let (mut superseded, mut left) = (Vec::new(), Vec::new());
        for (name, ids) in &holding {
            let lane = refs::lane_of(name);
            let others = positions.keys().filter(|other| {
                refs::lane_of(other) == lane && !holding.contains_key(other.as_str())
            });
            let mut tips = others.filter_map(|other| tip(other));
            let here = tip(name);
            if here.is_some_and(|here| {
                tips.any(|at| settle::is_ahead(view, &self.repository().repo, at, here))
            }) {
                superseded.push(name.clone());
                continue;
            }
            let mut by = BTreeSet::new();
            for id in ids {
                by.extend(view.speakers_of(id, lane)?);
            }
            let by = by.into_iter().collect();
            left.push(Holder { name: name.clone(), lane: lane.to_owned(), by });
        }
        let pending = ids.iter().map(|id| format!("{}{id}", refs::PENDING));
        for name in pending {
            if refs::target(&self.repository().repo, &name)?.is_some() {
                superseded.push(name);
            }
        }
        let mut broken = Vec::new();
        refs::each(&self.repository().repo, refs::BROKEN, |name, tip| broken.push((name, tip)))?;
        for (name, tip) in broken {
            let id = name.rsplit('/').next().unwrap_or_default();
            if ids.iter().any(|purged| purged.as_str() == id) || self.may_have(&name, tip, ids) {
                superseded.push(name);
            }
        }
        Ok((superseded, left))
    }

    /// Purged proposals of which this clone still shows something where nothing leads to it: the ref or the readable
    /// copy of one that was pending when a fetch took the lane that held it away. The next command that writes
    /// removes both, and an agent may read them until then.
    ///
    /// # Errors
    /// If the refs or the cache cannot be read.
    pub fn shown_of_purged(&self, view: &View) -> Result<Vec<(ProposalId, String)>> {
        let mut found = Vec::new();
        for record in view.purged()? {
            let id = record.id;
            let mut shown = Vec::new();
            if pending::is_made(self, &id)? {
                shown.push(format!("{}{id}", refs::PENDING));
            }
            if projection::is_written(self, &id)? {
                shown.push(format!("{}/{id}", projection::DIRECTORY));
            }
            if !shown.is_empty() {
                found.push((id, shown.join(" and ")));
            }
        }
        Ok(found)
    }

    /// Whether what leads to `tip` has something of `ids`, or cannot be read.
    fn may_have(&self, name: &str, tip: ObjectId, ids: &BTreeSet<ProposalId>) -> bool {
        if name.contains("/pending/") {
            return false;
        }
        let lane = LaneRef { name: name.to_owned(), tip };
        let mut reader =
            Reader::new(&self.repository().repo, &lane, Limits::LOCAL, Progress::default());
        let mut next = Some(tip);
        while let Some(at) = next {
            let Ok((found, parent)) = reader.ids(at) else { return true };
            for (event, of) in found {
                let whole = of.is_none().then(|| self.blob(&event.to_string()).ok()).flatten();
                let about =
                    whole.as_deref().and_then(|body| self.inflated(body)).and_then(|event_of| {
                        crate::proposal::Stamped { id: event.to_string(), event: event_of }
                            .proposal()
                    });
                if about.is_some_and(|id| ids.contains(&id)) {
                    return true;
                }
            }
            next = parent;
        }
        false
    }
}

/// Whether the history of a lane up to `tip` has one of `events`, as a commit or as a line.
pub(in crate::store) fn has(
    repo: &gix::Repository,
    name: &str,
    tip: ObjectId,
    events: &HashSet<ObjectId>,
) -> bool {
    let lane = LaneRef { name: name.to_owned(), tip };
    let mut reader = Reader::new(repo, &lane, Limits::LOCAL, Progress::default());
    let mut next = Some(tip);
    while let Some(at) = next {
        let Ok((ids, parent)) = reader.ids(at) else { return false };
        if ids.iter().any(|(id, stub)| stub.is_none() && events.contains(id)) {
            return true;
        }
        next = parent;
    }
    false
}
