//! Reading lanes: commits back to events.
//!
//! This clone's own lane is read strictly. Every other lane was written by somebody else, so it is
//! read within limits, and only up to its first bad commit: what cannot be read there is reported,
//! and never stops a command.

mod broken;
mod limits;
mod reader;

use gix::ObjectId;
use gix::objs::Kind;

pub use broken::Broken;
pub(super) use broken::{Bad, rest_of, unshallow};
use broken::{shallow, text};
pub(super) use limits::Limits;
pub(super) use reader::{Progress, Reader};

use super::objects::{hashed, remapped};
use super::refs::LaneRef;
use crate::error::Error;
use crate::plan::Record;
use crate::proposal::event::Fold;
use crate::proposal::snapshot::{self, Figures, Item, Stub};
use crate::proposal::statement::Statement;
use crate::proposal::{Data, Event, ProposalId};

/// A commit of a lane, not yet read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// Its id.
    pub(super) id: ObjectId,
    tree: ObjectId,
    is_merge: bool,
    is_root: bool,
}

/// The blob at the top of the tree of a commit with which an epoch begins.
pub(super) const SNAPSHOT: &str = "snapshot-0001";

/// What a commit of a lane says.
#[derive(Default)]
pub(super) struct Said {
    /// Its events that were not known, those of its snapshot included.
    pub(super) rows: Vec<Row>,
    /// The last position of all its events.
    pub(super) last: u64,
    /// Where it is the first of an epoch: what that says of itself.
    pub(super) epoch: Option<Fold>,
    /// Events in it of which nothing else is kept, with the proposals that they were about.
    pub(super) stubs: Vec<(ProposalId, Stub)>,
    /// Its part of a snapshot, where that was not read along.
    pub(super) part: Option<Part>,
}

/// A part of a snapshot, not yet read.
pub(super) struct Part {
    bytes: Vec<u8>,
    lane: String,
    last: u64,
    hash: gix::hash::Kind,
}

/// What a part of a snapshot says next.
pub(super) enum Line {
    /// An event.
    Event(Row),
    /// An event of this proposal of which nothing else is kept.
    Stub(ProposalId, Stub),
}

impl Part {
    /// What it says, in order. Where a line is bad, its commit is, and nothing of it counts.
    ///
    /// # Errors
    /// [`Bad`].
    pub(super) fn lines(&self) -> Result<impl Iterator<Item = Result<Line, Bad>>, Bad> {
        let kind = self.hash;
        let hash = move |bytes: &[u8]| Some(hashed(kind, Kind::Blob, bytes).ok()?.to_string());
        let mut figures: Option<Figures> = None;
        let items = snapshot::read(&self.bytes, &self.lane, self.last, hash)?;
        Ok(items.filter_map(move |item| match item {
            Ok(Item::Figures(found)) => {
                figures = Some(found);
                None
            }
            Ok(Item::Stub(id, stub)) => Some(Ok(Line::Stub(id, stub))),
            Ok(Item::Event(read)) => Some(line(read, &mut figures)),
            Err(why) => Some(Err(why.into())),
        }))
    }
}

/// The event `read` with what the cache has about it, and `figures` if they are of its proposal.
fn line(read: snapshot::Read<'_>, figures: &mut Option<Figures>) -> Result<Line, Bad> {
    let id = ObjectId::from_hex(read.id.as_bytes()).map_err(|error| text(&error))?;
    let row = row(id, read.id, read.event, read.body.to_vec());
    let of_it = |figures: &mut Figures| row.proposal.as_ref() == Some(&figures.id);
    let beside = Beside {
        statement: read.statement.map(<[u8]>::to_vec),
        stated: read.stated,
        manifest: read.manifest,
        figures: figures.take_if(of_it),
    };
    Ok(Line::Event(Row { beside: Some(beside), ..row }))
}

/// Where a walk has ended: at a known commit, or behind the root.
pub(super) type End = Option<ObjectId>;

/// The commits of a lane behind what is known of it.
#[derive(Debug, Default)]
pub(super) struct Chain {
    /// Oldest first.
    pub(super) links: Vec<Link>,
    /// The known commit that they continue; `None` where they begin a history.
    pub(super) onto: Option<ObjectId>,
    /// The parent of the first of them, where a shallow history ends there.
    pub(super) before: Option<ObjectId>,
}

/// An event with what the cache has about it.
pub(super) struct Row {
    /// Blob id.
    pub(super) id: ObjectId,
    /// The same, hex.
    pub(super) hex: String,
    /// The proposal it is about.
    pub(super) proposal: Option<ProposalId>,
    /// Its position in the lane.
    pub(super) seq: u64,
    /// The plan it is about.
    pub(super) plan: Option<String>,
    /// The event. In a box of its own, as a commit may have a thousand.
    pub(super) event: Box<Event>,
    /// The bytes it is stored as.
    pub(super) body: Vec<u8>,
    /// Where it comes from a snapshot, the bytes of its statement and of the manifest of that.
    pub(super) beside: Option<Beside>,
}

impl Row {
    /// What happened.
    pub(super) fn kind(&self) -> &str {
        self.event.data.kind()
    }

    /// When, in milliseconds.
    pub(super) fn time(&self) -> i64 {
        self.event.time.timestamp_millis()
    }
}

/// What stands beside an event in a snapshot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// The statement that it names.
    pub(super) statement: Option<Vec<u8>>,
    /// What that says, where it is one. It has the hash that the event names.
    pub(super) stated: Option<Box<Statement>>,
    /// The manifest that the statement names.
    pub(super) manifest: Option<Vec<u8>>,
    /// In front of the first event about its proposal: what lists show of that.
    pub(super) figures: Option<Figures>,
}

/// How many commits are read before the packs are mapped anew.
pub(super) const BATCH: usize = 1_000;

/// The id of an event, and where a lane has only a stub of it, the proposal that it was about.
pub(super) type Named = (ObjectId, Option<ProposalId>);

/// Hands each commit of `lane` with what it says to `each`, oldest first.
///
/// # Errors
/// `lane_broken` where one cannot be read, `lane_shallow` where the first are not here; those of `each`.
pub(super) fn each_commit(
    repo: &gix::Repository,
    lane: &LaneRef,
    limits: Limits,
    mut each: impl FnMut(ObjectId, Said) -> Result<(), Error>,
) -> Result<(), Error> {
    let broken = |(commit, bad): (ObjectId, Bad)| {
        let (name, commit) = (lane.name.clone(), commit.to_string());
        Broken { name, commit, why: bad.why, is_absent: false }.error()
    };
    let (mut links, mut next) = (Vec::new(), Some(lane.tip));
    let mut progress = Progress::default();
    // In batches, each with the packs mapped anew, so that memory does not grow with them.
    let mut objects = repo.clone();
    loop {
        let mut reader = Reader::new(&objects, lane, limits, progress);
        let end = reader.walk(&mut links, &mut next, BATCH, |_| false).map_err(broken)?;
        progress = reader.into_progress();
        if end.is_some() {
            break;
        }
        objects = remapped(repo);
    }
    if progress.before().is_some() {
        return Err(shallow(repo, lane));
    }
    links.reverse();
    for links in links.chunks(BATCH) {
        let mut reader = Reader::new(&objects, lane, limits, progress);
        for link in links {
            each(link.id, reader.read(link).map_err(|bad| broken((link.id, bad)))?)?;
        }
        progress = reader.into_progress();
        objects = remapped(repo);
    }
    Ok(())
}

/// What the cache has of an event, whose id is `hex` and which is stored as `body`.
fn row(id: ObjectId, hex: String, event: Box<Event>, body: Vec<u8>) -> Row {
    Row {
        id,
        proposal: event.about(&hex),
        hex,
        seq: event.seq,
        plan: plan(&event.data),
        event,
        body,
        beside: None,
    }
}

/// The branch whose plan an event is about, if it is a valid version of one.
pub(super) fn plan(data: &Data) -> Option<String> {
    let Data::Plan(value) = data else { return None };
    Record::from_value(value).map(|record| record.branch)
}
