//! What `apply --index` has staged, out of the index again once the files are as before.

use std::collections::BTreeMap;

use super::subject;
use crate::apply as files;
use crate::changeset::{File, RepoPath};
use crate::error::Result;
use crate::proposal::Entry;
use crate::proposal::event::Written;
use crate::store::Store;

/// What the index has of a file that was applied and staged.
#[derive(Clone, Copy, PartialEq, Eq)]
enum InIndex {
    /// Nothing of it.
    Nothing,
    /// It, and nothing else that HEAD has not.
    Alone,
    /// It, or some of it, on other changes or beneath them; or what cannot be told apart.
    Mixed,
}

/// Takes what was `written` and staged out of the index, where it still is and nothing else was staged with it;
/// says what stays.
pub(super) fn unstage(store: &Store, written: &[Written]) -> Option<String> {
    let (mut ours, mut other) = (Vec::new(), None);
    for file in written.iter().filter(|file| file.before != file.after) {
        match staged(store, file).unwrap_or(InIndex::Mixed) {
            InIndex::Nothing => {}
            InIndex::Alone => ours.push(file.path.clone()),
            InIndex::Mixed => other = other.or(Some(&file.path)),
        }
    }
    let failed = match ours.is_empty() {
        true => Ok(()),
        false => files::unstage(store, &ours),
    };
    let why = match (failed, other) {
        (Err(error), _) => error.message().to_owned(),
        (Ok(()), Some(other)) => format!("{} had other changes staged", other.display()),
        (Ok(()), None) => return None,
    };
    Some(format!("the change may still be staged ({why}); look: git diff --cached"))
}

fn staged(store: &Store, file: &Written) -> Result<InIndex> {
    let id = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.id.clone());
    let (now, head) = (files::staged(store, &file.path), store.id_in_head(&file.path));
    let (before, after) = (id(&file.before), id(&file.after));
    if now == after {
        return Ok(if head == before { InIndex::Alone } else { InIndex::Mixed });
    }
    let Some(now) = now.filter(|now| Some(now) != head.as_ref() && Some(now) != before.as_ref())
    else {
        return Ok(InIndex::Nothing);
    };
    // A filter program may store something else than what lies in the file.
    let stored = |entry: &Option<Entry>| -> Result<Option<String>> {
        let Some(entry) = entry else { return Ok(None) };
        files::stored_id(store, &file.path, &store.file(entry)?.bytes).map(Some)
    };
    let is_filtered = store.foreign([&file.path])? != [None];
    if is_filtered && stored(&file.after)?.as_ref() == Some(&now) && stored(&file.before)? == head {
        return Ok(InIndex::Alone);
    }
    let mode = file.after.as_ref().or(file.before.as_ref()).map(|entry| entry.mode.clone());
    let index = Entry { id: now, mode: mode.unwrap_or_default() };
    let index: BTreeMap<RepoPath, File> = [(file.path.clone(), store.file(&index)?)].into();
    let back = subject::written_back(store, std::slice::from_ref(file), &index)?;
    Ok(if back.is_already_there() { InIndex::Nothing } else { InIndex::Mixed })
}
