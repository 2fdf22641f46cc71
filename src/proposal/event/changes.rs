//! Changes as events name them: by object id.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::changeset::{FileChange, Mode, Occurrence, RepoPath, Snippet};
use crate::proposal::canonical;

/// A blob and its mode.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    /// Object id of the blob, hex.
    pub id: String,
    /// `100644` or `100755`.
    pub mode: String,
}

impl Entry {
    /// The mode as a value; a regular file where the text is none of ours.
    pub fn file_mode(&self) -> Mode {
        Mode::parse(&self.mode).unwrap_or_default()
    }
}

/// One file of a changeset, with object ids for content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangeRecord {
    /// Where.
    pub path: RepoPath,
    /// What the change starts from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Entry>,
    /// What it leads to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Entry>,
    /// Moved or copied from there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<RepoPath>,
    /// The replacements it was written as.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub snippets: Vec<SnippetRecord>,
}

impl ChangeRecord {
    /// The record of `change` whose content is stored under these entries.
    pub fn new(change: &FileChange, before: Option<Entry>, after: Option<Entry>) -> Self {
        Self {
            path: change.path.clone(),
            before,
            after,
            origin: change.origin.clone(),
            snippets: change.snippets.iter().map(SnippetRecord::from).collect(),
        }
    }
}

/// A [`Snippet`] in an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnippetRecord {
    /// Bytes to find.
    #[serde(with = "crate::changeset::bytes")]
    pub old: Vec<u8>,
    /// Bytes to put there.
    #[serde(with = "crate::changeset::bytes")]
    pub new: Vec<u8>,
    /// `unique`, `all`, or a number from 1.
    #[serde(default = "unique", skip_serializing_if = "is_unique")]
    pub occurrence: String,
}

fn unique() -> String {
    "unique".into()
}

fn is_unique(text: &str) -> bool {
    text == "unique"
}

impl From<&Snippet> for SnippetRecord {
    fn from(snippet: &Snippet) -> Self {
        let occurrence = match snippet.occurrence {
            Occurrence::Unique => unique(),
            Occurrence::All => "all".into(),
            Occurrence::Nth(n) => n.to_string(),
        };
        Self { old: snippet.old.clone(), new: snippet.new.clone(), occurrence }
    }
}

impl From<&SnippetRecord> for Snippet {
    fn from(record: &SnippetRecord) -> Self {
        let occurrence = match record.occurrence.as_str() {
            "all" => Occurrence::All,
            text => text.parse().map_or(Occurrence::Unique, Occurrence::Nth),
        };
        Self { old: record.old.clone(), new: record.new.clone(), occurrence }
    }
}

/// What identifies a set of changes: hex digest of paths, contents and modes.
///
/// Two proposals with the same digest do the same to the same files.
pub fn digest(changes: &[ChangeRecord]) -> String {
    let list: Vec<Value> = changes
        .iter()
        .map(|change| {
            serde_json::json!({
                "path": change.path, "before": change.before, "after": change.after,
            })
        })
        .collect();
    blob_id(&canonical::to_bytes(&Value::Array(list)))
}

/// Git's SHA-1 blob id of `bytes`, hex.
fn blob_id(bytes: &[u8]) -> String {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes)
        .map(|id| id.to_string())
        .unwrap_or_default()
}
