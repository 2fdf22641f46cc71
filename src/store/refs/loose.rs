//! The files of loose refs, read with as few system calls as they take: with the refs of some hundred
//! clones they are most of the work of a command. gix takes six for a file, this takes three.

use std::ffi::OsStr;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// More bytes than the file of a ref has.
const LONGEST: usize = 4 * 1024;

/// Calls `found` with the name and the content of each file below the directory `prefix` of `top`, which
/// ends in a slash as the names begin with it; lock files are left out, and directories that `enter` says
/// no to, which gets their names with a slash at the end. In no order.
///
/// # Errors
/// If a directory cannot be read.
pub(super) fn each(
    top: &Path,
    prefix: &str,
    enter: &dyn Fn(&str) -> bool,
    found: &mut impl FnMut(String, io::Result<&[u8]>),
) -> io::Result<()> {
    let path = top.join(prefix);
    let entries = match std::fs::read_dir(&path) {
        Ok(entries) => entries,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    let mut content = [0; LONGEST];
    let mut files = None;
    for entry in entries {
        let entry = entry?;
        let file = entry.file_name();
        // As seen from every linked work tree.
        let mut name = String::with_capacity(prefix.len() + file.len() + 1);
        name.push_str(prefix);
        name.push_str(&file.to_string_lossy());
        if entry.file_type()?.is_dir() {
            name.push('/');
            if enter(&name) {
                each(top, &name, enter, found)?;
            }
        } else if !name.ends_with(".lock") {
            let files = match &files {
                Some(files) => files,
                None => match Files::of(&path) {
                    Ok(opened) => files.insert(opened),
                    // Removed with all files in it: `git pack-refs` has packed them.
                    Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
                    Err(error) => return Err(error),
                },
            };
            let read = files.open(&file).and_then(|mut file| fill(&mut file, &mut content));
            if !read.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
                found(name, read.map(|length| &content[..length]));
            }
        }
    }
    Ok(())
}

/// The file of a ref, which has one short line, in one read.
///
/// # Errors
/// If it cannot be read, or has more than a line.
pub(super) fn line(path: &Path) -> io::Result<Vec<u8>> {
    let mut content = [0; LONGEST];
    let length = fill(&mut std::fs::File::open(path)?, &mut content)?;
    Ok(content[..length].to_vec())
}

fn fill(file: &mut std::fs::File, content: &mut [u8; LONGEST]) -> io::Result<usize> {
    match file.read(content)? {
        LONGEST => Err(io::Error::new(ErrorKind::InvalidData, "it has more than a line")),
        length => Ok(length),
    }
}

/// A directory whose files are opened by their names in it.
struct Files(rustix::fd::OwnedFd);

impl Files {
    fn of(path: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(rustix::fs::open(path, flags, Mode::empty())?))
    }

    fn open(&self, name: &OsStr) -> io::Result<std::fs::File> {
        use rustix::fs::{Mode, OFlags};
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        Ok(rustix::fs::openat(&self.0, name, flags, Mode::empty())?.into())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    #[test]
    fn files_are_named_from_the_top_and_locks_left_out() {
        let top = tempfile::tempdir().unwrap();
        let path = |name: &str| top.path().join(name);
        fs::create_dir_all(path("refs/aye/remotes/a b/c")).unwrap();
        fs::write(path("refs/aye/remotes/a b/l"), "1\n").unwrap();
        fs::write(path("refs/aye/remotes/a b/l.lock"), "2\n").unwrap();
        fs::write(path("refs/aye/remotes/a b/c/l"), "3\n").unwrap();
        fs::write(path("refs/aye/remotes/long"), "x".repeat(LONGEST)).unwrap();
        fs::create_dir_all(path("refs/aye/p/none")).unwrap();
        let mut found = BTreeMap::new();
        for prefix in ["refs/aye/remotes/", "refs/aye/p/", "refs/aye/kept/"] {
            each(top.path(), prefix, &|_| true, &mut |name, content| {
                found.insert(name, content.map(<[u8]>::to_vec).ok());
            })
            .unwrap();
        }
        let some = |text: &str| Some(text.as_bytes().to_vec());
        let expected = [
            ("refs/aye/remotes/a b/c/l", some("3\n")),
            ("refs/aye/remotes/a b/l", some("1\n")),
            ("refs/aye/remotes/long", None),
        ];
        assert_eq!(found, expected.map(|(name, content)| (name.to_owned(), content)).into());
        fs::write(path("refs/aye/kept"), "").unwrap();
        assert!(each(top.path(), "refs/aye/kept/", &|_| true, &mut |_, _| ()).is_err());
    }
}
