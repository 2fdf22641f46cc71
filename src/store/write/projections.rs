//! Projections and pending refs, updated after events were written.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use super::Writer;
use crate::error::Result;
use crate::proposal::event::Subject;
use crate::proposal::{ActorKind, Status};
use crate::store::{pending, projection};

impl Writer<'_> {
    /// Updates files and ref of the thread `id`. `false` if its ref has to be deleted; the refs of
    /// one command are deleted together. The next commit retries a ref that cannot be written. With
    /// `is_same` only the event's text has changed.
    pub(super) fn project(&mut self, id: &ObjectId, is_same: bool) -> Result<bool> {
        let name = self.view.name(id);
        if !self.chains.contains_key(id) && self.view.threads.is_gone(id)? {
            return projection::remove(self.store, &name).map(|()| false);
        }
        let Some(mut proposal) = self.view.folded(id)? else { return Ok(false) };
        proposal.id = name.clone();
        let pending = proposal.status(self.now) == Status::Pending;
        let stage = |pending| {
            if proposal.subject == Subject::Memory
                && let Some(projector) = self.store.projector
            {
                let _ = projector(self.store, &proposal, pending);
            }
        };
        if self.left_over.contains(id) {
            // Temporary files of the stopped writer go as well.
            stage(false);
            let _ = projection::remove(self.store, &name);
        }
        let is_made = self.made.contains(id);
        let is_same =
            is_same && !is_made && !self.revised.contains(id) && !self.left_over.contains(id);
        if pending && !is_made && !is_same && !pending::has_content(self.store, &proposal) {
            // A writer does not wait for content from the network, so the old files and ref go. Git
            // stops at a ref that leads to missing objects.
            stage(false);
            let _ = projection::remove(self.store, &name);
            return Ok(false);
        }
        stage(pending);
        if pending && is_same {
            projection::renew_elsewhere(self.store, &proposal)?;
            projection::make(self.store, &proposal, true)?;
        } else if pending {
            let made = pending::make(self.store, &proposal, &self.view, self.now);
            crate::failpoint!("store.pending.made");
            if made.is_err() && !self.store.repository().is_partial() {
                self.touched.insert(*id);
            }
            let renewed =
                if is_made { Ok(()) } else { projection::renew_elsewhere(self.store, &proposal) };
            if renewed.is_err() {
                // A process that may write there retries.
                self.touched.insert(*id);
            }
            projection::make(self.store, &proposal, false).and(made.map(drop))?;
        } else {
            // The ref goes even if the files could not be removed.
            let _ = projection::remove(self.store, &name);
        }
        Ok(pending)
    }

    /// Announces the pending proposal of the thread `id` if it is new and a person did not write
    /// it.
    pub(super) fn announce(&self, id: &ObjectId) {
        let is_new = self.made.contains(id);
        if self.actor.kind != ActorKind::Human
            && (is_new || self.revised.contains(id))
            && let Ok(Some(proposal)) = self.view.folded(id)
        {
            self.store.announced.add(&proposal, !is_new);
        }
    }

    /// `ids` with each proposal behind the one that it was made on.
    pub(super) fn lower_first(&self, ids: BTreeSet<ObjectId>) -> Vec<ObjectId> {
        if !self.is_stacked {
            return ids.into_iter().collect();
        }
        let lower = |id: &ObjectId| {
            let on = self.view.folded(id).ok()??.current().on.clone()?;
            let lower = ids.iter().find(|other| on.proposal.is_of(&other.to_string()))?;
            Some((*id, *lower))
        };
        let lower: BTreeMap<ObjectId, ObjectId> = ids.iter().filter_map(lower).collect();
        let depth = |id: &ObjectId| {
            let below = std::iter::successors(lower.get(id), |id| lower.get(*id));
            below.take(ids.len()).count()
        };
        let mut ordered: Vec<ObjectId> = ids.iter().copied().collect();
        ordered.sort_by_cached_key(depth);
        ordered
    }
}
