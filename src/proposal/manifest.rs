//! The manifest of a decision: per path the content in the target commit, at decision time, and as
//! approved. Pure.
//!
//! Format `aye-manifest@1`: `docs/spec/decisions.md`.

use std::collections::HashMap;

use bstr::ByteSlice as _;
use serde::{Deserialize, Serialize};

use super::event::lists::MAX_LIST;
use super::event::{FileOutcome, Subject, Written, is_id, is_sha256};
use super::{ChangeRecord, Entry, MEMORY, codes};
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::words::words;

/// 64 MiB.
pub const MAX_BYTES: usize = MAX_LIST;

/// A file as git would store it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    /// Hex, in the repository's hash.
    pub id: String,
    /// Octal, such as `100644`.
    pub mode: String,
    /// Hex, of the content.
    pub sha256: String,
}

impl Blob {
    pub fn is(&self, entry: &Entry) -> bool {
        self.mode == entry.mode && self.id == entry.id
    }

    /// The object id depends on git's hash.
    fn key(&self) -> (&str, &str) {
        (&self.mode, &self.sha256)
    }

    pub fn is_valid(&self) -> bool {
        let is_mode = self.mode.len() == 6 && self.mode.bytes().all(|b| matches!(b, b'0'..=b'7'));
        is_mode && is_id(&self.id) && is_sha256(&self.sha256)
    }

    pub fn entry(&self) -> Entry {
        Entry::new(&self.id, &self.mode)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryOutcome {
    /// The file was what the revision starts from.
    Clean,
    /// The file had changed otherwise, and both fit.
    Merged,
    /// The file had the result; the revision's own step is approved.
    Already,
    Edited,
    /// Generated from other files; generator and version.
    Derived(String),
}

impl EntryOutcome {
    fn text(&self) -> String {
        match self {
            Self::Clean => "clean".into(),
            Self::Merged => "merged".into(),
            Self::Already => "already".into(),
            Self::Edited => "edited".into(),
            Self::Derived(name) => format!("derived={name}"),
        }
    }

    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "clean" => Self::Clean,
            "merged" => Self::Merged,
            "already" => Self::Already,
            "edited" => Self::Edited,
            other => {
                let name = other.strip_prefix("derived=")?;
                let (name_only, version) = name.split_once('@')?;
                let word = |c: char| c.is_ascii_lowercase() || c == '-';
                let valid = !name_only.is_empty()
                    && name_only.chars().all(word)
                    && !version.is_empty()
                    && version.bytes().all(|byte| byte.is_ascii_digit());
                valid.then(|| Self::Derived(name.to_owned()))?
            }
        })
    }
}

words! {
    /// Other changes in the file, by which `base` and `now` differ.
    pub enum OtherChanges {
        None = "none",
        /// Shown and approved: `base` to `after`.
        Taken = "taken",
        /// Not approved: only `now` to `after` is.
        NotTaken = "not_taken",
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ManifestEntry {
    pub path: RepoPath,
    /// In the target commit.
    pub base: Option<Blob>,
    /// When decided, as `git add` would store it.
    pub now: Option<Blob>,
    pub after: Option<Blob>,
    pub outcome: EntryOutcome,
    pub residue: OtherChanges,
}

impl ManifestEntry {
    pub fn written(&self) -> Written {
        let entry = |side: &Option<Blob>| side.as_ref().map(Blob::entry);
        let outcome = match &self.outcome {
            EntryOutcome::Clean => FileOutcome::Clean,
            EntryOutcome::Merged => FileOutcome::Merged,
            EntryOutcome::Already => FileOutcome::Already,
            EntryOutcome::Edited => FileOutcome::Edited,
            EntryOutcome::Derived(_) => FileOutcome::Derived,
        };
        let (before, after) = (entry(&self.now), entry(&self.after));
        Written { path: self.path.clone(), before, after, outcome }
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    records: Vec<ManifestEntry>,
}

impl Manifest {
    /// Sorts `records`.
    pub fn new(mut records: Vec<ManifestEntry>) -> Self {
        records.sort_unstable_by(|a, b| a.path.as_bstr().cmp(b.path.as_bstr()));
        Self { records }
    }

    pub fn records(&self) -> &[ManifestEntry] {
        &self.records
    }

    pub fn record(&self, path: &RepoPath) -> Option<&ManifestEntry> {
        let found = self.records.binary_search_by(|r| r.path.as_bstr().cmp(path.as_bstr()));
        found.ok().map(|at| &self.records[at])
    }

    /// Stored, hashed, and later signed.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.records.len() * 256);
        for record in &self.records {
            out.extend(record.outcome.text().bytes());
            out.push(b' ');
            out.extend(record.residue.as_str().bytes());
            for side in [&record.base, &record.now, &record.after] {
                out.push(b' ');
                match side {
                    None => out.push(b'-'),
                    Some(blob) => {
                        let text = [&*blob.mode, &*blob.id, &*blob.sha256].join(":");
                        out.extend(text.bytes());
                    }
                }
            }
            out.push(b' ');
            out.extend_from_slice(record.path.as_bstr());
            out.push(0);
        }
        out
    }

    /// Without generated files: an undo generates them again.
    pub fn written(&self) -> Vec<Written> {
        let is_change =
            |record: &&ManifestEntry| !matches!(record.outcome, EntryOutcome::Derived(_));
        self.records.iter().filter(is_change).map(ManifestEntry::written).collect()
    }

    /// True if a decision on these `changes` may have this manifest: no other files, no contrary
    /// result.
    pub fn fits(&self, changes: &[ChangeRecord], subject: Subject) -> bool {
        let own: HashMap<&RepoPath, &ChangeRecord> =
            changes.iter().map(|change| (&change.path, change)).collect();
        let is_approved = |record: &ManifestEntry| {
            let is_memory = record.path.as_bstr().starts_with(MEMORY);
            match (&record.outcome, own.get(&record.path)) {
                (EntryOutcome::Already, _) => true,
                (EntryOutcome::Derived(_), _) => is_memory,
                // Memory is planned again on the current text, and may go to another file.
                _ if subject == Subject::Memory => is_memory,
                (_, None) => false,
                // If the file was what the revision starts from, nothing was merged: another result
                // is not what the reviewer saw. A moved file carries its origin's changes.
                (_, Some(change)) => {
                    let [before, after] = change.sides();
                    let is_same = |one: &Option<Blob>, other: &Option<Blob>| {
                        one.as_ref().map(Blob::key) == other.as_ref().map(Blob::key)
                    };
                    let is_other = is_same(&before, &record.now) && !is_same(&after, &record.after);
                    change.origin.is_some() || !is_other
                }
            }
        };
        !self.records.is_empty() && self.records.iter().all(is_approved)
    }

    /// # Errors
    /// `statement_invalid` for bytes that `to_bytes` would not write.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut records = Vec::new();
        let mut rest = bytes;
        while !rest.is_empty() {
            let end = rest.find_byte(0).ok_or_else(|| invalid("a record does not end"))?;
            records.push(record(&rest[..end]).ok_or_else(|| invalid("a record is malformed"))?);
            rest = &rest[end + 1..];
        }
        let sorted = records.windows(2).all(|two| two[0].path.as_bstr() < two[1].path.as_bstr());
        let manifest = Self { records };
        if !sorted || manifest.to_bytes() != bytes {
            return Err(invalid("its records are not in their canonical form"));
        }
        Ok(manifest)
    }
}

fn invalid(why: &str) -> Error {
    Error::new(&codes::STATEMENT_INVALID, format!("a manifest cannot be read: {why}"))
        .hint("`aye check` names the decision")
}

fn record(bytes: &[u8]) -> Option<ManifestEntry> {
    let mut fields = bytes.splitn(6, |byte| *byte == b' ');
    let mut text = || std::str::from_utf8(fields.next()?).ok();
    let (outcome, residue) = (text()?, text()?);
    let (base, now, after) = (text()?, text()?, text()?);
    let path = RepoPath::from_tree(fields.next()?).ok()?;
    Some(ManifestEntry {
        path,
        base: side(base)?,
        now: side(now)?,
        after: side(after)?,
        outcome: EntryOutcome::parse(outcome)?,
        residue: OtherChanges::parse(residue)?,
    })
}

/// The outer `None` means malformed.
fn side(text: &str) -> Option<Option<Blob>> {
    if text == "-" {
        return Some(None);
    }
    let mut parts = text.split(':');
    let (mode, id, sha256) = (parts.next()?, parts.next()?, parts.next()?);
    let blob = Blob { mode: mode.into(), id: id.into(), sha256: sha256.into() };
    (parts.next().is_none() && blob.is_valid()).then_some(Some(blob))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn side_of() -> impl Strategy<Value = Option<Blob>> {
        proptest::option::of(
            ("100(644|755)", "[0-9a-f]{40}", "[0-9a-f]{64}").prop_map(|(mode, id, sha256)| Blob {
                mode,
                id,
                sha256,
            }),
        )
    }

    fn records() -> impl Strategy<Value = Vec<ManifestEntry>> {
        let outcome = prop_oneof![
            Just(EntryOutcome::Clean),
            Just(EntryOutcome::Merged),
            Just(EntryOutcome::Already),
            Just(EntryOutcome::Edited),
            Just(EntryOutcome::Derived("memory-index@1".into())),
        ];
        let residue = prop_oneof![
            Just(OtherChanges::None),
            Just(OtherChanges::Taken),
            Just(OtherChanges::NotTaken)
        ];
        let one = (side_of(), side_of(), side_of(), outcome, residue);
        proptest::collection::btree_map("[a-z é\t]{1,6}(/[a-z ]{1,4})?", one, 0..6).prop_map(
            |all| {
                all.into_iter()
                    .filter_map(|(path, (base, now, after, outcome, residue))| {
                        let path = RepoPath::new(path).ok()?;
                        Some(ManifestEntry { path, base, now, after, outcome, residue })
                    })
                    .collect()
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(records in records()) {
            let manifest = Manifest::new(records);
            prop_assert_eq!(Manifest::from_bytes(&manifest.to_bytes()).unwrap(), manifest);
        }

        #[test]
        fn other_bytes_are_refused_and_never_panic(
            records in records(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
        ) {
            let mut bytes = Manifest::new(records).to_bytes();
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
            if let Ok(read) = Manifest::from_bytes(&bytes) {
                prop_assert_eq!(read.to_bytes(), bytes);
            }
        }
    }
}
