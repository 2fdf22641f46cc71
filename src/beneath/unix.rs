//! Directories as open descriptors; names are resolved relative to them.

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

use super::{Access, Content, DirectoryLookup, FileKind, NewFile, Stamp, codes};
use crate::error::{Error, Result};

#[cfg(any(target_os = "linux", target_os = "android"))]
const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const DIRECTORY: OFlags = OFlags::DIRECTORY.union(OFlags::CLOEXEC);

/// Umask for work tree files, if the process has a wider one.
static KEPT_UMASK: AtomicU32 = AtomicU32::new(0);

/// Work tree files keep the umask `mask` after it was widened for the git directory, process-wide.
pub fn set_worktree_umask(mask: u32) {
    KEPT_UMASK.store(mask, Ordering::Relaxed);
}

#[derive(Clone, Debug)]
pub struct Root {
    fd: Arc<OwnedFd>,
    submodules: Arc<BTreeSet<BString>>,
}

#[derive(Debug)]
pub struct Dir {
    fd: Arc<OwnedFd>,
}

/// Opens `path`; only its last component must not be a symlink.
pub fn open_last(path: &Path) -> io::Result<Dir> {
    let flags = DIRECTORY | OFlags::NOFOLLOW;
    Ok(Dir { fd: Arc::new(rustix::fs::open(path, flags, Mode::empty())?) })
}

impl Root {
    /// Opens `path`, also through symlinks.
    pub fn open(path: &Path) -> io::Result<Self> {
        let fd = rustix::fs::open(path, DIRECTORY, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd), submodules: Arc::default() })
    }

    /// Opens the directory at `path` (empty: the root), following no symlink.
    ///
    /// # Errors
    /// `symlink_in_way`, `in_submodule`.
    pub fn directory(&self, path: &BStr) -> Result<DirectoryLookup> {
        if path.is_empty() {
            return Ok(DirectoryLookup::Directory(Rc::new(Dir { fd: Arc::clone(&self.fd) })));
        }
        let above = || path.rfind_iter("/").map(|slash| path[..slash].as_bstr());
        let all = || std::iter::once(path).chain(above());
        if let Some(inside) = all().find(|directory| self.is_submodule(directory)) {
            return Err(in_repository(inside));
        }
        // The kernel lacks the call or refuses; the walk finds the failing component.
        let Some(fd) = open_beneath(&self.fd, path) else { return self.walk(path) };
        match all().find(|directory| self.is_repository(directory)) {
            Some(inside) => Err(in_repository(inside)),
            None => Ok(DirectoryLookup::Directory(Rc::new(Dir { fd: Arc::new(fd) }))),
        }
    }

    /// Opens `path` from its open parent; `None` if refused: `Root::directory` says why.
    pub fn directory_in(&self, above: &Dir, path: &BStr) -> Option<Rc<Dir>> {
        let name = &path[path.rfind_byte(b'/').map_or(0, |at| at + 1)..];
        if name.is_empty() || self.is_submodule(path) {
            return None;
        }
        let directory = above.open_directory(name.as_bstr()).ok()?;
        directory.stat(".git".into()).is_err().then(|| Rc::new(directory))
    }

    pub fn is_submodule(&self, path: &BStr) -> bool {
        self.submodules.contains(path)
    }

    pub fn add_submodules(&mut self, paths: impl IntoIterator<Item = BString>) {
        Arc::make_mut(&mut self.submodules).extend(paths);
    }

    /// True for a known submodule or a directory with a `.git`.
    pub fn is_repository(&self, path: &BStr) -> bool {
        if self.is_submodule(path) {
            return true;
        }
        let mut name = BString::from(path);
        name.extend_from_slice(b"/.git");
        rustix::fs::statat(&self.fd, name.as_slice(), AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Opens each component from its parent: linear in the path's length, where full names would be
    /// quadratic.
    fn walk(&self, path: &BStr) -> Result<DirectoryLookup> {
        let mut fd = Arc::clone(&self.fd);
        let mut end = 0;
        for name in path.split(|b| *b == b'/') {
            let done = path[..end].as_bstr();
            end += name.len() + usize::from(end > 0);
            let here = path[..end].as_bstr();
            match rustix::fs::openat(&fd, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
                Ok(next) => fd = Arc::new(next),
                Err(Errno::NOENT) => return Ok(DirectoryLookup::Missing(done.into())),
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
                        Ok(_) => Ok(DirectoryLookup::Blocked(here.into())),
                        Err(_) => Err(cannot_open(here, &error.into())),
                    };
                }
                Err(error) => return Err(cannot_open(here, &error.into())),
            }
            if rustix::fs::statat(&fd, ".git", AtFlags::SYMLINK_NOFOLLOW).is_ok() {
                return Err(in_repository(here));
            }
        }
        Ok(DirectoryLookup::Directory(Rc::new(Dir { fd })))
    }
}

fn in_repository(path: &BStr) -> Error {
    Error::new(&codes::SUBMODULE, format!("{path} is a submodule or another repository"))
        .with("path", path.to_string())
        .hint("run aye inside that repository")
}

/// From this depth, each directory is opened from its parent.
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
    /// Follows no symlink.
    pub fn stat(&self, name: &BStr) -> io::Result<Stamp> {
        let stat = rustix::fs::statat(&self.fd, name.as_bytes(), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(stamp(&stat))
    }

    pub fn read(&self, name: &BStr, limit: u64) -> io::Result<Content> {
        // Opening a device can have effects, so the type is checked before.
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
            // Replaced by a symlink meanwhile.
            Err(Errno::LOOP | Errno::MLINK) => return self.stat(name).map(Content::Other),
            Err(error) => return Err(error.into()),
        };
        let stamp = stamp(&rustix::fs::fstat(&fd)?);
        if stamp.kind != FileKind::File {
            return Ok(Content::Other(stamp));
        }
        let mut bytes = Vec::with_capacity(stamp.size.min(limit) as usize + 1);
        // One read: `read_to_end` starts with small ones. A short read is the end of a regular
        // file.
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

    /// Creates a file that must not exist; returned for flushing.
    pub fn create(&self, name: &BStr, bytes: &[u8], new: NewFile) -> io::Result<fs::File> {
        let flags =
            OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let usual = if new.executable { 0o777 } else { 0o666 };
        let usual = usual & !KEPT_UMASK.load(Ordering::Relaxed);
        let mode = Mode::from_raw_mode(new.permissions.unwrap_or(usual) as _);
        let fd = rustix::fs::openat(&self.fd, name.as_bytes(), flags, mode)?;
        // The umask may have cleared bits. `fstat` is cheaper than a journalled chmod.
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
    /// the process's umask.
    pub fn open(&self, name: &BStr, access: Access) -> io::Result<fs::File> {
        // `NONBLOCK`: a pipe must not block.
        let always = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let flags = match access {
            Access::Read => OFlags::RDONLY,
            Access::Lock => OFlags::RDWR | OFlags::CREATE,
            Access::New => OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL,
        };
        let mode = Mode::from_raw_mode(0o666);
        let fd = rustix::fs::openat(&self.fd, name.as_bytes(), flags | always, mode)?;
        let found = rustix::fs::fstat(&fd)?;
        // A lock is written: its hard link could be any file.
        let alone = access != Access::Lock || found.st_nlink == 1;
        if FileType::from_raw_mode(found.st_mode) == FileType::RegularFile && alone {
            return Ok(fs::File::from(fd));
        }
        Err(io::ErrorKind::InvalidInput.into())
    }

    /// Creates a directory of the git directory, with the process's umask.
    pub fn mkdir_shared(&self, name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::mkdirat(&self.fd, name.as_bytes(), Mode::from_raw_mode(0o777))?)
    }

    /// Makes the directory accessible for its owner, following no symlink.
    pub fn unlock(&self, name: &BStr) -> io::Result<()> {
        let mode = Mode::from_raw_mode(0o700);
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            // Before Linux 6.6 chmod always follows symlinks. The descriptor's `/proc` path names
            // the opened directory, whatever its name leads to now.
            use std::os::fd::AsRawFd as _;
            let directory = self.open_directory(name)?;
            let itself = format!("/proc/self/fd/{}", directory.fd.as_raw_fd());
            Ok(rustix::fs::chmod(itself, mode)?)
        }
        #[cfg(not(any(target_os = "linux", target_os = "android")))]
        Ok(rustix::fs::chmodat(&self.fd, name.as_bytes(), mode, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    pub fn rename(&self, name: &BStr, to: &Self, to_name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.fd, name.as_bytes(), &to.fd, to_name.as_bytes())?)
    }

    /// Fails with `AlreadyExists`.
    pub fn rename_new(&self, name: &BStr, to: &Self, to_name: &BStr) -> io::Result<()> {
        if let Some(done) = self.rename_special(name, to, to_name, Special::NoReplace) {
            return done;
        }
        match self.link(name, to, to_name) {
            Ok(()) => crate::failpoint!("worktree.linked", io).and_then(|()| self.unlink(name)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
            // Without hard links this check is the best available.
            Err(_) if to.stat(to_name).is_ok() => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => self.rename(name, to, to_name),
        }
    }

    /// Exchanges two names atomically; `false` if unsupported.
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
        // Simulates a file system without support.
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

    pub fn link(&self, name: &BStr, to: &Self, to_name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::linkat(
            &self.fd,
            name.as_bytes(),
            &to.fd,
            to_name.as_bytes(),
            AtFlags::empty(),
        )?)
    }

    pub fn unlink(&self, name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name.as_bytes(), AtFlags::empty())?)
    }

    pub fn mkdir(&self, name: &BStr) -> io::Result<()> {
        let mode = Mode::from_raw_mode((0o777 & !KEPT_UMASK.load(Ordering::Relaxed)) as _);
        Ok(rustix::fs::mkdirat(&self.fd, name.as_bytes(), mode)?)
    }

    pub fn rmdir(&self, name: &BStr) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.fd, name.as_bytes(), AtFlags::REMOVEDIR)?)
    }

    /// Refuses a symlink.
    pub fn open_directory(&self, name: &BStr) -> io::Result<Self> {
        let flags = DIRECTORY | OFlags::NOFOLLOW;
        let fd = rustix::fs::openat(&self.fd, name.as_bytes(), flags, Mode::empty())?;
        Ok(Self { fd: Arc::new(fd) })
    }

    pub fn own_stat(&self) -> io::Result<Stamp> {
        Ok(stamp(&rustix::fs::fstat(&self.fd)?))
    }

    /// Unsorted.
    pub fn names(&self) -> io::Result<Vec<BString>> {
        self.entries()?.map(|entry| Ok(entry?.0)).collect()
    }

    /// Unsorted.
    pub fn entries_with_kind(&self) -> io::Result<Vec<(BString, FileKind)>> {
        let kind = |entry: io::Result<(BString, FileType)>| match entry? {
            // Some file systems do not report types.
            (name, FileType::Unknown) => {
                let stamp = self.stat(name.as_bstr())?;
                Ok((name, stamp.kind))
            }
            (name, kind) => Ok((name, kind_of(kind))),
        };
        self.entries()?.map(kind).collect()
    }

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
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as u32),
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
