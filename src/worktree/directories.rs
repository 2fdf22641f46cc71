//! Cache of open directories for a run of paths.

use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use crate::beneath::{Dir, DirectoryLookup, Root};
use crate::changeset::RepoPath;
use crate::error::Result;

/// Paths come sorted, but a transaction passes over them several times.
const OPEN: usize = 32;

#[derive(Debug)]
pub struct Directories<'root> {
    root: &'root Root,
    recent: Vec<(BString, Rc<Dir>)>,
}

impl<'root> Directories<'root> {
    pub fn new(root: &'root Root) -> Self {
        Self { root, recent: Vec::new() }
    }

    /// # Errors
    /// `symlink_in_way`, `in_submodule`.
    pub fn parent_of(&mut self, path: &RepoPath) -> Result<DirectoryLookup> {
        if self.root.is_submodule(path.as_bstr()) {
            return Err(super::in_submodule(path));
        }
        self.at(parent(path.as_bstr()))
    }

    /// The empty path is the root.
    pub fn at(&mut self, path: &BStr) -> Result<DirectoryLookup> {
        if let Some(index) = self.recent.iter().rposition(|(known, _)| known == path) {
            // Least recently used first.
            let last = self.recent.len() - 1;
            self.recent[index..].rotate_left(1);
            return Ok(DirectoryLookup::Directory(Rc::clone(&self.recent[last].1)));
        }
        let place = match self.open_from_parent(path) {
            Some(directory) => DirectoryLookup::Directory(directory),
            None => self.root.directory(path)?,
        };
        if let DirectoryLookup::Directory(directory) = &place {
            if self.recent.len() == OPEN {
                self.recent.remove(0);
            }
            self.recent.push((path.into(), Rc::clone(directory)));
        }
        Ok(place)
    }

    /// From the root, every directory on the way would be resolved again.
    fn open_from_parent(&mut self, path: &BStr) -> Option<Rc<Dir>> {
        let above = parent(path);
        let is_near = |known: &BString| known == above || parent(known.as_bstr()) == above;
        if above.is_empty() || !self.recent.iter().any(|(known, _)| is_near(known)) {
            return None;
        }
        match self.at(above) {
            Ok(DirectoryLookup::Directory(directory)) => self.root.directory_in(&directory, path),
            _ => None,
        }
    }

    /// Drops a removed directory and everything beneath it.
    pub fn forget(&mut self, path: &BStr) {
        self.recent.retain(|(known, _)| {
            !(known.starts_with(path) && matches!(known.get(path.len()), None | Some(b'/')))
        });
    }
}

/// Empty at the top.
pub fn parent(path: &BStr) -> &BStr {
    path[..path.rfind_byte(b'/').unwrap_or(0)].as_bstr()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_neighbour_makes_no_difference() {
        let top = tempfile::tempdir().expect("a directory");
        let make =
            |path: &str| std::fs::create_dir_all(top.path().join(path)).expect("a directory");
        (0..OPEN + 8).for_each(|number| make(&format!("a/b/{number:02}/c")));
        make("a/b/repo/.git");
        make("a/b/repo/c");
        make("a/b/known");
        std::fs::write(top.path().join("a/b/file"), "").expect("a file");
        std::os::unix::fs::symlink("00", top.path().join("a/b/link")).expect("a link");
        let mut root = Root::open(top.path()).expect("a directory");
        root.add_submodules([BString::from("a/b/known")]);
        let mut directories = Directories::new(&root);
        let kind = |place: Result<DirectoryLookup>| match place {
            Ok(DirectoryLookup::Directory(_)) => "directory".to_owned(),
            Ok(DirectoryLookup::Missing(at)) => format!("missing from {at}"),
            Ok(DirectoryLookup::Blocked(at)) => format!("blocked by {at}"),
            Err(error) => error.code().id.to_owned(),
        };
        let odd =
            ["repo", "repo/c", "known", "known/c", "file", "file/c", "link", "link/c", "none"];
        let names = (0..OPEN + 8).map(|number| format!("{number:02}/c"));
        for name in names.chain(odd.map(str::to_owned)) {
            let path = BString::from(format!("a/b/{name}"));
            let alone = kind(Directories::new(&root).at(path.as_bstr()));
            assert_eq!(kind(directories.at(path.as_bstr())), alone, "{path}");
            let above = parent(path.as_bstr());
            assert_eq!(
                kind(directories.at(above)),
                kind(Directories::new(&root).at(above)),
                "{above}"
            );
            assert!(directories.recent.len() <= OPEN);
        }
    }
}
