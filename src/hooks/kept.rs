//! Where the hook that was there before is kept: under its own name, in a directory beside that of the
//! hooks.
//!
//! Scripts go by their own path: `basename "$0"` tells one that is linked as several hooks which of
//! them it is to be, `$(dirname "$0")` and `"$0.d"` lead to what it runs, `$(dirname "$0")/../..` to
//! the work tree. So the name stays, the depth stays, and whatever else lies in the directory of the
//! hooks is there as a symlink. A symlink that is kept needs no other target for the same reasons.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use super::{Hook, codes};
use crate::error::{Error, Result};

/// What the name of the directory ends in.
const SUFFIX: &str = ".aye-chained";

/// The name of the directory beside `hooks`.
pub fn name(hooks: &Path) -> String {
    format!("{}{SUFFIX}", own_name(&real(hooks)))
}

/// Where the earlier hook is kept, if there is one.
pub fn find(hooks: &Path, hook: Hook) -> Option<PathBuf> {
    let path = place(hooks, hook);
    (is_there(&path) && !is_link(hooks, &path)).then_some(path)
}

/// Gives the hook at `from` its second name, under which it stays. A link, so that it never ceases to be there; where the file system has none, a
/// rename.
///
/// # Errors
/// Those of the operating system; nothing has changed then.
pub fn keep(hooks: &Path, hook: Hook, from: &Path) -> Result<()> {
    let to = place(hooks, hook);
    clear(hooks, hook)?;
    let directory = directory(hooks);
    fs::create_dir_all(&directory)
        .map_err(|e| Error::io(format_args!("make {}", directory.display()), &e))?;
    fs::hard_link(from, &to)
        .or_else(|_| fs::rename(from, &to))
        .map_err(|e| Error::io(format_args!("keep {} as {}", from.display(), to.display()), &e))
}

/// Takes the second name of the hook at `path` away again, where it still has its first.
pub fn give_up(hooks: &Path, hook: Hook, path: &Path) {
    if is_there(path) {
        let _ = fs::remove_file(place(hooks, hook));
        let _ = mirror(hooks);
    }
}

/// That an earlier hook cannot be kept, since there is one at `kept`.
pub fn in_the_way(kept: &Path, path: &Path) -> Error {
    Error::new(
        &codes::HOOK_IN_THE_WAY,
        format!("{} exists, so {} cannot be kept", kept.display(), path.display()),
    )
    .hint("an earlier hook is kept there; join the two by hand, or remove one of them")
}

/// Makes the directory a mirror of `hooks` for the hooks that are kept, and removes it where none is.
///
/// # Errors
/// Those of the operating system.
pub fn mirror(hooks: &Path) -> Result<()> {
    let directory = directory(hooks);
    let Ok(entries) = fs::read_dir(&directory) else { return Ok(()) };
    let names: Vec<OsString> = entries.flatten().map(|entry| entry.file_name()).collect();
    let (links, own): (Vec<&OsString>, Vec<&OsString>) =
        names.iter().partition(|name| is_link(hooks, &directory.join(name)));
    let failed = |e| Error::io(format_args!("write into {}", directory.display()), &e);
    let wanted = if own.is_empty() { Vec::new() } else { others(hooks, &own) };
    for name in links.iter().filter(|name| !wanted.contains(name)) {
        fs::remove_file(directory.join(name)).map_err(failed)?;
    }
    if own.is_empty() {
        return fs::remove_dir(&directory).map_err(failed);
    }
    #[cfg(unix)]
    for name in wanted.iter().filter(|name| !names.contains(name)) {
        std::os::unix::fs::symlink(target(hooks, name), directory.join(name)).map_err(failed)?;
    }
    Ok(())
}

/// Removes the link in the place of `hook`: it would lead to the hook that is about to be aye's own.
///
/// # Errors
/// Those of the operating system.
pub fn clear(hooks: &Path, hook: Hook) -> Result<()> {
    let path = place(hooks, hook);
    match is_link(hooks, &path) {
        true => fs::remove_file(&path)
            .map_err(|e| Error::io(format_args!("remove {}", path.display()), &e)),
        false => Ok(()),
    }
}

/// The names in `hooks` that a kept hook may look for beside itself, and the directories that those
/// who run several scripts for one hook read, be they there or not; without what is kept itself, `own`.
fn others(hooks: &Path, own: &[&OsString]) -> Vec<OsString> {
    let mut names: Vec<OsString> = Hook::ALL
        .iter()
        .filter(|hook| own.iter().any(|name| *name == hook.name()))
        .map(|hook| format!("{}.d", hook.name()).into())
        .collect();
    let Ok(entries) = fs::read_dir(hooks) else { return names };
    let is_wanted = |name: &OsString| {
        let text = name.to_string_lossy();
        let is_ours = || {
            let hook = Hook::ALL.iter().any(|hook| *name == hook.name());
            hook && super::install::is_ours(&hooks.join(name))
        };
        !text.ends_with(".sample")
            && !text.ends_with(SUFFIX)
            && !text.starts_with(super::install::UNFINISHED)
            && !own.contains(&name)
            && !names.contains(name)
            && !is_ours()
    };
    let found: Vec<OsString> =
        entries.flatten().map(|entry| entry.file_name()).filter(is_wanted).collect();
    names.extend(found);
    names
}

fn directory(hooks: &Path) -> PathBuf {
    let real = real(hooks);
    let name = name(&real);
    real.parent().map_or_else(|| PathBuf::from(&name), |parent| parent.join(&name))
}

fn place(hooks: &Path, hook: Hook) -> PathBuf {
    directory(hooks).join(hook.name())
}

/// The directory itself: what is beside it is beside where it lies, not beside a symlink to it.
fn real(hooks: &Path) -> PathBuf {
    fs::canonicalize(hooks).unwrap_or_else(|_| hooks.to_owned())
}

fn own_name(real: &Path) -> String {
    real.file_name().unwrap_or(OsStr::new("hooks")).to_string_lossy().into_owned()
}

/// What a link named `name` leads to.
fn target(hooks: &Path, name: &OsStr) -> PathBuf {
    Path::new("..").join(own_name(&real(hooks))).join(name)
}

/// Whether `path`, in the directory of what is kept, is one of the links of [`mirror`].
fn is_link(hooks: &Path, path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default();
    fs::read_link(path).is_ok_and(|to| to == target(hooks, name))
}

fn is_there(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}
