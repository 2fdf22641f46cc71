//! Events: what happened to a proposal, as it is written to a lane.
//!
//! Canonical bytes are [`canonical`] JSON; the id of an event is the blob id of
//! those bytes. Unknown kinds (from a newer version) are kept and skipped by the fold.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Actor, ProposalId, canonical, codes};
use crate::changeset::{FileChange, Mode, Occurrence, RepoPath, Snippet};
use crate::error::{Error, Result};

/// Version of the event format.
pub const VERSION: u32 = 1;

/// Largest canonical form read, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The proposal it belongs to; `None` in the first event of one, and in plan events.
    pub proposal: Option<ProposalId>,
    /// The lane it was written to.
    pub lane: String,
    /// Its position in that lane, from 1.
    pub seq: u64,
    /// Who.
    pub actor: Actor,
    /// When, by that machine's clock, to the millisecond.
    pub time: DateTime<Utc>,
    /// The tips of all lanes seen when it was written.
    pub heads: Vec<Head>,
    /// What.
    pub data: Data,
}

/// The tip of a lane as an event's writer saw it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    /// The lane.
    pub lane: String,
    /// Position of its last event.
    pub seq: u64,
    /// Its commit.
    pub tip: String,
}

/// An event and its id.
#[derive(Clone, Debug, PartialEq)]
pub struct Stamped {
    /// Blob id of the canonical bytes, hex.
    pub id: String,
    /// The event.
    pub event: Event,
}

impl Stamped {
    /// The proposal this event is about: its own id if it is the first.
    pub fn proposal(&self) -> Option<ProposalId> {
        match &self.event.data {
            Data::Propose(_) => Some(ProposalId::from_event(&self.id)),
            _ => self.event.proposal.clone(),
        }
    }
}

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
    /// Digest of the changes that were shown ([`digest`]).
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
    /// Digest of the changes that were shown ([`digest`]).
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

#[derive(Serialize, Deserialize)]
struct Wire {
    v: u32,
    kind: String,
    #[serde(default)]
    data: Value,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    proposal: Option<ProposalId>,
    lane: String,
    seq: u64,
    actor: Actor,
    time: DateTime<Utc>,
    #[serde(default)]
    heads: Vec<String>,
}

impl Event {
    /// Canonical bytes, as they are stored.
    ///
    /// # Errors
    /// `internal_error` if the data cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let (kind, data) = match &self.data {
            Data::Unknown(kind, data) => (kind.clone(), data.clone()),
            known => {
                let tagged = serde_json::to_value(known).map_err(|e| Error::bug(e.to_string()))?;
                let kind = tagged["kind"].as_str().unwrap_or_default().to_owned();
                (kind, tagged["data"].clone())
            }
        };
        let wire = Wire {
            v: VERSION,
            kind,
            data,
            proposal: self.proposal.clone(),
            lane: self.lane.clone(),
            seq: self.seq,
            actor: self.actor.clone(),
            time: self.time,
            heads: self.heads.iter().map(|h| format!("{} {} {}", h.lane, h.seq, h.tip)).collect(),
        };
        let value = serde_json::to_value(wire).map_err(|e| Error::bug(e.to_string()))?;
        Ok(canonical::to_bytes(&value))
    }

    /// Reads canonical bytes (any JSON of that shape).
    ///
    /// # Errors
    /// `event_invalid` with what is wrong. A kind this version does not know is not an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let broken = |why: String| {
            Error::new(&codes::EVENT_INVALID, format!("an event cannot be read: {why}"))
                .hint("`aye doctor` names the lane and commit")
        };
        if bytes.len() > MAX_BYTES {
            return Err(broken(format!("{} bytes are more than {MAX_BYTES}", bytes.len())));
        }
        let wire: Wire = serde_json::from_slice(bytes).map_err(|e| broken(e.to_string()))?;
        let tagged = serde_json::json!({ "kind": wire.kind, "data": wire.data });
        let data = match serde_json::from_value(tagged) {
            Ok(data) => data,
            Err(error) if wire.v <= VERSION && is_known(&wire.kind) => {
                return Err(broken(error.to_string()));
            }
            Err(_) => Data::Unknown(wire.kind, wire.data),
        };
        let heads = wire.heads.iter().filter_map(|text| Head::parse(text)).collect();
        Ok(Self {
            proposal: wire.proposal,
            lane: wire.lane,
            seq: wire.seq,
            actor: wire.actor,
            time: wire.time,
            heads,
            data,
        })
    }
}

fn is_known(kind: &str) -> bool {
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

impl Head {
    fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let head = Self {
            lane: words.next()?.to_owned(),
            seq: words.next()?.parse().ok()?,
            tip: words.next()?.to_owned(),
        };
        words.next().is_none().then_some(head)
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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::ActorKind;
    use super::*;

    fn event(data: Data) -> Event {
        Event {
            proposal: None,
            lane: "l".into(),
            seq: 3,
            actor: Actor { name: "n".into(), email: String::new(), kind: ActorKind::Agent },
            time: "2026-03-14T10:30:00.123Z".parse().unwrap(),
            heads: vec![Head { lane: "l".into(), seq: 2, tip: "abc".into() }],
            data,
        }
    }

    #[test]
    fn what_is_written_is_read_again() {
        let events = [
            event(Data::Comment(Comment {
                body: "x".into(),
                path: None,
                line: Some(2),
                revision: None,
            })),
            event(Data::Plan(serde_json::json!({"steps": []}))),
            event(Data::Unknown("dance".into(), serde_json::json!({"a": 1}))),
        ];
        for event in events {
            let bytes = event.to_bytes().unwrap();
            assert_eq!(Event::from_bytes(&bytes).unwrap(), event);
            assert_eq!(Event::from_bytes(&bytes).unwrap().to_bytes().unwrap(), bytes);
        }
    }

    #[test]
    fn a_known_kind_with_broken_data_is_an_error() {
        let bytes = br#"{"v":1,"kind":"apply","data":{},"lane":"l","seq":1,"actor":{"name":"","email":"","kind":"human"},"time":"2026-01-01T00:00:00Z"}"#;
        assert!(Event::from_bytes(bytes).unwrap_err().is(&codes::EVENT_INVALID));
    }

    #[test]
    fn paths_in_events_are_checked() {
        let text = r#"{"path":"../x","after":{"id":"00","mode":"100644"}}"#;
        assert!(serde_json::from_str::<ChangeRecord>(text).is_err());
    }

    proptest! {
        #[test]
        fn hostile_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = Event::from_bytes(&bytes);
        }
    }
}
