//! What a lane says, in little memory: which events it has and where their bytes are, so that a lane of
//! any length can be folded one proposal at a time.

use std::collections::BTreeMap;
use std::ops::Range;

use gix::ObjectId;
use gix::objs::Kind;

use super::Store;
use super::lane::{self, Limits, Row};
use super::objects::{hashed, remapped};
use super::refs::LaneRef;
use crate::error::{Error, Result};
use crate::proposal::event::BlobRef;
use crate::proposal::snapshot::{self, Figures, Item, Line, Stub, Subject};
use crate::proposal::{Data, Event, ProposalId};
use crate::repository::{MOST, blob_within};

/// Objects that are read before the packs are mapped anew. They lie anywhere in these, and with each
/// the kernel maps what is around it.
const MOST_READ: usize = 500;

/// What is left of purged proposals.
pub(super) type Stubs = BTreeMap<ProposalId, Vec<Stub>>;

/// The places of events with their positions, by proposal; those about none in front.
pub(super) type Places = BTreeMap<Option<ProposalId>, Vec<(u64, Place)>>;

/// Where the bytes of an event are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// An object of their own.
    Object(ObjectId),
    /// In this part of a snapshot, behind so many other events.
    Part(ObjectId, usize),
}

/// An event that is an object of its own.
pub(super) struct Brief {
    /// Its id.
    pub(super) id: ObjectId,
    /// Its position in the lane.
    pub(super) seq: u64,
    /// When, in milliseconds.
    pub(super) time: i64,
    /// The proposal it is about.
    pub(super) proposal: Option<ProposalId>,
    /// The plan it is about.
    pub(super) plan: Option<String>,
    /// It is about no proposal, and can be folded: a plan, a direct patch, or one that was undone.
    pub(super) is_loose: bool,
}

/// A commit that is not of the snapshot.
pub(super) struct Step {
    pub(super) commit: ObjectId,
    rows: Range<usize>,
}

/// What a lane says.
#[derive(Default)]
pub(super) struct Contents {
    /// The events in the snapshot that it begins with.
    pub(super) lines: Places,
    /// The stubs in that.
    pub(super) stubs: Stubs,
    /// The other commits, oldest first.
    pub(super) steps: Vec<Step>,
    /// Their events, in order.
    pub(super) rows: Vec<Brief>,
}

impl Step {
    /// Its events, out of those of the lane.
    pub(super) fn of<'r>(&self, rows: &'r [Brief]) -> &'r [Brief] {
        rows.get(self.rows.clone()).unwrap_or_default()
    }
}

impl Store {
    /// What `lane` says.
    ///
    /// # Errors
    /// `lane_broken`.
    pub(super) fn contents(&self, lane: &LaneRef) -> Result<Contents> {
        let mut found = Contents::default();
        lane::each_commit(&self.repository().repo, lane, Limits::OWN, |commit, said| {
            for (id, stub) in said.stubs {
                found.stubs.entry(id).or_default().push(stub);
            }
            let part = said.rows.iter().find_map(part);
            let (from, mut lines) = (found.rows.len(), 0);
            for row in said.rows {
                match part.filter(|_| row.beside.is_some()) {
                    Some(part) => {
                        let place = Place::Part(part, lines);
                        found.lines.entry(row.proposal).or_default().push((row.seq, place));
                        lines += 1;
                    }
                    None if row.kind() == "fold" => {}
                    None => found.rows.push(Brief {
                        is_loose: ["plan", "patch", "undo"].contains(&row.kind()),
                        id: row.id,
                        seq: row.seq,
                        time: row.time(),
                        proposal: row.proposal,
                        plan: row.plan,
                    }),
                }
            }
            let rows = from..found.rows.len();
            if !rows.is_empty() {
                found.steps.push(Step { commit, rows });
            }
            Ok(())
        })?;
        Ok(found)
    }
}

/// The part of a snapshot that `row` comes with.
fn part(row: &Row) -> Option<ObjectId> {
    if row.kind() != "fold" {
        return None;
    }
    let Data::Fold(fold) = &row.event.data else { return None };
    ObjectId::from_hex(fold.snapshot.id.as_bytes()).ok()
}

/// Reads the lines of a snapshot from where they are.
pub(super) struct Lines<'s> {
    store: &'s Store,
    lane: &'s str,
    /// Another one after so many objects, so that what it has mapped of packs does not grow.
    objects: gix::Repository,
    read: usize,
    /// The part that was read last: the subjects of one stand one behind the other.
    part: Option<(ObjectId, Vec<Line>)>,
}

impl<'s> Lines<'s> {
    /// Of `lane`.
    pub(super) fn new(store: &'s Store, lane: &'s str) -> Self {
        Self { store, lane, objects: store.repository().repo.clone(), read: 0, part: None }
    }

    fn blob(&mut self, id: ObjectId) -> Result<Vec<u8>> {
        self.read += 1;
        if self.read.is_multiple_of(MOST_READ) {
            self.objects = remapped(&self.store.repository().repo);
        }
        match blob_within(&self.objects, id, MOST) {
            Ok(Some(bytes)) => Ok(bytes),
            _ => self.store.blob(&id.to_string()),
        }
    }

    /// The line of the event `id`; `None` where it has to stay whole, because something that it names
    /// is a long list, the first event of a private proposal, or cannot be read.
    pub(super) fn of(&mut self, id: ObjectId) -> Option<Line> {
        let body = self.blob(id).ok()?;
        let event = Event::from_bytes(&body).ok()?;
        if event.list().is_some() || matches!(event.data, Data::Publish(_)) {
            return None;
        }
        let mut named = |named: &BlobRef| -> Option<Vec<u8>> {
            let bytes = self.blob(ObjectId::from_hex(named.id.as_bytes()).ok()?).ok()?;
            (crate::sha256::hex(&bytes) == named.sha256).then_some(bytes)
        };
        let statement = match event.data.statement() {
            None => None,
            Some(statement) => Some(named(statement)?),
        };
        let manifest = match statement.as_deref().and_then(snapshot::manifest) {
            None => None,
            Some(manifest) => Some(named(&manifest)?),
        };
        let line = Line { event: body, statement, manifest };
        line.is_plain().then_some(line)
    }

    /// The line at `place`.
    ///
    /// # Errors
    /// `internal_error` where it cannot be read any more.
    fn at(&mut self, place: Place) -> Result<Line> {
        let gone = || Error::bug("an event of a lane cannot be read again");
        match place {
            Place::Object(id) => self.of(id).ok_or_else(gone),
            Place::Part(part, at) => {
                if self.part.as_ref().is_none_or(|(known, _)| *known != part) {
                    self.part = Some((part, self.lines(part)?));
                }
                let lines = self.part.as_ref().map(|(_, lines)| lines);
                lines.and_then(|lines| lines.get(at)).cloned().ok_or_else(gone)
            }
        }
    }

    fn lines(&mut self, part: ObjectId) -> Result<Vec<Line>> {
        let bytes = self.blob(part)?;
        let kind = self.store.repository().repo.object_hash();
        let hash = |bytes: &[u8]| Some(hashed(kind, Kind::Blob, bytes).ok()?.to_string());
        // Positions were checked when the lane was read.
        let items = snapshot::read(&bytes, self.lane, u64::MAX, hash).map_err(Error::bug)?;
        let events = items.filter_map(|item| match item {
            Ok(Item::Event(read)) => {
                let statement = read.statement.map(<[u8]>::to_vec);
                Some(Ok(Line { event: read.body.to_vec(), statement, manifest: read.manifest }))
            }
            Ok(_) => None,
            Err(why) => Some(Err(Error::bug(why))),
        });
        events.collect()
    }

    /// The subjects of a snapshot of `places`, one at a time, each with its events by position; then
    /// what is left of those that were purged, which stay so. `figures` are those of a proposal, whose
    /// lines it is given; `None` where they are not known.
    pub(super) fn subjects<'a, F>(
        &'a mut self,
        figures: F,
        places: Places,
        stubs: Stubs,
    ) -> impl Iterator<Item = Result<Subject>> + use<'a, 's, F>
    where
        F: Fn(&ProposalId, &[Line]) -> Result<Option<Figures>> + 'a,
    {
        let purged = stubs.into_iter().map(|(id, stubs)| {
            Ok(Subject { figures: Some(Figures::none(id)), lines: Vec::new(), stubs })
        });
        places.into_iter().map(move |(id, places)| self.subject(&figures, id, places)).chain(purged)
    }

    fn subject(
        &mut self,
        figures: impl Fn(&ProposalId, &[Line]) -> Result<Option<Figures>>,
        id: Option<ProposalId>,
        mut places: Vec<(u64, Place)>,
    ) -> Result<Subject> {
        places.sort_by_key(|(seq, _)| *seq);
        let lines: Result<Vec<Line>> =
            places.into_iter().map(|(_, place)| self.at(place)).collect();
        let lines = lines?;
        let figures = match id {
            None => None,
            Some(id) => {
                let begins = lines.first().and_then(|line| Event::from_bytes(&line.event).ok());
                let begins = begins.is_some_and(|event| matches!(event.data, Data::Propose(_)));
                let counted = if begins { figures(&id, &lines)? } else { None };
                Some(counted.unwrap_or(Figures::none(id)))
            }
        };
        Ok(Subject { figures, lines, stubs: Vec::new() })
    }
}
