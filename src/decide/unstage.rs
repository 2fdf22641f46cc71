//! Removal of undone changes from the index.

use crate::apply as files;
use crate::proposal::event::Written;
use crate::repository::Repository;

/// Updates the index where it had exactly the content before the undo; returns a hint on other
/// staged changes.
pub(super) fn unstage(repository: &Repository, written: &[Written]) -> Option<String> {
    let (mut following, mut is_other) = (Vec::new(), false);
    for file in written.iter().filter(|file| file.before != file.after) {
        let staged = files::staged_entry(repository, &file.path);
        let id = staged.as_ref().map(|entry| entry.id.clone());
        // Committed content is not staged.
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
