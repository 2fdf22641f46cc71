//! What applied proposals have written that is not committed yet.

use chrono::{DateTime, Utc};

use crate::apply;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::Entry;
use crate::proposal::state::Decision;
use crate::proposal::statement::Target;
use crate::repository::Repository;
use crate::store::{Filter, Store, View};

/// How many of the proposals that wrote a file, the newest, are looked at.
const MOST: usize = 50;

/// Where `decision` was to land; `None` if that is another branch than the one that is checked out, which another
/// work tree may have, or another clone's work tree.
pub fn target_here<'d>(store: &Store, decision: &'d Decision) -> Option<&'d Target> {
    target(store, decision).filter(|target| is_here(store.repository(), target))
}

/// Whether `target` is the branch that is checked out, or no branch is and it was none.
pub fn is_here(repository: &Repository, target: &Target) -> bool {
    target.name == repository.head_ref()
}

/// Where `decision`, if it is of this clone, was to land, whatever is checked out now.
pub fn target<'d>(store: &Store, decision: &'d Decision) -> Option<&'d Target> {
    Some(&decision.target).filter(|_| decision.is_of(&store.clone_ids()))
}

/// What `target` has at `path`; `None` where it has no such file, or cannot be read.
fn base_at(repository: &Repository, target: &Target, path: &RepoPath) -> Option<Entry> {
    let commit = target.commit.as_ref()?;
    apply::entry_in(repository, commit, path).unwrap_or_default()
}

/// What the last proposal that was applied here wrote to `path`, which HEAD has as `head`; the inner
/// `None` where it deleted the file. `None` where no proposal did, or where `path` has been committed
/// since.
///
/// # Errors
/// If the store cannot be read.
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
