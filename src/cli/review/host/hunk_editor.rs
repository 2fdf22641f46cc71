//! A hunk in the reviewer's editor, in a file as private as the repository.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;

use crate::changeset::RepoPath;
use crate::cli::{Context, programs};
use crate::error::{Error, Result};
use crate::prompt::SignalHold;
use crate::repository::Repository;
use crate::store::EDITED;

/// An older directory is left from a closed terminal.
const OLD: Duration = Duration::from_hours(24);

/// `None` if the editor failed.
pub(super) fn edit(
    context: &Context,
    repository: &Repository,
    path: &RepoPath,
    text: &[u8],
) -> Result<Option<Vec<u8>>> {
    let failed = |error: &std::io::Error| Error::io("edit the hunk", error);
    let name = path.file_name().to_string();
    let suffix = match name.rsplit_once('.') {
        Some((_, end)) if end.len() < 12 && end.chars().all(char::is_alphanumeric) => {
            format!(".{end}")
        }
        _ => ".txt".to_owned(),
    };
    let directory = directory(repository)?;
    let file = directory.path().join(format!("hunk{suffix}"));
    fs::write(&file, text).map_err(|error| failed(&error))?;
    let editor = programs::editor(context, repository);
    let _hold = SignalHold::interrupts();
    let status =
        programs::shell(&editor, &[file.as_os_str()]).status().map_err(|error| failed(&error))?;
    if !status.success() {
        return Ok(None);
    }
    // By name: many editors replace the file.
    let edited = fs::read(&file).map_err(|error| failed(&error))?;
    // Editors may write other line endings than git stores.
    let stored = repository.stored(path, &edited)?;
    Ok(Some(stored.unwrap_or(edited)))
}

/// An editor's own files there are removed with it.
///
/// # Errors
/// `private_dir_unsafe`
fn directory(repository: &Repository) -> Result<TempDir> {
    let home = repository.make_private()?.make_inside(EDITED)?;
    sweep(home.path());
    let made = tempfile::Builder::new().prefix("hunk-").tempdir_in(home.path());
    made.map_err(|error| Error::io("edit the hunk", &error))
}

fn sweep(home: &Path) {
    for left in fs::read_dir(home).into_iter().flatten().flatten() {
        let modified = left.metadata().and_then(|found| found.modified());
        let age = modified.ok().and_then(|at| at.elapsed().ok());
        if age.is_some_and(|age| age > OLD) {
            let _ = fs::remove_dir_all(left.path());
        }
    }
}
