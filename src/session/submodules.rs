//! Submodules: the tree of a session has those that the checkout has. Each is a repository of its own, so what
//! an agent changes in one is named and not proposed.

use std::path::Path;

use bstr::{BString, ByteSlice as _};
use gix::index::entry::Mode as IndexMode;

use super::follow::{self, Followed};
use super::tree::{self, Base};
use super::{head, read};
use crate::beneath::open_last;
use crate::error::{Error, Result};
use crate::repository::Repository;
use crate::repository::codes::OBJECT_MISSING;

/// A submodule that the checkout has.
pub(super) struct Submodule {
    /// Where it lies, from the top of the work tree.
    pub path: BString,
    /// The commit that is recorded of it.
    pub recorded: String,
    /// Its repository.
    pub repository: Repository,
}

impl Submodule {
    /// The commit that its part of a tree starts from.
    ///
    /// # Errors
    /// `object_missing` where it does not have the commit that is recorded; those of [`tree::base`].
    pub fn base(&self, kind: Base) -> Result<String> {
        if kind != Base::Head {
            return tree::base(&self.repository, kind, &[]);
        }
        if self.id().is_some_and(|id| self.repository.repo().find_commit(id).is_ok()) {
            return Ok(self.recorded.clone());
        }
        let commit = &self.recorded;
        Err(Error::new(
            &OBJECT_MISSING,
            format!(
                "the commit {commit:.12} that is recorded of it is not here (git submodule update)"
            ),
        ))
    }

    fn id(&self) -> Option<gix::ObjectId> {
        gix::ObjectId::from_hex(self.recorded.as_bytes()).ok()
    }

    /// What session `name` has of it.
    fn pinned(&self, name: &str) -> Option<String> {
        let found = self.repository.repo().try_find_reference(tree::pin(name).as_str()).ok()??;
        found.try_id().map(|id| id.to_string())
    }
}

/// Lets the submodules in `tree`, which is that of session `name`, follow those of the checkout, when its base moves
/// from the commit `from` to the commit `to`.
///
/// # Errors
/// `object_missing`. Of a submodule that cannot follow the reason is among what was kept.
pub fn follow(
    repository: &Repository,
    name: &str,
    tree: &Path,
    (from, to): (&str, &str),
    kind: Base,
) -> Result<Followed> {
    let mut all = Followed::default();
    let index = read::index(repository, from)?;
    let before = read::entries(&index);
    let Submodules { found, unread } = of(repository, to)?;
    all.kept.extend(unread);
    for module in found {
        let shown = module.path.to_string();
        let recorded = module.id();
        let is_as_before = before
            .get(&module.path)
            .is_some_and(|(mode, id)| *mode == IndexMode::COMMIT && recorded == Some(*id));
        let Some(pinned) = module.pinned(name) else {
            if !is_as_before {
                let why =
                    "is a submodule that this tree does not have: that of a new session has it";
                all.kept.push((shown, why.to_owned()));
            }
            continue;
        };
        let place = match inside(tree, &module.path) {
            Some(place) => place,
            None => {
                all.kept.push((shown, "is a submodule that is gone".to_owned()));
                continue;
            }
        };
        let step = || -> Result<Followed> {
            let base = module.base(kind)?;
            let mut followed = follow::follow(&module.repository, &place, &pinned, &base)?;
            followed.join(follow(&module.repository, name, &place, (&pinned, &base), kind)?);
            tree::hold(&module.repository, name, &base)?;
            head::follow(&module.repository, &place, &pinned, &base);
            Ok(followed)
        };
        match step() {
            Ok(followed) => all.join(followed.below(&shown)),
            Err(error) => {
                let why = format!("is a submodule, and stays as it is: {}", error.message());
                all.kept.push((shown, why));
            }
        }
    }
    Ok(all)
}

/// The directory `path` in `tree`, where no symlink leads to it.
fn inside(tree: &Path, path: &BString) -> Option<std::path::PathBuf> {
    let mut directory = open_last(tree).ok()?;
    for part in path.split(|byte| *byte == b'/') {
        directory = directory.enter(part.as_bstr()).ok()?;
    }
    Some(tree.join(path.to_path().ok()?))
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
