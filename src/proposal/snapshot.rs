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
    Event(Box<Read<'a>>),
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
    /// Those of the manifest that the statement names.
    pub manifest: Option<Vec<u8>>,
}

/// Reads a part of the snapshot of `lane`, whose epoch before ended at `last`. `hash` gives the blob
/// id (hex) of bytes.
///
/// # Errors
/// What is wrong with it, in words.
pub fn read<'a>(
    bytes: &'a [u8],
    lane: &str,
    last: u64,
    hash: impl Fn(&[u8]) -> Option<String>,
) -> Result<Vec<Item<'a>>, String> {
    let mut lines = split(bytes)?.into_iter().peekable();
    let mut about: Option<ProposalId> = None;
    let mut items = Vec::new();
    while let Some(line) = lines.next() {
        if line.starts_with(SUBJECT) {
            let Headed { subject } = exact_sorted(line)?;
            about = Some(subject.id.clone());
            items.push(Item::Figures(subject));
        } else if line.starts_with(STUB) {
            let Stubbed { stub } = exact(line)?;
            let is_id = stub.id.len() >= 40 && stub.id.bytes().all(|b| b.is_ascii_hexdigit());
            let (Some(id), true) = (&about, is_id && stub.seq <= last) else {
                return Err("its snapshot has a stub at a wrong place".into());
            };
            items.push(Item::Stub(id.clone(), stub));
        } else if line.starts_with(EVENT) {
            let event = Event::from_bytes(line).map_err(|error| error.to_string())?;
            let event = Box::new(event);
            let id = hash(line).ok_or("an event cannot be hashed")?;
            if event.lane != lane {
                let other: String = event.lane.chars().take(64).collect();
                return Err(format!("its snapshot has an event of lane '{other}'"));
            }
            if event.seq > last {
                return Err(format!(
                    "its snapshot has event {}, and it goes on from {last}",
                    event.seq
                ));
            }
            let own = matches!(event.data, Data::Propose(_)).then(|| ProposalId::from_event(&id));
            if own.or_else(|| event.proposal.clone()) != about
                || matches!(event.data, Data::Fold(_))
            {
                return Err(format!("its snapshot has event {id} at a wrong place"));
            }
            let lacks =
                |named: &BlobRef| format!("its snapshot lacks blob {} of event {id}", named.id);
            let is = |named: &BlobRef, bytes: &[u8]| {
                crate::sha256::hex(bytes) == named.sha256
                    && hash(bytes).is_some_and(|id| id == named.id)
            };
            let statement = match event.data.statement() {
                None => None,
                Some(named) => {
                    let found = lines.next().filter(|bytes| is(named, bytes));
                    Some(found.ok_or_else(|| lacks(named))?)
                }
            };
            let manifest = match statement.and_then(manifest) {
                None => None,
                Some(named) => {
                    let found = lines.next().and_then(|line| exact_sorted::<Bound>(line).ok());
                    let found = found.map(|bound| bound.manifest.into_bytes());
                    let found = found.filter(|bytes| is(&named, bytes));
                    Some(found.ok_or_else(|| lacks(&named))?)
                }
            };
            items.push(Item::Event(Box::new(Read { id, event, body: line, statement, manifest })));
        }
    }
    Ok(items)
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
    let found = serde_json::from_slice::<T>(line).ok().filter(|found| {
        let bytes = serde_json::to_vec(found).ok();
        bytes.is_some_and(|bytes| line.strip_suffix(b"\n") == Some(&bytes))
    });
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
mod tests {
    use chrono::DateTime;
    use proptest::prelude::*;

    use super::super::event::{
        Comment, Evidence, Head, How, Mark, Marked, Propose, Purge, Reject, RevisionReason,
    };
    use super::super::{Actor, ActorKind, Stamped, fold};
    use super::*;

    fn hash(bytes: &[u8]) -> Option<String> {
        use gix::objs::{Kind, compute_hash};
        compute_hash(gix::hash::Kind::Sha1, Kind::Blob, bytes).ok().map(|id| id.to_string())
    }

    fn blob(bytes: &[u8]) -> BlobRef {
        BlobRef { id: hash(bytes).unwrap(), sha256: crate::sha256::hex(bytes) }
    }

    fn event(lane: &str, seq: u64, proposal: Option<&ProposalId>, data: Data) -> Event {
        Event {
            proposal: proposal.cloned(),
            first: None,
            lane: lane.into(),
            seq,
            actor: Actor { name: "n".into(), email: String::new(), kind: ActorKind::Human },
            agent: None,
            time: DateTime::from_timestamp(seq as i64, 0).unwrap(),
            heads: Vec::<Head>::new(),
            witness: Vec::new(),
            forked: None,
            needs: None,
            data,
        }
    }

    fn line(event: &Event) -> Line {
        Line { event: event.to_bytes().unwrap(), statement: None, manifest: None }
    }

    fn comment(body: &str) -> Data {
        Data::Comment(Comment { body: body.into(), ..Comment::default() })
    }

    fn subject(seq: u64) -> (Subject, ProposalId) {
        let first = event("l", seq, None, Data::Propose(Propose::default()));
        let id = ProposalId::from_event(&hash(&first.to_bytes().unwrap()).unwrap());
        let figures = Figures { id: id.clone(), digest: Some("d".into()), added: seq, removed: 0 };
        (Subject { figures: Some(figures), lines: vec![line(&first)], stubs: Vec::new() }, id)
    }

    fn stub(seq: u64) -> Stub {
        Stub::of(&Stamped { id: "a".repeat(40), event: event("l", seq, None, comment("c")) })
    }

    fn items(part: &[u8], last: u64) -> Result<Vec<Item<'_>>, String> {
        read(part, "l", last, hash)
    }

    #[test]
    fn a_statement_and_its_manifest_follow_their_event() {
        let manifest = b"clean none - - 100644:\"a\n\0".to_vec();
        let named = blob(&manifest);
        let statement =
            json(&serde_json::json!({"manifest": {"id": named.id, "sha256": named.sha256}}));
        let (mut one, id) = subject(1);
        let mark = |statement: &[u8]| {
            let mark = Mark {
                verdict: Marked::Applied,
                revision: String::new(),
                digest: String::new(),
                reason: None,
                evidence: Evidence::Tool,
                statement: Some(blob(statement)),
            };
            event("l", 2, Some(&id), Data::Mark(mark)).to_bytes().unwrap()
        };
        let line = Line {
            event: mark(&statement),
            statement: Some(statement.clone()),
            manifest: Some(manifest.clone()),
        };
        assert!(line.is_plain());
        one.lines.push(line.clone());
        let part = write(std::slice::from_ref(&one)).remove(0);
        let found = items(&part, 2).unwrap();
        let Some(Item::Event(last)) = found.last() else { panic!("no event") };
        assert_eq!(
            (last.statement, last.manifest.as_ref()),
            (Some(&statement[..]), Some(&manifest))
        );
        for broken in [
            Line { manifest: None, ..line.clone() },
            Line { statement: None, manifest: None, ..line.clone() },
            Line { manifest: Some(b"clean".to_vec()), ..line },
        ] {
            one.lines[1] = broken;
            let part = write(std::slice::from_ref(&one)).remove(0);
            assert!(items(&part, 2).unwrap_err().contains("lacks"), "{:?}", one.lines[1]);
        }
    }

    #[test]
    fn what_is_not_of_the_lane_or_at_its_place_is_refused() {
        let (one, id) = subject(3);
        let part = write(std::slice::from_ref(&one)).remove(0);
        assert_eq!(items(&part, 3).unwrap().len(), 2);
        assert!(items(&part, 2).unwrap_err().contains("goes on from 2"));
        assert!(read(&part, "m", 3, hash).unwrap_err().contains("lane 'l'"));
        let alone = Subject { figures: None, ..one.clone() };
        assert!(items(&write(&[alone])[0], 3).unwrap_err().contains("wrong place"));
        let (other, _) = subject(2);
        let mut mixed = one;
        mixed.lines.extend(other.lines);
        assert!(items(&write(&[mixed])[0], 3).unwrap_err().contains("wrong place"));
        let blank = format!("{{\"subject\": {{\"id\":\"{id}\"}}}}\n");
        assert!(items(blank.as_bytes(), 3).unwrap_err().contains("canonical"));
        assert!(items(b"{\"stub\":{\"id\":\"x\"}}", 3).unwrap_err().contains("line feed"));
        let stubbed = |seq: u64, id: &str| {
            let subject = Subject {
                figures: Some(Figures::none(ProposalId::from_event(&"a".repeat(40)))),
                lines: Vec::new(),
                stubs: vec![Stub { id: id.into(), ..stub(seq) }],
            };
            write(&[subject]).remove(0)
        };
        assert_eq!(items(&stubbed(3, &"a".repeat(40)), 3).unwrap().len(), 2);
        assert!(items(&stubbed(4, &"a".repeat(40)), 3).unwrap_err().contains("wrong place"));
        assert!(items(&stubbed(3, "x"), 3).unwrap_err().contains("wrong place"));
        let alone = stubbed(3, &"a".repeat(40));
        let alone = alone.split_inclusive(|b| *b == b'\n').next_back().unwrap();
        assert!(items(alone, 3).unwrap_err().contains("wrong place"));
        assert!(ids(alone, hash).unwrap_err().contains("nothing"));
        assert!(items(&vec![b'\n'; MAX_LINES + 1], 3).unwrap_err().contains("lines"));
        assert!(items(&vec![b'\n'; MAX_PART + 1], 3).unwrap_err().contains("bytes"));
        // Of a later version.
        assert_eq!(items(b"{\"later\":1}\n", 3).unwrap(), []);
    }

    proptest! {
        // Hashing mebibytes takes a while in a debug build.
        #![proptest_config(ProptestConfig::with_cases(16))]
        #[test]
        fn what_was_written_is_read(
            sizes in proptest::collection::vec((0..3_usize, 0..200_000_usize), 0..12)
        ) {
            let mut seq = 0;
            let subjects: Vec<Subject> = sizes.iter().map(|(count, size)| {
                seq += 1;
                let (mut subject, id) = subject(seq);
                for _ in 0..*count {
                    seq += 1;
                    let said = event("l", seq, Some(&id), comment(&"x".repeat(*size)));
                    subject.lines.push(line(&said));
                }
                subject.stubs = vec![stub(seq); *count];
                subject
            }).collect();
            let parts = write(&subjects);
            let (mut bodies, mut figures, mut all, mut stubs) = (vec![], vec![], vec![], 0);
            for part in &parts {
                prop_assert!(part.len() <= MAX_PART);
                all.extend(ids(part, hash).unwrap());
                for item in items(part, seq).unwrap() {
                    match item {
                        Item::Event(read) => bodies.push((read.id, read.body.to_vec())),
                        Item::Figures(found) if figures.last() != Some(&found) => figures.push(found),
                        Item::Figures(_) => {}
                        Item::Stub(..) => stubs += 1,
                    }
                }
            }
            let expected: Vec<Vec<u8>> =
                subjects.iter().flat_map(|s| &s.lines).map(|line| line.event.clone()).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|body| (hash(&body).unwrap(), body)).collect();
            prop_assert_eq!(all.len(), expected.len() + stubs);
            prop_assert_eq!(bodies, expected);
            let named: Vec<Figures> = subjects.iter().filter_map(|s| s.figures.clone()).collect();
            prop_assert_eq!(figures, named);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// Nothing is left of what is purged but its places, and every other line is as it was.
        #[test]
        fn a_part_without_a_subject_has_every_other_line(
            sizes in proptest::collection::vec((0..4_usize, any::<bool>()), 1..8),
        ) {
            let mut seq = 0;
            let mut purged = BTreeSet::new();
            let subjects: Vec<Subject> = sizes.iter().map(|(count, goes)| {
                seq += 1;
                let (mut subject, id) = subject(seq);
                let word = if *goes { "secret" } else { "public" };
                for _ in 0..*count {
                    seq += 1;
                    subject.lines.push(line(&event("l", seq, Some(&id), comment(word))));
                }
                seq += 1;
                let manifest = format!("clean none - - 100644:\"{word}\n\0").into_bytes();
                let statement = json(&serde_json::json!({
                    "actor": word, "manifest": {"id": hash(&manifest), "sha256": blob(&manifest).sha256},
                }));
                let mark = Mark {
                    verdict: Marked::Applied, revision: String::new(), digest: String::new(),
                    reason: None, evidence: Evidence::Tool, statement: Some(blob(&statement)),
                };
                let mark = line(&event("l", seq, Some(&id), Data::Mark(mark)));
                let (statement, manifest) = (Some(statement), Some(manifest));
                subject.lines.push(Line { statement, manifest, ..mark });
                seq += 1;
                let purge = Purge {
                    reason: "why".into(), blob: None, asked: true, evidence: Evidence::Flag,
                };
                subject.lines.push(line(&event("l", seq, Some(&id), Data::Purge(purge))));
                purged.extend(goes.then_some(id));
                subject
            }).collect();
            let part = write(&subjects).remove(0);
            let kept = without(&part, &purged, hash).unwrap();
            prop_assert!(!String::from_utf8_lossy(&kept).contains("secret"));
            let all = |part: &[u8]| -> Vec<String> {
                ids(part, hash).unwrap().into_iter().map(|(id, _)| id).collect()
            };
            prop_assert_eq!(all(&kept), all(&part));
            for (id, of) in ids(&kept, hash).unwrap() {
                prop_assert!(of.is_none_or(|of| purged.contains(&of)), "{}", id);
            }
            let events = |part: &[u8]| -> Vec<(String, Vec<u8>)> {
                items(part, seq).unwrap().into_iter().filter_map(|item| match item {
                    Item::Event(read) => Some((read.id, read.body.to_vec())),
                    _ => None,
                }).collect()
            };
            let stays = |event: &Event| match &event.data {
                Data::Purge(_) => true,
                Data::Propose(_) => false,
                _ => event.proposal.as_ref().is_some_and(|id| !purged.contains(id)),
            };
            let expected: Vec<_> = events(&part).into_iter().filter(|(id, body)| {
                let event = Event::from_bytes(body).unwrap();
                let first = matches!(event.data, Data::Propose(_));
                first && !purged.contains(&ProposalId::from_event(id)) || stays(&event)
            }).collect();
            prop_assert_eq!(events(&kept), expected);
            prop_assert_eq!(&without(&kept, &purged, hash).unwrap(), &kept, "again");
            if purged.is_empty() {
                prop_assert_eq!(kept, part);
            }
        }
    }

    proptest! {
        /// A lane's events of a subject, through a snapshot, among those of other lanes: whatever
        /// these had seen, and in whatever order all of it is read, the state is the same.
        #[test]
        fn a_history_is_folded_alike_with_and_without_a_snapshot(
            steps in proptest::collection::vec((0..3_usize, any::<bool>(), 0..6_u8, 0..50_i64), 0..16),
            cut in 0..16_u64,
            turn in 0..16_usize,
        ) {
            let names = ["l", "m", "n"];
            let mut known = [[1_u64, 0, 0], [0; 3], [0; 3]];
            let first = event("l", 1, None, Data::Propose(Propose::default()));
            let first = Stamped { id: hash(&first.to_bytes().unwrap()).unwrap(), event: first };
            let id = first.proposal().unwrap();
            let mut events = vec![first];
            for (lane, learns, kind, second) in steps {
                if learns {
                    for theirs in known {
                        for (mine, theirs) in known[lane].iter_mut().zip(theirs) {
                            *mine = (*mine).max(theirs);
                        }
                    }
                }
                let heads = (0..3).filter(|of| *of != lane && known[lane][*of] > 0);
                let heads = heads.map(|of| Head {
                    lane: names[of].into(), seq: known[lane][of], tip: "t".into(),
                });
                let data = match kind {
                    0 | 1 => super::super::forks::tests::data(kind),
                    2 => super::super::forks::tests::data(2),
                    3 => Data::Reject(Reject {
                        group: None,
                        reason: None, revision: String::new(), digest: String::new(),
                        how: How::Flag, withdrawn: false, evidence: None, statement: None,
                    }),
                    4 => Data::Revise(super::super::event::Revise {
                        on: None,
                        description: Some(second.to_string()), expires_at: None,
                        reason: RevisionReason::Edited, base: None, changes: Vec::new(),
                        changes_blob: None, memory: None,
                    }),
                    _ => comment("c"),
                };
                let heads = heads.collect();
                known[lane][lane] += 1;
                let mut next = event(names[lane], known[lane][lane], Some(&id), data);
                next.heads = heads;
                next.time = DateTime::from_timestamp(second, 0).unwrap();
                let bytes = next.to_bytes().unwrap();
                events.push(Stamped { id: hash(&bytes).unwrap(), event: next });
            }
            let is_folded = |stamped: &&Stamped| stamped.event.lane == "l" && stamped.event.seq <= cut;
            let figures = Figures { id, digest: None, added: 0, removed: 0 };
            let lines = events.iter().filter(is_folded).map(|stamped| line(&stamped.event)).collect();
            let parts = write(&[Subject { figures: Some(figures), lines, stubs: Vec::new() }]);
            let mut again: Vec<Stamped> =
                events.iter().filter(|stamped| !is_folded(stamped)).cloned().collect();
            for part in &parts {
                for item in items(part, cut).unwrap() {
                    if let Item::Event(read) = item {
                        again.push(Stamped { id: read.id, event: *read.event });
                    }
                }
            }
            // What came late may be in a clone that has both epochs.
            again.extend(events.iter().take(turn).cloned());
            let by = turn % again.len().max(1);
            again.rotate_left(by);
            prop_assert_eq!(fold(&again), fold(&events));
        }

        #[test]
        fn nothing_panics(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = items(&bytes, 9);
            let _ = ids(&bytes, hash);
        }
    }
}
