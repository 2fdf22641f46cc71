//! The journal file: one JSON document, `<transaction>.journal`, renamed to `.done` where no
//! event stands for the result.
//!
//! ```json
//! {"version":1,"transaction":"5d2c…","root":"/home/me/project","subject":"prop_…","sums":false,
//!  "flushed":true,"entries":[{"path":"src/a.rs","before":{"id":"…","mode":"100644"},"after":{…},"home":"src"}]}
//! ```

use std::io::{ErrorKind, Read as _, Write};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice, ByteVec};
use serde::{Deserialize, Serialize};

use crate::beneath::Access;
use crate::changeset::{Mode, RepoPath, bytes};
use crate::error::{Error, Result};
use crate::flush::Method;
use crate::private::{Directory, LIMIT};
use crate::worktree::codes;
use crate::worktree::directories::parent;
use crate::worktree::index::IndexLock;

/// Extension of a journal under way.
pub const UNDER_WAY: &str = "journal";
/// Extension of a journal whose files stand and only the cleaning is left.
pub const DONE: &str = "done";

/// What one transaction is about to do.
#[derive(Debug, Serialize, Deserialize)]
pub struct Record {
    version: u32,
    /// Names the temporary files and, in the event, the transaction.
    pub transaction: String,
    #[serde(with = "bytes")]
    root: Vec<u8>,
    /// What event stands for it.
    pub subject: Option<String>,
    /// Whether contents are named by checksums. Where no event stands for it they are in no object
    /// store, so that hashing them to object ids, the dearest part of a large file, is for nothing.
    #[serde(default)]
    pub sums: bool,
    /// The lock of the index that it takes; empty for none.
    #[serde(with = "bytes", default, skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<u8>,
    /// Whether each file is flushed before it takes its place.
    pub flushed: bool,
    /// The files, in path order.
    pub entries: Vec<Entry>,
}

/// One file.
#[derive(Debug, Serialize, Deserialize)]
pub struct Entry {
    /// Where.
    pub path: RepoPath,
    /// What was there.
    pub before: Option<Blob>,
    /// What shall be there.
    pub after: Option<Blob>,
    /// The directory of its temporary files; empty for the root. For a new file that is the nearest
    /// directory above it that was there before: those below were made for it.
    #[serde(with = "bytes")]
    pub home: Vec<u8>,
}

/// Content and mode of a file, by object id or checksum.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// Hex id of the blob, or its [`Sum`].
    pub id: String,
    /// `100644` or `100755`.
    mode: String,
}

impl Blob {
    /// Names a file's content, as records with or without [`Record::sums`] do.
    pub fn of(bytes: &[u8], mode: Mode, sums: bool) -> Result<Self> {
        let id = if sums {
            return Ok(Self::summed(Sum::of(bytes), mode));
        } else {
            gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes)
                .map_err(|error| Error::bug(format!("cannot hash a file: {error}")))?
                .to_string()
        };
        Ok(Self { id, mode: mode.as_str().into() })
    }

    /// Names the content with this checksum, as records with [`Record::sums`] do.
    pub fn summed(sum: Sum, mode: Mode) -> Self {
        Self { id: sum.to_string(), mode: mode.as_str().into() }
    }

    /// True for what [`Blob::of`] makes.
    fn is_honest(&self, sums: bool) -> bool {
        let hex = |text: &str, len: usize| {
            text.len() == len && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
        };
        let named = match (sums, self.id.strip_prefix("crc32:").and_then(|sum| sum.split_once(':')))
        {
            (true, Some((sum, size))) => hex(sum, 8) && size.parse::<usize>().is_ok(),
            (true, None) => false,
            (false, _) => hex(&self.id, 40),
        };
        named && Mode::parse(&self.mode).is_some_and(|mode| mode.as_str() == self.mode)
    }

    /// Its mode.
    pub fn mode(&self) -> Mode {
        Mode::parse(&self.mode).unwrap_or_default()
    }
}

/// Tells contents apart that nobody makes alike on purpose: whether a file is the one that a
/// transaction took away or put there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    crc32: u32,
    size: usize,
}

impl Sum {
    /// The checksum of `bytes`.
    pub fn of(bytes: &[u8]) -> Self {
        Self { crc32: crc32fast::hash(bytes), size: bytes.len() }
    }
}

/// As records have it.
impl std::fmt::Display for Sum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "crc32:{:08x}:{}", self.crc32, self.size)
    }
}

impl Record {
    /// A record without entries.
    pub fn new(transaction: String, root: &Path, subject: Option<&str>) -> Self {
        Self {
            version: 1,
            transaction,
            root: Vec::from_path_lossy(root).into_owned(),
            subject: subject.map(Into::into),
            sums: subject.is_none(),
            index: Vec::new(),
            flushed: false,
            entries: Vec::new(),
        }
    }

    /// The work tree it is about.
    pub fn root(&self) -> PathBuf {
        self.root.to_path_lossy().into_owned()
    }

    /// Removes the lock of the index that it has left. Nothing is believed of the path: what lies
    /// there has to name this transaction.
    pub fn unlock_index(&self) {
        if !self.index.is_empty() {
            IndexLock::remove_left(&self.index.to_path_lossy(), &self.transaction);
        }
    }

    /// Name of the temporary file of entry `index`: the new content, then (exchanged) the old.
    pub fn slot(&self, index: usize) -> BString {
        format!(".aye-{}-{index}", self.transaction).into()
    }

    /// Name under which the old file waits where the file system cannot exchange names, and for
    /// deletions.
    pub fn old_slot(&self, index: usize) -> BString {
        format!(".aye-{}-{index}.old", self.transaction).into()
    }

    /// True if an empty file lies under the second temporary name of entry `index` until the
    /// transaction is over: of one that only creates files, nothing else is left in the work tree
    /// once they are in place (see [`super::settle`]).
    pub fn is_marked(&self, index: usize) -> bool {
        index == 0 && self.entries.iter().all(|entry| entry.before.is_none())
    }

    /// Writes the journal into `directory` and returns its name.
    ///
    /// # Errors
    /// The system's refusal; no journal is left then.
    pub fn write(&self, directory: &Directory, flush: Method) -> Result<BString> {
        let name = BString::from(format!("{}.{UNDER_WAY}", self.transaction));
        let mut text = serde_json::to_vec(self).map_err(|error| Error::bug(error.to_string()))?;
        text.push(b'\n');
        let directory = directory.dir();
        let write = || -> std::io::Result<()> {
            crate::failpoint!("journal.write", io)?;
            let mut file = directory.open(name.as_bstr(), Access::New)?;
            let half = text.len() / 2;
            file.write_all(&text[..half])?;
            crate::failpoint!("journal.half", io)?;
            file.write_all(&text[half..])?;
            flush.files(&[file])?;
            crate::failpoint!("journal.written", io)
        };
        write().map_err(|error| {
            let _ = directory.unlink(name.as_bstr());
            Error::io("write the journal", &error)
        })?;
        Ok(name)
    }

    /// Reads the journal `name` in `directory`; `None` if it was never completed.
    ///
    /// Whoever can write the git directory can write a journal. What [`Record::write`] cannot have
    /// written for this user is refused here; what a well-formed journal may do is limited in
    /// [`super::settle`].
    ///
    /// # Errors
    /// `journal_foreign` if this user's aye cannot have left it, `journal_invalid` if it is complete
    /// and still not readable.
    pub fn read(directory: &Directory, name: &BStr) -> Result<Option<Self>> {
        let foreign = |why: &str| foreign(directory, name, why);
        let file = match directory.dir().open(name, Access::Read) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => match directory.dir().stat(name) {
                Ok(found) if found.kind == crate::beneath::FileKind::File => {
                    return Err(Error::io("read the journal", &error));
                }
                _ => return Err(foreign("it is not a regular file")),
            },
            Ok(file) => file,
        };
        let failed = |error| Error::io("read the journal", &error);
        if !is_own(&file.metadata().map_err(failed)?) {
            return Err(foreign("it belongs to another user"));
        }
        let mut text = Vec::new();
        file.take(LIMIT + 1).read_to_end(&mut text).map_err(failed)?;
        if text.len() as u64 > LIMIT {
            return Err(foreign("it is larger than any journal"));
        }
        // A power loss can leave blocks of zeros where the content was to be.
        let Some(text) = text.strip_suffix(b"\n") else { return Ok(None) };
        let invalid = |why: &str| {
            let path = directory.path().join(name.to_path_lossy());
            Error::new(
                &codes::JOURNAL_INVALID,
                format!("the journal {} of an interrupted apply {why}", path.display()),
            )
            .with("path", path.display().to_string())
            .hint("`aye doctor --repair` sets it aside; check the files with `git status`")
        };
        let record: Self = serde_json::from_slice(text)
            .map_err(|error| invalid(&format!("cannot be read: {error}")))?;
        if record.version != 1 {
            return Err(invalid("was written by a newer aye"));
        }
        match record.dishonest(name) {
            None => Ok(Some(record)),
            Some(why) => Err(foreign(why)),
        }
    }

    /// Why [`Record::write`] cannot have written this.
    fn dishonest(&self, name: &BStr) -> Option<&'static str> {
        let plain =
            |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric());
        let done = self.subject.is_none().then(|| format!("{}.{DONE}", self.transaction));
        if !plain(&self.transaction)
            || (name != format!("{}.{UNDER_WAY}", self.transaction)
                && done.is_none_or(|done| name != done))
        {
            return Some("its name is not that of its transaction");
        }
        if self.sums != self.subject.is_none() {
            return Some("it names contents as no command does");
        }
        if !self.root().is_absolute() {
            return Some("its work tree is not an absolute path");
        }
        if self.entries.is_empty() || !self.entries.is_sorted_by(|a, b| a.path < b.path) {
            return Some("its paths are not in order");
        }
        let blobs = |entry: &Entry| {
            let honest = |blob: &Blob| blob.is_honest(self.sums);
            (entry.before.is_some() || entry.after.is_some())
                && entry.before.iter().chain(&entry.after).all(honest)
        };
        if !self.entries.iter().all(blobs) {
            return Some("it names contents as no command does");
        }
        // The temporary files lie in the directory of the file, or in one above it.
        let home = |entry: &Entry| {
            let (above, home) = (parent(entry.path.as_bstr()), entry.home.as_bstr());
            home.is_empty()
                || above == home
                || above.strip_prefix(home.as_bytes()).is_some_and(|rest| rest[0] == b'/')
        };
        (!self.entries.iter().all(home))
            .then_some("its temporary files are not beside their targets")
    }
}

/// The error for a journal that is not carried out.
pub fn foreign(directory: &Directory, name: &BStr, why: &str) -> Error {
    let path = directory.path().join(name.to_path_lossy());
    Error::new(
        &codes::JOURNAL_FOREIGN,
        format!("the journal {} was not carried out: {why}", path.display()),
    )
    .with("path", path.display().to_string())
    .hint("look at it; `aye doctor --repair` sets it aside")
}

fn is_own(found: &std::fs::Metadata) -> bool {
    std::os::unix::fs::MetadataExt::uid(found) == rustix::process::geteuid().as_raw()
}
