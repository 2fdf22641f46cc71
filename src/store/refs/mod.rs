//! Refs below `refs/aye/`: their names, and reading them.
//!
//! One loose ref is moved here as git moves it: lock `<ref>.lock`, compare, flush, rename. gix locks
//! `packed-refs` too as soon as there are packed refs. Parallel writers would then wait for each
//! other, and a lock file left by a crash would stop them.

mod loose;
mod names;
mod write;

use std::collections::BTreeMap;
use std::io::{self, ErrorKind};

use bstr::ByteSlice;
use gix::ObjectId;

pub use names::Role;
pub(super) use names::{
    BEFORE, BROKEN, CLOSED, GONE, KEPT, Name, PENDING, PRIVATE, REMOTES, ROOT, SESSION, SHARED,
    is_clone_id,
};
pub(super) use write::{MoveOutcome, compare_and_swap, delete, remove, set};

use super::codes;
use crate::error::{Error, Result};
use crate::repository::{Repository, line};

/// The target of a ref; `None` for a symbolic one.
type Target = io::Result<Option<ObjectId>>;

/// Calls `found` with name and target of each ref below `prefix`, in name order. Symbolic refs are
/// ignored.
pub(super) fn each(
    repository: &Repository,
    prefix: &str,
    mut found: impl FnMut(String, ObjectId),
) -> Result<()> {
    for (name, packed) in below(repository, prefix, &|_| true)? {
        let at = packed.map_or_else(|| target(repository, &name), |packed| Ok(Some(packed)))?;
        if let Some(id) = at {
            found(name, id);
        }
    }
    Ok(())
}

/// The refs below `prefix`, except in directories that `enter` rejects (names with a slash at the
/// end), with the targets of packed ones. Loose refs are read before packed ones: `git pack-refs`
/// packs a ref before it removes its file.
pub(super) fn below(
    repository: &Repository,
    prefix: &str,
    enter: &dyn Fn(&str) -> bool,
) -> Result<BTreeMap<String, Option<ObjectId>>> {
    let mut found = BTreeMap::new();
    loose::names(repository.common_dir(), prefix, enter, &mut |name| {
        if gix::validate::reference::name(name.as_str().into()).is_ok() {
            found.insert(name, None);
        }
    })
    .map_err(|error| unreadable(prefix, &error))?;
    each_packed(repository, prefix, |name, id| {
        let mut above = name.match_indices('/').map(|(end, _)| &name[..=end]);
        if above.any(|above| above.len() > prefix.len() && !enter(above)) {
            return;
        }
        found.entry(name.to_owned()).or_insert(Some(id));
    })?;
    Ok(found)
}

/// Calls `found` with each packed ref below `prefix`.
pub(super) fn each_packed(
    repository: &Repository,
    prefix: &str,
    mut found: impl FnMut(&str, ObjectId),
) -> Result<()> {
    let failed = |error: &dyn std::fmt::Display| unreadable("packed-refs", error);
    let packed = repository.repo().refs.cached_packed_buffer().map_err(|error| failed(&error))?;
    let Some(packed) = packed else { return Ok(()) };
    for line in packed.iter_prefixed(prefix.into()).map_err(|error| failed(&error))? {
        let line = line.map_err(|error| failed(&error))?;
        if let Ok(name) = line.name.as_bstr().to_str() {
            found(name, line.target());
        }
    }
    Ok(())
}

/// The names of the loose refs directly in `directory`, which ends in a slash.
pub(super) fn names(repository: &Repository, directory: &str) -> Vec<String> {
    let entries = std::fs::read_dir(repository.common_dir().join(directory)).into_iter().flatten();
    let files = entries.flatten().filter(|it| it.file_type().is_ok_and(|kind| !kind.is_dir()));
    let names = files.filter_map(|entry| entry.file_name().into_string().ok());
    names.filter(|name| !name.ends_with(".lock")).collect()
}

/// The target of a loose ref; `Ok(None)` if there is no file, or a symbolic ref.
fn loose_target(repository: &Repository, name: &str) -> Target {
    match line(&repository.common_dir().join(name)) {
        Err(error) if is_absent(&error) => Ok(None),
        content => content.and_then(|content| parse(&content, repository.repo().object_hash())),
    }
}

/// The target of the full name `name`. gix would need twice as many system calls.
///
/// # Errors
/// `thread_damaged`.
pub(super) fn target(repository: &Repository, name: &str) -> Result<Option<ObjectId>> {
    match loose_target(repository, name).map_err(|error| unreadable(name, &error))? {
        None => packed_target(repository, name),
        found => Ok(found),
    }
}

fn packed_target(repository: &Repository, name: &str) -> Result<Option<ObjectId>> {
    let failed = |error: &dyn std::fmt::Display| unreadable(name, error);
    let packed = repository.repo().refs.cached_packed_buffer().map_err(|error| failed(&error))?;
    let Some(packed) = packed else { return Ok(None) };
    let found = packed.try_find(name).map_err(|error| failed(&error))?;
    Ok(found.map(|found| found.target()))
}

fn parse(content: &[u8], hash: gix::hash::Kind) -> Target {
    if content.starts_with(b"ref:") {
        return Ok(None);
    }
    let (hex, rest) = content.split_at(hash.len_in_hex().min(content.len()));
    let ends = rest.first().is_none_or(u8::is_ascii_whitespace);
    let id = ObjectId::from_hex(hex).ok().filter(|id| ends && id.kind() == hash);
    let none = || io::Error::new(ErrorKind::InvalidData, "it holds no object id");
    id.map(Some).ok_or_else(none)
}

pub(super) fn unreadable(name: &str, error: &dyn std::fmt::Display) -> Error {
    Error::new(&codes::THREAD_DAMAGED, format!("the ref {name} cannot be read: {error}"))
        .with("ref", name)
        .hint("`git for-each-ref refs/aye` lists refs; `aye doctor` reports the faults")
}

/// True if the error means that there is no such ref.
fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory | ErrorKind::IsADirectory)
}
