//! Separates files that cannot be proposed, so that the others can.

use crate::changeset::{File, FileChange};
use crate::error::Result;
use crate::proposal::Proposal;
use crate::store::{Space, Store};

/// Moves unacceptable changes to `passed_over`, with reasons.
///
/// # Errors
/// `invalid_config` if attributes cannot be read.
pub fn only(
    store: &Store,
    changes: Vec<FileChange>,
    passed_over: &mut Vec<(String, String)>,
) -> Result<Vec<FileChange>> {
    let foreign =
        store.repository().unsupported_conversions(changes.iter().map(|change| &change.path))?;
    let mut kept = Vec::with_capacity(changes.len());
    for (change, foreign) in changes.into_iter().zip(foreign) {
        let name = || store.accept_name(&change).err().map(|error| error.message().to_owned());
        match foreign.or_else(name) {
            Some(why) => passed_over.push((change.path.display().to_string(), why)),
            None => kept.push(change),
        }
    }
    Ok(kept)
}

/// Keeps private files out of a revision of a shared proposal: they are proposed after its
/// decision.
pub fn beside(
    store: &Store,
    proposal: &Proposal,
    changes: Vec<FileChange>,
    passed_over: &mut Vec<(String, String)>,
) -> Result<Vec<FileChange>> {
    let id = &proposal.id;
    if store.view()?.space(id)? == Space::Private {
        return Ok(changes);
    }
    let known = &proposal.current().changes;
    let is_new = |change: &&FileChange| !known.iter().any(|known| known.path == change.path);
    // Usually there is none, which one read decides.
    if !store.is_private(changes.iter().filter(is_new).map(|change| &change.path))? {
        return Ok(changes);
    }
    let mut held: Vec<FileChange> = Vec::new();
    let mut kept = Vec::with_capacity(changes.len());
    for change in changes {
        if is_new(&&change) && store.is_private(std::iter::once(&change.path))? {
            held.push(change)
        } else {
            kept.push(change)
        }
    }
    // If a private file was moved, its old path is not a deletion by itself.
    let is_source = |change: &mut FileChange| {
        let before = change.before.as_ref().filter(|_| change.after.is_none());
        let is_it = |it: &FileChange, before: &File| {
            it.after.as_ref().is_some_and(|after| after.bytes == before.bytes)
        };
        before.is_some_and(|before| held.iter().any(|it| is_it(it, before)))
    };
    let sources: Vec<FileChange> = kept.extract_if(.., is_source).collect();
    for change in held.iter().chain(&sources) {
        let why = format!("is private, and {id} is not: it is proposed once that is decided");
        passed_over.push((change.path.display().to_string(), why));
    }
    Ok(kept)
}
