//! Systems without directory descriptors: each component is looked at before each step. A swap
//! between the look and the step is not excluded there.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice, ByteVec};

use super::{Access, Content, FileKind, NewFile, Place, Stamp, codes};
use crate::error::{Error, Result};

/// The top directory.
#[derive(Clone, Debug)]
pub struct Root {
    path: PathBuf,
    submodules: BTreeSet<BString>,
}

/// A directory beneath the root.
#[derive(Debug)]
pub struct Dir {
    path: PathBuf,
}

/// Notes the directory at `path`; the last component must not be a symlink, those above may be.
pub fn open_last(path: &Path) -> io::Result<Dir> {
    match fs::symlink_metadata(path)?.is_dir() {
        true => Ok(Dir { path: path.into() }),
        false => Err(io::ErrorKind::NotADirectory.into()),
    }
}

impl Root {
    /// Notes the directory at `path`, which must exist.
    pub fn open(path: &Path) -> io::Result<Self> {
        match fs::metadata(path)?.is_dir() {
            true => Ok(Self { path: path.into(), submodules: BTreeSet::new() }),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// The directory at `path` (empty: the root), reached without following symlinks.
    ///
    /// # Errors
    /// `symlink_in_way`, `in_submodule`, or the system's refusal.
    pub fn directory(&self, path: &BStr) -> Result<Place<Dir>> {
        let mut here = self.path.clone();
        let mut end = 0;
        for name in path.split(|b| *b == b'/').filter(|name| !name.is_empty()) {
            let done = path[..end].as_bstr();
            end += name.len() + usize::from(end > 0);
            here.push(name.to_path_lossy());
            let so_far = path[..end].as_bstr();
            match fs::symlink_metadata(&here) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Place::Missing(done.into()));
                }
                Err(error) => {
                    return Err(Error::io(format_args!("open the directory {so_far}"), &error));
                }
                Ok(found) if found.is_symlink() => {
                    return Err(Error::new(
                        &codes::SYMLINK,
                        format!("the path leads through the symlink {so_far}"),
                    )
                    .hint("name the real directory; aye follows no symlink"));
                }
                Ok(found) if !found.is_dir() => return Ok(Place::Blocked(so_far.into())),
                Ok(_) if self.is_repository(so_far) => {
                    return Err(Error::new(
                        &codes::SUBMODULE,
                        format!("{so_far} is a submodule or another repository"),
                    )
                    .hint("run aye inside that repository"));
                }
                Ok(_) => {}
            }
        }
        Ok(Place::Directory(Rc::new(Dir { path: here })))
    }

    /// None: here a directory is its path, which [`Root::directory`] looks at as a whole.
    pub fn directory_in(&self, _above: &Dir, _path: &BStr) -> Option<Rc<Dir>> {
        None
    }

    /// True if `path` is a known submodule, checked out or not.
    pub fn is_submodule(&self, path: &BStr) -> bool {
        self.submodules.contains(path)
    }

    /// Adds paths that are submodules whether or not they are checked out.
    pub fn add_submodules(&mut self, paths: impl IntoIterator<Item = BString>) {
        self.submodules.extend(paths);
    }

    /// True if the directory at `path` is a known submodule or holds a `.git` of its own.
    pub fn is_repository(&self, path: &BStr) -> bool {
        if self.is_submodule(path) {
            return true;
        }
        self.path.join(path.to_path_lossy()).join(".git").symlink_metadata().is_ok()
    }
}

impl Dir {
    fn of(&self, name: &BStr) -> PathBuf {
        self.path.join(name.to_path_lossy())
    }

    /// What has the name, not following it.
    pub fn stat(&self, name: &BStr) -> io::Result<Stamp> {
        Ok(stamp(&fs::symlink_metadata(self.of(name))?))
    }

    /// The regular file of that name, if it has at most `limit` bytes.
    pub fn read(&self, name: &BStr, limit: u64) -> io::Result<Content> {
        let stamp = match self.stat(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::Missing),
            other => other?,
        };
        if stamp.kind != FileKind::File {
            return Ok(Content::Other(stamp));
        }
        let mut bytes = Vec::new();
        fs::File::open(self.of(name))?.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > limit {
            return Ok(Content::TooLarge(stamp.size));
        }
        Ok(Content::File(bytes, stamp))
    }

    /// Makes a file that must not exist yet; returns it for whoever wants it flushed.
    pub fn create(&self, name: &BStr, bytes: &[u8], _new: NewFile) -> io::Result<fs::File> {
        let mut file = fs::File::options().write(true).create_new(true).open(self.of(name))?;
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Opens a regular file of the git directory, never a symlink, pipe or device.
    pub fn open(&self, name: &BStr, access: Access) -> io::Result<fs::File> {
        let mut options = fs::File::options();
        match access {
            Access::Read => options.read(true),
            Access::Lock => options.read(true).write(true).create(true).truncate(false),
            Access::New => options.write(true).create_new(true),
        };
        match self.stat(name) {
            Ok(stamp) if stamp.kind != FileKind::File => Err(io::ErrorKind::InvalidInput.into()),
            _ => options.open(self.of(name)),
        }
    }

    /// Makes a directory of the git directory.
    pub fn mkdir_shared(&self, name: &BStr) -> io::Result<()> {
        self.mkdir(name)
    }

    /// Lets the owner empty the directory of that name: permissions do not stop that here.
    pub fn unlock(&self, name: &BStr) -> io::Result<()> {
        self.enter(name).map(drop)
    }

    /// What the directory itself is.
    pub fn own_stat(&self) -> io::Result<Stamp> {
        Ok(stamp(&fs::symlink_metadata(&self.path)?))
    }

    /// The names in it and what they are, in no order.
    pub fn kinds(&self) -> io::Result<Vec<(BString, FileKind)>> {
        let kind = |name: BString| self.stat(name.as_bstr()).map(|stamp| (name, stamp.kind));
        self.names()?.into_iter().map(kind).collect()
    }

    /// Renames, replacing what has the new name.
    pub fn rename(&self, name: &BStr, to: &Self, to_name: &BStr) -> io::Result<()> {
        fs::rename(self.of(name), to.of(to_name))
    }

    /// Renames; fails with `AlreadyExists` where something has the new name.
    pub fn rename_new(&self, name: &BStr, to: &Self, to_name: &BStr) -> io::Result<()> {
        match to.stat(to_name) {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => self.rename(name, to, to_name),
        }
    }

    /// Never possible in one step.
    pub fn exchange(&self, _name: &BStr, _with: &Self, _with_name: &BStr) -> io::Result<bool> {
        Ok(false)
    }

    /// Gives a file a second name.
    pub fn link(&self, name: &BStr, to: &Self, to_name: &BStr) -> io::Result<()> {
        fs::hard_link(self.of(name), to.of(to_name))
    }

    /// Removes a name that is not a directory.
    pub fn unlink(&self, name: &BStr) -> io::Result<()> {
        fs::remove_file(self.of(name))
    }

    /// Makes a directory.
    pub fn mkdir(&self, name: &BStr) -> io::Result<()> {
        fs::create_dir(self.of(name))
    }

    /// Removes an empty directory.
    pub fn rmdir(&self, name: &BStr) -> io::Result<()> {
        fs::remove_dir(self.of(name))
    }

    /// The directory of that name, which must not be a symlink.
    pub fn enter(&self, name: &BStr) -> io::Result<Self> {
        match self.stat(name)?.kind {
            FileKind::Directory => Ok(Self { path: self.of(name) }),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// True if there is no name in it.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(fs::read_dir(&self.path)?.next().transpose()?.is_none())
    }

    /// The names in it, in no order.
    pub fn names(&self) -> io::Result<Vec<BString>> {
        fs::read_dir(&self.path)?
            .map(|entry| Ok(Vec::from_path_lossy(entry?.file_name().as_ref()).into_owned().into()))
            .collect()
    }
}

fn stamp(found: &fs::Metadata) -> Stamp {
    let written = found
        .modified()
        .ok()
        .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok())
        .unwrap_or_default();
    Stamp {
        kind: match () {
            () if found.is_symlink() => FileKind::Symlink,
            () if found.is_dir() => FileKind::Directory,
            () if found.is_file() => FileKind::File,
            () => FileKind::Special,
        },
        identity: (0, 0),
        size: found.len(),
        written: (written.as_secs() as i64, written.subsec_nanos()),
        permissions: if found.permissions().readonly() { 0o444 } else { 0o644 },
        links: 1,
    }
}
