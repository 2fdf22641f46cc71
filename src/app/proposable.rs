//! Files that can be proposed, apart from those that cannot: one of those does not keep the others from it.

use crate::changeset::{File, FileChange};
use crate::error::Result;
use crate::proposal::Proposal;
use crate::store::{Space, Store};

/// Those of `changes` that can be proposed; the others are added to `passed_over`, each with what is wrong
/// with it, in words.
///
/// # Errors
/// `invalid_config` where attributes cannot be read.
pub fn only(
    store: &Store,
    changes: Vec<FileChange>,
    passed_over: &mut Vec<(String, String)>,
) -> Result<Vec<FileChange>> {
    let foreign = store.repository().foreign(changes.iter().map(|change| &change.path))?;
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

/// Those of `changes` that a revision of `proposal` may add: where it is not private itself, no private file. The
/// others are added to `passed_over`, until it is decided.
///
/// # Errors
/// Those of the store.
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
    // Mostly none is, and what tells is read once then.
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
    // Where one of them was moved to its place, the other half of that is no deletion by itself.
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
