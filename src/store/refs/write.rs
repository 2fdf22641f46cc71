//! Moving and removing refs, under locks of their own as git takes them.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use gix::ObjectId;

use super::super::codes;
use super::{packed, target, unreadable};
use crate::error::{Error, Result};
use crate::flush::Method;

/// Longest wait for a ref's own lock file, which git holds for moments only.
pub(super) const PATIENCE: Duration = Duration::from_secs(3);

/// Longest wait for the lock of `packed-refs`: git's own `core.packedRefsTimeout`.
pub(super) const PACKED_PATIENCE: Duration = Duration::from_secs(1);

/// A ref that was moved, which counts from then on.
#[must_use]
#[derive(Debug)]
pub(in crate::store) enum Moved {
    /// It stays so, or may be made again.
    Flushed,
    /// The disk would not say that it does.
    Unflushed(std::io::Error),
}

impl Moved {
    /// For who takes something away once it stays.
    ///
    /// # Errors
    /// `io_error` if that is not sure.
    pub(in crate::store) fn sure(self) -> Result<()> {
        match self {
            Self::Flushed => Ok(()),
            Self::Unflushed(error) => Err(Error::io("flush a ref", &error)),
        }
    }
}

/// Moves `name` from `expected` to `new`, or fails without a change.
///
/// The caller holds the store's lock, so a lock file that stays is one a crash has left.
///
/// # Errors
/// `busy` if it is not at `expected` or its lock file stays; `io_error`.
pub(in crate::store) fn compare_and_swap(
    repo: &gix::Repository,
    common_dir: &Path,
    name: &str,
    expected: Option<ObjectId>,
    new: ObjectId,
    durable: bool,
) -> Result<Moved> {
    let path = common_dir.join(name);
    let mut lock = RefLock::take(&path)?;
    if target(repo, name)? != expected {
        return Err(Error::new(&codes::STORE_BUSY, format!("{name} was moved by another program"))
            .hint("run the command again"));
    }
    let method = match path.parent() {
        Some(directory) if durable => Method::durable(directory, directory),
        _ => Method::No,
    };
    lock.write(new, method)?;
    // Opened while the lock is in it: `git pack-refs` removes it as soon as the ref is elsewhere.
    let directory = path.parent().filter(|_| durable).map(std::fs::File::open);
    crate::failpoint!("store.ref.rename");
    lock.commit(&path)?;
    let renamed = || crate::failpoint!("store.ref.renamed", io);
    // The rename itself must outlive a power cut once success is reported. It cannot be taken back:
    // others may have seen it.
    let flushed = directory.map(|directory| renamed().and_then(|()| directory?.sync_all()));
    let flushed = match flushed {
        // With it comes all that was written before, so that its failure is one of all.
        Some(Err(error)) if method == Method::Ordered => {
            let file = renamed().and_then(|()| std::fs::File::open(&path)?.sync_all());
            file.map_or(Moved::Unflushed(error), |()| Moved::Flushed)
        }
        _ => Moved::Flushed,
    };
    crate::failpoint!("store.ref.moved");
    Ok(flushed)
}

/// Sets `name` whatever it was; not flushed: for what can be rebuilt.
///
/// # Errors
/// `busy`, `io_error`.
pub(in crate::store) fn set(common_dir: &Path, name: &str, new: ObjectId) -> Result<()> {
    let path = common_dir.join(name);
    let mut lock = RefLock::take(&path)?;
    lock.write(new, Method::No)?;
    lock.commit(&path)
}

/// Removes `name` if it is there, loose or packed.
///
/// # Errors
/// As [`remove_all`].
pub(in crate::store) fn remove(
    repo: &gix::Repository,
    common_dir: &Path,
    name: &str,
) -> Result<()> {
    remove_all(repo, common_dir, &[name.to_owned()], true)
}

/// Removes those of `names` that are there, loose or packed, with one new `packed-refs` at most: it
/// holds every ref of the repository, so that writing it costs as much as there are refs.
///
/// The files go first. `git pack-refs` that runs beside this may have read one of them before, and puts
/// it into the new `packed-refs` afterwards: where there is a lock of that, it is waited for.
///
/// # Errors
/// `busy`, `io_error`; what could be removed is removed.
pub(in crate::store) fn remove_all(
    repo: &gix::Repository,
    common_dir: &Path,
    names: &[String],
    durable: bool,
) -> Result<()> {
    let mut of_packed = BTreeSet::new();
    let mut failed = Ok(());
    for name in names {
        match std::fs::remove_file(common_dir.join(name)) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                failed = failed.and(Err(Error::io(format_args!("remove {name}"), &error)));
            }
            _ => match packed(repo, name) {
                Ok(Some(_)) => _ = of_packed.insert(name.as_bytes()),
                Ok(None) => {}
                Err(error) => failed = failed.and(Err(unreadable(name, &error))),
            },
        }
    }
    if is_being_packed(common_dir) {
        of_packed.extend(names.iter().map(String::as_bytes));
    }
    if !of_packed.is_empty() {
        failed = failed.and(unpack(common_dir, &of_packed, durable));
    }
    failed
}

/// Longest that anybody writes `packed-refs`: an older lock is what a crash has left.
const LONGEST_PACKING: Duration = Duration::from_secs(600);

/// Whether somebody writes `packed-refs` now.
fn is_being_packed(common_dir: &Path) -> bool {
    let lock = common_dir.join("packed-refs.lock").symlink_metadata();
    let since = lock.and_then(|lock| lock.modified());
    since.is_ok_and(|since| since.elapsed().is_ok_and(|age| age < LONGEST_PACKING))
}

/// Takes `names` out of `packed-refs`, under its own lock, as git does. gix would do it with four
/// writes for each ref that stays.
pub(super) fn unpack(common_dir: &Path, names: &BTreeSet<&[u8]>, durable: bool) -> Result<()> {
    let path = common_dir.join("packed-refs");
    let failed =
        |error: std::io::Error| Error::io(format_args!("write {}", path.display()), &error);
    let mut lock = RefLock::take_from(&path, PACKED_PATIENCE, false)?;
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let kept = without(&bytes, names);
    if kept.len() == bytes.len() {
        return Ok(());
    }
    if let Some(file) = &mut lock.file {
        file.write_all(&kept).map_err(failed)?;
        // Branches and tags are in it, too.
        if durable {
            file.sync_data().map_err(failed)?;
        }
    }
    crate::failpoint!("store.packed.rename");
    lock.commit(&path)
}

/// The lines of a `packed-refs` but those of `names` and of what these peel to.
pub(super) fn without(bytes: &[u8], names: &BTreeSet<&[u8]>) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut dropped = false;
    for line in bytes.lines_with_terminator() {
        // `<id> <name>`, and below it `^<id>` where it is a tag.
        dropped = match line.first() {
            Some(b'^') => dropped,
            _ => line
                .trim_end_with(|c| c == '\n')
                .split_once_str(" ")
                .is_some_and(|(_, name)| names.contains(name)),
        };
        if !dropped {
            kept.extend_from_slice(line);
        }
    }
    kept
}

/// [`PATIENCE`]; in builds for tests `AYE_REF_PATIENCE`, in milliseconds, stands in for it: a process
/// that is stopped at every step leaves many locks, and nobody else is there who could hold one.
pub(super) fn patience() -> Duration {
    #[cfg(all(feature = "failpoints", debug_assertions))]
    if let Some(most) = std::env::var("AYE_REF_PATIENCE").ok().and_then(|most| most.parse().ok()) {
        return Duration::from_millis(most);
    }
    PATIENCE
}

pub(super) struct RefLock {
    path: PathBuf,
    file: Option<std::fs::File>,
}

impl RefLock {
    fn take(target: &Path) -> Result<Self> {
        Self::take_from(target, patience(), true)
    }

    /// Waits for `patience`; `ours`: only we and, for moments, git take it, so that one that stays
    /// longer is removed.
    fn take_from(target: &Path, patience: Duration, ours: bool) -> Result<Self> {
        let mut name = target.as_os_str().to_owned();
        name.push(".lock");
        let path = PathBuf::from(name);
        let started = Instant::now();
        loop {
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(file) => return Ok(Self { path, file: Some(file) }),
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let directory = path.parent().unwrap_or(&path);
                    match std::fs::create_dir_all(directory) {
                        // `git pack-refs` removes the one above while it is empty.
                        Err(error) if error.kind() == ErrorKind::NotFound => {
                            if started.elapsed() > patience {
                                return Err(Error::file("create", directory, &error));
                            }
                        }
                        made => made.map_err(|error| Error::file("create", directory, &error))?,
                    }
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                    if ours && started.elapsed() > patience {
                        // We hold the store's lock and git holds a ref's for moments: whoever
                        // made this one is gone.
                        let _ = std::fs::remove_file(&path);
                    }
                    if started.elapsed() > if ours { patience * 2 } else { patience } {
                        return Err(Error::new(
                            &codes::STORE_BUSY,
                            format!("{} does not go away", path.display()),
                        )
                        .hint("another git process holds it; try again"));
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => {
                    return Err(Error::file("create", &path, &error));
                }
            }
        }
    }

    fn write(&mut self, id: ObjectId, method: Method) -> Result<()> {
        let failed = |error: std::io::Error| Error::io("write a ref", &error);
        let Some(file) = &mut self.file else { return Ok(()) };
        crate::failpoint!("store.ref.write", io).map_err(failed)?;
        file.write_all(format!("{id}\n").as_bytes()).map_err(failed)?;
        method.files(std::slice::from_ref(file)).map_err(failed)
    }

    fn commit(mut self, target: &Path) -> Result<()> {
        self.file = None;
        std::fs::rename(&self.path, target).map_err(|error| Error::io("move a ref", &error))?;
        self.path = PathBuf::new();
        Ok(())
    }
}

impl Drop for RefLock {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_refs_and_their_tags_stay_as_they_are() {
        let packed = b"# pack-refs with: peeled fully-peeled sorted \n\
            1111 refs/aye/pending/prop_a\n\
            2222 refs/aye/pending/prop_ab\n\
            3333 refs/tags/refs/aye/pending/prop_a\n^4444\n\
            5555 refs/aye/pending/prop_b\n^6666\n\
            7777 refs/heads/main\n";
        let names = [&b"refs/aye/pending/prop_a"[..], b"refs/aye/pending/prop_b", b"refs/none"];
        let kept = without(packed, &names.into_iter().collect());
        assert_eq!(
            kept.as_bstr(),
            b"# pack-refs with: peeled fully-peeled sorted \n\
            2222 refs/aye/pending/prop_ab\n\
            3333 refs/tags/refs/aye/pending/prop_a\n^4444\n\
            7777 refs/heads/main\n"
                .as_bstr()
        );
        assert_eq!(without(packed, &BTreeSet::new()), packed);
    }
}
