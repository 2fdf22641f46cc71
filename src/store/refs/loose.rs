//! Files of loose refs.

use std::io::{self, ErrorKind};
use std::path::Path;

/// Calls `found` with the name of each file below the directory `prefix` of `top`, which ends in a
/// slash. Lock files are skipped, and directories whose name (with a slash at its end) `enter`
/// rejects. A directory's files come before those of its directories.
pub(super) fn names(
    top: &Path,
    prefix: &str,
    enter: &dyn Fn(&str) -> bool,
    found: &mut impl FnMut(String),
) -> io::Result<()> {
    let entries = match std::fs::read_dir(top.join(prefix)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut inside = Vec::new();
    for entry in entries {
        let entry = entry?;
        // Linked work trees share these names.
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            inside.push(name + "/");
        } else if !name.ends_with(".lock") {
            found(name);
        }
    }
    inside.retain(|name| enter(name));
    inside.iter().try_for_each(|name| names(top, name, enter, found))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::repository::line;

    #[test]
    fn files_are_named_from_the_top_and_locks_left_out() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        fs::create_dir_all(path("refs/aye/remotes/a b/c")).unwrap();
        fs::write(path("refs/aye/remotes/a b/l"), "1\n").unwrap();
        fs::write(path("refs/aye/remotes/a b/l.lock"), "2\n").unwrap();
        fs::write(path("refs/aye/remotes/a b/c/l"), "3\n").unwrap();
        fs::write(path("refs/aye/remotes/long"), "x".repeat(4096)).unwrap();
        fs::create_dir_all(path("refs/aye/p/none")).unwrap();
        let mut found = Vec::new();
        for prefix in ["refs/aye/remotes/", "refs/aye/p/", "refs/aye/kept/"] {
            names(top.path(), prefix, &|_| true, &mut |name| found.push(name)).unwrap();
        }
        let expected =
            ["refs/aye/remotes/long", "refs/aye/remotes/a b/l", "refs/aye/remotes/a b/c/l"];
        assert_eq!(found, expected);
        assert_eq!(line(&path(expected[2])).unwrap(), b"3\n");
        assert!(line(&path(expected[0])).is_err());
        fs::write(path("refs/aye/kept"), "").unwrap();
        assert!(names(top.path(), "refs/aye/kept/", &|_| true, &mut |_| ()).is_err());
    }
}
