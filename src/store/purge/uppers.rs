//! Pending refs of what stands on a purged proposal: the commit of that one, with its words, is their parent.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use gix::ObjectId;

use crate::error::Result;
use crate::proposal::ProposalId;
use crate::store::{Filter, Store, Summary, View, pending};

/// How many proposals stand on each other at most.
const DEEPEST: usize = 1000;

impl Store {
    /// The pending proposals whose commits have one of those of `ids` among what they stand on.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub(super) fn uppers(&self, ids: &BTreeSet<ProposalId>) -> Result<Vec<ProposalId>> {
        // By what the commits say: the ref of one that was decided or revised is gone, its commit is not.
        let below = |commit: ObjectId| {
            let commit = self.repository().repo.find_commit(commit).ok()?;
            let id = pending::named(commit.message_raw_sloppy())?;
            Some((id, commit.parent_ids().next().map(gix::Id::detach)))
        };
        let is_upper = |tip: ObjectId| {
            let chain = std::iter::successors(below(tip), |(_, parent)| below((*parent)?));
            chain.take(DEEPEST).any(|(id, _)| ids.contains(&id))
        };
        let others = pending::targets(self)?.into_iter().filter(|(id, _)| !ids.contains(id));
        Ok(others.filter(|(_, tip)| is_upper(*tip)).map(|(id, _)| id).collect())
    }

    /// Makes the pending refs that are missing, on what is there still: those of what stood on something
    /// purged, also where a purge was stopped before it made them again. What is below was proposed before.
    ///
    /// # Errors
    /// If objects or refs cannot be written; those of the view.
    pub(super) fn make_missing(&self, view: &View<'_>, now: DateTime<Utc>) -> Result<()> {
        let (made, due) = (pending::targets(self)?, view.due(now, usize::MAX)?);
        for Summary { id, .. } in view.proposals(&Filter::pending(), now)? {
            if made.contains_key(&id) || due.contains(&view.whole(&id)?) {
                continue;
            }
            let proposal = view.proposal(&id)?;
            if pending::has_content(self, &proposal) {
                pending::make(self, &proposal, view, now)?;
            }
        }
        Ok(())
    }
}
