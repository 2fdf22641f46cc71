//! Files of refs that hold no object id, moved out of the way.

use std::io::ErrorKind;

use gix::ObjectId;

use crate::error::{Error, Result};
use crate::repository::Repository;

/// Files of aye's refs without an object id, as a power cut or an editor may leave them. While
/// there is one, git and gix read no ref beside it.
pub(super) fn unreadable(repository: &Repository) -> Vec<String> {
    let mut found = Vec::new();
    let top = repository.common_dir().join("refs/aye");
    for entry in walkdir::WalkDir::new(&top).into_iter().flatten() {
        let name = entry.path().strip_prefix(repository.common_dir()).ok().and_then(|p| p.to_str());
        let locked = entry.path().extension().is_some_and(|extension| extension == "lock");
        let holds_none = || match std::fs::read(entry.path()) {
            Ok(bytes) => !is_ref(&bytes),
            // Another process has removed or packed it since the directory was read.
            Err(error) => error.kind() != ErrorKind::NotFound,
        };
        if let Some(name) = name.filter(|_| entry.file_type().is_file() && !locked)
            && holds_none()
        {
            found.push(name.to_owned());
        }
    }
    found
}

/// Moves the file of an unreadable ref to `.git/aye/broken/`. Returns a sentence about it.
pub(super) fn set_aside(repository: &Repository, name: &str) -> Result<String> {
    let directory = repository.make_private()?.make_inside("broken")?;
    let to = directory.path().join(name.replace('/', "-"));
    match std::fs::rename(repository.common_dir().join(name), &to) {
        // Another repair was first.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(format!("{name} is gone")),
        Err(error) => Err(Error::io(format_args!("move {name} away"), &error)),
        Ok(()) => Ok(format!("{name} was unreadable, moved to {}", to.display())),
    }
}

/// True for the content of a ref's file: an object id, or the name of another ref.
fn is_ref(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    text.starts_with(b"ref: ") || ObjectId::from_hex(text).is_ok()
}
