//! Real paths, without symlinks, of files that may not exist yet.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};

/// Dangling symlinks followed per path. No operating system follows more.
const MOST_LINKS: usize = 64;

/// Caches directories, so valid only while none is created.
#[derive(Debug, Default)]
pub struct Real {
    directories: RefCell<HashMap<PathBuf, PathBuf>>,
    /// Remaining for the current path.
    links: Cell<usize>,
}

impl Real {
    /// Resolves symlinks and `..`, also below directories that do not exist. A dangling symlink
    /// leads to its target: a write through it would create that.
    pub fn path(&self, path: &Path) -> PathBuf {
        self.links.set(MOST_LINKS);
        self.plain(path)
    }

    fn plain(&self, path: &Path) -> PathBuf {
        let mut plain = PathBuf::new();
        for part in path.components() {
            match part {
                Component::ParentDir => {
                    // `..` after a symlink leaves its target, not the link's directory.
                    plain = self.directory(&plain);
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
        let (Some(parent), Some(name)) = (plain.parent(), plain.file_name()) else {
            return plain.to_owned();
        };
        let parent = self.directory(parent);
        let path = parent.join(name);
        match (std::fs::read_link(&path), self.links.get().checked_sub(1)) {
            (Ok(target), Some(left)) => {
                self.links.set(left);
                self.plain(&parent.join(target))
            }
            _ => path,
        }
    }

    fn directory(&self, directory: &Path) -> PathBuf {
        if let Some(found) = self.directories.borrow().get(directory) {
            return found.clone();
        }
        let found = self.found(directory);
        // Do not cache results of exhausted loops: another path may get further.
        if self.links.get() > 0 {
            self.directories.borrow_mut().insert(directory.to_owned(), found.clone());
        }
        found
    }
}

pub fn resolve(path: &Path) -> PathBuf {
    Real::default().path(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_as_far_as_it_exists() {
        let directory = tempfile::tempdir().unwrap();
        let top = std::fs::canonicalize(directory.path()).unwrap();
        std::fs::create_dir_all(top.join("a/b")).unwrap();
        std::os::unix::fs::symlink("a/b", top.join("way")).unwrap();
        for (target, link) in [
            ("nowhere", "a/dangling"),
            ("../gone/x", "a/up"),
            ("a/up", "twice"),
            ("a/dangling/../y", "steps"),
            ("a/round", "round"),
            ("../round", "a/round"),
        ] {
            std::os::unix::fs::symlink(target, top.join(link)).unwrap();
        }
        std::os::unix::fs::symlink(top.join("new"), top.join("whole")).unwrap();
        let real = Real::default();
        for (path, expected) in [
            ("a/b", "a/b"),
            ("way", "a/b"),
            ("way/new/x", "a/b/new/x"),
            ("way/new/y", "a/b/new/y"),
            ("way/../x", "a/x"),
            ("gone/../x", "x"),
            ("gone/../../x/./y", "../x/y"),
            ("a/dangling", "a/nowhere"),
            ("a/dangling/x", "a/nowhere/x"),
            ("a/dangling/../x", "a/x"),
            ("a/up", "gone/x"),
            ("a/up/../x", "gone/x"),
            ("twice", "gone/x"),
            ("steps", "a/y"),
            ("whole/x", "new/x"),
        ] {
            let expected = match expected.strip_prefix("../") {
                Some(above) => top.parent().unwrap().join(above),
                None => top.join(expected),
            };
            assert_eq!(real.path(&top.join(path)), expected, "{path}");
            assert_eq!(resolve(&top.join(path)), expected, "{path}");
        }
        assert_eq!(real.path(Path::new("/")), Path::new("/"));
        // A loop ends, without a target.
        for path in ["round", "a/round/x/../y"] {
            assert!(real.path(&top.join(path)).starts_with(&top), "{path}");
        }
    }
}
