//! Files that can be proposed, apart from those that cannot: one of those does not keep the others from it.

use crate::changeset::FileChange;
use crate::error::Result;
use crate::store::Store;

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
    let foreign = store.foreign(changes.iter().map(|change| &change.path))?;
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
