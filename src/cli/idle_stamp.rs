//! The stamp that lets hooks and scripts skip the repository while nothing is pending.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chrono::Duration;

use super::Context;
use crate::app::check::require_events;
use crate::memory::DIR;
use crate::memory::settings::{Settings, manifest, schema};
use crate::repository::{idle, policy};
use crate::session::{session_store, tree};
use crate::store::{Store, View};

/// Clock setback up to which a lasting stamp overlooks no expired proposal.
const MARGIN: Duration = Duration::days(1);

/// Asks the stamp; opens no repository.
pub(super) fn is_idle(context: &Context) -> bool {
    let dir = idle::common_dir(&context.directory, |name| context.var(name));
    // A session's tree asks about its repository.
    dir.is_some_and(|dir| !session_store::is_among_trees(&dir) && idle::look(&dir, context.now))
}

/// As [`is_idle`]; the settings have to be valid, too.
pub(super) fn is_settled(context: &Context) -> bool {
    is_idle(context) && top(context).is_some_and(|top| has_valid_policy(&top))
}

/// Finds the top without opening the repository.
fn top(context: &Context) -> Option<PathBuf> {
    if ["GIT_DIR", "GIT_WORK_TREE"].iter().any(|name| context.var(name).is_some()) {
        return None;
    }
    let here = std::path::absolute(&context.directory).ok()?;
    let top = here.ancestors().find(|directory| directory.join(".git").symlink_metadata().is_ok());
    top.map(Path::to_owned)
}

/// Opens no repository. The stamp covers HEAD's settings, and commands that move HEAD write the
/// work tree's.
fn has_valid_policy(top: &Path) -> bool {
    let read = |path: &str| match std::fs::read(top.join(path)) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    };
    let of_memory = |path: &str| read(&format!("{DIR}/{path}"));
    match (read(policy::PATH), of_memory(manifest::PATH), of_memory(schema::PATH)) {
        (Ok(policy), Ok(manifest), Ok(schema)) => {
            policy.is_none_or(|bytes| policy::is_valid(&bytes))
                && manifest
                    .is_none_or(|bytes| Settings::read(Some(&bytes), schema.as_deref()).is_ok())
        }
        _ => false,
    }
}

/// False, with a note, if this clone has no event and may not have fetched any.
pub(super) fn fetched(context: &Context, store: &Store, view: &View) -> bool {
    let Err(error) = require_events(store, view, None) else { return true };
    let hint = error.hint_text().unwrap_or_default();
    context.note(&format!("note: {}; {hint}", error.message()));
    false
}

/// Stamps that nothing is pending or contested, unless refs have moved since `view`. Trouble in
/// threads prevents the stamp: every run reports it.
pub(super) fn stamp(context: &Context, store: &Store, view: &View) {
    if !view.troubles().is_ok_and(|found| found.is_empty()) || !fetched(context, store, view) {
        return;
    }
    // A session's git directory belongs to its agent.
    if store.repository().config(tree::SESSION).is_some() {
        return;
    }
    let tips = idle::RefTimes::read(store.repository().common_dir(), context.now);
    let Some(tips) = tips.filter(|_| view.is_current()) else { return };
    let lasting = view.count_pending(context.now - MARGIN).is_ok_and(|count| count == 0);
    idle::stamp(store.repository().common_dir(), context.now, &tips, lasting);
}
