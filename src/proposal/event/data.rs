//! The kinds of event and the data of each.

use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::words::{CommentKind, Evidence, FileOutcome, InputForm, RevisionReason, Verdict};
use super::{ChangeRecord, Entry, times};
use crate::changeset::RepoPath;
use crate::proposal::statement::Target;
use crate::proposal::{Actor, ProposalId};
use crate::words::words;

#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Data {
    Propose(Propose),
    Revise(Revise),
    Comment(Comment),
    Decision(DecisionData),
    Check(Check),
    Committed(Committed),
    /// The task plan of a branch (room `plan`).
    Plan(Value),
    /// A patch was written without a proposal.
    Patch(Patch),
    /// Recorded only: nothing uses it yet.
    Sign(Sign),
    /// A purge, or a request for one.
    Purge(Purge),
    /// `kind` of a later aye, or `kind@VERSION` of another format version.
    #[serde(serialize_with = "alone")]
    Unknown(String, Value),
}

fn alone<S: Serializer>(_: &str, data: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    data.serialize(serializer)
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DecisionData {
    /// From the event's kind.
    #[serde(skip, default = "unread")]
    pub verdict: Verdict,
    /// Set if too long for the statement, which then has its hash.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Until `Data::read` sets it.
fn unread() -> Verdict {
    Verdict::Undo
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Propose {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Such as `frontend`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub domain: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub related_task_id: Option<String>,
    /// Branch of the plan, for a task such as `plan:3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch: Option<String>,
    /// Name that the proposer gave itself.
    pub proposed_by: String,
    #[serde(with = "times")]
    pub expires_at: DateTime<Utc>,
    pub subject: Subject,
    pub form: InputForm,
    /// Another proposer's proposal to replace; its state does not change.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<ProposalId>,
    /// Pending proposal that it was made on top of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<On>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    /// HEAD when it was made; `None` before the first commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    pub changes: Vec<ChangeRecord>,
    /// The changes, if many; `changes` is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes_blob: Option<BlobRef>,
    /// Changed files that it excludes.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub incomplete: Vec<Incomplete>,
    /// Request of a memory proposal (room `memory`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Value>,
}

/// A file that is not in a revision, though it changed as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Incomplete {
    /// The file.
    #[schemars(with = "String")]
    pub path: RepoPath,
    /// Why, in a word.
    pub reason: String,
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

words! {
    /// The subject of a proposal.
    #[derive(Default)]
    pub enum Subject {
        /// Files of the repository.
        #[default]
        Code = "code",
        /// The project's memory.
        Memory = "memory",
    }
}

/// Fields shared with `Propose` mean the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revise {
    /// Note on this revision alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// `None` if unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// `None` if unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "times::optional")]
    pub expires_at: Option<DateTime<Utc>>,
    pub reason: RevisionReason,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on: Option<On>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Target>,
    /// Replaces all earlier changes.
    pub changes: Vec<ChangeRecord>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changes_blob: Option<BlobRef>,
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub incomplete: Vec<Incomplete>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Value>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Comment {
    pub body: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<RepoPath>,
    /// First line in the proposed file, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_line: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// Absent for a plain remark.
    #[serde(
        default,
        skip_serializing_if = "CommentKind::is_plain",
        deserialize_with = "or_default"
    )]
    pub kind: CommentKind,
    /// New lines of a suggestion; empty to delete.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replacement: Option<String>,
    /// Comment that this one resolves; `body` is the note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resolves: Option<String>,
}

impl Comment {
    pub fn lines(&self) -> Option<(u32, u32)> {
        let first = self.line?;
        Some((first, self.end_line.map_or(first, |last| last.max(first))))
    }
}

/// Its SHA-256 does not depend on git's hash.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlobRef {
    pub id: String,
    pub sha256: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// Hex id of its first event.
    pub thread: String,
    pub reason: String,
    /// Hex id of the blob to purge, if named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// Request only: another person must agree first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", deserialize_with = "or_default")]
    pub asked: bool,
    pub evidence: Evidence,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Check {
    pub command: Vec<String>,
    /// `None` if a signal ended it.
    pub exit_code: Option<i32>,
    pub duration_ms: u64,
    pub revision: String,
    /// Set if the event's actor imported another's result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub imported: Option<Imported>,
}

/// The event's actor vouches for these claims.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Imported {
    pub by: Actor,
    /// By that machine's clock.
    #[serde(with = "times")]
    pub time: DateTime<Utc>,
    /// SHA-256 of the canonical result.
    pub result: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Committed {
    pub commit: String,
    /// Changes by a commit hook: `before` approved, `after` committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub amended: Vec<Written>,
    /// SHA-256 of the apply's statement.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sign {
    pub statement: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Patch {
    /// Only `before` needs to be in the object database.
    pub written: Vec<Written>,
    /// The list, if long; `written` is then empty.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub written_blob: Option<BlobRef>,
    pub evidence: Evidence,
}

/// A file that was written, or had the result already.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Written {
    pub path: RepoPath,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<Entry>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<Entry>,
    pub outcome: FileOutcome,
}

/// Events that anyone may record; others need an `Authority`.
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    Propose(Box<Propose>),
    Comment(Comment),
    Check(Check),
    Committed(Committed),
    Plan(Value),
}

impl From<Note> for Data {
    fn from(note: Note) -> Self {
        match note {
            Note::Propose(data) => Self::Propose(*data),
            Note::Comment(data) => Self::Comment(data),
            Note::Check(data) => Self::Check(data),
            Note::Committed(data) => Self::Committed(data),
            Note::Plan(data) => Self::Plan(data),
        }
    }
}

impl Data {
    pub fn kind(&self) -> &str {
        match self {
            Self::Propose(_) => "propose",
            Self::Revise(_) => "revise",
            Self::Comment(_) => "comment",
            Self::Decision(said) => said.verdict.as_str(),
            Self::Check(_) => "check",
            Self::Committed(_) => "committed",
            Self::Plan(_) => "plan",
            Self::Patch(_) => "patch",
            Self::Sign(_) => "sign",
            Self::Purge(_) => "purge",
            Self::Unknown(kind, _) => kind,
        }
    }

    /// An unknown kind keeps its data unchanged.
    pub(super) fn read(kind: &str, data: Value) -> Result<Self, serde_json::Error> {
        fn of<T: DeserializeOwned>(
            data: Value,
            kind: fn(T) -> Data,
        ) -> Result<Data, serde_json::Error> {
            serde_json::from_value(data).map(kind)
        }
        match kind {
            "propose" => of(data, Self::Propose),
            "revise" => of(data, Self::Revise),
            "comment" => of(data, Self::Comment),
            "check" => of(data, Self::Check),
            "committed" => of(data, Self::Committed),
            // Room `plan` checks the steps.
            "plan" if data["branch"].is_string() && data["plan"].is_array() => Ok(Self::Plan(data)),
            "plan" => Err(serde::de::Error::custom("a plan is a list for a branch")),
            "patch" => of(data, Self::Patch),
            "sign" => of(data, Self::Sign),
            "purge" => of(data, Self::Purge),
            kind => match Verdict::parse(kind) {
                Some(verdict) => {
                    let said: DecisionData = serde_json::from_value(data)?;
                    Ok(Self::Decision(DecisionData { verdict, ..said }))
                }
                None => Ok(Self::Unknown(kind.to_owned(), data)),
            },
        }
    }

    pub fn changes(&self) -> &[ChangeRecord] {
        match self {
            Self::Propose(propose) => &propose.changes,
            Self::Revise(revise) => &revise.changes,
            _ => &[],
        }
    }

    pub fn written(&self) -> &[Written] {
        match self {
            Self::Committed(committed) => &committed.amended,
            Self::Patch(patch) => &patch.written,
            _ => &[],
        }
    }
}

/// Reads `null` like an absent key.
pub(super) fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}
