//! All sessions of a repository, and their end.

use super::lines;
use crate::app::ending::{end, finish, refuse_unsubmitted};
use crate::cli::Context;
use crate::error::Result;
use crate::repository::Repository;
use crate::session::SessionStore;
use crate::session::ignored_files::IgnoredFiles;
use crate::session::session_store::{SessionLock, SessionState};
use crate::store::Store;

/// # Errors
/// `private_dir_unsafe`
pub(in crate::cli) fn names(context: &Context, repository: &Repository) -> Result<Vec<String>> {
    Ok(home(context, repository)?.map(|home| home.names()).unwrap_or_default())
}

/// `None` without a state directory or a session.
fn home(context: &Context, repository: &Repository) -> Result<Option<SessionStore>> {
    let Ok(state) = context.state_directory() else { return Ok(None) };
    let home = SessionStore::open(repository.common_dir(), &state)?;
    home.iter().for_each(|home| drop(finish(repository, home)));
    Ok(home)
}

/// # Errors
/// `session_live`, `session_unsubmitted`
pub(in crate::cli) fn hold_all(
    context: &Context,
    store: &Store,
) -> Result<Vec<(SessionLock, IgnoredFiles)>> {
    let Some(home) = home(context, store.repository())? else { return Ok(Vec::new()) };
    let hold = |name: String| {
        let held = home.hold(&name)?;
        let strays = refuse_unsubmitted(store, &home, &name)?;
        Ok((held, strays))
    };
    home.names().into_iter().map(hold).collect()
}

pub(in crate::cli) fn end_all(
    context: &Context,
    repository: &Repository,
    held: Vec<(SessionLock, IgnoredFiles)>,
) -> Result<()> {
    let Some(home) = home(context, repository)? else { return Ok(()) };
    for (held, strays) in held {
        let found = end(repository, &home, held, &strays, context.now)?;
        lines::ignored_lines(&found).iter().for_each(|line| context.note(line));
    }
    Ok(())
}

pub(in crate::cli) fn note_abandoned_in(context: &Context, repository: &Repository) {
    if let Ok(Some(home)) = home(context, repository) {
        note_abandoned(context, &home);
    }
}

pub(in crate::cli) fn note_abandoned(context: &Context, home: &SessionStore) {
    for name in home.names() {
        if home.state(&name) == SessionState::Left {
            context.note(&format!(
                "aye: session {name} was left: aye session submit {name}, or aye session end {name}"
            ));
        }
    }
}
