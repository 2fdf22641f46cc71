//! The journal file: one JSON document, `<transaction>.journal`, renamed to `.done` where no
//! event stands for the result.
//!
//! ```json
//! {"version":1,"transaction":"5d2c…","root":"/home/me/project","subject":"prop_…","sums":false,
//!  "flushed":true,"entries":[{"path":"src/a.rs","before":{"id":"…","mode":"100644"},"after":{…},"home":"src"}]}
//! ```

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use bstr::{BStr, BString, ByteSlice, ByteVec};
use serde::{Deserialize, Serialize};

use crate::changeset::{Mode, RepoPath, bytes};
use crate::error::{Error, Result};
use crate::flush::Method;
use crate::worktree::codes;

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
    /// The folder of its temporary files; empty for the root. For a new file that is the nearest
    /// folder above it that was there before: those below were made for it.
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
        let id = match sums {
            true => return Ok(Self::summed(Sum::of(bytes), mode)),
            false => gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes)
                .map_err(|error| Error::bug(format!("cannot hash a file: {error}")))?
                .to_string(),
        };
        Ok(Self { id, mode: mode.as_str().into() })
    }

    /// Names the content with this checksum, as records with [`Record::sums`] do.
    pub fn summed(sum: Sum, mode: Mode) -> Self {
        Self { id: sum.to_string(), mode: mode.as_str().into() }
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
            flushed: false,
            entries: Vec::new(),
        }
    }

    /// The work tree it is about.
    pub fn root(&self) -> PathBuf {
        self.root.to_path_lossy().into_owned()
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

    /// Writes the journal into `folder` and returns its path.
    ///
    /// # Errors
    /// The system's refusal; no journal is left then.
    pub fn write(&self, folder: &Path, flush: Method) -> Result<PathBuf> {
        let path = folder.join(&self.transaction).with_extension(UNDER_WAY);
        let mut text = serde_json::to_vec(self).map_err(|error| Error::bug(error.to_string()))?;
        text.push(b'\n');
        let write = || -> std::io::Result<()> {
            crate::failpoint!("journal.write", io)?;
            let mut file = std::fs::File::options().write(true).create_new(true).open(&path)?;
            let half = text.len() / 2;
            file.write_all(&text[..half])?;
            crate::failpoint!("journal.half", io)?;
            file.write_all(&text[half..])?;
            flush.files(&[file])?;
            crate::failpoint!("journal.written", io)
        };
        write().map_err(|error| {
            let _ = std::fs::remove_file(&path);
            Error::io("write the journal", &error)
        })?;
        Ok(path)
    }

    /// Reads a journal; `None` if it was never completed.
    ///
    /// # Errors
    /// `journal_invalid` if it is complete and still not readable.
    pub fn read(path: &Path) -> Result<Option<Self>> {
        let text = match std::fs::read(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| Error::io("read the journal", &error))?,
        };
        // A power loss can leave blocks of zeros where the content was to be.
        let Some(text) = text.strip_suffix(b"\n") else { return Ok(None) };
        let invalid = |why: &str| {
            Error::new(
                &codes::JOURNAL_INVALID,
                format!("the journal {} of an interrupted apply {why}", path.display()),
            )
            .hint("`aye doctor --repair` sets it aside; check the files with `git status`")
        };
        let record: Self = serde_json::from_slice(text)
            .map_err(|error| invalid(&format!("cannot be read: {error}")))?;
        if record.version != 1 {
            return Err(invalid("was written by a newer aye"));
        }
        let plain = |name: &BStr| name.iter().all(u8::is_ascii_alphanumeric) && !name.is_empty();
        if !plain(record.transaction.as_bytes().as_bstr())
            || record
                .entries
                .iter()
                .any(|e| !e.home.is_empty() && RepoPath::from_tree(&e.home).is_err())
        {
            return Err(invalid("names impossible paths"));
        }
        Ok(Some(record))
    }
}
