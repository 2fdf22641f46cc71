//! Loose objects, written in one batch: all temporaries, all flushed, all renamed.
//!
//! gix writes one object at a time, each with a new deflate state of 300 KB, and never flushes.
//! This module exists for these two reasons alone; tests hold its standard loose objects to `git
//! fsck`. Format: gitformat-loose(5), <https://git-scm.com/docs/gitformat-loose>.
//!
//! An existing object without a ref gets a new time, as by `freshen_packed_object` and
//! `freshen_loose_object` in git's `object-file.c`. `git gc` beside a writer prunes by age, and
//! would delete it before a ref names it.

use std::collections::{BTreeSet, HashSet};
use std::fs::OpenOptions;
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

use bstr::ByteSlice as _;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use gix::ObjectId;
use gix::objs::{Exists as _, Kind};

use crate::error::{Error, Result};
use crate::flush::{FlushMethod, OPEN};
use crate::repository::{Repository, loose_path};

/// Size up to which a loose object is stored, not compressed. File systems allocate blocks of 4
/// KiB, so compression saves no space and takes more time than hashing and writing. `git gc` and
/// `git push` compress what they pack.
const STORED: usize = 4 * 1024;

/// Attempts to rename an object whose directory is removed each time.
const MOST_NAMINGS: usize = 16;

pub(super) struct Batch<'repo> {
    repository: &'repo Repository,
    /// Looks objects up without listing the packs again at every miss: a new object is always a
    /// miss. An object that was packed meanwhile is written twice at worst.
    present: gix::OdbHandle,
    directory: PathBuf,
    waiting: Vec<(ObjectId, Vec<u8>)>,
    /// Packs of objects that may have no ref, once they were looked for.
    unnamed: Option<Vec<Index>>,
    known: HashSet<ObjectId>,
    /// One state for all objects: a new one takes 300 KB.
    encoder: ZlibEncoder<Vec<u8>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadFailure {
    Missing(ObjectId),
    Bad(String),
}

/// The bytes of the object `id`, if it has this `kind` and at most `most` bytes. Others name
/// objects of any size, so the header is read first. Neither gix nor git hash what they read, and a
/// loose object may have been overwritten, so the hash is compared.
pub(super) fn read(
    repository: &Repository,
    id: ObjectId,
    kind: Kind,
    most: u64,
) -> Result<Vec<u8>, ReadFailure> {
    let bad = |why: String| ReadFailure::Bad(format!("{kind} {id} {why}"));
    let repo = repository.repo();
    let Ok((found, size)) = repository.header(id) else {
        let is_here = repo.objects.exists(&id);
        return Err(if is_here {
            bad("cannot be read".to_owned())
        } else {
            ReadFailure::Missing(id)
        });
    };
    if found != kind {
        return Err(bad(format!("is a {found}")));
    }
    if size > most {
        return Err(bad(format!("has {size} bytes, over the limit of {most}")));
    }
    let mut object =
        repo.find_object(id).map_err(|error| bad(format!("cannot be read: {error}")))?;
    let data = std::mem::take(&mut object.data);
    match hashed(id.kind(), kind, &data) {
        Ok(hash) if hash == id => Ok(data),
        _ => Err(bad("has the content of another one".to_owned())),
    }
}

/// The first lines of a commit, as far as git reads them, and the header lines that follow.
pub(super) struct Header<'c> {
    pub(super) tree: ObjectId,
    pub(super) parents: Vec<ObjectId>,
    rest: &'c [u8],
}

impl<'c> Header<'c> {
    /// Parses a commit; `None` if it is malformed or has more than `most` parents.
    pub(super) fn parse(data: &'c [u8], hash: gix::hash::Kind, most: usize) -> Option<Self> {
        let id = |line: &[u8]| ObjectId::from_hex(line).ok().filter(|id| id.kind() == hash);
        let (line, mut rest) = data.split_once_str("\n")?;
        let tree = id(line.strip_prefix(b"tree ")?)?;
        let mut parents: Vec<ObjectId> = Vec::new();
        while let Some(line) = rest.strip_prefix(b"parent ") {
            let (hex, after) = line.split_once_str("\n")?;
            let parent = id(hex)?;
            if parents.len() == most {
                return None;
            }
            parents.push(parent);
            rest = after;
        }
        Some(Self { tree, parents, rest })
    }

    /// The values of the header lines `name`; `None` if one continues in a second line or stands in
    /// the message.
    pub(super) fn values(&self, name: &str) -> Option<Vec<&'c [u8]>> {
        let (header, message) = self.rest.split_once_str("\n\n").unwrap_or((self.rest, b""));
        let value = |line: &'c [u8]| line.strip_prefix(name.as_bytes())?.strip_prefix(b" ");
        let (mut values, mut is_last) = (Vec::new(), false);
        for line in header.split_str("\n") {
            if is_last && line.starts_with(b" ") {
                return None;
            }
            let found = value(line);
            is_last = found.is_some();
            values.extend(found);
        }
        message.split_str("\n").all(|line| value(line).is_none()).then_some(values)
    }
}

pub(super) fn object_id(hex: &str) -> Result<ObjectId> {
    ObjectId::from_hex(hex.as_bytes())
        .map_err(|_| Error::bug(format!("'{hex}' is not an object id")))
}

pub(super) fn hashed(hash: gix::hash::Kind, kind: Kind, data: &[u8]) -> Result<ObjectId> {
    gix::objs::compute_hash(hash, kind, data)
        .map_err(|error| Error::bug(format!("cannot hash an object: {error}")))
}

impl<'repo> Batch<'repo> {
    pub(super) fn new(repository: &'repo Repository) -> Self {
        let repo = repository.repo();
        let directory = repo.objects.store_ref().path().to_owned();
        let mut present = repo.objects.clone();
        present.refresh_never();
        Self {
            repository,
            present,
            directory,
            waiting: Vec::new(),
            unnamed: None,
            known: HashSet::new(),
            encoder: ZlibEncoder::new(Vec::new(), Compression::fast()),
        }
    }

    /// Adds an object, unless the repository or the batch has it. Returns its id.
    pub(super) fn add(&mut self, kind: Kind, data: &[u8]) -> Result<ObjectId> {
        let id = hashed(self.repository.repo().object_hash(), kind, data)?;
        self.add_as(id, kind, data)?;
        Ok(id)
    }

    pub(super) fn add_tree(&mut self, tree: &gix::objs::Tree) -> Result<ObjectId> {
        use gix::objs::WriteTo as _;
        let mut data = Vec::new();
        tree.write_to(&mut data)
            .map_err(|error| Error::bug(format!("cannot write a tree: {error}")))?;
        self.add(Kind::Tree, &data)
    }

    /// As [`Batch::add`], for an object that was hashed already.
    pub(super) fn add_as(&mut self, id: ObjectId, kind: Kind, data: &[u8]) -> Result<()> {
        if !self.known.insert(id) {
            return Ok(());
        }
        // It is read again as soon as it is recorded.
        self.repository.cache_object(id, kind, data);
        if !(self.present.exists(&id) && self.freshen(&id)) {
            let packed = self.deflate(kind, data)?;
            self.waiting.push((id, packed));
        }
        Ok(())
    }

    /// Gives an existing object a new time. `false` if it has to be written again instead, because
    /// its pack may hold objects that wait to be pruned.
    fn freshen(&mut self, id: &ObjectId) -> bool {
        let hash = self.repository.repo().object_hash();
        touch(&loose_path(&self.directory, id)) || {
            let unnamed = self.unnamed.get_or_insert_with(|| unnamed(&self.directory, hash));
            !unnamed.iter().any(|index| index.lookup(id).is_some())
        }
    }

    fn deflate(&mut self, kind: Kind, data: &[u8]) -> Result<Vec<u8>> {
        let header = gix::objs::encode::loose_header(kind, data.len() as u64);
        if let Some(stored) = stored(&header, data) {
            return Ok(stored);
        }
        let packed = self.encoder.write_all(&header).and_then(|()| {
            self.encoder.write_all(data)?;
            self.encoder.reset(Vec::new())
        });
        packed.map_err(|error| Error::bug(format!("cannot compress an object: {error}")))
    }

    /// Writes the objects, as durably as the settings ask.
    pub(super) fn write_durably(&mut self, repository: &Repository) -> Result<()> {
        self.write(if repository.settings()?.durable {
            FlushMethod::durable(&self.directory, repository.common_dir())
        } else {
            FlushMethod::No
        })
    }

    /// Writes the objects. Unless `flush` is `FlushMethod::No` the content of every object is on the
    /// disk before any is renamed, so an object that can be found is whole.
    ///
    /// # Errors
    /// `disk_full`, `read_only`, `io_error`; temporaries are removed.
    pub(super) fn write(&mut self, flush: FlushMethod) -> Result<()> {
        let mut temporaries = Temporaries(Vec::with_capacity(self.waiting.len()));
        for some in self.waiting.chunks(OPEN) {
            let mut files = Vec::with_capacity(some.len());
            for (_, packed) in some {
                let (path, file) = self.temporary(packed)?;
                temporaries.0.push(path);
                files.push(file);
            }
            crate::failpoint!("store.objects.written");
            flush.files(&files).map_err(|error| Error::io("flush a git object", &error))?;
        }
        let mut directories = BTreeSet::new();
        for ((id, _), temporary) in self.waiting.iter().zip(&temporaries.0) {
            crate::failpoint!("store.objects.rename");
            directories.insert(self.give_name(temporary, id)?);
        }
        flush.directories(&directories);
        temporaries.0.clear();
        self.waiting.clear();
        Ok(())
    }

    fn temporary(&self, packed: &[u8]) -> Result<(PathBuf, std::fs::File)> {
        let failed =
            |error: &std::io::Error| Error::file("write a git object to", &self.directory, error);
        // `git gc` removes files with this prefix after a crash.
        let name = format!("tmp_obj_aye{:016x}", crate::beneath::random_id());
        let path = self.directory.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o444);
        crate::failpoint!("store.objects.write", io).map_err(|error| failed(&error))?;
        let mut file = options.open(&path).map_err(|error| failed(&error))?;
        if let Err(error) = file.write_all(packed) {
            let _ = std::fs::remove_file(&path);
            return Err(failed(&error));
        }
        Ok((path, file))
    }

    fn give_name(&self, temporary: &Path, id: &ObjectId) -> Result<PathBuf> {
        let path = loose_path(&self.directory, id);
        let directory = path.parent().unwrap_or(&self.directory).to_owned();
        rename(temporary, &path, &directory, || ())?;
        Ok(directory)
    }
}

/// Renames `temporary` to `path` in `directory`, and creates that if it is missing: `git gc`
/// removes it while it is empty. `made` is called in between.
fn rename(temporary: &Path, path: &Path, directory: &Path, mut made: impl FnMut()) -> Result<()> {
    let mut renamed = std::fs::rename(temporary, path);
    for _ in 1..MOST_NAMINGS {
        if !renamed.as_ref().is_err_and(|error| error.kind() == ErrorKind::NotFound) {
            break;
        }
        match std::fs::create_dir(directory) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                return Err(Error::file("create the directory", directory, &error));
            }
            _ => made(),
        }
        renamed = std::fs::rename(temporary, path);
    }
    renamed.map_err(|error| Error::file("rename a git object to", path, &error))
}

/// `header` and `data` as a zlib stream of one stored block (RFC 1950, RFC 1951 section 3.2.4);
/// `None` if that is longer than [`STORED`].
fn stored(header: &[u8], data: &[u8]) -> Option<Vec<u8>> {
    const AROUND: usize = 2 + 5 + 4;
    let length = header.len() + data.len();
    if length + AROUND > STORED {
        return None;
    }
    let size = u16::try_from(length).ok()?;
    let mut out = Vec::with_capacity(length + AROUND);
    // Deflate with a window of 32 KiB, fastest level; then the last block, stored.
    out.extend([0x78, 0x01, 0x01]);
    out.extend(size.to_le_bytes());
    out.extend((!size).to_le_bytes());
    out.extend(header);
    out.extend(data);
    // Adler-32. Neither sum comes near 2^32 in so few bytes, so one division is enough.
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in header.iter().chain(data) {
        low += u32::from(*byte);
        high += low;
    }
    out.extend((((high % 65_521) << 16) | (low % 65_521)).to_be_bytes());
    Some(out)
}

type Index = gix::odb::pack::index::File;

/// Packs below `directory` with objects that may have no ref: cruft packs of `git gc` (with a file
/// `.mtimes`, gitformat-pack(5)) and `loose-…` packs of `git maintenance`. Objects of other packs
/// had a ref when these were made. Unreadable packs are ignored.
fn unnamed(directory: &Path, hash: gix::hash::Kind) -> Vec<Index> {
    let entries = std::fs::read_dir(directory.join("pack")).into_iter().flatten().flatten();
    let indexes = entries.map(|entry| entry.path()).filter(|path| {
        let name = path.file_name().unwrap_or_default().as_encoded_bytes();
        path.extension().is_some_and(|end| end == "idx")
            && (name.starts_with(b"loose-") || path.with_extension("mtimes").exists())
    });
    indexes.filter_map(|path| Index::at(path, hash).ok()).collect()
}

/// Sets the file's time to now; `false` if there is no file. Another user's file keeps its time.
fn touch(path: &Path) -> bool {
    use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_NOW, utimensat};
    let now = Timespec { tv_sec: 0, tv_nsec: UTIME_NOW };
    let times = Timestamps { last_access: now, last_modification: now };
    !matches!(utimensat(CWD, path, &times, AtFlags::empty()), Err(rustix::io::Errno::NOENT))
}

struct Temporaries(Vec<PathBuf>);

impl Drop for Temporaries {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use proptest::prelude::*;

    use super::*;

    fn inflated(stream: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        flate2::read::ZlibDecoder::new(stream).read_to_end(&mut out).unwrap();
        out
    }

    proptest! {
        #[test]
        fn stored_object_inflates_to_header_and_data(
            data in proptest::collection::vec(any::<u8>(), 0..STORED),
        ) {
            let header = gix::objs::encode::loose_header(Kind::Blob, data.len() as u64);
            let whole = [&header[..], &data].concat();
            match stored(&header, &data) {
                Some(stream) => {
                    prop_assert!(stream.len() <= STORED);
                    prop_assert_eq!(inflated(&stream), whole);
                }
                None => prop_assert!(whole.len() + 11 > STORED),
            }
        }
    }

    #[test]
    fn an_object_gets_its_name_where_git_removes_its_directory() {
        let top = tempfile::tempdir().unwrap();
        let (temporary, directory) = (top.path().join("tmp_obj"), top.path().join("9c"));
        let path = directory.join("01");
        for (times, is_named) in [(0, true), (3, true), (usize::MAX, false)] {
            std::fs::write(&temporary, "object").unwrap();
            let mut removed = 0;
            let renamed = rename(&temporary, &path, &directory, || {
                if removed < times {
                    std::fs::remove_dir(&directory).unwrap();
                    removed += 1;
                }
            });
            assert_eq!((renamed.is_ok(), path.exists()), (is_named, is_named), "{times}");
            let _ = std::fs::remove_dir_all(&directory);
        }
    }

    #[test]
    fn sums_of_the_largest_stored_block_do_not_overflow() {
        let data = vec![0xff; STORED - 20];
        assert_eq!(inflated(&stored(b"", &data).unwrap()), data);
    }
}
