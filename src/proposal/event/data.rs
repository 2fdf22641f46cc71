//! What happened: the kinds of event, and what each of them says.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ChangeRecord, Entry};
use crate::changeset::RepoPath;

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "data", rename_all = "snake_case")]
pub enum Data {
    /// A new proposal.
    Propose(Propose),
    /// New content for a pending proposal.
    Revise(Revise),
    /// A remark.
    Comment(Comment),
    /// A reviewer wants something changed; the proposal stays pending.
    RequestChanges(RequestChanges),
    /// Said aye.
    Apply(Apply),
    /// Said nay.
    Reject(Reject),
    /// Its time has run out; a record only, expiry is computed from the clock.
    Expire(Expire),
    /// An apply was taken back; the proposal is pending again.
    Undo(Undo),
    /// A command was run on it.
    Check(Check),
    /// A commit contains it.
    Committed(Committed),
    /// The task plan changed (room `plan`).
    Plan(Value),
    /// Something a newer version wrote.
    #[serde(skip)]
    Unknown(String, Value),
}

/// Data of [`Data::Propose`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Propose {
    /// Why, in the proposer's words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Topic, such as `frontend`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    /// The task it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<String>,
    /// The branch whose plan it is, for a task that is a step of a plan (`plan:3`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// The name the proposer gave itself.
    pub proposed_by: String,
    /// When it expires.
    pub expires_at: DateTime<Utc>,
    /// `code` or `memory`.
    #[serde(default)]
    pub subject: Subject,
    /// The input form: `snippet`, `patch`, `worktree`, `commit`, `tool`.
    pub form: String,
    /// The commit the files were compared with, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// The changes.
    pub changes: Vec<ChangeRecord>,
    /// The structured request of a memory proposal (room `memory`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Value>,
}

/// What a proposal is about.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Subject {
    /// Files of the repository.
    #[default]
    Code,
    /// The project's memory.
    Memory,
}

impl Subject {
    /// The word used in events and output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Memory => "memory",
        }
    }
}

/// Data of [`Data::Revise`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revise {
    /// A new description, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A new expiry, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<DateTime<Utc>>,
    /// Why there is a new revision: `answer`, `partial`, `edited`, `rebase`.
    pub reason: String,
    /// The commit the files were compared with, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// All changes; they replace the earlier ones.
    pub changes: Vec<ChangeRecord>,
    /// The structured request of a memory proposal (room `memory`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Value>,
}

/// Data of [`Data::Comment`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Comment {
    /// What was said.
    pub body: String,
    /// About which file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<RepoPath>,
    /// About which line of the proposed file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The event id of the revision it was said about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// Data of [`Data::RequestChanges`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RequestChanges {
    /// What should change; the comments say the rest.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The event id of the revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
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

/// Data of [`Data::Apply`].
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
    /// `clean`, `already`, `merged`.
    pub outcome: String,
}

/// Data of [`Data::Reject`].
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
}

/// Data of [`Data::Expire`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expire {
    /// The expiry that has passed.
    pub expires_at: DateTime<Utc>,
}

/// Data of [`Data::Undo`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Undo {
    /// What was put back; empty if the apply had marked only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub written: Vec<Written>,
}

/// Data of [`Data::Check`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    /// The command's words.
    pub command: Vec<String>,
    /// Its exit status; `None` if a signal ended it.
    pub exit_code: Option<i32>,
    /// How long it ran, in milliseconds.
    pub duration_ms: u64,
    /// The event id of the revision it ran on.
    pub revision: String,
}

/// Data of [`Data::Committed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Committed {
    /// The commit that contains the proposal.
    pub commit: String,
}

impl Data {
    /// The word for what happened, as in the event and in the audit log.
    pub fn kind(&self) -> &str {
        match self {
            Self::Propose(_) => "propose",
            Self::Revise(_) => "revise",
            Self::Comment(_) => "comment",
            Self::RequestChanges(_) => "request_changes",
            Self::Apply(_) => "apply",
            Self::Reject(_) => "reject",
            Self::Expire(_) => "expire",
            Self::Undo(_) => "undo",
            Self::Check(_) => "check",
            Self::Committed(_) => "committed",
            Self::Plan(_) => "plan",
            Self::Unknown(kind, _) => kind,
        }
    }

    /// The changes it carries, if it is one of those that do.
    pub fn changes(&self) -> &[ChangeRecord] {
        match self {
            Self::Propose(propose) => &propose.changes,
            Self::Revise(revise) => &revise.changes,
            _ => &[],
        }
    }
}

/// True for the kinds of this version.
pub(super) fn is_known(kind: &str) -> bool {
    matches!(
        kind,
        "propose"
            | "revise"
            | "comment"
            | "request_changes"
            | "apply"
            | "reject"
            | "expire"
            | "undo"
            | "check"
            | "committed"
            | "plan"
    )
}
