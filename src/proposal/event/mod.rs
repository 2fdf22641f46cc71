//! Events: what happened to a proposal, as it is written to a lane.
//!
//! Canonical bytes are [`canonical`] JSON; the id of an event is the blob id of
//! those bytes. Unknown kinds (from a newer version) are kept and skipped by the fold.

mod changes;
mod data;
mod decisions;
pub mod lists;
#[cfg(test)]
mod tests;
mod times;
mod words;

use std::sync::LazyLock;

use bstr::{ByteSlice as _, FinderReverse};
use chrono::{DateTime, Utc};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

pub use changes::{ChangeRecord, Entry, SnippetRecord, digest};
pub use data::{
    BlobRef, Check, Comment, Committed, Data, Expire, Extend, Fold, Imported, Note, On, Propose,
    Publish, Purge, Revise, Subject,
};
pub use decisions::{
    Apply, Approve, Effect, How, Mark, Marked, Patch, Reject, Reopen, RequestChanges, Undo, Written,
};
pub use times::timestamp;
pub(crate) use words::open_words;
pub use words::{CommentKind, Evidence, FileOutcome, InputForm, RevisionReason};

use super::{Actor, AgentRun, ProposalId, canonical, codes};
use crate::error::{Error, Result};

/// Version of the event format.
pub const VERSION: u32 = 1;

/// Largest canonical form read, in bytes.
pub const MAX_BYTES: usize = 64 << 20;

/// Largest canonical form written, in bytes: of another clone's lane no larger event is read.
pub const MAX_WRITTEN: usize = 1 << 20;

/// One event.
#[derive(Clone, Debug, PartialEq)]
pub struct Event {
    /// The proposal it belongs to; `None` in the first event of one, and in plan events.
    pub proposal: Option<ProposalId>,
    /// The whole id of that proposal's first event, hex, of which the id above is 50 bits; `None` in
    /// the first event, in plan events, and in events of version 0.1.0.
    pub first: Option<String>,
    /// The lane it was written to.
    pub lane: String,
    /// Its position in that lane, from 1.
    pub seq: u64,
    /// Who.
    pub actor: Actor,
    /// The run of an agent that recorded it, where its harness names one.
    pub agent: Option<AgentRun>,
    /// When, by that machine's clock, to the millisecond.
    pub time: DateTime<Utc>,
    /// The tips of the lanes seen when it was written that hold events about the same subject. In
    /// events of version 0.1.0 those of all lanes.
    pub heads: Vec<Head>,
    /// Tips of other lanes that its writer had seen and had not yet put on record.
    pub witness: Vec<Head>,
    /// In the first event of a lane that goes on from another: that lane, and how far. It was
    /// copied or restored with the repository, or somebody else writes it too.
    pub forked: Option<Head>,
    /// The version of aye that understands the kind, where that kind can decide on a proposal.
    pub needs: Option<String>,
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
    /// Whether it may be about the proposal that begins with the event `first`: one that names the whole id of
    /// its proposal is about that one and no other.
    pub(super) fn may_be_about(&self, first: &str) -> bool {
        self.event.first.as_ref().is_none_or(|id| id == first)
    }

    /// The proposal this event is about: its own id if it is the first.
    pub fn proposal(&self) -> Option<ProposalId> {
        self.event.about(&self.id)
    }
}

impl Event {
    /// The proposal that this event, whose id is `id`, is about.
    pub fn about(&self, id: &str) -> Option<ProposalId> {
        match &self.data {
            Data::Propose(_) => Some(ProposalId::from_event(id)),
            _ => self.proposal.clone(),
        }
    }
}

/// An event without what happened, as it is written.
#[derive(Serialize)]
struct Header<'a> {
    v: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    proposal: &'a Option<ProposalId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first: &'a Option<String>,
    lane: &'a str,
    seq: u64,
    actor: &'a Actor,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: &'a Option<AgentRun>,
    time: String,
    heads: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    witness: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    forked: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    needs: &'a Option<String>,
}

/// An event as it is read, with its data as they are, or as those of a kind.
#[derive(Deserialize)]
#[serde(bound(deserialize = "D: Deserialize<'de>"))]
struct Wire<D> {
    v: u32,
    kind: String,
    #[serde(default)]
    data: Option<D>,
    #[serde(default)]
    proposal: Option<ProposalId>,
    #[serde(default)]
    first: Option<String>,
    lane: String,
    seq: u64,
    actor: Actor,
    #[serde(default, deserialize_with = "AgentRun::lenient")]
    agent: Option<AgentRun>,
    #[serde(deserialize_with = "times::read")]
    time: DateTime<Utc>,
    #[serde(default)]
    heads: Vec<String>,
    #[serde(default)]
    witness: Vec<String>,
    #[serde(default)]
    forked: Option<String>,
    #[serde(default)]
    needs: Option<String>,
}

impl Event {
    /// Canonical bytes, as they are stored.
    ///
    /// # Errors
    /// `internal_error` if the data cannot be written as JSON.
    pub fn to_bytes(&self) -> Result<Vec<u8>> {
        let data = match &self.data {
            Data::Unknown(kind, data) => Ok(serde_json::json!({ "kind": kind, "data": data })),
            known => serde_json::to_value(known),
        };
        let header = serde_json::to_value(Header {
            v: self.version(),
            proposal: &self.proposal,
            first: &self.first,
            lane: &self.lane,
            seq: self.seq,
            actor: &self.actor,
            agent: &self.agent,
            time: timestamp(self.time),
            heads: self.heads.iter().map(Head::to_text).collect(),
            witness: self.witness.iter().map(Head::to_text).collect(),
            forked: self.forked.as_ref().map(Head::to_text),
            needs: &self.needs,
        });
        let bug = |error: serde_json::Error| Error::bug(error.to_string());
        let (mut event, header) = (data.map_err(bug)?, header.map_err(bug)?);
        if let (Some(event), Value::Object(header)) = (event.as_object_mut(), header) {
            event.extend(header);
        }
        Ok(canonical::to_bytes(&event))
    }

    /// Reads canonical bytes (any JSON of that shape).
    ///
    /// # Errors
    /// `event_invalid` with what is wrong. A kind this version does not know is not an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        if bytes.len() > MAX_BYTES {
            return Err(broken(&format!("{} bytes are more than {MAX_BYTES}", bytes.len())));
        }
        Self::of_frequent_kind(bytes).map_or_else(|| Self::of_any_kind(bytes), Ok)
    }

    fn of_any_kind(bytes: &[u8]) -> Result<Self> {
        let mut wire: Wire<&RawValue> = serde_json::from_slice(bytes).map_err(|e| broken(&e))?;
        let data = wire.data.take().map_or("null", RawValue::get);
        // With the kind in front nothing has to be kept until it is known.
        let tagged = format!("{{\"kind\":{},\"data\":{data}}}", Value::from(wire.kind.as_str()));
        let data = match serde_json::from_str(&tagged) {
            Ok(data) => data,
            Err(error) if wire.v <= VERSION && data::is_known(&wire.kind) => {
                return Err(broken(&error));
            }
            Err(_) => {
                let data = serde_json::from_str(data).map_err(|e| broken(&e))?;
                Data::Unknown(std::mem::take(&mut wire.kind), data)
            }
        };
        Ok(wire.event(data))
    }

    /// As [`Event::from_bytes`], in one go, if it is an event of a kind of which there are very many.
    /// Whatever is wrong with it is for the other way to say.
    fn of_frequent_kind(bytes: &[u8]) -> Option<Self> {
        fn read<D: DeserializeOwned>(
            text: &str,
            kind: &[u8],
            data: fn(D) -> Data,
        ) -> Option<Event> {
            let mut wire: Wire<D> = serde_json::from_str(text).ok()?;
            let found = wire.data.take().filter(|_| wire.kind.as_bytes() == kind)?;
            Some(wire.event(data(found)))
        }
        // From text, as the other way reads data: all that reads them is in the program once.
        let text = std::str::from_utf8(bytes).ok()?;
        // In canonical form the kind stands behind the data. Elsewhere it is another one, or none.
        const KEY: &[u8] = b"\"kind\":\"";
        static KIND: LazyLock<FinderReverse<'_>> = LazyLock::new(|| FinderReverse::new(KEY));
        let (_, behind) = bytes.split_at(KIND.rfind(bytes)? + KEY.len());
        let kind = &behind[..behind.find_byte(b'"')?];
        match kind {
            b"propose" => read(text, kind, Data::Propose),
            b"apply" => read(text, kind, Data::Apply),
            b"reject" => read(text, kind, Data::Reject),
            _ => None,
        }
    }
}

impl<D> Wire<D> {
    /// The event of these `data`.
    fn event(self, data: Data) -> Event {
        Event {
            proposal: self.proposal,
            first: self.first,
            lane: self.lane,
            seq: self.seq,
            actor: self.actor,
            agent: self.agent,
            time: self.time,
            heads: self.heads.iter().filter_map(|text| Head::parse(text)).collect(),
            witness: self.witness.iter().filter_map(|text| Head::parse(text)).collect(),
            forked: self.forked.as_deref().and_then(Head::parse),
            needs: self.needs.filter(|text| release(text).is_some()),
            data,
        }
    }
}

fn broken(why: &dyn std::fmt::Display) -> Error {
    Error::new(&codes::EVENT_INVALID, format!("an event cannot be read: {why}"))
        .hint("`aye doctor` names the lane and commit")
}

/// The numbers of a version such as `1.4` or `1.4.2`, for comparing; `None` for any other text.
pub fn release(text: &str) -> Option<[u16; 3]> {
    let mut numbers = [0; 3];
    let parts: Vec<&str> = text.split('.').collect();
    if !(2..=3).contains(&parts.len()) {
        return None;
    }
    for (slot, part) in numbers.iter_mut().zip(parts) {
        let plain = !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        *slot = part.parse().ok().filter(|_| plain)?;
    }
    Some(numbers)
}

impl Head {
    /// Lane, position and commit, separated by spaces.
    pub fn to_text(&self) -> String {
        format!("{} {} {}", self.lane, self.seq, self.tip)
    }

    /// Reads what [`Head::to_text`] wrote.
    pub fn parse(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let head = Self {
            lane: words.next()?.to_owned(),
            seq: words.next()?.parse().ok()?,
            tip: words.next()?.to_owned(),
        };
        words.next().is_none().then_some(head)
    }
}
