//! What `apply --index` has staged, out of the index again once the files are as before.

use std::collections::BTreeMap;

use super::subject;
use crate::apply as files;
use crate::changeset::{File, RepoPath};
use crate::error::Result;
use crate::proposal::Entry;
use crate::proposal::event::Written;
use crate::store::Store;
use crate::text::shell;

/// What the index has of a file that was applied and staged.
enum InIndex {
    /// Nothing of it.
    Nothing,
    /// It, and nothing else that HEAD has not.
    Alone,
    /// It among other changes; this is there without it.
    Among(Option<File>),
    /// It, or some of it, in a way that cannot be told apart from other changes.
    Mixed,
}

/// Takes what was `written` and staged out of the index, as `git apply -R --cached` would; says what stays. What a
/// person has staged together with changes of theirs, and not aye itself (`staged_by_aye`), stays.
pub(super) fn unstage(store: &Store, written: &[Written], staged_by_aye: bool) -> Option<String> {
    let (mut ours, mut among, mut other) = (Vec::new(), Vec::new(), None);
    let mut theirs = Vec::new();
    // What is committed is in the index, too, and is no matter of staging.
    let differs = |file: &Written| {
        let index = files::in_index(store, &file.path);
        index.is_some_and(|now| now.map(|entry| entry.id) != store.id_in_head(&file.path))
    };
    let written = written.iter().filter(|file| file.before != file.after);
    for file in written.filter(|file| staged_by_aye || differs(file)) {
        match staged(store, file).unwrap_or(InIndex::Mixed) {
            InIndex::Nothing => {}
            InIndex::Alone => ours.push(file.path.clone()),
            _ if !staged_by_aye => theirs.push(shell::quote(&file.path.display().to_string())),
            InIndex::Among(rest) => among.push((&file.path, rest)),
            InIndex::Mixed => other = other.or(Some(&file.path)),
        }
    }
    let unstaged = if ours.is_empty() { Ok(()) } else { files::unstage(store, &ours) };
    let why = match (unstaged.and_then(|()| restage(store, &among)), other) {
        (Err(error), _) => error.message().to_owned(),
        (Ok(()), Some(other)) => format!("{} had other changes staged", other.display()),
        (Ok(()), None) if theirs.is_empty() => return None,
        (Ok(()), None) => {
            let files = theirs.join(" ");
            return Some(format!("the change is still staged: git restore --staged {files}"));
        }
    };
    Some(format!("the change may still be staged ({why}); look: git diff --cached"))
}

/// Puts these files into the index.
fn restage(store: &Store, staged: &[(&RepoPath, Option<File>)]) -> Result<()> {
    let contents: Vec<Option<&File>> = staged.iter().map(|(_, file)| file.as_ref()).collect();
    let entries = store.keep(&contents)?;
    let paths = staged.iter().map(|(path, _)| *path);
    files::restage(store, &paths.zip(entries).collect::<Vec<_>>())
}

fn staged(store: &Store, file: &Written) -> Result<InIndex> {
    let id = |entry: &Option<Entry>| entry.as_ref().map(|entry| entry.id.clone());
    let Some(index) = files::in_index(store, &file.path) else { return Ok(InIndex::Mixed) };
    let (now, head) = (index.as_ref().map(|entry| entry.id.clone()), store.id_in_head(&file.path));
    let (before, after) = (id(&file.before), id(&file.after));
    // Whoever has staged another mode than was applied goes on with it.
    let has_mode = |entry: &Option<Entry>| {
        index.as_ref().zip(entry.as_ref()).is_none_or(|(now, entry)| now.mode == entry.mode)
    };
    if now == after {
        let mode = index.as_ref().map(Entry::file_mode).filter(|_| !has_mode(&file.after));
        let before = file.before.as_ref().map(|was| store.file(was)).transpose()?;
        return Ok(if head == id(&file.before) && mode.is_none() {
            InIndex::Alone
        } else {
            InIndex::Among(before.map(|was| File { mode: mode.unwrap_or(was.mode), ..was }))
        });
    }
    let Some(now) = now.filter(|now| Some(now) != head.as_ref() && Some(now) != before.as_ref())
    else {
        return Ok(InIndex::Nothing);
    };
    // A filter program may store something else than what lies in the file.
    if store.foreign([&file.path])? != [None] {
        let stored = |entry: &Option<Entry>| -> Result<Option<String>> {
            let Some(entry) = entry else { return Ok(None) };
            files::stored_id(store, &file.path, &store.file(entry)?.bytes).map(Some)
        };
        let is_alone = stored(&file.after)?.as_ref() == Some(&now) && stored(&file.before)? == head;
        return Ok(if is_alone { InIndex::Alone } else { InIndex::Mixed });
    }
    let Some(index) = index else { return Ok(InIndex::Nothing) };
    let index: BTreeMap<RepoPath, File> = [(file.path.clone(), store.file(&index)?)].into();
    let back = subject::written_back(store, std::slice::from_ref(file), &index)?;
    if back.is_already_there() {
        return Ok(InIndex::Nothing);
    }
    let is_clean = back.refusal().is_none();
    let rest = back.files.into_iter().next().filter(|_| is_clean);
    Ok(rest.map_or(InIndex::Mixed, |rest| InIndex::Among(rest.after)))
}
