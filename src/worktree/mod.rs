//! Safe, atomic reads and writes inside the repository.
//!
//! Directories are opened without following a symlink, and files are named relative to them. No
//! path leaves the root, whatever is swapped meanwhile. Anything but a regular file with one name
//! is refused with its own code.
//!
//! `Worktree::write_file` writes one file: a temporary file, renamed over the target. `journal`
//! writes several files as one change.

mod compare;
mod convert;
mod directories;
pub(crate) mod index;
pub mod journal;
pub mod processors;
mod read_ahead;
mod tree_identity;
mod workers;
mod write;

use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};

use crate::beneath::{self, Content, DirectoryLookup, FileKind, Root, Stamp};
use crate::changeset::{File, FileChange, Mode, RepoPath, Snapshot, size as file_size};
use crate::error::{Error, Result, codes as common};
pub use convert::Conversion;
use directories::Directories;
use journal::Checksum;
use read_ahead::ReadAhead;
pub use write::{Flush, TEMPORARY, is_temporary};

pub mod codes {
    crate::codes! {
        SPECIAL_FILE = "special_file", Invalid, "the path is a device, pipe or socket";
        HARD_LINK = "hard_link", Invalid, "the file has several hard links; a write would break or change the others";
        SETUID = "setuid_file", Invalid, "the file has the setuid, setgid or sticky bit, which a write would drop";
        NOT_A_DIRECTORY = "not_a_directory", Invalid, "a file has the path of a directory";
        FILE_CHANGED = "file_changed", Conflict, "a file changed during the command";
        DIRECTORY_NOT_EMPTY = "directory_not_empty", Conflict, "a directory in the place of a file has other files";
        APPLY_BUSY = "apply_busy", Busy, "another process is writing files of this repository";
        INDEX_LOCKED = "index_locked", Busy, "another git process holds the index";
        JOURNAL_FOREIGN = "journal_foreign", Conflict, "the journal of an interrupted write belongs to another work tree or user; aye ignores it";
        JOURNAL_INVALID = "journal_invalid", Conflict, "the journal of an interrupted write cannot be read";
    }
}

/// Default limit for reading: 10 MiB.
pub const DEFAULT_SIZE_LIMIT: u64 = 10 * 1024 * 1024;

#[derive(Debug)]
pub struct Worktree {
    path: PathBuf,
    root: Root,
    size_limit: u64,
    conversion: Option<Box<dyn Conversion>>,
}

impl Worktree {
    /// Only the root itself may be reached through symlinks.
    pub fn open(root: &Path) -> Result<Self> {
        let failed = |error: std::io::Error| {
            Error::io(format_args!("open the work tree {}", root.display()), &error)
        };
        let path = std::path::absolute(root).map_err(failed)?;
        let root = Root::open(&path).map_err(failed)?;
        Ok(Self { path, root, size_limit: DEFAULT_SIZE_LIMIT, conversion: None })
    }

    #[must_use]
    pub fn with_size_limit(mut self, bytes: u64) -> Self {
        self.size_limit = bytes;
        self
    }

    /// A submodule that is not checked out is empty or missing: the disk does not show it.
    #[must_use]
    pub fn with_submodules(mut self, paths: impl IntoIterator<Item = BString>) -> Self {
        self.root.add_submodules(paths);
        self
    }

    pub fn root(&self) -> &Path {
        &self.path
    }

    /// Refuses what `Snapshot::file` refuses, hard links, and setuid, setgid or sticky files.
    ///
    /// The rename would cut a hard link, whose other name may lie outside the repository.
    ///
    /// # Errors
    /// `hard_link`, `setuid_file`, `not_a_directory`.
    pub fn check_writable(&self, path: &RepoPath) -> Result<()> {
        let mut directories = Directories::new(&self.root);
        match directories.parent_of(path)? {
            DirectoryLookup::Blocked(file) => Err(not_a_directory(path, file.as_bstr())),
            DirectoryLookup::Missing(_) => Ok(()),
            DirectoryLookup::Directory(directory) => match directory.stat(path.file_name()) {
                Ok(stamp) => {
                    refuse_unless_file(&self.root, path, &stamp)?;
                    refuse_shared(path, &stamp)
                }
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
                Err(error) => Err(cannot_read(path, &error)),
            },
        }
    }

    /// Refuses a new file in a submodule that is not checked out, or blocked by a file that the
    /// changes do not remove.
    ///
    /// # Errors
    /// `not_a_directory`, `in_submodule`.
    pub fn check_directories(&self, changes: &[FileChange]) -> Result<()> {
        let mut directories = Directories::new(&self.root);
        for change in changes.iter().filter(|change| change.before.is_none()) {
            let place = directories.parent_of(&change.path)?;
            self.refuse_submodule(&change.path, &place)?;
            if let DirectoryLookup::Blocked(file) = place
                && !changes
                    .iter()
                    .any(|other| other.path.as_bstr() == file && other.after.is_none())
            {
                return Err(not_a_directory(&change.path, file.as_bstr()));
            }
        }
        Ok(())
    }

    fn read(
        &self,
        directories: &mut Directories<'_>,
        path: &RepoPath,
    ) -> Result<Option<(File, Stamp)>> {
        let found = read(&self.root, directories, path, self.size_limit)?;
        Ok(found.map(|found| self.file_of(path, found)))
    }

    fn file_of(&self, path: &RepoPath, (bytes, stamp): RawFile) -> (File, Stamp) {
        (File { bytes, mode: self.mode(path, &stamp) }, stamp)
    }
}

/// Not converted.
type RawFile = (Vec<u8>, Stamp);

fn read(
    root: &Root,
    directories: &mut Directories<'_>,
    path: &RepoPath,
    limit: u64,
) -> Result<Option<RawFile>> {
    let DirectoryLookup::Directory(directory) = directories.parent_of(path)? else {
        return Ok(None);
    };
    let content =
        directory.read(path.file_name(), limit).map_err(|error| cannot_read(path, &error))?;
    match content {
        Content::Missing => Ok(None),
        Content::File(bytes, stamp) => Ok(Some((bytes, stamp))),
        Content::TooLarge(size) => Err(too_large(path, size, limit)),
        Content::Other(stamp) => {
            refuse_unless_file(root, path, &stamp)?;
            Err(changed(path, "was replaced while it was read"))
        }
    }
}

/// Reads many files of a `Worktree` in path order; `journal::Journal::apply` need not read them
/// again. It serves one planning: it may miss a file that is removed and recreated meanwhile.
#[derive(Debug)]
pub struct Reader<'tree> {
    tree: &'tree Worktree,
    directories: RefCell<Directories<'tree>>,
    ahead: RefCell<Option<ReadAhead>>,
    seen: RefCell<HashMap<RepoPath, ReadFile>>,
}

/// Tells without reading if a file is unchanged.
#[derive(Debug)]
struct ReadFile {
    stamp: Stamp,
    /// Sum of git's form.
    sum: Checksum,
    /// Bytes on the disk, where they differ from git's.
    raw: Option<Vec<u8>>,
}

impl Worktree {
    pub fn reader(&self) -> Reader<'_> {
        Reader {
            tree: self,
            directories: RefCell::new(Directories::new(&self.root)),
            ahead: RefCell::default(),
            seen: RefCell::default(),
        }
    }
}

impl Reader<'_> {
    pub fn names(&self, path: &RepoPath) -> Result<Vec<BString>> {
        self.tree.names_in(&mut self.directories.borrow_mut(), path)
    }
}

impl Snapshot for Reader<'_> {
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        let mut directories = self.directories.borrow_mut();
        let mut ahead = self.ahead.borrow_mut();
        let found = match ahead.as_mut().and_then(|ahead| ahead.take(&mut directories, path)) {
            Some(found) => Some(self.tree.file_of(path, found)),
            None => self.tree.read(&mut directories, path)?,
        };
        let Some((mut file, stamp)) = found else { return Ok(None) };
        let raw = self
            .tree
            .to_git(path, &file.bytes)?
            .map(|stored| std::mem::replace(&mut file.bytes, stored));
        let sum = Checksum::of(&file.bytes);
        self.seen.borrow_mut().insert(path.clone(), ReadFile { stamp, sum, raw });
        Ok(Some(file))
    }

    fn base(&self) -> Option<&dyn Snapshot> {
        Some(self.tree)
    }

    fn expect(&self, paths: &[&RepoPath]) {
        *self.ahead.borrow_mut() = ReadAhead::start(&self.tree.root, paths, self.tree.size_limit);
    }
}

impl Snapshot for Worktree {
    /// In git's form; `None` also if a directory above is missing or a file.
    fn file(&self, path: &RepoPath) -> Result<Option<File>> {
        self.reader().file(path)
    }

    fn announce(&self, changes: &[FileChange]) -> Result<()> {
        Self::expect(self, changes.iter().map(|change| (&change.path, change.after.as_ref())))
    }

    fn stored(&self, path: &RepoPath, bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(present) = self.conversion.as_deref() else { return Ok(None) };
        present.after_writes().unwrap_or(present).to_git(path, bytes)
    }

    fn merges_lines(&self, path: &RepoPath) -> Result<bool> {
        self.conversion.as_ref().map_or(Ok(true), |conversion| conversion.merges_lines(path))
    }
}

fn at(code: &'static crate::error::Code, path: &RepoPath, what: &str) -> Error {
    Error::new(code, format!("{} {what}", path.display())).with("path", path.display().to_string())
}

fn mode(stamp: &Stamp) -> Mode {
    if stamp.executable() { Mode::Executable } else { Mode::Regular }
}

fn refuse_unless_file(root: &Root, path: &RepoPath, stamp: &Stamp) -> Result<()> {
    match stamp.kind {
        FileKind::File => Ok(()),
        FileKind::Symlink => Err(at(&beneath::codes::SYMLINK, path, "is a symlink")
            .hint("name the file it points to; aye writes regular files only")),
        FileKind::Directory if root.is_repository(path.as_bstr()) => Err(in_submodule(path)),
        FileKind::Directory => Err(at(&crate::changeset::codes::DIRECTORY, path, "is a directory")
            .hint("name a file in it")),
        FileKind::Special => Err(at(&codes::SPECIAL_FILE, path, "is a device, pipe or socket")
            .hint("aye writes regular files only")),
    }
}

fn refuse_shared(path: &RepoPath, stamp: &Stamp) -> Result<()> {
    if stamp.links > 1 {
        return Err(at(&codes::HARD_LINK, path, "has more than one hard link")
            .hint("writing it would cut the link; replace the file by a copy of itself first"));
    }
    if stamp.permissions & 0o7000 != 0 {
        return Err(at(&codes::SETUID, path, "has the setuid, setgid or sticky bit")
            .hint("take the bit off first (chmod), or edit the file by hand"));
    }
    Ok(())
}

fn in_submodule(path: &RepoPath) -> Error {
    at(&beneath::codes::SUBMODULE, path, "is, or lies in, a submodule or another repository")
        .hint("run aye inside that repository")
}

fn not_a_directory(path: &RepoPath, file: &BStr) -> Error {
    at(&codes::NOT_A_DIRECTORY, path, &format!("needs a directory where the file {file} is"))
        .hint("delete or move that file in the same change")
}

fn cannot_read(path: &RepoPath, error: &std::io::Error) -> Error {
    Error::io(format_args!("read {}", path.display()), error)
}

fn cannot_write(path: &RepoPath, error: &std::io::Error) -> Error {
    Error::io(format_args!("write {}", path.display()), error)
}

fn changed(path: &RepoPath, what: &str) -> Error {
    at(&codes::FILE_CHANGED, path, what).hint("nothing was written; run the command again")
}

fn unplanned(path: &RepoPath) -> Error {
    changed(path, "has changed since the change was planned")
}

/// The message without the path; for too large a file with the setting.
pub fn describe_refusal(path: &str, error: &Error) -> String {
    let message = error.message();
    let message =
        message.strip_prefix(path).and_then(|rest| rest.strip_prefix(' ')).unwrap_or(message);
    match error.hint_text().filter(|_| error.is(&common::SIZE_LIMIT)) {
        Some(hint) => format!("{message}: {hint}"),
        None => message.to_owned(),
    }
}

fn too_large(path: &RepoPath, size: u64, limit: u64) -> Error {
    at(&common::SIZE_LIMIT, path, &format!("has {size} bytes, over the limit of {limit}"))
        .with("size", size)
        .with("limit", limit)
        .hint(format!(
            "raise it with `git config aye.maxFileSize {}` if the file is meant to be that big",
            file_size::setting_for(size)
        ))
}

#[cfg(test)]
mod tests;
