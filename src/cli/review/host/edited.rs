//! Where a hunk lies while somebody edits it: in the repository, which is as private as the rest of it.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::store::{EDITED, Store};

/// How long an editor may take before what a closed terminal has left is told apart from it.
const OLD: Duration = Duration::from_hours(24);

/// A directory for one file: whatever an editor leaves beside it goes with it.
///
/// # Errors
/// `private_dir_unsafe`, and those of the file system.
pub(super) fn directory(store: &Store) -> Result<TempDir> {
    let home = store.make_private()?.make_inside(EDITED)?;
    sweep(home.path());
    let made = tempfile::Builder::new().prefix("hunk-").tempdir_in(home.path());
    made.map_err(|error| Error::io("edit the hunk", &error))
}

/// Removes what was left long ago.
fn sweep(home: &Path) {
    for left in fs::read_dir(home).into_iter().flatten().flatten() {
        let modified = left.metadata().and_then(|found| found.modified());
        let age = modified.ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > OLD) {
            let _ = fs::remove_dir_all(left.path());
        }
    }
}
