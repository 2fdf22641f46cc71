//! Files and refs that follow what was written.

use std::collections::{BTreeMap, BTreeSet};

use super::Writer;
use crate::error::Result;
use crate::proposal::event::Subject;
use crate::proposal::{ProposalId, Status};
use crate::store::{pending, projection};

impl Writer<'_> {
    /// Makes the files and the ref of `id` follow. `false`: its ref, if there is one, is to go; those
    /// of one command go together. A ref that cannot be written is tried again by the next commit.
    pub(super) fn project(&mut self, id: &ProposalId) -> Result<bool> {
        if self.view.purge_of(id)?.is_some() {
            return projection::remove(self.store, id).map(|()| false);
        }
        let proposal = self.view.proposal(id)?;
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
            let _ = projection::remove(self.store, id);
        }
        if pending && self.fetched.contains(id) && self.store.repository().is_partial() {
            // Its content may have to come over the network, which a writer does not wait for: what was
            // made here of what it was before goes, as long as that is so.
            if !projection::is_written(self.store, id)? && !pending::is_made(self.store, id)? {
                return Ok(true);
            }
            if !pending::has_content(self.store, &proposal) {
                return projection::remove(self.store, id).map(|()| false);
            }
        }
        if pending
            && !self.made.contains_key(id)
            && !self.store.repository().is_partial()
            && !pending::has_content(self.store, &proposal)
        {
            // An epoch has left it in an archive that is not here, and git stops at a ref that leads
            // to what is not there.
            stage(false);
            let _ = projection::remove(self.store, id);
            return Ok(false);
        }
        stage(pending);
        if pending {
            let made = pending::make(self.store, &proposal, &self.view, self.now);
            crate::failpoint!("store.pending.made");
            if made.is_err() && !self.store.repository().is_partial() {
                self.touched.insert(id.clone());
            }
            let renewed = if self.made.contains_key(id) {
                Ok(())
            } else {
                projection::renew_elsewhere(self.store, &proposal)
            };
            if renewed.is_err() {
                // Whoever may write there does.
                self.touched.insert(id.clone());
            }
            projection::make(self.store, &proposal).and(made.map(drop))?;
        } else {
            // The ref goes whether the files could be removed or not.
            let _ = projection::remove(self.store, id);
        }
        Ok(pending)
    }

    /// `ids` so that each comes behind the one that it was made on.
    pub(super) fn lower_first(&self, ids: BTreeSet<ProposalId>) -> Vec<ProposalId> {
        if !self.is_stacked {
            return ids.into_iter().collect();
        }
        let lower = |id: &ProposalId| {
            let on = self.view.proposal(id).ok()?.current().on.clone()?;
            ids.contains(&on.proposal).then_some((id.clone(), on.proposal))
        };
        let lower: BTreeMap<ProposalId, ProposalId> = ids.iter().filter_map(lower).collect();
        let depth = |id: &ProposalId| {
            let below = std::iter::successors(lower.get(id), |id| lower.get(*id));
            below.take(ids.len()).count()
        };
        let mut ordered: Vec<ProposalId> = ids.iter().cloned().collect();
        ordered.sort_by_cached_key(depth);
        ordered
    }
}
