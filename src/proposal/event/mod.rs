//! Events of a proposal. One event is one commit of a thread; its header `aye-event` is one line of
//! canonical JSON. Ids and hashes are hex.

mod changes;
mod data;
pub mod lists;
#[cfg(test)]
mod tests;
pub(super) mod times;
mod words;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

pub(super) use changes::digest_of;
pub use changes::{ChangeRecord, Entry, SnippetRecord, digest};
pub use data::{
    BlobRef, Check, Comment, Committed, Data, DecisionData, Imported, Incomplete, Note, On, Patch,
    Propose, Purge, Revise, Sign, Subject, Written,
};
pub use times::timestamp;
pub use words::{
    CommentKind, Effect, Evidence, FileOutcome, InputForm, Marked, RevisionReason, Verdict,
};

use super::manifest::Manifest;
use super::statement::Statement;
use super::{Actor, AgentRun, canonical, codes};
use crate::error::{Error, Result, codes as error_codes};

pub const VERSION: u32 = 2;

/// Longest event line, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    pub actor: Actor,
    pub agent: Option<AgentRun>,
    /// A claim, like the actor.
    pub clone: String,
    /// By the writer's clock, in milliseconds; for a decision, its statement's time.
    pub time: DateTime<Utc>,
    pub data: Data,
}

/// An event with its commit.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredEvent {
    /// Commit id.
    pub id: String,
    /// Hash of the event line.
    pub sha256: String,
    /// Newest commits that the writer had seen.
    pub parents: Vec<String>,
    pub event: Event,
    /// `None` without a readable statement.
    pub documents: Option<DecisionDocuments>,
}

/// Documents beside a decision.
#[derive(Clone, Debug, PartialEq)]
pub struct DecisionDocuments {
    pub statement: Statement,
    /// Hash of the statement line. One statement is one decision, in however many commits.
    pub sha256: String,
    pub manifest: Option<Manifest>,
    /// Statements that this one ends.
    pub ended_statements: Vec<String>,
    /// A document is not what the statement names: nothing is decided.
    pub fault: Option<&'static str>,
}

impl StoredEvent {
    pub fn named(&self) -> super::statement::EventRef {
        super::statement::EventRef { id: self.id.clone(), sha256: self.sha256.clone() }
    }

    /// Beside any other kind a statement has no effect.
    pub fn papers(&self) -> Option<&DecisionDocuments> {
        self.documents.as_ref().filter(|_| matches!(self.event.data, Data::Decision(_)))
    }
}

impl Event {
    /// No line feed at the end.
    ///
    /// # Errors
    /// `size_limit_exceeded` over `MAX_BYTES`.
    pub fn to_line(&self) -> Result<Vec<u8>> {
        let bug = |error: serde_json::Error| Error::bug(error.to_string());
        let mut line = Map::new();
        line.insert("actor".into(), serde_json::to_value(&self.actor).map_err(bug)?);
        if let Some(agent) = &self.agent {
            line.insert("agent".into(), serde_json::to_value(agent).map_err(bug)?);
        }
        line.insert("clone".into(), json!(self.clone));
        line.insert("data".into(), serde_json::to_value(&self.data).map_err(bug)?);
        line.insert("kind".into(), json!(self.data.kind()));
        if !matches!(self.data, Data::Decision(_)) {
            line.insert("time".into(), json!(timestamp(self.time)));
        }
        line.insert("v".into(), json!(VERSION));
        let line = canonical::to_line(&Value::Object(line));
        if line.len() > MAX_BYTES {
            let why = format!("an event would have {} bytes, over {MAX_BYTES}", line.len());
            return Err(Error::new(&error_codes::SIZE_LIMIT, why)
                .hint("say less in one event: texts are recorded whole"));
        }
        Ok(line)
    }

    /// `statement` has the time of a decision.
    ///
    /// # Errors
    /// `event_invalid` if a key is missing, has another type, or is not in canonical form. Unknown
    /// keys are ignored; an unknown kind or version becomes `Data::Unknown`.
    pub fn from_line(line: &[u8], statement: Option<&Statement>) -> Result<Self> {
        Self::read(line, statement).map_err(|why| broken(&why))
    }

    fn read(line: &[u8], statement: Option<&Statement>) -> Result<Self, String> {
        if line.len() > MAX_BYTES {
            return Err(format!("{} bytes are more than {MAX_BYTES}", line.len()));
        }
        let Value::Object(mut line) = canonical::parse(line)? else {
            return Err("it is no object".into());
        };
        let agent = line.remove("agent").and_then(|run| AgentRun::lenient(&run));
        let time = line.remove("time");
        let mut take = |key: &str| line.remove(key).ok_or_else(|| format!("it has no {key}"));
        let actor = take("actor")?;
        if !actor.is_object() {
            return Err("actor is no object".into());
        }
        let actor = serde_json::from_value(actor).map_err(|e| e.to_string())?;
        let Value::String(clone) = take("clone")? else { return Err("clone is no text".into()) };
        if clone.len() != 16 || !is_hex(&clone) {
            return Err("clone is not 16 hexadecimal digits".into());
        }
        let Value::String(kind) = take("kind")? else { return Err("kind is no text".into()) };
        let data = take("data")?;
        if !data.is_object() {
            return Err("data is no object".into());
        }
        let version = take("v")?.as_u64().filter(|v| *v > 0).ok_or("v is no version")?;
        let data = match version == u64::from(VERSION) {
            true => read_data(&kind, data)?,
            false => Data::Unknown(format!("{kind}@{version}"), data),
        };
        let told = time.as_ref().and_then(Value::as_str).and_then(times::parse);
        let time = match &data {
            Data::Decision(_) if time.is_some() => return Err("a decision has no time".into()),
            Data::Decision(_) => statement.map(|statement| statement.time).unwrap_or_default(),
            Data::Unknown(..) => told.unwrap_or_default(),
            _ => told.ok_or("it has no time in the one form")?,
        };
        Ok(Self { actor, agent, clone, time, data })
    }
}

/// Accepts only the written form: serde also takes a list for an object, and text for base64.
fn read_data(kind: &str, line: Value) -> Result<Data, String> {
    let data = Data::read(kind, line.clone()).map_err(|error| error.to_string())?;
    let again = serde_json::to_value(&data).map_err(|error| error.to_string())?;
    if covers(&line, &again) {
        Ok(data)
    } else {
        Err("its data are not as they are written".into())
    }
}

/// True if `line` has all of `again`; unknown keys are allowed.
fn covers(line: &Value, again: &Value) -> bool {
    match (line, again) {
        (Value::Object(line), Value::Object(again)) => {
            again.iter().all(|(key, again)| match line.get(key) {
                Some(line) => covers(line, again),
                None => again.is_null(),
            })
        }
        (Value::Array(line), Value::Array(again)) => {
            line.len() == again.len()
                && line.iter().zip(again).all(|(line, again)| covers(line, again))
        }
        (line, again) => line == again,
    }
}

/// Lower case only.
pub(super) fn is_hex(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

pub(super) fn is_id(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && is_hex(text)
}

pub(super) fn is_sha256(text: &str) -> bool {
    text.len() == 64 && is_hex(text)
}

fn broken(why: &dyn std::fmt::Display) -> Error {
    Error::new(&codes::EVENT_INVALID, format!("an event cannot be read: {why}"))
        .hint("`aye doctor` names the ref and the commit")
}
