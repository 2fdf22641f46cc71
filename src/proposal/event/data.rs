//! What happened: the kinds of event, and what each of them says.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::ChangeRecord;
use super::decisions::{
    Apply, Approve, Mark, Patch, Reject, Reopen, RequestChanges, Undo, Written,
};
use super::words::{CommentKind, Evidence, InputForm, RevisionReason};
use crate::changeset::RepoPath;
use crate::proposal::statement::Target;
use crate::proposal::{Actor, ProposalId};

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
    /// Its proposer has put another proposal on it, before which it is not to expire. Versions before it
    /// skip this kind.
    Extend(Extend),
    /// An apply was taken back; the proposal is pending again.
    Undo(Undo),
    /// A command was run on it.
    Check(Check),
    /// A commit contains it.
    Committed(Committed),
    /// The task plan changed (room `plan`).
    Plan(Value),
    /// A tool recorded what became of it; no decision. Version 0.1.0 skips this kind.
    Mark(Mark),
    /// A person approved it; it stays pending. Version 0.1.0 skips this kind.
    Approve(Approve),
    /// A person made a rejected proposal pending again. Version 0.1.0 skips this kind.
    Reopen(Reopen),
    /// A patch was written without a proposal. Version 0.1.0 skips this kind.
    Patch(Patch),
    /// It was made known in this lane, which had not been for the same people as its first event's.
    /// Version 0.1.0 skips this kind.
    Publish(Publish),
    /// A part of a snapshot, with which an epoch of a lane begins. Versions before it skip this kind.
    Fold(Fold),
    /// The lane began an epoch without what it had said of the proposal. Versions before it skip this
    /// kind.
    Purge(Purge),
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
    #[serde(deserialize_with = "super::times::read")]
    pub expires_at: DateTime<Utc>,
    /// `code` or `memory`.
    #[serde(default)]
    pub subject: Subject,
    /// The form in which the changes came.
    pub form: InputForm,
    /// The proposal of somebody else that it is to take the place of; that one stays as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<ProposalId>,
    /// The pending proposal whose result it was made on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<On>,
    /// The commit the files were compared with, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Where HEAD was when it was made; none before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// The changes; empty where they are in `changes_blob`.
    pub changes: Vec<ChangeRecord>,
    /// The changes as a blob of their own, where they are many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes_blob: Option<BlobRef>,
    /// The structured request of a memory proposal (room `memory`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Value>,
}

/// A proposal at one of its revisions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct On {
    /// The proposal.
    #[schemars(with = "String")]
    pub proposal: ProposalId,
    /// The event id of the revision.
    pub revision: String,
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
    /// Why there is a new revision.
    pub reason: RevisionReason,
    /// The pending proposal whose result it was made on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<On>,
    /// The commit the files were compared with, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// Where HEAD was when it was made; none before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// All changes; they replace the earlier ones. Empty where they are in `changes_blob`.
    pub changes: Vec<ChangeRecord>,
    /// The changes as a blob of their own, where they are many.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes_blob: Option<BlobRef>,
    /// The structured request of a memory proposal (room `memory`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Value>,
}

/// Data of [`Data::Comment`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    /// What was said.
    pub body: String,
    /// About which file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<RepoPath>,
    /// About which line of the proposed file, from 1; the first, where it is about several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The last line that it is about, where that is not `line`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    /// The event id of the revision it was said about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Absent for a plain remark.
    #[serde(default, skip_serializing_if = "CommentKind::is_plain")]
    pub kind: CommentKind,
    /// What a suggestion would have in place of its lines; empty to delete them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// The event id of the comment that this one resolves: `body` is the note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolves: Option<String>,
}

impl Comment {
    /// The lines that it is about, first and last, from 1.
    pub fn lines(&self) -> Option<(u32, u32)> {
        let first = self.line?;
        Some((first, self.end_line.map_or(first, |last| last.max(first))))
    }
}

/// A blob that an event names: its git id, and a SHA-256 that does not rest on git's hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    /// Object id of the blob, hex.
    pub id: String,
    /// SHA-256 of its bytes, hex.
    pub sha256: String,
}

/// Data of [`Data::Publish`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Publish {
    /// The bytes of the proposal's first event, whose blob id is the event's own.
    pub original: BlobRef,
    /// That event's changes, once its bytes have been read.
    #[serde(skip)]
    pub changes: Vec<ChangeRecord>,
}

/// Data of [`Data::Fold`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fold {
    /// Which epoch of its lane begins here, from 2.
    pub epoch: u64,
    /// The tip of the epoch before: lane, position of its last event, commit, separated by spaces.
    pub from: String,
    /// Which part of the snapshot this is, from 1.
    pub part: u64,
    /// How many parts there are.
    pub parts: u64,
    /// The part ([`snapshot`](crate::proposal::snapshot)), attached to the event's commit.
    pub snapshot: BlobRef,
}

impl Fold {
    /// What `from` says, if it can be read.
    pub fn from(&self) -> Option<super::Head> {
        super::Head::parse(&self.from)
    }
}

/// Data of [`Data::Purge`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// Why.
    pub reason: String,
    /// Object id (hex) of the blob that was named, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// A wish alone: nothing is gone, and another person has to agree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub asked: bool,
    /// What shows that the actor did this.
    pub evidence: Evidence,
}

/// Data of [`Data::Expire`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Expire {
    /// The expiry that has passed.
    pub expires_at: DateTime<Utc>,
}

/// Data of [`Data::Extend`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Extend {
    /// It does not expire before this time. An earlier one changes nothing.
    pub expires_at: DateTime<Utc>,
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
    /// Where the event's actor did not run it, but imported the result of somebody else's run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// What an imported result says about its run. The actor of the event vouches for all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    /// Who ran it.
    pub by: Actor,
    /// When, by that machine's clock.
    pub time: DateTime<Utc>,
    /// SHA-256 of the canonical result, hex.
    pub result: String,
}

/// Data of [`Data::Committed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Committed {
    /// The commit that contains the proposal.
    pub commit: String,
}

/// What anybody may record about a proposal: everything but decisions and new content, which take
/// an [`Authority`](crate::proposal::authority::Authority).
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// See [`Data::Propose`].
    Propose(Box<Propose>),
    /// See [`Data::Comment`].
    Comment(Comment),
    /// See [`Data::Expire`].
    Expire(Expire),
    /// See [`Data::Extend`].
    Extend(Extend),
    /// See [`Data::Check`].
    Check(Check),
    /// See [`Data::Committed`].
    Committed(Committed),
    /// See [`Data::Plan`].
    Plan(Value),
}

impl From<Note> for Data {
    fn from(note: Note) -> Self {
        match note {
            Note::Propose(data) => Self::Propose(*data),
            Note::Comment(data) => Self::Comment(data),
            Note::Expire(data) => Self::Expire(data),
            Note::Extend(data) => Self::Extend(data),
            Note::Check(data) => Self::Check(data),
            Note::Committed(data) => Self::Committed(data),
            Note::Plan(data) => Self::Plan(data),
        }
    }
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
            Self::Extend(_) => "extend",
            Self::Undo(_) => "undo",
            Self::Check(_) => "check",
            Self::Committed(_) => "committed",
            Self::Plan(_) => "plan",
            Self::Mark(_) => "mark",
            Self::Approve(_) => "approve",
            Self::Reopen(_) => "reopen",
            Self::Patch(_) => "patch",
            Self::Publish(_) => "publish",
            Self::Fold(_) => "fold",
            Self::Purge(_) => "purge",
            Self::Unknown(kind, _) => kind,
        }
    }

    /// What shows that the actor decided, if it is a decision.
    pub fn evidence(&self) -> Option<Evidence> {
        match self {
            Self::Apply(apply) => Some(apply.evidence.clone().unwrap_or_else(|| apply.how.into())),
            Self::Reject(reject) => {
                Some(reject.evidence.clone().unwrap_or_else(|| reject.how.into()))
            }
            Self::RequestChanges(request) => request.evidence.clone(),
            Self::Undo(undo) => undo.evidence.clone(),
            Self::Mark(mark) => Some(mark.evidence.clone()),
            Self::Approve(approve) => Some(approve.evidence.clone()),
            Self::Reopen(reopen) => Some(reopen.evidence.clone()),
            Self::Patch(patch) => Some(patch.evidence.clone()),
            Self::Purge(purge) => Some(purge.evidence.clone()),
            _ => None,
        }
    }

    /// The decision statement that it names, if it names one.
    pub fn statement(&self) -> Option<&BlobRef> {
        match self {
            Self::Apply(apply) => apply.statement.as_ref(),
            Self::Reject(reject) => reject.statement.as_ref(),
            Self::RequestChanges(request) => request.statement.as_ref(),
            Self::Undo(undo) => undo.statement.as_ref(),
            Self::Mark(mark) => mark.statement.as_ref(),
            Self::Approve(approve) => approve.statement.as_ref(),
            Self::Reopen(reopen) => reopen.statement.as_ref(),
            _ => None,
        }
    }

    /// The changes it carries, if it is one of those that do.
    pub fn changes(&self) -> &[ChangeRecord] {
        match self {
            Self::Propose(propose) => &propose.changes,
            Self::Revise(revise) => &revise.changes,
            Self::Publish(publish) => &publish.changes,
            _ => &[],
        }
    }

    /// The files that it says were written; empty for other kinds.
    pub fn written(&self) -> impl Iterator<Item = &Written> {
        let (written, amended): (&[Written], &[Written]) = match self {
            Self::Apply(apply) => (&apply.written, &apply.amended),
            Self::Undo(undo) => (&undo.written, &[]),
            Self::Patch(patch) => (&patch.written, &[]),
            _ => (&[], &[]),
        };
        written.iter().chain(amended)
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
            | "extend"
            | "undo"
            | "check"
            | "committed"
            | "plan"
            | "mark"
            | "approve"
            | "reopen"
            | "patch"
            | "publish"
            | "fold"
            | "purge"
    )
}
