//! The end of a session: check for unproposed work, then removal.

use chrono::{DateTime, Utc};

use super::{proposable, recall, session};
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::session::ignored_files::{IgnoredFiles, Inventory};
use crate::session::session_store::{SessionLock, SessionState};
use crate::session::{SessionStore, beside, codes, read, tree};
use crate::store::Store;

/// Returns the ignored files in the tree.
///
/// # Errors
/// `session_unsubmitted`.
pub fn refuse_unsubmitted(store: &Store, home: &SessionStore, name: &str) -> Result<IgnoredFiles> {
    if home.state(name) == SessionState::Gone {
        return Ok(IgnoredFiles::default());
    }
    let record = recall::record(store, home, name)?;
    let base = session::proposed(store, &record)?;
    let tree = home.tree(name);
    let read::TreeChanges { changes, passed_over: mut others, ignored: strays } =
        read::read_changes(store.repository(), &tree, Some(name), &base)?;
    let changes = proposable::only(store, changes, &mut others)?;
    others.extend(beside::of(store.repository(), &tree, name));
    // The hint suggests submitting only for files that can be proposed.
    let (what, submit) = match (others.first(), changes.is_empty()) {
        (Some((_, why)), true) => (format!(", which {why}"), String::new()),
        (Some(_), false) => (
            String::new(),
            format!("aye session submit {name} proposes what can be proposed of it; "),
        ),
        (None, _) => (String::new(), format!("aye session submit {name} proposes it; ")),
    };
    let paths: Vec<String> = changes
        .iter()
        .map(|change| change.path.display().to_string())
        .chain(others.into_iter().map(|(path, _)| path))
        .collect();
    let Some(first) = paths.first() else { return Ok(strays) };
    let more = match paths.len() - 1 {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Err(Error::new(
        &codes::SESSION_UNSUBMITTED,
        format!("session '{name}' holds work that no proposal has: {first}{what}{more}"),
    )
    .with("paths", paths.clone())
    .hint(format!("{submit}aye session end {name} --discard removes it")))
}

/// Moves ignored files out of the tree, then removes the session, its tree and the refs of its
/// commits.
///
/// # Errors
/// As `IgnoredFiles::rescue`, before any removal, and `SessionStore::remove`.
pub fn end(
    repository: &Repository,
    home: &SessionStore,
    held: SessionLock,
    strays: &IgnoredFiles,
    now: DateTime<Utc>,
) -> Result<Inventory> {
    let name = held.name.clone();
    let found = strays.rescue(home, &name, now)?;
    home.remove(held)?;
    tree::unpin(repository, &name);
    Ok(found)
}

/// Finishes interrupted removals.
pub fn finish(repository: &Repository, home: &SessionStore) -> Vec<String> {
    let finished = home.finish_removals();
    finished.iter().for_each(|name| tree::unpin(repository, name));
    // Removed sessions whose ref remained.
    for name in tree::pinned(repository) {
        let is_there = home.record(&name).is_ok() || home.tree(&name).symlink_metadata().is_ok();
        if !is_there && let Ok(held) = home.hold(&name) {
            tree::unpin(repository, &name);
            home.clear(&held);
        }
    }
    finished
}
