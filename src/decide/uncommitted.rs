//! Uncommitted results of applied proposals.

use chrono::{DateTime, Utc};

use crate::apply;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::Entry;
use crate::proposal::state::Decision;
use crate::proposal::statement::Target;
use crate::repository::Repository;
use crate::store::{Filter, Store, View};

/// Proposals per file, newest first.
const MOST: usize = 50;

/// Target of `decision`; `None` if another branch is checked out, or another clone decided. Another
/// work tree may have that branch.
pub fn target_here<'d>(store: &Store, decision: &'d Decision) -> Option<&'d Target> {
    target(store, decision).filter(|target| is_here(store.repository(), target))
}

/// True if `target` is the checked-out branch, or both are detached.
pub fn is_here(repository: &Repository, target: &Target) -> bool {
    target.name == repository.head_ref()
}

/// Target of `decision`, on any branch; `None` for another clone's.
pub fn target<'d>(store: &Store, decision: &'d Decision) -> Option<&'d Target> {
    Some(&decision.target).filter(|_| decision.is_of(&store.clone_ids()))
}

fn base_at(repository: &Repository, target: &Target, path: &RepoPath) -> Option<Entry> {
    let commit = target.commit.as_ref()?;
    apply::entry_in(repository, commit, path).unwrap_or_default()
}

/// Result that the last apply here left at `path`, which HEAD has as `head`. The inner `None` means
/// deleted. `None` if there was none, or `path` was committed since.
pub fn written_here(
    store: &Store,
    view: &View<'_>,
    now: DateTime<Utc>,
    path: &RepoPath,
    head: Option<&Entry>,
) -> Result<Option<Option<Entry>>> {
    let filter = Filter::applied_to(path, MOST);
    let mut last = None;
    for id in view.ids_of(&filter, now)? {
        let proposal = view.proposal(&id)?;
        let Some(decision) = proposal.decision() else { continue };
        let mut written = decision.written.iter();
        let Some(written) = written.find(|written| written.path == *path) else { continue };
        let Some(target) = target_here(store, decision) else { continue };
        let is_committed = base_at(store.repository(), target, path).as_ref() != head;
        if !is_committed && last.as_ref().is_none_or(|(at, _)| *at < decision.at) {
            last = Some((decision.at, written.after.clone()));
        }
    }
    Ok(last.map(|(_, after)| after))
}
