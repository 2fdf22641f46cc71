//! Removes a directory that a hostile program may have filled.

use std::io::{self, ErrorKind};

use bstr::{BStr, BString, ByteSlice};

use super::{Dir, FileKind};

/// Removes `name` as far as possible. Symlinks are unlinked, not followed; read-only directories
/// are made writable.
pub fn remove_all(home: &Dir, name: &BStr) {
    let mut left = vec![name.to_owned()];
    while let Some(name) = left.pop() {
        let _ = empty(home, home, name.as_bstr(), 0, &mut left);
    }
}

/// Depth up to which directories are emptied in place, each with an open descriptor.
const DEEP: usize = 64;

/// Removes `name` in `above`. Deeper directories are moved to `home`, and their new names added to
/// `later`.
fn empty(
    home: &Dir,
    above: &Dir,
    name: &BStr,
    depth: usize,
    later: &mut Vec<BString>,
) -> io::Result<()> {
    if depth > DEEP {
        let new = BString::from(format!("{:012x}", super::random_id() & 0xffff_ffff_ffff));
        // The move changes the directory's `..` entry.
        above.unlock(name)?;
        above.rename_new(name, home, new.as_bstr())?;
        later.push(new);
        return Ok(());
    }
    let directory = above.open_directory(name)?;
    let names = match directory.names() {
        // Tools such as module caches make directories read-only.
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
