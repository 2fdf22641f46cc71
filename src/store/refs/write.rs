//! Moving and deleting refs, under the same locks as git's.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bstr::ByteSlice;
use gix::ObjectId;

use super::super::codes;
use super::{is_absent, packed_target, target};
use crate::error::{Error, Result};
use crate::flush::FlushMethod;
use crate::repository::Repository;

/// Longest wait for a ref's lock file, which git holds for moments only.
const PATIENCE: Duration = Duration::from_secs(3);

/// Longest wait for the lock of `packed-refs`: git's `core.packedRefsTimeout`.
const PACKED_PATIENCE: Duration = Duration::from_secs(1);

/// The ref was moved, and counts from now on.
#[must_use]
#[derive(Debug)]
pub(in crate::store) enum MoveOutcome {
    /// It is on the disk, or need not be.
    Flushed,
    /// The operating system reported an error of the flush.
    Unflushed(std::io::Error),
}

impl MoveOutcome {
    /// Turns a failed flush into an error, for callers that delete the old data next.
    ///
    /// # Errors
    /// `io_error`.
    pub(in crate::store) fn sure(self) -> Result<()> {
        match self {
            Self::Flushed => Ok(()),
            Self::Unflushed(error) => Err(Error::io("flush a ref", &error)),
        }
    }
}

/// Moves `name` from `expected` to `new`, or fails without a change. The caller holds the store's
/// lock, so a crash has left a lock file that stays.
///
/// # Errors
/// `busy` if the ref is not at `expected` or its lock file stays; `io_error`.
pub(in crate::store) fn compare_and_swap(
    repository: &Repository,
    name: &str,
    expected: Option<ObjectId>,
    new: ObjectId,
    durable: bool,
) -> Result<MoveOutcome> {
    let path = repository.common_dir().join(name);
    let mut lock = RefLock::take(&path, is_ours(name))?;
    if target(repository, name)? != expected {
        return Err(Error::new(&codes::STORE_BUSY, format!("{name} was moved by another program"))
            .hint("run the command again"));
    }
    let method = match path.parent() {
        Some(directory) if durable => FlushMethod::durable(directory, directory),
        _ => FlushMethod::No,
    };
    lock.write(new, method)?;
    // The directory is opened while the lock file is in it: later `git pack-refs` may remove it.
    let directory = path.parent().filter(|_| durable).map(std::fs::File::open);
    crate::failpoint!("store.ref.rename");
    lock.commit(&path)?;
    let renamed = || crate::failpoint!("store.ref.renamed", io);
    // The rename must outlive a power cut once success is reported. It is not undone: others may
    // have seen it.
    let flushed = directory.map(|directory| renamed().and_then(|()| directory?.sync_all()));
    let flushed = match flushed {
        // This flush includes everything written before, so its failure is a failure of all.
        Some(Err(error)) if method == FlushMethod::Ordered => {
            let file = renamed().and_then(|()| std::fs::File::open(&path)?.sync_all());
            file.map_or(MoveOutcome::Unflushed(error), |()| MoveOutcome::Flushed)
        }
        _ => MoveOutcome::Flushed,
    };
    crate::failpoint!("store.ref.moved");
    Ok(flushed)
}

/// Sets `name` unconditionally and without a flush, for refs that can be rebuilt.
///
/// # Errors
/// `busy`, `io_error`.
pub(in crate::store) fn set(repository: &Repository, name: &str, new: ObjectId) -> Result<()> {
    let path = repository.common_dir().join(name);
    let mut lock = RefLock::take(&path, is_ours(name))?;
    lock.write(new, FlushMethod::No)?;
    lock.commit(&path)
}

/// Deletes `name`, loose and packed.
pub(in crate::store) fn remove(repository: &Repository, name: &str) -> Result<()> {
    delete(repository, &[(name.to_owned(), None)], true).map(|_| ())
}

/// Deletes those of `refs`, with reflogs, that are still at the given id (`None`: at any). Returns
/// the names of the deleted ones.
///
/// The order is git's (`files_transaction_prepare` and `_finish` in `refs/files-backend.c`): locks
/// of the refs, `packed-refs.lock`, a new `packed-refs` without them, the loose files, and the
/// locks last. If the loose files went first, a crash could move a ref back to its packed value. If
/// `packed-refs.lock` went earlier, a `git pack-refs` beside this could restore one. Refs that can
/// be rebuilt (not `durable`) may come back. They take that lock only if one is packed: a crash
/// would leave it, and every decision deletes a pending ref.
///
/// # Errors
/// `busy`, `io_error`; refs that could be deleted are.
pub(in crate::store) fn delete(
    repository: &Repository,
    refs: &[(String, Option<ObjectId>)],
    durable: bool,
) -> Result<Vec<String>> {
    let common_dir = repository.common_dir();
    let sorted: BTreeMap<&str, Option<ObjectId>> =
        refs.iter().map(|(name, expected)| (name.as_str(), *expected)).collect();
    let mut locks = Vec::new();
    for (name, expected) in sorted {
        // A lock needs the directory, which is not created for a missing ref.
        if target(repository, name)?.is_none() {
            continue;
        }
        let lock = RefLock::take(&common_dir.join(name), is_ours(name))?;
        let at = target(repository, name)?;
        if at.is_some() && (expected.is_none() || expected == at) {
            locks.push((name, lock));
        }
    }
    if locks.is_empty() {
        return Ok(Vec::new());
    }
    crate::failpoint!("store.refs.locked");
    let is_packed = |name: &str| packed_target(repository, name).map(|at| at.is_some());
    let mut packed = None;
    if durable || locks.iter().any(|(name, _)| is_packed(name).unwrap_or(true)) {
        let path = common_dir.join("packed-refs");
        packed = Some(RefLock::take_from(&path, PACKED_PATIENCE, false)?);
        unpack(common_dir, &locks.iter().map(|(name, _)| name.as_bytes()).collect(), durable)?;
    }
    let mut deleted = Vec::with_capacity(locks.len());
    for (name, _) in &locks {
        crate::failpoint!("store.ref.remove");
        for path in [common_dir.join(name), common_dir.join("logs").join(name)] {
            match std::fs::remove_file(&path) {
                Err(error) if !is_absent(&error) => {
                    return Err(Error::io(format_args!("remove {}", path.display()), &error));
                }
                _ => {}
            }
        }
        deleted.push((*name).to_owned());
    }
    crate::failpoint!("store.refs.removed");
    drop(packed);
    drop(locks);
    // As git does; a directory with another ref or lock stays.
    let above: BTreeSet<&str> =
        deleted.iter().filter_map(|name| Some(name.rsplit_once('/')?.0)).collect();
    above.into_iter().for_each(|above| drop(std::fs::remove_dir(common_dir.join(above))));
    Ok(deleted)
}

/// Rewrites `packed-refs` without `names`; the caller holds its lock. The file has every ref of the
/// repository. gix would need four writes for each ref that stays.
fn unpack(common_dir: &Path, names: &BTreeSet<&[u8]>, durable: bool) -> Result<()> {
    let path = common_dir.join("packed-refs");
    let failed =
        |error: std::io::Error| Error::io(format_args!("write {}", path.display()), &error);
    let bytes = match std::fs::read(&path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(failed(error)),
    };
    let kept = without(&bytes, names);
    if kept.len() == bytes.len() {
        return Ok(());
    }
    // git's own name, so that people recognise the file after a crash.
    let new = common_dir.join("packed-refs.new");
    let write = || {
        let mut file = std::fs::File::create(&new)?;
        file.write_all(&kept)?;
        // Branches and tags are in it, too.
        if durable { file.sync_data() } else { Ok(()) }
    };
    let written = write().and_then(|()| {
        crate::failpoint!("store.packed.rename");
        std::fs::rename(&new, &path)
    });
    written.map_err(|error| {
        let _ = std::fs::remove_file(&new);
        failed(error)
    })
}

/// True if only aye writes the ref `name`, under the store's lock.
fn is_ours(name: &str) -> bool {
    !name.starts_with(super::REMOTES)
}

/// The lines of `packed-refs` without `names` and their peeled targets.
fn without(bytes: &[u8], names: &BTreeSet<&[u8]>) -> Vec<u8> {
    let mut kept = Vec::with_capacity(bytes.len());
    let mut dropped = false;
    for line in bytes.lines_with_terminator() {
        // `<id> <name>`, then `^<id>` for a tag.
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

/// [`PATIENCE`]; in test builds `AYE_REF_PATIENCE`, in milliseconds. A crash test leaves many
/// locks, and no other process could hold one.
fn patience() -> Duration {
    #[cfg(all(feature = "failpoints", debug_assertions))]
    if let Some(most) = std::env::var("AYE_REF_PATIENCE").ok().and_then(|most| most.parse().ok()) {
        return Duration::from_millis(most);
    }
    PATIENCE
}

struct RefLock {
    path: PathBuf,
    file: Option<std::fs::File>,
}

impl RefLock {
    fn take(target: &Path, ours: bool) -> Result<Self> {
        Self::take_from(target, patience(), ours)
    }

    /// Waits for `patience`. If the ref is `ours`, only aye and, for moments, git lock it, so an
    /// older lock is removed.
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
                        // `git pack-refs` removes the parent directory while it is empty.
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
                        // The store's lock is held here, and git holds a ref's for moments: the
                        // owner of this lock has ended.
                        let _ = std::fs::remove_file(&path);
                    }
                    if started.elapsed() > if ours { patience * 2 } else { patience } {
                        return Err(Error::new(
                            &codes::STORE_BUSY,
                            format!("{} does not go away", path.display()),
                        )
                        .hint("another git process holds it; try again, or see `aye doctor`"));
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
                Err(error) => {
                    return Err(Error::file("create", &path, &error));
                }
            }
        }
    }

    fn write(&mut self, id: ObjectId, method: FlushMethod) -> Result<()> {
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
    use crate::store::thread::tests::Scene;

    fn id(digit: &str) -> ObjectId {
        ObjectId::from_hex(digit.repeat(40).as_bytes()).unwrap()
    }

    #[test]
    fn ref_moves_only_from_where_it_is_expected() {
        let scene = Scene::new();
        let (repository, name) = (scene.store.repository(), "refs/aye/p/x");
        let swap =
            |from, to| compare_and_swap(repository, name, from, to, true).map(|it| it.sure());
        assert!(swap(Some(id("1")), id("2")).is_err());
        swap(None, id("1")).unwrap().unwrap();
        assert!(swap(None, id("2")).unwrap_err().is(&codes::STORE_BUSY));
        swap(Some(id("1")), id("2")).unwrap().unwrap();
        assert_eq!(target(repository, name).unwrap(), Some(id("2")));
        assert!(!scene.top().join(".git/refs/aye/p/x.lock").exists());
    }

    #[test]
    fn deleted_refs_are_gone_loose_and_packed_and_others_stay() {
        let scene = Scene::new();
        let (repository, common) = (scene.store.repository(), scene.top().join(".git"));
        let tip = scene.propose(0);
        for name in ["refs/aye/p/both", "refs/aye/p/packed", "refs/aye/p/kept", "refs/heads/main"] {
            scene.set(name, tip);
        }
        scene.git(&["pack-refs", "--all", "--prune"]);
        let newer = scene.comment(&[tip], "x");
        for name in ["refs/aye/p/both", "refs/aye/p/loose", "refs/aye/p/moved"] {
            scene.set(name, newer);
        }
        let wanted = [
            ("refs/aye/p/both", Some(newer)),
            ("refs/aye/p/packed", Some(tip)),
            ("refs/aye/p/loose", None),
            ("refs/aye/p/moved", Some(tip)),
            ("refs/aye/p/none", None),
            ("refs/aye/none/none", None),
        ];
        let wanted = wanted.map(|(name, at)| (name.to_owned(), at));
        let deleted = delete(repository, &wanted, true).unwrap();
        assert_eq!(deleted, ["refs/aye/p/both", "refs/aye/p/loose", "refs/aye/p/packed"]);
        let mut left = Vec::new();
        super::super::each(repository, "refs/", |name, at| left.push((name, at))).unwrap();
        let expected =
            [("refs/aye/p/kept", tip), ("refs/aye/p/moved", newer), ("refs/heads/main", tip)];
        assert_eq!(left, expected.map(|(name, at)| (name.to_owned(), at)));
        for gone in ["packed-refs.lock", "packed-refs.new", "refs/aye/p/both.lock", "refs/aye/none"]
        {
            assert!(!common.join(gone).exists(), "{gone}");
        }
        // Another process packs refs: nothing is deleted, and the locks go.
        std::fs::write(common.join("packed-refs.lock"), "").unwrap();
        let kept = [("refs/aye/p/kept".to_owned(), Some(tip))];
        assert!(delete(repository, &kept, true).unwrap_err().is(&codes::STORE_BUSY));
        assert_eq!(target(repository, "refs/aye/p/kept").unwrap(), Some(tip));
        assert!(!common.join("refs/aye/p/kept.lock").exists());
        // An unpacked ref that can be rebuilt needs no lock of `packed-refs`.
        assert_eq!(
            delete(repository, &[("refs/aye/p/moved".to_owned(), None)], false).unwrap().len(),
            1
        );
    }

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
