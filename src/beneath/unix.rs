//! Unix: directories are open descriptors, names are resolved relative to them.

use std::collections::BTreeSet;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{AtFlags, FileType, Mode, OFlags};
use rustix::io::Errno;

use super::{Access, Content, FileKind, NewFile, Place, Stamp, codes};
use crate::error::{Error, Result};

#[cfg(any(target_os = "linux", target_os = "android"))]
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// The umask for files of the work tree, where the process has a wider one (see [`keep_umask`]).
static KEPT_UMASK: AtomicU32 = AtomicU32::new(0);

/// Says what the umask was before it was widened for the git directory: files of the work tree
/// are still made with `mask`. For the whole process, as the umask itself.
pub fn keep_umask(mask: u32) {
    KEPT_UMASK.store(mask, Ordering::Relaxed);
}

/// The top directory, open.
#[derive(Clone, Debug)]
pub struct Root {
    fd: Arc<OwnedFd>,
    submodules: Arc<BTreeSet<BString>>,
}

/// An open directory beneath the root.
#[derive(Debug)]
pub struct Dir {
    fd: Arc<OwnedFd>,
}

/// Opens the directory at `path`; the last component must not be a symlink, those above may be.
pub fn open_last(path: &Path) -> io::Result<Dir> {
    let flags = DIRECTORY | OFlags::NOFOLLOW;
    Ok(Dir { fd: Arc::new(rustix::fs::open(path, flags, Mode::empty())?) })
}

impl Root {
    /// Opens the directory at `path`, whatever leads there.
    pub fn open(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::open(path, DIRECTORY, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), submodules: Arc::default() })
    }

    /// Opens the directory at `path` (empty: the root) without following symlinks.
    ///
    /// # Errors
    /// `symlink_in_way`, `in_submodule`, or the system's refusal.
    pub fn directory(&self, path: &BStr) -> Result<Place> {
        if path.is_empty() {
            return Ok(Place::Directory(Rc::new(Dir { fd: Arc::clone(&self.fd) })));
        }
        let above = || path.rfind_iter("/").map(|slash| path[..slash].as_bstr());
        let all = || std::iter::once(path).chain(above());
        if let Some(inside) = all().find(|directory| self.is_submodule(directory)) {
            return Err(in_repository(inside));
        }
        // The kernel has no such call, or says no: the walk finds out at which component.
        let Some(fd) = open_beneath(&self.fd, path) else { return self.walk(path) };
        match all().find(|directory| self.is_repository(directory)) {
            Some(inside) => Err(in_repository(inside)),
            None => Ok(Place::Directory(Rc::new(Dir { fd: Arc::new(fd) }))),
        }
    }

    /// The directory at `path` from the one above it, which is open. `None` where it is not a directory to
    /// enter: [`Root::directory`] says why.
    pub fn directory_in(&self, above: &Dir, path: &BStr) -> Option<Rc<Dir>> {
        let name = &path[path.rfind_byte(b'/').map_or(0, |at| at + 1)..];
        if name.is_empty() || self.is_submodule(path) {
            return None;
        }
        let directory = above.enter(name.as_bstr()).ok()?;
        directory.stat(".git".into()).is_err().then(|| Rc::new(directory))
    }

    /// True if `path` is a known submodule, checked out or not.
    pub fn is_submodule(&self, path: &BStr) -> bool {
        self.submodules.contains(path)
    }

    /// Adds paths that are submodules whether or not they are checked out.
    pub fn add_submodules(&mut self, paths: impl IntoIterator<Item = BString>) {
        Arc::make_mut(&mut self.submodules).extend(paths);
    }

    /// True if the directory at `path` is a known submodule or holds a `.git` of its own.
    pub fn is_repository(&self, path: &BStr) -> bool {
        if self.is_submodule(path) {
            return true;
        }
        let mut name = BString::from(path);
        name.extend_from_slice(b"/.git");
        rustix::fs::statat(&self.fd, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Component by component, each relative to the open one before it: as long as the path, where
    /// looking at every directory above by its whole name is as long as its square.
    fn walk(&self, path: &BStr) -> Result<Place> {
        let mut fd = Arc::clone(&self.fd);
        let mut end = 0;
        for name in path.split(|b| *b == b'/') {
            let done = path[..end].as_bstr();
            end += name.len() + usize::from(end > 0);
            let here = path[..end].as_bstr();
            match rustix::fs::openat(&fd, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => fd = Arc::new(next),
                Err(Errno::NOENT) => return Ok(Place::Missing(done.into())),
                Err(error @ (Errno::NOTDIR | Errno::LOOP | Errno::MLINK)) => {
                    return match rustix::fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW) {
                        Ok(stat) if FileType::from_raw_mode(stat.st_mode) == FileType::Symlink => {
                            Err(Error::new(
                                &codes::SYMLINK,
                                format!("the path leads through the symlink {here}"),
                            )
                            .with("path", here.to_string())
                            .hint("name the real directory; aye follows no symlink"))
                        }
                        Ok(_) => Ok(Place::Blocked(here.into())),
                        Err(_) => Err(cannot_open(here, &error.into())),
                    };
                }
                Err(error) => return Err(cannot_open(here, &error.into())),
            }
            if rustix::fs::statat(&fd, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(in_repository(here));
            }
        }
        Ok(Place::Directory(Rc::new(Dir { fd })))
    }
}

fn in_repository(path: &BStr) -> Error {
    Error::new(&codes::SUBMODULE, format!("{path} is a submodule or another repository"))
        .with("path", path.to_string())
        .hint("run aye inside that repository")
}

/// From this many directories on, each is looked at from the one above it.
#[cfg(any(target_os = "linux", target_os = "android"))]
const DEEP: usize = 32;

#[cfg(any(target_os = "linux", target_os = "android"))]
fn open_beneath(root: &OwnedFd, path: &BStr) -> Option<OwnedFd> {
    use rustix::fs::{ResolveFlags, openat2};
    if path.find_iter("/").nth(DEEP).is_some() {
        return None;
    }
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    openat2(root, path.as_bytes(), DIRECTORY, Mode::empty(), resolve).ok()
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn open_beneath(_root: &OwnedFd, _path: &BStr) -> Option<OwnedFd> {
    None
}

impl Dir {
    /// What has the name, not following it.
    pub fn stat(&self, name: &BStr) -> io::Result<Stamp> {
        let stat = rustix::fs::statat(&self.fd, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(stamp(&stat))
    }

    /// The regular file of that name, if it has at most `limit` bytes.
    pub fn read(&self, name: &BStr, limit: u64) -> io::Result<Content> {
        // Looked at before it is opened: opening a device can do something.
        match self.stat(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::Missing),
            Err(error) => return Err(error),
            Ok(stamp) if stamp.kind != FileKind::File => return Ok(Content::Other(stamp)),
            Ok(stamp) if stamp.size > limit => return Ok(Content::TooLarge(stamp.size)),
            Ok(_) => {}
        }
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = match rustix::fs::openat(&self.fd, name.as_bytes(), flags, Mode::empty()) {
            Ok(fd) => fd,
            Err(Errno::NOENT) => return Ok(Content::Missing),
            // Replaced by a symlink since.
            Err(Errno::LOOP | Errno::MLINK) => return self.stat(name).map(Content::Other),
            Err(error) => return Err(error.into()),
        };
        let stamp = stamp(&rustix::fs::fstat(&fd)?);
        if stamp.kind != FileKind::File {
            return Ok(Content::Other(stamp));
        }
        let mut bytes = Vec::with_capacity(stamp.size.min(limit) as usize + 1);
        // In one go: `read_to_end` would begin with small pieces. Less than there is room for means
        // the end of a regular file.
        let read = rustix::io::retry_on_intr(|| {
            rustix::io::read(&fd, rustix::buffer::spare_capacity(&mut bytes))
        })?;
        if read as u64 != stamp.size {
            fs::File::from(fd)
                .take(limit.saturating_add(1).saturating_sub(bytes.len() as u64))
                .read_to_end(&mut bytes)?;
        }
        if bytes.len() as u64 > limit {
            return Ok(Content::TooLarge(bytes.len() as u64));
        }
        Ok(Content::File(bytes, stamp))
    }

    /// Makes a file that must not exist yet; returns it for whoever wants it flushed.
    pub fn create(&self, name: &BStr, bytes: &[u8], new: NewFile) -> io::Result<fs::File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let usual = if new.executable { 0o777 } else { 0o666 };
        let usual = usual & !KEPT_UMASK.load(Ordering::Relaxed);
        let mode = Mode::from_raw_mode(new.permissions.unwrap_or(usual) as _);
        let fd = rustix::fs::openat(&self.fd, name.as_bytes(), flags, mode)?;
        // The umask may have taken bits. Looking is cheaper than a change that is journalled.
        if let Some(permissions) = new.permissions
            && stamp(&rustix::fs::fstat(&fd)?).permissions != permissions
        {
            rustix::fs::fchmod(&fd, mode)?;
        }
        let mut file = fs::File::from(fd);
        file.write_all(bytes)?;
        Ok(file)
    }

    /// Opens a regular file of the git directory, never a symlink, pipe or device. A new one gets
    /// the permissions that the umask leaves (see [`keep_umask`] for files of the work tree).
    pub fn open(&self, name: &BStr, access: Access) -> io::Result<fs::File> {
        // NONBLOCK: a pipe must not stop the command.
        let always = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Lock => OFlags::RDWR | OFlags::CREATE,
            Access::New => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
        };
        let mode = Mode::from_raw_mode(0o666);
        let fd = rustix::fs::openat(&self.fd, name.as_bytes(), flags | always, mode)?;
        let found = rustix::fs::fstat(&fd)?;
        // A lock is written to: a hard link could be the name of anything.
        let alone = access != Access::Lock || found.st_nlink == 1;
        if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && alone {
            return Ok(fs::File::from(fd));
        }
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Makes a directory of the git directory, with the permissions that the umask leaves.
    pub fn mkdir_shared(&self, name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.fd, name.as_bytes(), Mode::from_raw_mode(0o777))?)
    }

    /// Lets the owner enter and empty the directory of that name, which is not followed.
    pub fn unlock(&self, name: &BStr) -> io::Result<()> {
        let mode = Mode::from_raw_mode(0o700);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            // The kernel knows no chmod that follows no symlink before 6.6. An open directory is
            // reached by its descriptor, though, whatever has its name by now.
            use std::os::fd::AsRawFd as _;
            let directory = self.enter(name)?;
            let itself = format!("/proc/self/fd/{}", directory.fd.as_raw_fd());
            Ok(rustix::fs::chmod(itself, mode)?)
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        Ok(rustix::fs::chmodat(&self.fd, name.as_bytes(), mode, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    /// Renames, replacing what has the new name.
    pub fn rename(&self, name: &BStr, to: &Self, to_name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, name.as_bytes(), &to.fd, to_name.as_bytes())?)
    }

    /// Renames; fails with `AlreadyExists` where something has the new name.
    pub fn rename_new(&self, name: &BStr, to: &Self, to_name: &BStr) -> io::Result<()> {
        if let Some(done) = self.rename_special(name, to, to_name, Special::NoReplace) {
            return done;
        }
        match self.link(name, to, to_name) {
            Ok(()) => crate::failpoint!("worktree.linked", io).and_then(|()| self.unlink(name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // No hard links either: a look is the best there is.
            Err(_) if to.stat(to_name).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => self.rename(name, to, to_name),
        }
    }

    /// Exchanges two names in one step; `false` where the file system cannot.
    pub fn exchange(&self, name: &BStr, with: &Self, with_name: &BStr) -> io::Result<bool> {
        match self.rename_special(name, with, with_name, Special::Exchange) {
            None => Ok(false),
            Some(done) => done.map(|()| true),
        }
    }

    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    fn rename_special(
        &self,
        name: &BStr,
        to: &Self,
        to_name: &BStr,
        how: Special,
    ) -> Option<io::Result<()>> {
        use rustix::fs::RenameFlags;
        // Lets a test see what happens on file systems that cannot.
        if crate::failpoint!("worktree.exchange", io).is_err() {
            return None;
        }
        let flags = match how {
            Special::Exchange => RenameFlags::EXCHANGE,
            Special::NoReplace => RenameFlags::NOREPLACE,
        };
        let done =
            rustix::fs::renameat_with(&self.fd, name.as_bytes(), &to.fd, to_name.as_bytes(), flags);
        match done {
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => None,
            other => Some(other.map_err(Into::into)),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    fn rename_special(
        &self,
        _name: &BStr,
        _to: &Self,
        _to_name: &BStr,
        _how: Special,
    ) -> Option<io::Result<()>> {
        None
    }

    /// Gives a file a second name.
    pub fn link(&self, name: &BStr, to: &Self, to_name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(
            &self.fd,
            name.as_bytes(),
            &to.fd,
            to_name.as_bytes(),
            AtFlags::empty(),
        )?)
    }

    /// Removes a name that is not a directory.
    pub fn unlink(&self, name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name.as_bytes(), AtFlags::empty())?)
    }

    /// Makes a directory.
    pub fn mkdir(&self, name: &BStr) -> io::Result<()> {
        let mode = Mode::from_raw_mode((0o777 & !KEPT_UMASK.load(Ordering::Relaxed)) as _);
        Ok(rustix::fs::mkdirat(&self.fd, name.as_bytes(), mode)?)
    }

    /// Removes an empty directory.
    pub fn rmdir(&self, name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name.as_bytes(), AtFlags::REMOVEDIR)?)
    }

    /// Opens the directory of that name, which must not be a symlink.
    pub fn enter(&self, name: &BStr) -> io::Result<Self> {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.fd, name.as_bytes(), flags, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd) })
    }

    /// What the directory itself is.
    pub fn own_stat(&self) -> io::Result<Stamp> {
        Ok(stamp(&rustix::fs::fstat(&self.fd)?))
    }

    /// The names in it, in no order.
    pub fn names(&self) -> io::Result<Vec<BString>> {
        self.entries()?.map(|entry| Ok(entry?.0)).collect()
    }

    /// The names in it and what they are, in no order.
    pub fn kinds(&self) -> io::Result<Vec<(BString, FileKind)>> {
        let kind = |entry: io::Result<(BString, FileType)>| match entry? {
            // A file system that does not tell.
            (name, FileType::Unknown) => {
                let stamp = self.stat(name.as_bstr())?;
                Ok((name, stamp.kind))
            }
            (name, kind) => Ok((name, kind_of(kind))),
        };
        self.entries()?.map(kind).collect()
    }

    /// True if there is no name in it.
    pub fn is_empty(&self) -> io::Result<bool> {
        Ok(self.entries()?.next().transpose()?.is_none())
    }

    fn entries(&self) -> io::Result<impl Iterator<Item = io::Result<(BString, FileType)>>> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let readable = rustix::fs::openat(&self.fd, ".", flags, Mode::empty())?;
        Ok(rustix::fs::Dir::new(readable)?.filter_map(|entry| match entry {
            Ok(entry) => {
                let name = entry.file_name().to_bytes();
                let kind = entry.file_type();
                (name != b"." && name != b"..").then(|| Ok((name.into(), kind)))
            }
            Err(error) => Some(Err(error.into())),
        }))
    }
}

#[derive(Clone, Copy)]
enum Special {
    Exchange,
    NoReplace,
}

#[allow(clippy::unnecessary_cast, clippy::useless_conversion)] // Widths differ between systems.
fn stamp(stat: &rustix::fs::Stat) -> Stamp {
    Stamp {
        kind: kind_of(FileType::from_raw_mode(stat.st_mode)),
        identity: (stat.st_dev as u64, stat.st_ino as u64),
        size: stat.st_size as u64,
        written: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
        permissions: u32::from(stat.st_mode) & 0o7777,
        links: stat.st_nlink as u64,
    }
}

fn kind_of(found: FileType) -> FileKind {
    match found {
        FileType::RegularFile => FileKind::File,
        FileType::Directory => FileKind::Directory,
        FileType::Symlink => FileKind::Symlink,
        _ => FileKind::Special,
    }
}

fn cannot_open(path: &BStr, error: &io::Error) -> Error {
    Error::io(format_args!("open the directory {path}"), error)
}
