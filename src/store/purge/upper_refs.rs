//! Pending refs of proposals on top of a purged one: that one's commit, with its text, is their
//! parent.

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use gix::ObjectId;

use crate::error::Result;
use crate::proposal::ProposalId;
use crate::store::{Filter, Store, Summary, View, pending};

/// Highest stack of proposals.
const DEEPEST: usize = 1000;

impl Store {
    /// The pending proposals whose commits have a commit of one of `ids` below them.
    pub(super) fn stacked_on(&self, ids: &BTreeSet<ProposalId>) -> Result<Vec<ProposalId>> {
        // The messages of the commits tell: a decided or revised proposal has no ref, but its
        // commit is below.
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

    /// Rebuilds missing pending refs, also after a purge that was stopped before it did. A lower
    /// proposal is older and comes first.
    pub(super) fn make_missing(&self, view: &View<'_>, now: DateTime<Utc>) -> Result<()> {
        let (made, due) = (pending::targets(self)?, view.due(now, usize::MAX)?);
        for Summary { id, .. } in view.proposals(&Filter::pending(), now)? {
            if made.contains_key(&id) || due.contains(&view.thread_id(&id)?) {
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
