//! `aye/` in the git directory, for data outside git objects.
//!
//! A sandboxed agent may be able to write `.git`, but nothing outside the repository. Files here
//! are therefore never believed, and no name leads elsewhere: directories are opened without
//! following symlinks. Only the git directory itself may be reached through symlinks, as git
//! allows.

use std::fs;
use std::io::{self, ErrorKind, Read as _, Write as _};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::beneath::{Access, Dir, FileKind, open_last};
use crate::error::{Error, Result};

pub mod codes {
    crate::codes! {
        PRIVATE_DIR_UNSAFE = "private_dir_unsafe", Refused, "a symlink or a file of the wrong kind is in aye's own directory";
    }
}

/// Largest file read: 256 MiB.
pub(crate) const LIMIT: u64 = 1 << 28;

/// Directories in `aye/`; all other names are files.
const DIRECTORIES: &[&str] = &["broken", "edited", "journal", "sessions", "try"];

/// Directories with foreign files: repair's and trials'.
const OTHERS: &[&str] = &["broken", "try"];

/// Suffix of journals set aside by a repair.
const ASIDE: &str = ".bad";

/// Maximum depth of aye's own files.
const DEEPEST: usize = 8;

#[derive(Debug)]
pub struct PrivateDirectory {
    path: PathBuf,
    dir: Dir,
}

impl PrivateDirectory {
    /// Opens `path`, whose last component must not be a symlink; `None` if missing.
    ///
    /// # Errors
    /// `private_dir_unsafe` if it is not a directory.
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

    /// Opens `path`, created if missing.
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

    /// Opens a subdirectory; `None` if missing.
    pub fn inside(&self, name: &str) -> Result<Option<Self>> {
        let path = self.path.join(name);
        match self.dir.open_directory(name.into()) {
            Ok(dir) => Ok(Some(Self { path, dir })),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(self.refused(name.into(), true, "open", &error)),
        }
    }

    /// Opens a subdirectory, created if missing.
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

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// # Errors
    /// `private_dir_unsafe` unless it is a regular file.
    pub(crate) fn file(&self, name: &BStr, access: Access) -> Result<fs::File> {
        self.dir.open(name, access).map_err(|error| self.refused(name, false, "open", &error))
    }

    /// Reads a regular file; `None` if missing.
    ///
    /// # Errors
    /// `private_dir_unsafe` for another kind, `size_limit_exceeded`.
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

    /// Replaces a file atomically.
    pub fn replace(&self, name: &str, bytes: &[u8], flush: bool) -> Result<()> {
        self.replace_after(name, bytes, flush, |_| Ok(()))
    }

    /// Calls `then` between writing and renaming; its error replaces nothing.
    pub(crate) fn replace_after(
        &self,
        name: &str,
        bytes: &[u8],
        flush: bool,
        then: impl FnOnce(&fs::File) -> Result<()>,
    ) -> Result<()> {
        let temporary = BString::from(format!(".{name}-{:016x}", crate::beneath::random_id()));
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

    /// Unlinks a file or symlink.
    pub fn remove(&self, name: &str) {
        let _ = self.dir.unlink(name.into());
    }

    /// Entries not created by aye: files of the wrong kind, and symlinks outside trials and
    /// repaired data. For `aye/` itself.
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

    /// Adds the symlinks below `name`.
    fn symlinks_in(&self, name: &BStr, deep: usize, found: &mut Vec<Error>) {
        let Ok(dir) = self.dir.open_directory(name) else { return };
        let below = Self { path: self.path.join(name.to_path_lossy()), dir };
        for (name, kind) in below.dir.entries_with_kind().unwrap_or_default() {
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

    /// Entries, each with its usability. For `aye/` itself.
    pub(crate) fn contents(&self) -> Vec<(BString, Result<()>)> {
        let mut found = Vec::new();
        for (name, kind) in self.dir.entries_with_kind().unwrap_or_default() {
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

/// Checks that `path`, which a library opens by name, is missing or a regular file without other
/// hard links. Returns `true` if it exists.
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
