//! Files that agents may not read (`aye.shellDenyRead`, shared with the read-only shell): errors
//! quote nothing of them, and patches cannot copy them.

use super::Session;
use crate::changeset::{Changeset, RepoPath};
use crate::error::{Error, Result};
use crate::proposal::ActorKind;
use crate::shell::deny_list::DenyList;
use crate::store::codes::PRIVATE_PATH;

/// Removes the quoted content of a denied file.
#[must_use]
pub fn unquoted(session: &Session<'_>, error: Error) -> Error {
    let detail = |name: &str| error.details().iter().find(|(key, _)| *key == name);
    let path = detail("path").and_then(|(_, path)| path.as_str());
    let path = path.filter(|_| detail("found").is_some()).and_then(|path| RepoPath::new(path).ok());
    let Some(path) = path.filter(|path| is_denied(session, path)) else { return error };
    let shown = path.display().to_string();
    let message =
        format!("'{shown}' does not have that text, and aye quotes no line of it to agents");
    Error::new(error.code(), message).with("path", shown).hint(ASK)
}

/// Refuses a copy of a denied file under any name.
///
/// # Errors
/// `private_path`.
pub fn refuse_copies(session: &Session<'_>, changeset: &Changeset) -> Result<()> {
    let mut origins = changeset.changes().iter().filter_map(|change| change.origin.as_ref());
    let Some(origin) = origins.find(|origin| is_denied(session, origin)) else { return Ok(()) };
    let shown = origin.display().to_string();
    let message = format!("'{shown}' is kept from agents' reading, and so is a copy of it");
    Err(Error::new(&PRIVATE_PATH, message).with("path", shown).hint(ASK))
}

const ASK: &str =
    "ask the user for the lines that you need; the list is `aye.shellDenyRead` (aye shell --help)";

fn is_denied(session: &Session<'_>, path: &RepoPath) -> bool {
    if session.caller.actor.kind != ActorKind::Agent {
        return false;
    }
    let config = session.store.repository().repo().config_snapshot();
    let (mut patterns, added) = crate::repository::by_source(config.plumbing(), "shellDenyRead");
    patterns.extend(added);
    // Patterns in the home directory cannot match here.
    let root = std::path::Path::new("/");
    DenyList::new(&patterns, None, root).denies(&root.join(path.display().to_string()))
}
