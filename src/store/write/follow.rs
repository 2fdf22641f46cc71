//! Files and refs that follow what was written.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;

use super::Writer;
use crate::error::Result;
use crate::proposal::event::Subject;
use crate::proposal::{ActorKind, Status};
use crate::store::{pending, projection};

impl Writer<'_> {
    /// Makes the files and the ref of the thread `id` follow. `false`: its ref, if there is one, is to go; those
    /// of one command go together. A ref that cannot be written is tried again by the next commit. `is_same`: what
    /// there was of it is right, but for what the command has said of it since.
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
            // With the temporary files of the writer that was stopped.
            stage(false);
            let _ = projection::remove(self.store, &name);
        }
        let is_made = self.made.contains(id);
        let is_same =
            is_same && !is_made && !self.revised.contains(id) && !self.left_over.contains(id);
        if pending && !is_made && !is_same && !pending::has_content(self.store, &proposal) {
            // Its content may have to come over the network, which a writer does not wait for: what was made here
            // of what it was before goes. Git stops at a ref that leads to what is not there.
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
                // Whoever may write there does.
                self.touched.insert(*id);
            }
            projection::make(self.store, &proposal, false).and(made.map(drop))?;
        } else {
            // The ref goes whether the files could be removed or not.
            let _ = projection::remove(self.store, &name);
        }
        Ok(pending)
    }

    /// Says that the pending proposal of the thread `id` waits, where that is new and not its reader's own doing.
    pub(super) fn announce(&self, id: &ObjectId) {
        let is_new = self.made.contains(id);
        if self.actor.kind != ActorKind::Human
            && (is_new || self.revised.contains(id))
            && let Ok(Some(proposal)) = self.view.folded(id)
        {
            self.store.announced.add(&proposal, !is_new);
        }
    }

    /// `ids` so that each comes behind the one that it was made on.
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
