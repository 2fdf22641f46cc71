//! What of an undone change was staged, out of the index again.

use crate::apply as files;
use crate::proposal::event::Written;
use crate::repository::Repository;

/// Lets the index follow the files that an undo has `written`, where it had exactly what they held before; returns what
/// to do about others that are staged.
pub(super) fn unstage(repository: &Repository, written: &[Written]) -> Option<String> {
    let (mut following, mut is_other) = (Vec::new(), false);
    for file in written.iter().filter(|file| file.before != file.after) {
        let staged = files::staged_entry(repository, &file.path);
        let id = staged.as_ref().map(|entry| entry.id.clone());
        // What is committed is not staged.
        if id == repository.id_in_head(&file.path) || staged == file.after {
            continue;
        }
        if staged == file.before {
            following.push((&file.path, file.after.clone()));
        } else {
            is_other = true;
        }
    }
    let why = match files::restage(repository, &following) {
        Err(error) => error.message().to_owned(),
        Ok(()) if is_other => "other changes of the file are staged, too".to_owned(),
        Ok(()) => return None,
    };
    Some(format!("the change may still be staged ({why}); look: git diff --cached"))
}
