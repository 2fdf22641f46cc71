//! The end of a session: whether its tree holds work that no proposal has, and its removal.

use chrono::{DateTime, Utc};

use super::{proposable, recall, session};
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::session::home::{Held, State};
use crate::session::strays::{Inventory, Strays};
use crate::session::{Home, beside, codes, read, tree};
use crate::store::Store;

/// Refuses to end session `name` while its tree holds work that no proposal has. Returns what git ignores in it.
///
/// # Errors
/// `session_unsubmitted`; those of the record, of the store and of reading the tree.
pub fn refuse_unsubmitted(store: &Store, home: &Home, name: &str) -> Result<Strays> {
    if home.state(name) == State::Gone {
        return Ok(Strays::default());
    }
    let record = recall::record(store, home, name)?;
    let base = session::proposed(store, &record)?;
    let tree = home.tree(name);
    let read::Left { changes, passed_over: mut others, strays } =
        read::left(store.repository(), &tree, Some(name), &base)?;
    let changes = proposable::only(store, changes, &mut others)?;
    others.extend(beside::of(store.repository(), &tree, name));
    // Submitting proposes what is in the files and can be; what else there is says itself what it is.
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

/// Removes a session, its tree and what kept its commits. What git ignores in the tree is moved out of it first.
///
/// # Errors
/// As [`Strays::rescue`], before anything is removed, and [`Home::remove`].
pub fn end(
    repository: &Repository,
    home: &Home,
    held: Held,
    strays: &Strays,
    now: DateTime<Utc>,
) -> Result<Inventory> {
    let name = held.name.clone();
    let found = strays.rescue(home, &name, now)?;
    home.remove(held)?;
    tree::unpin(repository, &name);
    Ok(found)
}

/// Finishes removals of sessions that were interrupted: their names.
pub fn finish(repository: &Repository, home: &Home) -> Vec<String> {
    let finished = home.finish();
    finished.iter().for_each(|name| tree::unpin(repository, name));
    // What was removed but for its ref.
    for name in tree::pinned(repository) {
        let is_there = home.record(&name).is_ok() || home.tree(&name).symlink_metadata().is_ok();
        if !is_there && let Ok(held) = home.hold(&name) {
            tree::unpin(repository, &name);
            home.clear(&held);
        }
    }
    finished
}
