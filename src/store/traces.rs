//! What stands here for proposals, which may be decided by now: their refs and files.

use std::collections::BTreeSet;

use super::{Store, pending, projection};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::event::Subject;
use crate::proposal::{Proposal, ProposalId};
use crate::worktree::Worktree;

/// Where memory stages what is proposed.
const STAGING: &str = ".agent-memory/staging";

/// Proposals that have a ref or files here, whatever became of them.
pub(super) struct Traces {
    ids: BTreeSet<ProposalId>,
    /// Something is staged for memory, under names of its own.
    is_staged: bool,
}

impl Traces {
    /// Those of this clone, in all its work trees.
    ///
    /// # Errors
    /// If refs or a directory cannot be read.
    pub(super) fn of(store: &Store) -> Result<Self> {
        let mut ids: BTreeSet<ProposalId> = pending::targets(store)?.into_keys().collect();
        let mut is_staged = false;
        for root in store.repository().work_trees() {
            let tree = Worktree::open(&root)?;
            let names = tree.names(&RepoPath::new(projection::DIRECTORY)?)?;
            ids.extend(names.iter().filter_map(|name| ProposalId::parse(&name.to_string()).ok()));
            is_staged |= !tree.names(&RepoPath::new(STAGING)?)?.is_empty();
        }
        Ok(Self { ids, is_staged })
    }

    /// Whether a ref or files of `proposal` may be there.
    pub(super) fn has(&self, proposal: &Proposal) -> bool {
        self.ids.contains(&proposal.id) || self.is_staged && proposal.subject == Subject::Memory
    }
}
