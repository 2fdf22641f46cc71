//! Changes as events name them: by object id.

use std::borrow::Cow;
use std::fmt;

use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::changeset::{FileChange, Mode, Occurrence, RepoPath, Snippet, sensitive};

/// A blob and its mode.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Entry {
    /// Object id of the blob, hex.
    pub id: String,
    /// `100644` or `100755`.
    #[serde(deserialize_with = "mode")]
    pub mode: Cow<'static, str>,
}

/// A mode, in place where it is one that git knows: nearly every one is.
fn mode<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Cow<'static, str>, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Cow<'static, str>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a mode")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Cow<'static, str>, E> {
            Ok(known_mode(text))
        }
    }
    deserializer.deserialize_str(Text)
}

fn known_mode(text: &str) -> Cow<'static, str> {
    let known = ["100644", "100755", "120000", "160000"].into_iter().find(|mode| *mode == text);
    known.map_or_else(|| Cow::Owned(text.to_owned()), Cow::Borrowed)
}

impl Entry {
    /// The blob `id` (hex) with the mode that `mode` says.
    pub fn new(id: impl Into<String>, mode: &str) -> Self {
        Self { id: id.into(), mode: known_mode(mode) }
    }

    /// True for a regular file, executable or not: what is no symlink and no submodule.
    pub fn is_regular(&self) -> bool {
        Mode::parse(&self.mode).is_some()
    }

    /// The mode as a value; a regular file where the text is none of ours.
    pub fn file_mode(&self) -> Mode {
        Mode::parse(&self.mode).unwrap_or_default()
    }
}

impl sensitive::Touched for ChangeRecord {
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
    /// Its path, and the one that it was moved or copied from.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> + Clone {
        std::iter::once(&self.path).chain(&self.origin)
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
    let list: Vec<Content<'_>> = changes.iter().map(Content::from).collect();
    // In canonical form without a detour: a decision on many files needs it several times.
    let mut bytes = serde_json::to_vec(&list).unwrap_or_default();
    bytes.push(b'\n');
    blob_id(&bytes)
}

/// What a change does, with its keys in canonical order, as those of [`Entry`] are.
#[derive(Serialize)]
struct Content<'a> {
    after: &'a Option<Entry>,
    before: &'a Option<Entry>,
    path: &'a RepoPath,
}

impl<'a> From<&'a ChangeRecord> for Content<'a> {
    fn from(change: &'a ChangeRecord) -> Self {
        Self { after: &change.after, before: &change.before, path: &change.path }
    }
}

/// Git's SHA-1 blob id of `bytes`, hex.
fn blob_id(bytes: &[u8]) -> String {
    gix::objs::compute_hash(gix::hash::Kind::Sha1, gix::objs::Kind::Blob, bytes)
        .map(|id| id.to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::*;
    use crate::proposal::canonical;

    fn change() -> impl Strategy<Value = ChangeRecord> {
        let entry = || {
            let mode = prop_oneof![Just("100644"), Just("100755")];
            proptest::option::of(
                ("[0-9a-f]{40}", mode).prop_map(|(id, mode)| Entry { id, mode: mode.into() }),
            )
        };
        let path = prop_oneof![
            "[a-z\"\\\\ äß\u{1}-\u{1f}]{1,9}".prop_map(String::into_bytes),
            proptest::collection::vec(1..=255_u8, 1..9),
        ];
        let path =
            path.prop_filter_map("not a path", |bytes| RepoPath::from_tree(bytes.as_slice()).ok());
        (path, entry(), entry()).prop_map(|(path, before, after)| ChangeRecord {
            path,
            before,
            after,
            origin: None,
            snippets: Vec::new(),
        })
    }

    proptest! {
        #[test]
        fn the_digest_is_that_of_canonical_bytes(
            changes in proptest::collection::vec(change(), 0..5)
        ) {
            let value = |change: &ChangeRecord| {
                json!({"path": change.path, "before": change.before, "after": change.after})
            };
            let list = Value::Array(changes.iter().map(value).collect());
            prop_assert_eq!(digest(&changes), blob_id(&canonical::to_bytes(&list)));
        }
    }
}
