//! What happened: the kinds of event, and what each of them says.

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

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Data {
    /// A new proposal.
    Propose(Propose),
    /// New content for a pending proposal.
    Revise(Revise),
    /// A remark.
    Comment(Comment),
    /// Somebody decided; what exactly is in the statement beside it.
    Decision(Said),
    /// A command was run on it.
    Check(Check),
    /// A commit contains it.
    Committed(Committed),
    /// The task plan of a branch (room `plan`).
    Plan(Value),
    /// A patch was written without a proposal.
    Patch(Patch),
    /// A statement was signed; a record, of which nothing is made yet.
    Sign(Sign),
    /// The thread was removed for good.
    Purge(Purge),
    /// A kind of a later version, as `kind`, or of another one, as `kind@VERSION`.
    #[serde(serialize_with = "alone")]
    Unknown(String, Value),
}

fn alone<S: Serializer>(_: &str, data: &Value, serializer: S) -> Result<S::Ok, S::Error> {
    data.serialize(serializer)
}

/// Data of [`Data::Decision`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The verb, which is the kind of the event.
    #[serde(skip, default = "unread")]
    pub verdict: Verdict,
    /// Why, where that is too long for the statement, which has the hash alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Stands in until the kind is looked at.
fn unread() -> Verdict {
    Verdict::Undo
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
    #[serde(with = "times")]
    pub expires_at: DateTime<Utc>,
    /// `code` or `memory`.
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
    /// What was left out of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub incomplete: Vec<Incomplete>,
    /// The structured request of a memory proposal (room `memory`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Value>,
}

/// A file that is not in a revision, though it changed as well.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Incomplete {
    /// Which.
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
    /// What a proposal is about.
    #[derive(Default)]
    pub enum Subject {
        /// Files of the repository.
        #[default]
        Code = "code",
        /// The project's memory.
        Memory = "memory",
    }
}

/// Data of [`Data::Revise`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Revise {
    /// What is new about it, in words for this revision alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// A new description, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// A new expiry, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "times::optional")]
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
    /// What was left out of it.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub incomplete: Vec<Incomplete>,
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
    #[serde(
        default,
        skip_serializing_if = "CommentKind::is_plain",
        deserialize_with = "or_default"
    )]
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

/// Data of [`Data::Purge`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Purge {
    /// The thread: the whole id of its first event, hex.
    pub thread: String,
    /// Why.
    pub reason: String,
    /// Object id (hex) of the blob that was named, where one was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blob: Option<String>,
    /// A wish alone: nothing is gone, and another person has to agree.
    #[serde(default, skip_serializing_if = "std::ops::Not::not", deserialize_with = "or_default")]
    pub asked: bool,
    /// What shows that the actor did this.
    pub evidence: Evidence,
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
    #[serde(with = "times")]
    pub time: DateTime<Utc>,
    /// SHA-256 of the canonical result, hex.
    pub result: String,
}

/// Data of [`Data::Committed`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Committed {
    /// The commit that contains the proposal.
    pub commit: String,
    /// What a commit hook made of files: `before` is what was approved, `after` what was committed.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "or_default")]
    pub amended: Vec<Written>,
    /// SHA-256 of the statement of the apply that made the commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub statement: Option<String>,
}

/// Data of [`Data::Sign`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sign {
    /// SHA-256 of the statement.
    pub statement: String,
}

/// Data of [`Data::Patch`].
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

/// One file that was written (or found written).
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

/// What anybody may record about a proposal: everything but decisions and new content, which take
/// an [`Authority`](crate::proposal::authority::Authority).
#[derive(Clone, Debug, PartialEq)]
pub enum Note {
    /// See [`Data::Propose`].
    Propose(Box<Propose>),
    /// See [`Data::Comment`].
    Comment(Comment),
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
            Note::Check(data) => Self::Check(data),
            Note::Committed(data) => Self::Committed(data),
            Note::Plan(data) => Self::Plan(data),
        }
    }
}

impl Data {
    /// The word for what happened, as in the event and in the log.
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

    /// The data of a `kind` of this version; of any other kind as they are.
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
            // What a step has is for the room `plan`.
            "plan" if data["branch"].is_string() && data["plan"].is_array() => Ok(Self::Plan(data)),
            "plan" => Err(serde::de::Error::custom("a plan is a list for a branch")),
            "patch" => of(data, Self::Patch),
            "sign" => of(data, Self::Sign),
            "purge" => of(data, Self::Purge),
            kind => match Verdict::parse(kind) {
                Some(verdict) => {
                    let said: Said = serde_json::from_value(data)?;
                    Ok(Self::Decision(Said { verdict, ..said }))
                }
                None => Ok(Self::Unknown(kind.to_owned(), data)),
            },
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

    /// The files that it says were written; empty for other kinds.
    pub fn written(&self) -> &[Written] {
        match self {
            Self::Committed(committed) => &committed.amended,
            Self::Patch(patch) => &patch.written,
            _ => &[],
        }
    }
}

/// Reads `null` as what stands for an absent key.
pub(super) fn or_default<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::<T>::deserialize(from).map(Option::unwrap_or_default)
}
