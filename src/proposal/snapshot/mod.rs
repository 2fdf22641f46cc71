//! What an epoch of a lane begins with: the lane's own events that are not commits of their own any
//! more, with what decides whether they count. Pure.
//!
//! JSON lines, each with a line feed at its end:
//! - `{"subject":{…}}` ([`Figures`]): the proposal that the lines up to the next such line are about.
//!   The lines in front of the first one are about none.
//! - an event, the very bytes that it was stored as, so that its id is still their hash. The statement
//!   that it names follows it in its own bytes, and then `{"manifest":"…"}`, the one that the statement
//!   names, as text.
//! - `{"stub":{…}}` ([`Stub`]): an event of a proposal that was purged, of which nothing else is kept.
//!
//! A line that begins otherwise is of a later version, and is passed over. Nothing is believed: ids
//! are computed, and an event has to be of the lane and at a position that the epoch before had.

use std::collections::BTreeSet;

use bstr::ByteSlice as _;
use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::event::{BlobRef, Data, Event, Head};
use super::statement::Statement;
use super::{ProposalId, Stamped, canonical};

/// Largest part of a snapshot, in bytes: other clones read no larger event either.
pub const MAX_PART: usize = 1 << 20;

/// Most that the lines of one subject may take, in bytes. One with more stays whole.
pub const MAX_SUBJECT: usize = 256 << 10;

/// Most lines of one part: the least event takes about as many bytes as this leaves for each.
const MAX_LINES: usize = 20_000;

/// How an event begins as it is stored: canonical JSON, keys in order.
const EVENT: &[u8] = b"{\"actor\":";

/// How the line begins that names a subject.
const SUBJECT: &[u8] = b"{\"subject\":";

/// How a stub begins.
const STUB: &[u8] = b"{\"stub\":";

/// A proposal, and what a list shows of the content of its newest revision, which may not be here. Its
/// keys are in canonical order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Lines that they add.
    #[serde(default, skip_serializing_if = "is_none")]
    pub added: u64,
    /// Digest of the changes that were counted ([`digest`](super::event::digest)); absent where the
    /// proposal does not begin in this lane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The proposal.
    pub id: ProposalId,
    /// Lines that they remove.
    #[serde(default, skip_serializing_if = "is_none")]
    pub removed: u64,
}

impl Figures {
    /// Of a proposal of whose content nothing is known.
    pub fn none(id: ProposalId) -> Self {
        Self { id, digest: None, added: 0, removed: 0 }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_none(count: &u64) -> bool {
    *count == 0
}

/// An event, as it goes into a snapshot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The bytes that it is stored as.
    pub event: Vec<u8>,
    /// Those of the statement that it names.
    pub statement: Option<Vec<u8>>,
    /// Those of the manifest that the statement names.
    pub manifest: Option<Vec<u8>>,
}

impl Line {
    /// Whether it can be written: event and statement are one line each, as canonical JSON is, and the
    /// manifest, which names paths, is text.
    pub fn is_plain(&self) -> bool {
        let is_line =
            |bytes: &[u8]| bytes.iter().position(|b| *b == b'\n') == bytes.len().checked_sub(1);
        let is_text = |bytes: &Vec<u8>| std::str::from_utf8(bytes).is_ok();
        self.event.starts_with(EVENT)
            && is_line(&self.event)
            && self.statement.as_deref().is_none_or(is_line)
            && self.manifest.as_ref().is_none_or(is_text)
    }

    fn bytes(&self) -> Vec<u8> {
        let mut bytes = self.event.clone();
        bytes.extend(self.statement.iter().flatten());
        if let Some(manifest) = &self.manifest {
            bytes.extend(json(&Bound { manifest: String::from_utf8_lossy(manifest).into_owned() }));
        }
        bytes
    }

    /// How many bytes it takes.
    pub fn size(&self) -> usize {
        self.bytes().len()
    }
}

/// What is written about one subject, by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The proposal; `None` for what is about none.
    pub figures: Option<Figures>,
    /// Events.
    pub lines: Vec<Line>,
    /// Events of which nothing else is kept.
    pub stubs: Vec<Stub>,
}

/// What is kept of an event that was purged: its place, and nothing that it said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stub {
    /// Its id, hex.
    pub id: String,
    /// Its position.
    pub seq: u64,
    /// What happened, as in the event.
    pub kind: String,
    /// When, by its writer's clock.
    pub time: DateTime<Utc>,
    /// What its writer had seen, as in the event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heads: Vec<String>,
    /// Tips that it put on record, as in the event.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub witness: Vec<String>,
    /// The lane that its own goes on from, as in the event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<String>,
}

impl Stub {
    /// Of an event.
    pub fn of(stamped: &Stamped) -> Self {
        let event = &stamped.event;
        let texts = |heads: &[Head]| heads.iter().map(Head::to_text).collect();
        Self {
            id: stamped.id.clone(),
            seq: event.seq,
            kind: event.data.kind().to_owned(),
            time: event.time,
            heads: texts(&event.heads),
            witness: texts(&event.witness),
            forked: event.forked.as_ref().map(Head::to_text),
        }
    }
}

/// Whether an event stays where its proposal is purged: that it was, by whom and why.
pub fn outlasts_purge(data: &Data) -> bool {
    matches!(data, Data::Purge(_))
}

#[derive(Serialize, Deserialize)]
struct Headed {
    subject: Figures,
}

#[derive(Serialize, Deserialize)]
struct Bound {
    manifest: String,
}

#[derive(Serialize, Deserialize)]
struct Stubbed {
    stub: Stub,
}

/// The parts of the snapshot of `subjects`, each of at most [`MAX_PART`] bytes. A subject that takes
/// more than one is headed in each. At least one part, though it may be empty.
pub fn write(subjects: &[Subject]) -> Vec<Vec<u8>> {
    let mut writer = Writer::default();
    let mut parts: Vec<Vec<u8>> = subjects.iter().flat_map(|subject| writer.add(subject)).collect();
    parts.push(writer.into_last());
    parts
}

/// Writes a snapshot of which only one part is in memory.
#[derive(Debug, Default)]
pub struct Writer {
    part: Vec<u8>,
}

impl Writer {
    /// Adds a subject. Returns the parts that are complete with it, none mostly.
    pub fn add(&mut self, subject: &Subject) -> Vec<Vec<u8>> {
        let head =
            subject.figures.as_ref().map(|figures| json(&Headed { subject: figures.clone() }));
        let head = head.unwrap_or_default();
        let stubs = subject.stubs.iter().map(|stub| json(&Stubbed { stub: stub.clone() }));
        let lines = subject.lines.iter().map(Line::bytes);
        let (mut complete, mut is_headed) = (Vec::new(), false);
        for bytes in lines.chain(stubs) {
            let part = self.part.len();
            if part > 0 && part + head.len() + bytes.len() > MAX_PART {
                complete.push(std::mem::take(&mut self.part));
                is_headed = false;
            }
            if !is_headed {
                self.part.extend_from_slice(&head);
                is_headed = true;
            }
            self.part.extend_from_slice(&bytes);
        }
        complete
    }

    /// The last part, which may be empty where there is no other.
    pub fn into_last(self) -> Vec<u8> {
        self.part
    }
}

fn json(value: &impl Serialize) -> Vec<u8> {
    canonical::to_bytes(&serde_json::to_value(value).unwrap_or_default())
}

/// A line of a snapshot.
#[derive(Debug, PartialEq)]
pub enum Item<'a> {
    /// What follows is about this proposal.
    Figures(Figures),
    /// An event.
    Event(Read<'a>),
    /// An event of this proposal of which nothing else is kept.
    Stub(ProposalId, Stub),
}

/// An event out of a snapshot.
#[derive(Debug, PartialEq)]
pub struct Read<'a> {
    /// Its id, hex.
    pub id: String,
    /// The event.
    pub event: Box<Event>,
    /// The bytes that it is stored as.
    pub body: &'a [u8],
    /// Those of the statement that it names.
    pub statement: Option<&'a [u8]>,
    /// What these say, where they are a statement. They have the hash that the event names.
    pub stated: Option<Box<Statement>>,
    /// Those of the manifest that the statement names.
    pub manifest: Option<Vec<u8>>,
}

/// Reads a part of the snapshot of `lane`, whose epoch before ended at `last`, line by line: what comes
/// after a wrong one is not to be read, and what came before it does not count. `hash` gives the blob
/// id (hex) of bytes.
///
/// # Errors
/// What is wrong with it as a whole, in words; of a line likewise.
pub fn read<'a, H: Fn(&[u8]) -> Option<String>>(
    bytes: &'a [u8],
    lane: &'a str,
    last: u64,
    hash: H,
) -> Result<Items<'a, H>, String> {
    Ok(Items { lines: split(bytes)?.into_iter(), about: None, lane, last, hash })
}

/// The lines of a part of a snapshot ([`read`]).
#[derive(Debug)]
pub struct Items<'a, H> {
    lines: std::vec::IntoIter<&'a [u8]>,
    about: Option<ProposalId>,
    lane: &'a str,
    last: u64,
    hash: H,
}

impl<'a, H: Fn(&[u8]) -> Option<String>> Iterator for Items<'a, H> {
    type Item = Result<Item<'a>, String>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.lines.next()?;
            if line.starts_with(SUBJECT) {
                let subject = exact_sorted::<Headed>(line).map(|headed| headed.subject);
                return Some(subject.map(|figures| {
                    self.about = Some(figures.id.clone());
                    Item::Figures(figures)
                }));
            } else if line.starts_with(STUB) {
                return Some(self.stub(line));
            } else if line.starts_with(EVENT) {
                return Some(self.event(line).map(Item::Event));
            }
        }
    }
}

impl<'a, H: Fn(&[u8]) -> Option<String>> Items<'a, H> {
    fn stub(&self, line: &[u8]) -> Result<Item<'a>, String> {
        let Stubbed { stub } = exact(line)?;
        let is_id = stub.id.len() >= 40 && stub.id.bytes().all(|b| b.is_ascii_hexdigit());
        let (Some(id), true) = (&self.about, is_id && stub.seq <= self.last) else {
            return Err("its snapshot has a stub at a wrong place".into());
        };
        Ok(Item::Stub(id.clone(), stub))
    }

    /// The event in `line`, with what follows of it.
    fn event(&mut self, line: &'a [u8]) -> Result<Read<'a>, String> {
        let event = Event::from_bytes(line).map_err(|error| error.to_string())?;
        let event = Box::new(event);
        let id = (self.hash)(line).ok_or("an event cannot be hashed")?;
        if event.lane != self.lane {
            let other: String = event.lane.chars().take(64).collect();
            return Err(format!("its snapshot has an event of lane '{other}'"));
        }
        if event.seq > self.last {
            let (seq, last) = (event.seq, self.last);
            return Err(format!("its snapshot has event {seq}, and it goes on from {last}"));
        }
        let own = matches!(event.data, Data::Propose(_)).then(|| ProposalId::from_event(&id));
        if own.or_else(|| event.proposal.clone()) != self.about
            || matches!(event.data, Data::Fold(_))
        {
            return Err(format!("its snapshot has event {id} at a wrong place"));
        }
        let lacks = |named: &BlobRef| format!("its snapshot lacks blob {} of event {id}", named.id);
        let statement = match event.data.statement() {
            None => None,
            Some(named) => {
                let found = self.lines.next().filter(|bytes| self.is(named, bytes));
                Some(found.ok_or_else(|| lacks(named))?)
            }
        };
        let stated = statement.and_then(|bytes| Statement::from_bytes(bytes).ok()).map(Box::new);
        let named = match &stated {
            Some(stated) => stated.manifest.clone(),
            None => statement.and_then(manifest),
        };
        let manifest = match named {
            None => None,
            Some(named) => {
                let found = self.lines.next().and_then(|line| exact_sorted::<Bound>(line).ok());
                let found = found.map(|bound| bound.manifest.into_bytes());
                let found = found.filter(|bytes| self.is(&named, bytes));
                Some(found.ok_or_else(|| lacks(&named))?)
            }
        };
        Ok(Read { id, event, body: line, statement, stated, manifest })
    }

    fn is(&self, named: &BlobRef, bytes: &[u8]) -> bool {
        crate::sha256::hex(bytes) == named.sha256
            && (self.hash)(bytes).is_some_and(|id| id == named.id)
    }
}

/// The manifest that a statement names.
pub fn manifest(statement: &[u8]) -> Option<BlobRef> {
    #[derive(Deserialize)]
    struct Named {
        manifest: Option<BlobRef>,
    }
    serde_json::from_slice::<Named>(statement).ok()?.manifest
}

/// The ids (hex) of the events in a part; where one is only a stub, with the proposal that it is about.
///
/// # Errors
/// As [`read`].
pub fn ids(
    bytes: &[u8],
    hash: impl Fn(&[u8]) -> Option<String>,
) -> Result<Vec<(String, Option<ProposalId>)>, String> {
    let mut found = Vec::new();
    let mut about = None;
    let mut lines = split(bytes)?.into_iter();
    while let Some(line) = lines.next() {
        if line.starts_with(SUBJECT) {
            about = Some(exact_sorted::<Headed>(line)?.subject.id);
        } else if line.starts_with(EVENT) {
            found.extend(hash(line).map(|id| (id, None)));
            // Its statement begins as an event does.
            let event = Event::from_bytes(line).map_err(|error| error.to_string())?;
            if event.data.statement().is_some() {
                lines.next();
            }
        } else if line.starts_with(STUB) {
            let id = exact::<Stubbed>(line)?.stub.id;
            found.push((id, Some(about.clone().ok_or("its snapshot has a stub of nothing")?)));
        }
    }
    Ok(found)
}

/// The part `bytes` with stubs in place of what it says of `purged`, and each other line as it is.
/// `hash` is as for [`read`].
///
/// # Errors
/// What is wrong with the part, in words.
pub fn without(
    bytes: &[u8],
    purged: &BTreeSet<ProposalId>,
    hash: impl Fn(&[u8]) -> Option<String>,
) -> Result<Vec<u8>, String> {
    let mut lines = split(bytes)?.into_iter();
    let mut is_purged = false;
    let mut kept = Vec::with_capacity(bytes.len());
    while let Some(line) = lines.next() {
        if line.starts_with(SUBJECT) {
            let id = exact_sorted::<Headed>(line)?.subject.id;
            is_purged = purged.contains(&id);
            match is_purged {
                // How much it changed goes too.
                true => kept.extend(json(&Headed { subject: Figures::none(id) })),
                false => kept.extend_from_slice(line),
            }
        } else if is_purged && line.starts_with(EVENT) {
            let event = Event::from_bytes(line).map_err(|error| error.to_string())?;
            let id = hash(line).ok_or("an event cannot be hashed")?;
            let beside = match event.data.statement() {
                None => Vec::new(),
                Some(_) => {
                    let statement = lines.next().ok_or("its snapshot ends before a statement")?;
                    let bound = manifest(statement).map(|_| lines.next());
                    let bound = bound.map(|line| line.ok_or("its snapshot ends before a manifest"));
                    [Some(statement), bound.transpose()?].into_iter().flatten().collect()
                }
            };
            if outlasts_purge(&event.data) {
                kept.extend_from_slice(line);
                beside.into_iter().for_each(|line| kept.extend_from_slice(line));
            } else {
                kept.extend(json(&Stubbed { stub: Stub::of(&Stamped { id, event }) }));
            }
        } else if !is_purged || line.starts_with(STUB) {
            kept.extend_from_slice(line);
        }
    }
    Ok(kept)
}

fn split(bytes: &[u8]) -> Result<Vec<&[u8]>, String> {
    if bytes.len() > MAX_PART {
        return Err(format!("its snapshot has more than {MAX_PART} bytes"));
    }
    if bytes.last().is_some_and(|last| *last != b'\n') {
        return Err("its snapshot does not end with a line feed".into());
    }
    let lines: Vec<&[u8]> = bytes.lines_with_terminator().collect();
    if lines.len() > MAX_LINES {
        return Err(format!("its snapshot has more than {MAX_LINES} lines"));
    }
    Ok(lines)
}

/// As [`exact`], of what has its keys in canonical order: what this version would have written needs no
/// second look.
fn exact_sorted<T: Serialize + for<'de> Deserialize<'de>>(line: &[u8]) -> Result<T, String> {
    let found = std::str::from_utf8(line).ok();
    let found = found.and_then(|line| serde_json::from_str::<T>(line).ok());
    let found = found.filter(|found| canonical::is_of_sorted(found, line));
    found.map_or_else(|| exact(line), Ok)
}

/// Reads a line of the snapshot itself, in its canonical form alone.
fn exact<T: Serialize + for<'de> Deserialize<'de>>(line: &[u8]) -> Result<T, String> {
    let wrong = |why: &dyn std::fmt::Display| format!("its snapshot has a wrong line: {why}");
    let value: serde_json::Value = serde_json::from_slice(line).map_err(|error| wrong(&error))?;
    if canonical::to_bytes(&value) != line {
        return Err(wrong(&"it is not in its canonical form"));
    }
    serde_json::from_value(value).map_err(|error| wrong(&error))
}

#[cfg(test)]
mod tests;
