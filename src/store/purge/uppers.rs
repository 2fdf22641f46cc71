//! Pending refs of what stands on a purged proposal: the commit of that one, with its words, is their parent.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use gix::ObjectId;

use crate::error::Result;
use crate::proposal::ProposalId;
use crate::store::{Store, View, pending};

/// How many proposals stand on each other at most.
const DEEPEST: usize = 1000;

impl Store {
    /// The pending proposals whose commits have one of those of `ids` among what they stand on; each after those
    /// that it stands on.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub(super) fn uppers(&self, ids: &BTreeSet<ProposalId>) -> Result<Vec<ProposalId>> {
        // By what the commits say: the ref of one that was decided or revised is gone, its commit is not.
        let below = |commit: ObjectId| {
            let commit = self.repo.find_commit(commit).ok()?;
            let id = pending::named(commit.message_raw_sloppy())?;
            Some((id, commit.parent_ids().next().map(gix::Id::detach)))
        };
        let depth = |tip: ObjectId| {
            let chain = std::iter::successors(below(tip), |(_, parent)| below((*parent)?));
            chain.take(DEEPEST).position(|(id, _)| ids.contains(&id))
        };
        let others = pending::targets(self)?.into_iter().filter(|(id, _)| !ids.contains(id));
        let mut found: Vec<_> = others.filter_map(|(id, tip)| Some((depth(tip)?, id))).collect();
        found.sort_unstable();
        Ok(found.into_iter().map(|(_, id)| id).collect())
    }

    /// Makes the pending refs of `uppers` again, on what is there still.
    ///
    /// # Errors
    /// If objects or refs cannot be written.
    pub(super) fn make_uppers(
        &self,
        view: &View,
        uppers: &[ProposalId],
        now: DateTime<Utc>,
    ) -> Result<()> {
        for id in uppers {
            match view.proposal(id) {
                Ok(proposal) if pending::has_content(self, &proposal) => {
                    pending::make(self, &proposal, view, now)?;
                }
                _ => pending::remove_all(self, [id])?,
            }
        }
        Ok(())
    }
}
