//! Removing a directory with all that a hostile program may have put there.

use std::io::{self, ErrorKind};

use bstr::{BStr, BString, ByteSlice};

use super::{Dir, FileKind};

/// Removes the directory `name` in `home` and all in it, as far as that is possible: symlinks are removed,
/// not followed, and directories that a tool made read-only give way.
pub fn remove_all(home: &Dir, name: &BStr) {
    let mut left = vec![name.to_owned()];
    while let Some(name) = left.pop() {
        let _ = empty(home, home, name.as_bstr(), 0, &mut left);
    }
}

/// How deep directories are emptied in place, each with an open descriptor.
const DEEP: usize = 64;

/// Removes the directory `name` in `above` and all in it; symlinks are removed, not followed. What
/// lies too deep is moved to the top, `home`, and its name there added to `later`.
fn empty(
    home: &Dir,
    above: &Dir,
    name: &BStr,
    depth: usize,
    later: &mut Vec<BString>,
) -> io::Result<()> {
    if depth > DEEP {
        let new = BString::from(format!("{:012x}", super::random() & 0xffff_ffff_ffff));
        // Its own entry `..` changes.
        above.unlock(name)?;
        above.rename_new(name, home, new.as_bstr())?;
        later.push(new);
        return Ok(());
    }
    let directory = above.enter(name)?;
    let names = match directory.names() {
        // Directories that a tool made read-only (a module cache) keep their files.
        Err(error) if error.kind() == ErrorKind::PermissionDenied => {
            above.unlock(name)?;
            directory.names()?
        }
        other => other?,
    };
    let mut unlocked = false;
    for inside in names {
        crate::failpoint!("clear.entry");
        let mut remove = || match directory.stat(inside.as_bstr())?.kind {
            FileKind::Directory => empty(home, &directory, inside.as_bstr(), depth + 1, later),
            _ => directory.unlink(inside.as_bstr()),
        };
        match remove() {
            Err(error) if error.kind() == ErrorKind::PermissionDenied && !unlocked => {
                unlocked = true;
                above.unlock(name)?;
                remove()?;
            }
            other => other?,
        }
    }
    above.rmdir(name)
}
