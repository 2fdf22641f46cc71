//! The journal file, `<transaction>.journal`: one JSON document. Without an event it is renamed to
//! `.done`.
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
use crate::flush::FlushMethod;
use crate::private::{LIMIT, PrivateDirectory};
use crate::worktree::codes;
use crate::worktree::directories::parent;
use crate::worktree::index::IndexLock;

pub const UNDER_WAY: &str = "journal";
/// Extension of a journal whose files are final.
pub const DONE: &str = "done";

#[derive(Debug, Serialize, Deserialize)]
pub struct JournalRecord {
    version: u32,
    /// In temporary names and in the event.
    pub transaction: String,
    #[serde(with = "bytes")]
    root: Vec<u8>,
    /// The proposal of the event.
    pub subject: Option<String>,
    /// True if checksums name the contents: without an event no object store has them, so object
    /// ids would be wasted work.
    #[serde(default)]
    pub sums: bool,
    /// Empty for no lock.
    #[serde(with = "bytes", default, skip_serializing_if = "Vec::is_empty")]
    pub index: Vec<u8>,
    /// True if files are flushed before they take their place.
    pub flushed: bool,
    /// Sorted by path.
    pub entries: Vec<JournalEntry>,
}

#[derive(Debug, Serialize, Deserialize)]
pub struct JournalEntry {
    pub path: RepoPath,
    pub before: Option<BlobKey>,
    pub after: Option<BlobKey>,
    /// Directory of the temporary files; empty for the root. For a new file: the nearest one above
    /// that existed before.
    #[serde(with = "bytes")]
    pub home: Vec<u8>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobKey {
    /// Hex id, or a `Sum`.
    pub id: String,
    /// `100644` or `100755`.
    mode: String,
}

impl BlobKey {
    pub fn of(bytes: &[u8], mode: Mode, sums: bool) -> Result<Self> {
        let id = if sums {
            return Ok(Self::summed(Checksum::of(bytes), mode));
        } else {
            gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes)
                .map_err(|error| Error::bug(format!("cannot hash a file: {error}")))?
                .to_string()
        };
        Ok(Self { id, mode: mode.as_str().into() })
    }

    pub fn summed(sum: Checksum, mode: Mode) -> Self {
        Self { id: sum.to_string(), mode: mode.as_str().into() }
    }

    fn is_well_formed(&self, sums: bool) -> bool {
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

    pub fn mode(&self) -> Mode {
        Mode::parse(&self.mode).unwrap_or_default()
    }
}

/// Identifies files of the transaction. Not collision-resistant: nobody gains by equal contents
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checksum {
    crc32: u32,
    size: usize,
}

impl Checksum {
    pub fn of(bytes: &[u8]) -> Self {
        Self { crc32: crc32fast::hash(bytes), size: bytes.len() }
    }
}

impl std::fmt::Display for Checksum {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "crc32:{:08x}:{}", self.crc32, self.size)
    }
}

impl JournalRecord {
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

    pub fn root(&self) -> PathBuf {
        self.root.to_path_lossy().into_owned()
    }

    /// Removes the transaction's index lock. The path is not believed: its content must name the
    /// transaction.
    pub fn unlock_index(&self) {
        if !self.index.is_empty() {
            IndexLock::remove_stale(&self.index.to_path_lossy(), &self.transaction);
        }
    }

    /// Temporary name of the new content, after the exchange of the old file.
    pub fn new_name(&self, index: usize) -> BString {
        format!(".aye-{}-{index}", self.transaction).into()
    }

    /// Name of the old file for deletions, and without exchange of names.
    pub fn old_name(&self, index: usize) -> BString {
        format!(".aye-{}-{index}.old", self.transaction).into()
    }

    /// True if an empty file marks the transaction, which only creates files (see `super::settle`).
    pub fn is_marked(&self, index: usize) -> bool {
        index == 0 && self.entries.iter().all(|entry| entry.before.is_none())
    }

    /// Returns the journal's name; on an error no journal is left.
    pub fn write(&self, directory: &PrivateDirectory, flush: FlushMethod) -> Result<BString> {
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

    /// `None` if the journal was never completed.
    ///
    /// Every process that can write the git directory can forge a journal. This refuses what
    /// `JournalRecord::write` cannot have written for this user; `super::settle` limits a well-formed
    /// journal.
    ///
    /// # Errors
    /// `journal_foreign` if this user's aye cannot have left it, `journal_invalid` if unreadable.
    pub fn read(directory: &PrivateDirectory, name: &BStr) -> Result<Option<Self>> {
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
        // A power loss can leave zeros.
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
        match record.malformation(name) {
            None => Ok(Some(record)),
            Some(why) => Err(foreign(why)),
        }
    }

    fn malformation(&self, name: &BStr) -> Option<&'static str> {
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
        let blobs = |entry: &JournalEntry| {
            let honest = |blob: &BlobKey| blob.is_well_formed(self.sums);
            (entry.before.is_some() || entry.after.is_some())
                && entry.before.iter().chain(&entry.after).all(honest)
        };
        if !self.entries.iter().all(blobs) {
            return Some("it names contents as no command does");
        }
        let home = |entry: &JournalEntry| {
            let (above, home) = (parent(entry.path.as_bstr()), entry.home.as_bstr());
            home.is_empty()
                || above == home
                || above.strip_prefix(home.as_bytes()).is_some_and(|rest| rest[0] == b'/')
        };
        (!self.entries.iter().all(home))
            .then_some("its temporary files are not beside their targets")
    }
}

pub fn foreign(directory: &PrivateDirectory, name: &BStr, why: &str) -> Error {
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
