//! Submodules: the tree of a session has those that the checkout has. Each is a repository of its own, so what
//! an agent changes in one is named and not proposed.

use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::index::entry::Mode as IndexMode;

use super::read;
use crate::error::Result;
use crate::repository::Repository;

/// A submodule that the checkout has.
pub(super) struct Submodule {
    /// Where it lies, from the top of the work tree.
    pub path: BString,
    /// The commit that is recorded of it.
    pub recorded: String,
    /// Its repository.
    pub repository: Repository,
}

/// The submodules that a checkout has.
#[derive(Default)]
pub(super) struct Submodules {
    /// Those that can be read.
    pub found: Vec<Submodule>,
    /// The others, and why, in words.
    pub unread: Vec<(String, String)>,
}

/// The submodules of `commit` that the checkout of `repository` has.
///
/// # Errors
/// `object_missing`.
pub(super) fn of(repository: &Repository, commit: &str) -> Result<Submodules> {
    let mut all = Submodules::default();
    let Some(top) = repository.work_dir() else { return Ok(all) };
    let index = read::index(repository, commit)?;
    for entry in index.entries().iter().filter(|entry| entry.mode == IndexMode::COMMIT) {
        let path = entry.path(&index).to_owned();
        let Some(place) = at(&top, &path) else { continue };
        match Repository::discover(&place) {
            Ok(repository) if is_same(repository.work_dir().as_deref(), &place) => {
                all.found.push(Submodule { path, recorded: entry.id.to_string(), repository });
            }
            Ok(_) => {
                let why = "is a submodule whose work tree lies elsewhere: it is left empty";
                all.unread.push((path.to_string(), why.to_owned()));
            }
            Err(error) => {
                let why = format!("is a submodule, and is left empty: {}", error.message());
                all.unread.push((path.to_string(), why));
            }
        }
    }
    Ok(all)
}

/// The repository of the submodule at `path`, where the checkout of `repository` has it.
pub(super) fn one(repository: &Repository, path: &BString) -> Option<Repository> {
    let place = at(&repository.work_dir()?, path)?;
    let found = Repository::discover(&place).ok()?;
    is_same(found.work_dir().as_deref(), &place).then_some(found)
}

/// The directory of a submodule that has been checked out.
fn at(top: &Path, path: &BString) -> Option<std::path::PathBuf> {
    let place = top.join(path.to_path().ok()?);
    place.join(".git").symlink_metadata().is_ok().then_some(place)
}

fn is_same(found: Option<&Path>, place: &Path) -> bool {
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    found.is_some_and(|found| real(found).is_some() && real(found) == real(place))
}
