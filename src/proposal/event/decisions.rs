//! The data of decisions, and of what stands beside them: marks, approvals, direct patches.

use serde::{Deserialize, Serialize};

use super::Entry;
use super::data::BlobRef;
use super::words::{Evidence, FileOutcome};
use crate::changeset::RepoPath;

/// Data of [`Data::RequestChanges`](super::Data::RequestChanges).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestChanges {
    /// What should change; the comments say the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The event id of the revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What shows that the actor did this; absent in events of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The decision statement; absent in events of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<BlobRef>,
}

impl Evidence {
    /// The closest value that version 0.1.0 reads.
    pub fn how(&self) -> How {
        match self {
            Self::Terminal => How::Terminal,
            Self::Flag => How::Flag,
            Self::Tool | Self::Hook | Self::Other(_) => How::Tool,
        }
    }
}

impl From<How> for Evidence {
    fn from(how: How) -> Self {
        match how {
            How::Terminal => Self::Terminal,
            How::Flag => Self::Flag,
            How::Tool => Self::Tool,
        }
    }
}

/// How a decision was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A person answered at a terminal.
    Terminal,
    /// `--yes`.
    Flag,
    /// Through a tool contract.
    Tool,
}

/// What an apply did beyond recording the decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing: the caller changes the files.
    MarkOnly,
    /// Wrote the work tree.
    Files,
    /// Wrote the work tree and the index.
    Index,
    /// Wrote and committed.
    Commit,
}

impl Effect {
    /// The word in events and statements.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::MarkOnly => "mark_only",
            Self::Files => "files",
            Self::Index => "index",
            Self::Commit => "commit",
        }
    }
}

/// Data of [`Data::Apply`](super::Data::Apply).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Apply {
    /// The event id of the revision that was decided on.
    pub revision: String,
    /// Digest of the changes that were shown ([`digest`](super::digest)).
    pub digest: String,
    /// How it was decided.
    pub how: How,
    /// What was done.
    pub effect: Effect,
    /// The commit made, with `effect: commit`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commit: Option<String>,
    /// What was written where; differs from the revision where the apply merged. Empty with
    /// `effect: mark_only`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<Written>,
    /// The list above as a blob of its own, where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_blob: Option<BlobRef>,
    /// What a commit hook made of files between the approval and the commit: `before` is what was
    /// approved, `after` what was committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub amended: Vec<Written>,
    /// What shows that the actor decided; absent in events of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The decision statement; absent in events of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<BlobRef>,
    /// SHA-256, in hex, of the group that was decided in one answer: every proposal with its revision and
    /// what it was to write. Absent where it was decided on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// One file an apply wrote (or found written).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    /// Where.
    pub path: RepoPath,
    /// What was there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Entry>,
    /// What is there now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Entry>,
    /// What it came to.
    pub outcome: FileOutcome,
}

/// Data of [`Data::Reject`](super::Data::Reject).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reject {
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The event id of the revision that was decided on.
    pub revision: String,
    /// Digest of the changes that were shown ([`digest`](super::digest)).
    pub digest: String,
    /// How it was decided.
    pub how: How,
    /// Its own proposer took it back.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub withdrawn: bool,
    /// What shows that the actor decided; absent in events of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The decision statement; absent in events of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<BlobRef>,
    /// SHA-256, in hex, of the group that was decided in one answer: every proposal with its revision and
    /// what it was to write. Absent where it was decided on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// Data of [`Data::Mark`](super::Data::Mark).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// What the tool says became of it.
    pub verdict: Marked,
    /// The event id of the revision it was said about.
    pub revision: String,
    /// Digest of that revision's changes ([`digest`](super::digest)).
    pub digest: String,
    /// Why, where it was marked as rejected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What shows that the actor did this.
    pub evidence: Evidence,
    /// The statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<BlobRef>,
}

/// What a mark says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Marked {
    /// The tool's caller says that it carries the change out.
    Applied,
    /// The tool's caller says that it drops the change.
    Rejected,
}

impl Marked {
    /// The word used in events and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Rejected => "rejected",
        }
    }
}

/// Data of [`Data::Approve`](super::Data::Approve).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Approve {
    /// The event id of the revision that was approved.
    pub revision: String,
    /// Digest of that revision's changes ([`digest`](super::digest)).
    pub digest: String,
    /// Why, or what was looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What shows that the actor decided.
    pub evidence: Evidence,
    /// The statement, which names the manifest; without it nothing is approved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<BlobRef>,
}

/// Data of [`Data::Reopen`](super::Data::Reopen).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reopen {
    /// The event id of the newest revision.
    pub revision: String,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What shows that the actor decided.
    pub evidence: Evidence,
    /// The statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<BlobRef>,
}

/// Data of [`Data::Patch`](super::Data::Patch).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    /// What was written where. Only `before` needs to be in the object database.
    pub written: Vec<Written>,
    /// The list above as a blob of its own, where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_blob: Option<BlobRef>,
    /// How it was asked for.
    pub evidence: Evidence,
}

/// Data of [`Data::Undo`](super::Data::Undo).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undo {
    /// What was put back; empty if the apply had marked only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<Written>,
    /// The list above as a blob of its own, where it is long.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_blob: Option<BlobRef>,
    /// The event id of the direct patch that was taken back, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<String>,
    /// What shows that the actor decided; absent in events of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
    /// The statement; absent in events of version 0.1.0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<BlobRef>,
}
