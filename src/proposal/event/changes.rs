//! Changes as events name them: by object id.

use std::borrow::Cow;

use bstr::ByteSlice as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::data::or_default;
use crate::changeset::{File, FileChange, Mode, Occurrence, RepoPath, Snippet, sensitive};
use crate::proposal::manifest::Blob;

/// A blob and its mode.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    /// Object id of the blob, hex.
    pub id: String,
    /// `100644` or `100755`.
    #[serde(deserialize_with = "mode")]
    pub mode: Cow<'static, str>,
}

fn mode<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'static, str>, D::Error> {
    String::deserialize(from).map(|text| known_mode(&text))
}

/// Borrowed for git's own modes: nearly all.
fn known_mode(text: &str) -> Cow<'static, str> {
    let known = ["100644", "100755", "120000", "160000"].into_iter().find(|mode| *mode == text);
    known.map_or_else(|| Cow::Owned(text.to_owned()), Cow::Borrowed)
}

impl Entry {
    pub fn new(id: impl Into<String>, mode: &str) -> Self {
        Self { id: id.into(), mode: known_mode(mode) }
    }

    /// False for a symlink or submodule.
    pub fn is_regular(&self) -> bool {
        Mode::parse(&self.mode).is_some()
    }

    /// A regular file if the mode is unsupported.
    pub fn file_mode(&self) -> Mode {
        Mode::parse(&self.mode).unwrap_or_default()
    }
}

impl sensitive::TouchedPath for ChangeRecord {
    fn path(&self) -> &RepoPath {
        &self.path
    }

    fn modes(&self) -> (Option<Mode>, Option<Mode>) {
        let mode = |entry: &Option<Entry>| entry.as_ref().map(Entry::file_mode);
        (mode(&self.before), mode(&self.after))
    }

    fn origin(&self) -> Option<&RepoPath> {
        self.origin.as_ref()
    }
}

impl ChangeRecord {
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> + Clone {
        std::iter::once(&self.path).chain(&self.origin)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "StoredChange", into = "StoredChange")]
pub struct ChangeRecord {
    pub path: RepoPath,
    pub before: Option<Entry>,
    pub after: Option<Entry>,
    pub before_sha256: Option<String>,
    pub after_sha256: Option<String>,
    /// Moved or copied from there.
    pub origin: Option<RepoPath>,
    pub snippets: Vec<SnippetRecord>,
}

/// Stored form: each side has its SHA-256.
#[derive(Serialize, Deserialize)]
struct StoredChange {
    path: RepoPath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    before: Option<Blob>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    after: Option<Blob>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    origin: Option<RepoPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    snippets: Vec<SnippetRecord>,
}

impl TryFrom<StoredChange> for ChangeRecord {
    type Error = &'static str;

    fn try_from(line: StoredChange) -> Result<Self, Self::Error> {
        if ![&line.before, &line.after].into_iter().flatten().all(Blob::is_valid) {
            return Err("a side of a change is not named by mode, id and SHA-256");
        }
        let entry = |side: &Option<Blob>| side.as_ref().map(Blob::entry);
        Ok(Self {
            before: entry(&line.before),
            after: entry(&line.after),
            before_sha256: line.before.map(|side| side.sha256),
            after_sha256: line.after.map(|side| side.sha256),
            path: line.path,
            origin: line.origin,
            snippets: line.snippets,
        })
    }
}

impl From<ChangeRecord> for StoredChange {
    fn from(change: ChangeRecord) -> Self {
        let [before, after] = change.sides();
        Self { path: change.path, before, after, origin: change.origin, snippets: change.snippets }
    }
}

impl ChangeRecord {
    pub fn new(change: &FileChange, before: Option<Entry>, after: Option<Entry>) -> Self {
        let sha256 =
            |side: &Option<File>| side.as_ref().map(|file| crate::sha256::hex(&file.bytes));
        Self {
            path: change.path.clone(),
            before_sha256: sha256(&change.before),
            after_sha256: sha256(&change.after),
            before,
            after,
            origin: change.origin.clone(),
            snippets: change.snippets.iter().map(SnippetRecord::from).collect(),
        }
    }

    /// Before and after.
    pub fn sides(&self) -> [Option<Blob>; 2] {
        let side = |entry: &Option<Entry>, sha256: &Option<String>| {
            entry.as_ref().map(|entry| Blob {
                id: entry.id.clone(),
                mode: entry.mode.to_string(),
                sha256: sha256.clone().unwrap_or_default(),
            })
        };
        [side(&self.before, &self.before_sha256), side(&self.after, &self.after_sha256)]
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnippetRecord {
    #[serde(with = "crate::changeset::bytes")]
    pub old: Vec<u8>,
    #[serde(with = "crate::changeset::bytes")]
    pub new: Vec<u8>,
    /// `unique`, `all`, or a number from 1; `None` means `unique`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub occurrence: Option<String>,
}

impl From<&Snippet> for SnippetRecord {
    fn from(snippet: &Snippet) -> Self {
        let occurrence = match snippet.occurrence {
            Occurrence::Unique => None,
            Occurrence::All => Some("all".into()),
            Occurrence::Nth(n) => Some(n.to_string()),
        };
        Self { old: snippet.old.clone(), new: snippet.new.clone(), occurrence }
    }
}

impl From<&SnippetRecord> for Snippet {
    fn from(record: &SnippetRecord) -> Self {
        let occurrence = match record.occurrence.as_deref() {
            Some("all") => Occurrence::All,
            text => {
                text.and_then(|text| text.parse().ok()).map_or(Occurrence::Unique, Occurrence::Nth)
            }
        };
        Self { old: record.old.clone(), new: record.new.clone(), occurrence }
    }
}

/// Hex; equal digests mean the same changes to the same files.
pub fn digest(changes: &[ChangeRecord]) -> String {
    digest_of(changes.iter().map(|change| (&change.path, change.sides())))
}

/// Hex SHA-256 over paths, modes and content hashes, in any order.
pub(in crate::proposal) fn digest_of<'a, const N: usize>(
    files: impl Iterator<Item = (&'a RepoPath, [Option<Blob>; N])>,
) -> String {
    let mut lines: Vec<Vec<u8>> = files
        .map(|(path, sides)| {
            let side =
                |side: Option<Blob>| side.map_or("-".into(), |it| it.mode + ":" + &it.sha256);
            let sides = sides.map(side).join(" ");
            [sides.as_bytes(), b" ", path.as_bstr().as_bytes(), b"\0"].concat()
        })
        .collect();
    lines.sort_unstable();
    crate::sha256::hex(&lines.concat())
}
