//! What came of a patch, file by file and hunk by hunk.

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

/// A patch judged on the present files.
#[derive(Clone, Debug)]
pub struct Compiled {
    /// What it changes. Empty if it is already applied.
    pub changeset: Changeset,
    /// Which dialect it is in.
    pub dialect: Dialect,
    /// Every file it names, in its order.
    pub files: Vec<FileReport>,
    /// Remarks for people: what was read otherwise than written.
    pub notes: Vec<String>,
    /// Everything it would change is there already.
    pub already_applied: bool,
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Action {
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

/// One file of a patch.
#[derive(Clone, Debug)]
pub struct FileReport {
    /// The path it is at afterwards (before, for a deleted one).
    pub path: RepoPath,
    /// The path its content comes from, if another.
    pub origin: Option<RepoPath>,
    /// What becomes of it.
    pub action: Action,
    /// Lines the patch adds. 0 for binary content.
    pub added: usize,
    /// Lines the patch removes. 0 for binary content.
    pub removed: usize,
    /// Its hunks, in the order of the patch.
    pub hunks: Vec<HunkReport>,
}

/// Where one hunk went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HunkReport {
    /// Which hunk of the file, counted from 1.
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
    /// Did it go anywhere or in any way but as written?
    pub fn is_remarkable(&self) -> bool {
        self.offset != 0 || self.recounted || self.matched.is_some()
    }

    /// What is remarkable, as the end of a sentence that names the hunk.
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

impl Compiled {
    /// Turns a patch that fits backwards into the report of the forward one.
    pub(in crate::changeset) fn into_already_applied(mut self) -> Self {
        for file in &mut self.files {
            file.action = match file.action {
                Action::Added => Action::Deleted,
                Action::Deleted => Action::Added,
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
