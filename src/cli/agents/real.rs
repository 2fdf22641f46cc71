//! Where paths lead, without symlinks.

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Directories as they were found, each looked for once. For as long as nothing is made among them.
#[derive(Debug, Default)]
pub struct Real(RefCell<HashMap<PathBuf, PathBuf>>);

impl Real {
    /// `path` without symlinks as far as it exists, and without steps back where it does not.
    pub fn path(&self, path: &Path) -> PathBuf {
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    // What leads on from a symlink is not what stands before it.
                    plain = std::fs::canonicalize(&plain).unwrap_or(plain);
                    plain.pop();
                }
                part => plain.push(part),
            }
        }
        self.found(&plain)
    }

    fn found(&self, plain: &Path) -> PathBuf {
        if let Ok(found) = std::fs::canonicalize(plain) {
            return found;
        }
        match (plain.parent(), plain.file_name()) {
            (Some(parent), Some(name)) => self.directory(parent).join(name),
            _ => plain.to_owned(),
        }
    }

    fn directory(&self, directory: &Path) -> PathBuf {
        if let Some(found) = self.0.borrow().get(directory) {
            return found.clone();
        }
        let found = self.found(directory);
        self.0.borrow_mut().insert(directory.to_owned(), found.clone());
        found
    }
}

/// One path, as [`Real::path`] finds it.
pub fn resolve(path: &Path) -> PathBuf {
    Real::default().path(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_path_is_found_as_far_as_it_exists() {
        let directory = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(directory.path()).unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a/b", top.join("way")).unwrap();
        std::os::unix::fs::symlink("nowhere", top.join("a/dangling")).unwrap();
        let real = Real::default();
        for (path, expected) in [
            ("a/b", "a/b"),
            ("way", "a/b"),
            ("way/new/x", "a/b/new/x"),
            ("way/new/y", "a/b/new/y"),
            ("way/../x", "a/x"),
            ("gone/../x", "x"),
            ("gone/../../x/./y", "../x/y"),
            ("a/dangling", "a/dangling"),
        ] {
            let expected = match expected.strip_prefix("../") {
                Some(above) => top.parent().unwrap().join(above),
                None => top.join(expected),
            };
            assert_eq!(real.path(&top.join(path)), expected, "{path}");
            assert_eq!(resolve(&top.join(path)), expected, "{path}");
        }
        assert_eq!(real.path(Path::new("/")), Path::new("/"));
    }
}
