//! `aye/` in the git directory, where aye keeps what is not in git objects.
//!
//! An agent in a sandbox may write `.git` and not what is outside the repository. What lies here is
//! therefore never believed, and no name here may lead elsewhere: each directory is opened without
//! following a symlink, and files are named relative to it. The git directory itself may be reached
//! through symlinks, as git allows.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::beneath::{Access, Dir, FileKind, open_last};
use crate::error::{Error, Result};

/// Error codes of aye's own directory.
pub mod codes {
    crate::codes! {
        PRIVATE_DIR_UNSAFE = "private_dir_unsafe", Refused, "a symlink, or a file of the wrong kind, where aye keeps its own files in the git directory; it is not followed";
    }
}

/// Largest file that is read here, in bytes: 256 MiB.
pub(crate) const LIMIT: u64 = 1 << 28;

/// The directories directly in `aye/`; every other name there is a file's.
const DIRECTORIES: &[&str] = &["broken", "edited", "journal", "sessions", "try"];

/// Those of them that have other files than aye's own: what a repair moved there, and trials.
const OTHERS: &[&str] = &["broken", "try"];

/// How the name of a journal ends that a repair has set aside as it was.
const ASIDE: &str = ".bad";

/// How deep aye's own files lie in one of them at most.
const DEEPEST: usize = 8;

/// A directory of aye's own, open.
#[derive(Debug)]
pub struct Directory {
    path: PathBuf,
    dir: Dir,
}

impl Directory {
    /// Opens the directory at `path`, whose last component is not followed. `None` if nothing is
    /// there.
    ///
    /// # Errors
    /// `private_dir_unsafe` if it is not a directory; the system's refusal.
    pub fn open(path: &Path) -> Result<Option<Self>> {
        match open_last(path) {
            Ok(dir) => Ok(Some(Self { path: path.into(), dir })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(match fs::symlink_metadata(path) {
                Ok(found) if !found.is_dir() => not_ours(path, found.is_symlink(), true),
                _ => Error::io(format_args!("open {}", path.display()), &error),
            }),
        }
    }

    /// Opens the directory at `path`, which is created if need be.
    ///
    /// # Errors
    /// As [`Directory::open`].
    pub fn make(path: &Path) -> Result<Self> {
        if let Some(found) = Self::open(path)? {
            return Ok(found);
        }
        let failed = |error| Error::io(format_args!("make {}", path.display()), &error);
        match fs::create_dir(path) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => return Err(failed(error)),
            _ => {}
        }
        Self::open(path)?.ok_or_else(|| failed(ErrorKind::NotFound.into()))
    }

    /// Opens a directory directly in this one. `None` if nothing has the name.
    ///
    /// # Errors
    /// As [`Directory::open`].
    pub fn inside(&self, name: &str) -> Result<Option<Self>> {
        let path = self.path.join(name);
        match self.dir.enter(name.into()) {
            Ok(dir) => Ok(Some(Self { path, dir })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.refused(name.into(), true, "open", &error)),
        }
    }

    /// Opens a directory directly in this one, which is created if need be.
    ///
    /// # Errors
    /// As [`Directory::open`].
    pub fn make_inside(&self, name: &str) -> Result<Self> {
        if let Some(found) = self.inside(name)? {
            return Ok(found);
        }
        match self.dir.mkdir_shared(name.into()) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(self.refused(name.into(), true, "make", &error));
            }
            _ => {}
        }
        let gone = || self.refused(name.into(), true, "open", &ErrorKind::NotFound.into());
        self.inside(name)?.ok_or_else(gone)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open directory, for single names.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Opens a regular file.
    ///
    /// # Errors
    /// `private_dir_unsafe` if it is anything else; the system's refusal.
    pub(crate) fn file(&self, name: &BStr, access: Access) -> Result<fs::File> {
        self.dir.open(name, access).map_err(|error| self.refused(name, false, "open", &error))
    }

    /// The content of a regular file. `None` if nothing has the name.
    ///
    /// # Errors
    /// `private_dir_unsafe` if it is anything else, `size_limit_exceeded` over 256 MiB; the system's
    /// refusal.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let name = BStr::new(name);
        let failed = |error: &io::Error| self.refused(name, false, "read", error);
        let file = match self.dir.open(name, Access::Read) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| failed(&error))?,
        };
        let mut bytes = Vec::new();
        file.take(LIMIT + 1).read_to_end(&mut bytes).map_err(|error| failed(&error))?;
        if bytes.len() as u64 > LIMIT {
            return Err(Error::new(
                &crate::error::codes::SIZE_LIMIT,
                format!(
                    "{} has more than {LIMIT} bytes",
                    self.path.join(name.to_path_lossy()).display()
                ),
            )
            .hint("no file of aye's own is that large; look at it, then remove it"));
        }
        Ok(Some(bytes))
    }

    /// Writes a file whole or not at all: readers see the old content or the new.
    ///
    /// # Errors
    /// The system's refusal.
    pub fn replace(&self, name: &str, bytes: &[u8], flush: bool) -> Result<()> {
        self.replace_after(name, bytes, flush, |_| Ok(()))
    }

    /// The same, with something to do when the new file is complete and does not have its name yet.
    ///
    /// # Errors
    /// The system's refusal; those of `then`, after which nothing is replaced.
    pub(crate) fn replace_after(
        &self,
        name: &str,
        bytes: &[u8],
        flush: bool,
        then: impl FnOnce(&fs::File) -> Result<()>,
    ) -> Result<()> {
        let temporary = BString::from(format!(".{name}-{:016x}", crate::beneath::random()));
        let refused = |error: io::Error| self.refused(name.into(), false, "write", &error);
        let write = || -> Result<()> {
            let file = self.dir.open(temporary.as_bstr(), Access::New);
            let mut file = file.map_err(refused)?;
            file.write_all(bytes).map_err(refused)?;
            if flush {
                file.sync_all().map_err(refused)?;
            }
            then(&file)?;
            self.dir.rename(temporary.as_bstr(), &self.dir, name.into()).map_err(refused)
        };
        write().inspect_err(|_| {
            let _ = self.dir.unlink(temporary.as_bstr());
        })
    }

    /// Removes a file or a symlink (never what it leads to), if there is one.
    pub fn remove(&self, name: &str) {
        let _ = self.dir.unlink(name.into());
    }

    /// What lies here and is not what aye put there: symlinks at any depth, but for those in a trial or that a
    /// repair has moved, and files of the wrong kind. For `aye/` itself.
    pub fn unsafe_entries(&self) -> Vec<Error> {
        let contents = self.contents();
        let mut found = Vec::new();
        for (name, usable) in contents {
            match usable {
                Ok(()) if OTHERS.iter().any(|other| name == *other) => {}
                Ok(()) => self.symlinks_in(name.as_bstr(), DEEPEST, &mut found),
                Err(error) => found.push(error),
            }
        }
        found
    }

    /// Adds the symlinks below the directory `name`, if it is one, to `found`.
    fn symlinks_in(&self, name: &BStr, deep: usize, found: &mut Vec<Error>) {
        let Ok(dir) = self.dir.enter(name) else { return };
        let below = Self { path: self.path.join(name.to_path_lossy()), dir };
        for (name, kind) in below.dir.kinds().unwrap_or_default() {
            match kind {
                FileKind::Symlink if !name.ends_with(ASIDE.as_bytes()) => {
                    found.push(not_ours(&below.path.join(name.to_path_lossy()), true, false));
                }
                FileKind::Directory if deep > 0 => {
                    below.symlinks_in(name.as_bstr(), deep - 1, found);
                }
                _ => {}
            }
        }
    }

    /// The names that are here, each with whether it can be used. For `aye/` itself.
    pub(crate) fn contents(&self) -> Vec<(BString, Result<()>)> {
        let mut found = Vec::new();
        for (name, kind) in self.dir.kinds().unwrap_or_default() {
            let directory = DIRECTORIES.iter().any(|known| name == *known);
            let expected = if directory { FileKind::Directory } else { FileKind::File };
            let usable = if kind == expected {
                Ok(())
            } else {
                let path = self.path.join(name.to_path_lossy());
                Err(not_ours(&path, kind == FileKind::Symlink, directory))
            };
            found.push((name, usable));
        }
        found.sort_unstable_by(|(a, _), (b, _)| a.cmp(b));
        found
    }

    fn refused(&self, name: &BStr, directory: bool, what: &str, error: &io::Error) -> Error {
        let path = self.path.join(name.to_path_lossy());
        let expected = if directory { FileKind::Directory } else { FileKind::File };
        match self.dir.stat(name) {
            Ok(found) if found.kind != expected || (!directory && found.links > 1) => {
                not_ours(&path, found.kind == FileKind::Symlink, directory)
            }
            _ => Error::io(format_args!("{what} {}", path.display()), error),
        }
    }
}

/// Checks that `path`, a file for a library that opens it by name, is a regular file of one name, or
/// missing. Returns whether it is there.
///
/// # Errors
/// `private_dir_unsafe`.
pub(crate) fn check_file(path: &Path) -> Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() || !is_alone(&found) => {
            Err(not_ours(path, found.is_symlink(), false))
        }
        found => Ok(found.is_ok()),
    }
}

fn is_alone(found: &fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(found) <= 1
}

fn not_ours(path: &Path, symlink: bool, directory: bool) -> Error {
    let shown = path.display();
    let (what, remedy) = match (symlink, directory) {
        (true, _) => ("is a symlink, which aye does not follow", "remove the symlink"),
        (false, true) => ("is not a directory", "look at it, then remove it"),
        (false, false) => ("is not a regular file of one name", "look at it, then remove it"),
    };
    Error::new(&codes::PRIVATE_DIR_UNSAFE, format!("{shown} {what}"))
        .with("path", shown.to_string())
        .hint(format!("{remedy}: {shown}"))
}
