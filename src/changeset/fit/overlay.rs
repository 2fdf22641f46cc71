//! Present files, and the results of a patch so far.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use crate::changeset::limits::Budget;
use crate::changeset::{Changeset, File, FileChange, RepoPath, Snapshot, codes, store_form};
use crate::error::{Error, Result};

pub(in crate::changeset) struct Overlay<'a> {
    pub files: &'a dyn Snapshot,
    /// Before the patch, once read.
    original: BTreeMap<RepoPath, Option<Rc<File>>>,
    /// After the patch.
    present: BTreeMap<RepoPath, Option<Rc<File>>>,
    /// Old paths of new ones.
    origins: BTreeMap<RepoPath, RepoPath>,
    /// In bytes.
    pub budget: Budget,
}

impl<'a> Overlay<'a> {
    pub fn new(files: &'a dyn Snapshot) -> Self {
        let (original, present, origins, budget) = Default::default();
        Self { files, original, present, origins, budget }
    }

    /// A directory that the patch empties, by `leaving` or before, gives way to a file; remaining
    /// files in it are noticed at the write.
    ///
    /// # Errors
    /// Errors of the snapshot; `size_limit_exceeded`.
    pub fn file(
        &mut self,
        path: &RepoPath,
        leaving: &BTreeSet<RepoPath>,
    ) -> Result<Option<Rc<File>>> {
        if let Some(file) = self.present.get(path).or_else(|| self.original.get(path)) {
            return Ok(file.clone());
        }
        let file = match self.files.file(path) {
            Err(error) if error.is(&codes::DIRECTORY) && self.empties(path, leaving) => None,
            other => other?.map(Rc::new),
        };
        self.budget.spend(file.as_deref())?;
        self.original.insert(path.clone(), file.clone());
        Ok(file)
    }

    fn empties(&self, directory: &RepoPath, leaving: &BTreeSet<RepoPath>) -> bool {
        let gone = self.present.iter().filter(|(_, file)| file.is_none());
        let mut paths = leaving.iter().chain(gone.map(|(path, _)| path));
        paths.any(|path| path.parents().any(|above| above == *directory))
    }

    /// `None` deletes; `moved` has new and old paths.
    pub fn put(
        &mut self,
        mut files: BTreeMap<RepoPath, Option<Rc<File>>>,
        moved: Vec<(RepoPath, RepoPath)>,
    ) {
        self.present.append(&mut files);
        let first = |origin: RepoPath| self.origins.get(&origin).cloned().unwrap_or(origin);
        let moved: Vec<_> = moved.into_iter().map(|(path, origin)| (path, first(origin))).collect();
        self.origins.extend(moved);
    }

    /// In the form that git stores.
    pub fn into_changeset(self) -> Result<Changeset> {
        let Self { present, mut original, mut origins, files, .. } = self;
        let own = |file: Option<Rc<File>>| file.map(Rc::unwrap_or_clone);
        let change = |(path, after): (RepoPath, Option<Rc<File>>)| {
            let (before, after) = (own(original.remove(&path).flatten()), own(after));
            let origin = origins
                .remove(&path)
                .filter(|origin| before.is_none() && after.is_some() && *origin != path);
            FileChange { path, before, after, origin, snippets: Vec::new() }
        };
        let mut changes: Vec<FileChange> = present.into_iter().map(change).collect();
        store_form(&mut changes, files)?;
        Changeset::new(changes)
    }
}

pub(in crate::changeset) fn exists(path: &RepoPath) -> Error {
    Error::new(&codes::FILE_EXISTS, format!("{} exists already", path.display()))
        .with("path", path.display().to_string())
        .hint("an existing file is never overwritten; patch it as it is, or delete it first")
}
