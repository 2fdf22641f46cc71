//! Writes and removes single files and directories.

use std::io::{self, ErrorKind};
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};

use super::directories::{Directories, parent};
use super::{Worktree, cannot_write, changed, not_a_directory};
use crate::beneath::{self, Dir, DirectoryLookup, FileKind, NewFile, Stamp};
use crate::changeset::{File, Mode, RepoPath};
use crate::error::{Error, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flush {
    /// For content that can be recreated.
    No,
    /// The content survives a power loss after the call.
    Yes,
}

pub const TEMPORARY: &str = ".aye-tmp-";

pub fn is_temporary(name: &[u8]) -> bool {
    let is_random = |text: &[u8]| {
        text.len() == 16 && text.iter().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    };
    name.strip_prefix(TEMPORARY.as_bytes()).is_some_and(is_random)
}

impl Worktree {
    /// Writes one file atomically: a reader sees the old content or the new.
    ///
    /// Creates directories as needed. An existing file keeps its permissions; only the executable
    /// bits follow `mode`. On an error the file is as before.
    pub fn write_file(
        &self,
        path: &RepoPath,
        bytes: &[u8],
        mode: Mode,
        flush: Flush,
    ) -> Result<()> {
        self.write_in(&mut Directories::new(&self.root), path, bytes, mode, flush)
    }

    /// For files that can be recreated; stops at the first error.
    pub fn write_files(&self, files: &[(RepoPath, Vec<u8>)]) -> Result<()> {
        let mut directories = Directories::new(&self.root);
        let mut write = |(path, bytes): &(RepoPath, Vec<u8>)| {
            self.write_in(&mut directories, path, bytes, Mode::Regular, Flush::No)
        };
        files.iter().try_for_each(&mut write)
    }

    fn write_in(
        &self,
        directories: &mut Directories<'_>,
        path: &RepoPath,
        bytes: &[u8],
        mode: Mode,
        flush: Flush,
    ) -> Result<()> {
        let directory = make_directory(directories, path)?;
        let existing = match directory.stat(path.file_name()) {
            Ok(stamp) => Some(stamp),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(cannot_write(path, &error)),
        };
        if let Some(stamp) = &existing {
            super::refuse_unless_file(&self.root, path, stamp)?;
            super::refuse_shared(path, stamp)?;
        }
        let new = new_file(existing.as_ref(), mode);
        let temporary = BString::from(format!("{TEMPORARY}{:016x}", beneath::random_id()));
        let done = crate::failpoint!("worktree.create", io)
            .and_then(|()| directory.create(temporary.as_bstr(), bytes, new))
            .and_then(|file| if flush == Flush::Yes { file.sync_data() } else { Ok(()) })
            .and_then(|()| crate::failpoint!("worktree.rename", io))
            .and_then(|()| directory.rename(temporary.as_bstr(), &directory, path.file_name()));
        if let Err(error) = done {
            let _ = directory.unlink(temporary.as_bstr());
            return Err(cannot_write(path, &error));
        }
        Ok(())
    }

    /// Writes as a checkout would; unchanged lines keep their endings.
    pub fn write_stored(&self, path: &RepoPath, file: &File) -> Result<()> {
        let present = self.read(&mut Directories::new(&self.root), path)?;
        let stored = match &present {
            Some((now, _)) => self.to_git(path, &now.bytes)?,
            None => None,
        };
        let now = present.as_ref().map(|(now, _)| {
            let raw = now.bytes.as_slice();
            (raw, stored.as_deref().unwrap_or(raw))
        });
        let bytes = self.to_disk(path, now, &file.bytes)?;
        self.write_file(path, bytes.as_deref().unwrap_or(&file.bytes), file.mode, Flush::No)
    }

    /// Also removes directories above that became empty. Returns `false` if the file did not exist.
    pub fn remove_file(&self, path: &RepoPath) -> Result<bool> {
        let mut directories = Directories::new(&self.root);
        let DirectoryLookup::Directory(directory) = directories.parent_of(path)? else {
            return Ok(false);
        };
        match directory.stat(path.file_name()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(cannot_remove(path.as_bstr(), &error)),
            Ok(stamp) => super::refuse_unless_file(&self.root, path, &stamp)?,
        }
        crate::failpoint!("worktree.remove", io)
            .and_then(|()| directory.unlink(path.file_name()))
            .map_err(|error| cannot_remove(path.as_bstr(), &error))?;
        remove_empty(&mut directories, parent(path.as_bstr()), BStr::new(""));
        Ok(true)
    }

    /// Unlinks symlinks inside; refuses a repository inside. Returns `false` if missing.
    pub fn remove_dir_all(&self, path: &RepoPath) -> Result<bool> {
        let mut directories = Directories::new(&self.root);
        let DirectoryLookup::Directory(outer) = directories.parent_of(path)? else {
            return Ok(false);
        };
        match outer.stat(path.file_name()) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
            Err(error) => return Err(cannot_remove(path.as_bstr(), &error)),
            Ok(stamp) if stamp.kind == FileKind::Directory => {}
            Ok(stamp) => {
                super::refuse_unless_file(&self.root, path, &stamp)?;
                return Err(not_a_directory(path, path.as_bstr()));
            }
        }
        let inner = match directories.at(path.as_bstr())? {
            DirectoryLookup::Directory(inner) => inner,
            DirectoryLookup::Missing(_) | DirectoryLookup::Blocked(_) => {
                return Err(changed(path, "was replaced while it was removed"));
            }
        };
        empty(&inner, path.as_bstr())?;
        outer.rmdir(path.file_name()).map_err(|error| cannot_remove(path.as_bstr(), &error))?;
        Ok(true)
    }

    /// Sorted; empty if the directory does not exist.
    ///
    /// # Errors
    /// `symlink_in_way`, `in_submodule`.
    pub fn names(&self, path: &RepoPath) -> Result<Vec<BString>> {
        self.names_in(&mut Directories::new(&self.root), path)
    }

    pub(super) fn names_in(
        &self,
        directories: &mut Directories<'_>,
        path: &RepoPath,
    ) -> Result<Vec<BString>> {
        match directories.at(path.as_bstr())? {
            DirectoryLookup::Directory(directory) => {
                let mut names =
                    directory.names().map_err(|error| super::cannot_read(path, &error))?;
                names.sort_unstable();
                Ok(names)
            }
            DirectoryLookup::Missing(_) | DirectoryLookup::Blocked(_) => Ok(Vec::new()),
        }
    }
}

fn empty(directory: &Dir, path: &BStr) -> Result<()> {
    let names = directory.names().map_err(|error| cannot_remove(path, &error))?;
    if names.iter().any(|name| name == ".git") {
        return Err(Error::new(
            &beneath::codes::SUBMODULE,
            format!("{path} is another repository"),
        )
        .with("path", path.to_string())
        .hint("aye does not remove repositories"));
    }
    for name in names {
        let mut inside = BString::from(path);
        inside.push(b'/');
        inside.extend_from_slice(&name);
        let failed = |error: io::Error| cannot_remove(inside.as_bstr(), &error);
        if directory.stat(name.as_bstr()).map_err(failed)?.kind == FileKind::Directory {
            empty(&directory.open_directory(name.as_bstr()).map_err(failed)?, inside.as_bstr())?;
            directory.rmdir(name.as_bstr()).map_err(failed)?;
        } else {
            crate::failpoint!("worktree.remove", io)
                .and_then(|()| directory.unlink(name.as_bstr()))
                .map_err(failed)?;
        }
    }
    Ok(())
}

/// Opens the directory of `path`, created if missing.
pub fn make_directory(directories: &mut Directories<'_>, path: &RepoPath) -> Result<Rc<Dir>> {
    // Other processes may create or remove directories meanwhile. More rounds than directories mean
    // that one persists.
    for _ in 0..path.as_bstr().len() + 8 {
        let missing = match directories.parent_of(path)? {
            DirectoryLookup::Directory(directory) => return Ok(directory),
            DirectoryLookup::Blocked(file) => return Err(not_a_directory(path, file.as_bstr())),
            DirectoryLookup::Missing(so_far) => so_far,
        };
        if let DirectoryLookup::Directory(directory) = directories.at(missing.as_bstr())? {
            let start = missing.len() + usize::from(!missing.is_empty());
            make_beneath(&directory, parent(path.as_bstr())[start..].as_bstr())
                .map_err(|error| cannot_write(path, &error))?;
        }
    }
    Err(changed(path, "lies in a directory that keeps vanishing"))
}

/// Stops without an error when another process interferes.
fn make_beneath(directory: &Dir, path: &BStr) -> io::Result<()> {
    let mut above: Option<Dir> = None;
    for name in path.split(|b| *b == b'/').map(ByteSlice::as_bstr) {
        let directory = above.as_ref().unwrap_or(directory);
        match crate::failpoint!("worktree.mkdir", io).and_then(|()| directory.mkdir(name)) {
            Ok(()) => {}
            Err(error)
                if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) =>
            {
                return Ok(());
            }
            Err(error) => return Err(error),
        }
        match directory.open_directory(name) {
            Ok(next) => above = Some(next),
            Err(_) => return Ok(()),
        }
    }
    Ok(())
}

/// Removes empty directories from `path` up to `top`, which stays, as git does. A failure means
/// that the directory has other files.
pub fn remove_empty(directories: &mut Directories<'_>, path: &BStr, top: &BStr) {
    let (mut path, mut step) = (path, 1);
    while path.len() > top.len() {
        let mut chain: Vec<&BStr> = vec![path];
        let above = loop {
            let above = parent(chain[chain.len() - 1]);
            if chain.len() == step || above.len() <= top.len() {
                break above;
            }
            chain.push(above);
        };
        let removed = match directories.at(above) {
            Ok(DirectoryLookup::Directory(directory)) => {
                remove_chain(directories, directory, &chain)
            }
            // An interrupted run may have removed it.
            Ok(DirectoryLookup::Missing(_)) => true,
            _ => false,
        };
        if !removed {
            return;
        }
        // Mostly the next directory is not empty. If it is, a chain saves resolving each from the
        // root.
        (path, step) = (above, CHAIN);
    }
}

/// Directories held open at once.
const CHAIN: usize = 32;

/// Each directory of `chain` lies in the next one, the last in `above`. Returns `false` if one
/// cannot be removed.
fn remove_chain(directories: &mut Directories<'_>, above: Rc<Dir>, chain: &[&BStr]) -> bool {
    let name = |path: &BStr| path[path.rfind_byte(b'/').map_or(0, |slash| slash + 1)..].to_owned();
    let mut open = vec![above];
    for path in chain[1..].iter().rev() {
        match open[open.len() - 1].open_directory(name(path).as_bstr()) {
            Ok(next) => open.push(Rc::new(next)),
            Err(_) => break,
        }
    }
    // A directory that could not be entered is gone, or its removal fails.
    for (directory, path) in open.iter().zip(chain.iter().rev()).rev() {
        directories.forget(path);
        match directory.rmdir(name(path).as_bstr()) {
            Err(error) if error.kind() != ErrorKind::NotFound => return false,
            _ => {}
        }
    }
    true
}

pub fn new_file(existing: Option<&Stamp>, mode: Mode) -> NewFile {
    let executable = mode == Mode::Executable;
    let permissions = existing.map(|stamp| match (stamp.permissions & 0o777, executable) {
        (bits, true) if bits & 0o100 != 0 => bits,
        // Readers may also execute.
        (bits, true) => bits | (bits & 0o444) >> 2,
        (bits, false) => bits & !0o111,
    });
    NewFile { permissions, executable }
}

pub fn cannot_remove(path: &BStr, error: &io::Error) -> Error {
    Error::io(format_args!("remove {path}"), error)
}
