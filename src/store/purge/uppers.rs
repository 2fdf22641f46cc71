//! Pending refs of what stands on a purged proposal: the commit of that one, with its words, is their parent.

use std::collections::{BTreeSet, HashSet};

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
        let targets = pending::targets(self)?;
        let lower: BTreeSet<ObjectId> =
            ids.iter().filter_map(|id| targets.get(id)).copied().collect();
        let all: HashSet<ObjectId> = targets.values().copied().collect();
        let parent = |commit: ObjectId| {
            let commit = self.repo.find_commit(commit).ok()?;
            commit.parent_ids().next().map(gix::Id::detach).filter(|parent| all.contains(parent))
        };
        let depth = |tip: ObjectId| {
            let mut chain = std::iter::successors(parent(tip), |at| parent(*at)).take(DEEPEST);
            chain.position(|at| lower.contains(&at))
        };
        let others = targets.into_iter().filter(|(id, _)| !lower.is_empty() && !ids.contains(id));
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
