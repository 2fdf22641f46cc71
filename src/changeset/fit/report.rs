//! The result of a patch by file and hunk.

use schemars::JsonSchema;
use serde::Serialize;

use crate::changeset::{Changeset, RepoPath};

/// The two ways of writing a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Dialect {
    /// `git diff`, `diff -u`.
    Unified,
    /// `*** Begin Patch`.
    Envelope,
}

#[derive(Clone, Debug)]
pub struct CompiledPatch {
    /// Empty if already applied.
    pub changeset: Changeset,
    pub dialect: Dialect,
    pub files: Vec<FileReport>,
    /// Remarks for people, where the patch was not read as written.
    pub notes: Vec<String>,
    pub already_applied: bool,
}

/// The outcome for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum FileAction {
    /// It is new.
    Added,
    /// Its content or mode changes.
    Modified,
    /// It goes.
    Deleted,
    /// It comes from another path, which goes.
    Renamed,
    /// It comes from another path, which stays.
    Copied,
}

#[derive(Clone, Debug)]
pub struct FileReport {
    /// Path afterwards; before, if deleted.
    pub path: RepoPath,
    pub origin: Option<RepoPath>,
    pub action: FileAction,
    /// Lines; 0 for binary content.
    pub added: usize,
    /// Lines; 0 for binary content.
    pub removed: usize,
    pub hunks: Vec<HunkReport>,
}

/// The place of one hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HunkReport {
    /// Number of the hunk in the file, counted from 1.
    pub hunk: usize,
    /// First line of the file as it was before the patch, counted from 1.
    pub line: usize,
    /// How many lines further down than its header says (up, if negative).
    pub offset: i64,
    /// The counts in its header were wrong.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub recounted: bool,
    /// How it was matched, unless byte for byte: `line_endings`, `trailing_blanks`, `blanks`,
    /// `typography`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub matched: Option<&'static str>,
}

impl HunkReport {
    pub fn is_remarkable(&self) -> bool {
        self.offset != 0 || self.recounted || self.matched.is_some()
    }

    /// Completes a sentence that names the hunk.
    pub fn remarks(&self) -> String {
        let mut out = String::new();
        if self.offset != 0 {
            out += &format!(", offset {:+}", self.offset);
        }
        if self.recounted {
            out += ", line counts corrected";
        }
        if let Some(matched) = self.matched {
            out += &format!(", matched but for {}", matched.replace('_', " "));
        }
        out
    }
}

impl CompiledPatch {
    /// Turns a reversed report into that of the forward patch.
    pub(in crate::changeset) fn into_already_applied(mut self) -> Self {
        for file in &mut self.files {
            file.action = match file.action {
                FileAction::Added => FileAction::Deleted,
                FileAction::Deleted => FileAction::Added,
                other => other,
            };
            if let Some(origin) = file.origin.take() {
                file.origin = Some(std::mem::replace(&mut file.path, origin));
            }
            file.hunks.clear();
            std::mem::swap(&mut file.added, &mut file.removed);
        }
        self.files.reverse();
        Self { changeset: Changeset::default(), already_applied: true, ..self }
    }
}
