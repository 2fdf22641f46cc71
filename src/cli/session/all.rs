//! All sessions of a repository: their names, those that were left, and the end of all of them.

use super::lines;
use crate::app::ending::{end, finish, refuse_unsubmitted};
use crate::cli::Context;
use crate::error::Result;
use crate::session::Home;
use crate::session::home::{Held, State};
use crate::session::strays::Strays;
use crate::store::Store;

/// Names of all sessions of the repository.
///
/// # Errors
/// `private_dir_unsafe`.
pub(in crate::cli) fn names(context: &Context, store: &Store) -> Result<Vec<String>> {
    Ok(home(context, store)?.map(|home| home.names()).unwrap_or_default())
}

/// Where sessions are kept; `None` where there is no place, or never was a session.
fn home(context: &Context, store: &Store) -> Result<Option<Home>> {
    let Ok(state) = context.state_directory() else { return Ok(None) };
    let home = Home::open(store.common_dir(), &state)?;
    home.iter().for_each(|home| drop(finish(store, home)));
    Ok(home)
}

/// Takes every session, to end them all.
///
/// # Errors
/// `session_live`, `session_unsubmitted`.
pub(in crate::cli) fn hold_all(context: &Context, store: &Store) -> Result<Vec<(Held, Strays)>> {
    let Some(home) = home(context, store)? else { return Ok(Vec::new()) };
    let hold = |name: String| {
        let held = home.hold(&name)?;
        let strays = refuse_unsubmitted(store, &home, &name)?;
        Ok((held, strays))
    };
    home.names().into_iter().map(hold).collect()
}

/// Ends what was taken.
///
/// # Errors
/// As [`end`].
pub(in crate::cli) fn end_all(
    context: &Context,
    store: &Store,
    held: Vec<(Held, Strays)>,
) -> Result<()> {
    let Some(home) = home(context, store)? else { return Ok(()) };
    for (held, strays) in held {
        let found = end(store, &home, held, &strays, context.now)?;
        lines::strays(&found).iter().for_each(|line| context.note(line));
    }
    Ok(())
}

/// Says of a repository which of its sessions were left; nothing where that cannot be seen.
pub(in crate::cli) fn note_left_of(context: &Context, store: &Store) {
    if let Ok(Some(home)) = home(context, store) {
        note_left(context, &home);
    }
}

/// Says which sessions were left with their trees: by an agent or a machine that was stopped.
pub(in crate::cli) fn note_left(context: &Context, home: &Home) {
    for name in home.names() {
        if home.state(&name) == State::Left {
            context.note(&format!(
                "aye: session {name} was left: aye session submit {name}, or aye session end {name}"
            ));
        }
    }
}
