//! Proposals held against the objects they come from.
//!
//! The cache is a file that anybody with write access to the git directory can edit, so before
//! something is decided its proposal is folded again: every event is read from the object
//! database and hashed, its commit has to hold it and to be in the lane, and what comes out has to
//! be what the cache says, byte for byte.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};

use bstr::ByteSlice as _;
use gix::ObjectId;
use gix::objs::Kind;

use super::cache::Source;
use super::lane::Reader;
use super::refs::{self, LaneRef};
use super::{Store, View, codes, write};
use crate::error::{Error, Result};
use crate::proposal::{Event, Proposal, ProposalId, Stamped};

/// How many commits of this clone's own lane, and how many of all others, are walked for one
/// decision. An event further back is believed to be in its lane if its commit holds it.
///
/// The walk ends at the oldest event of the proposal, so a proposal that was just made costs a few
/// steps whatever the bound is. Measured with the release build on ext4 (two lanes of 16 and 528
/// commits, `aye check` on a proposal at their beginning): a commit takes 10 µs in aye, and as a
/// loose object six system calls and 13 µs in the kernel, as a packed one neither. One apply takes 5 ms
/// of each. 256 commits, about a week of a busy agent, are thus at worst half of an apply, and a
/// fifth once git has packed them.
const MOST_WALKED: usize = 256;

impl Store {
    /// The proposal `id`, folded again from its events in the object database, for decisions.
    ///
    /// # Errors
    /// `proposal_not_found`; `cache_tampered` if that is not what the cache says, which is emptied
    /// then, so that the next reader builds it from the lanes.
    pub fn verified_proposal(&self, view: &View, id: &ProposalId) -> Result<Proposal> {
        self.verifier(view, MOST_WALKED).proposal(id).inspect_err(|error| {
            if error.is(&codes::CACHE_TAMPERED) {
                view.empty();
            }
        })
    }

    /// Verifies several proposals of `view`, walking at most `most` commits of this clone's own lane,
    /// and as many of all others together.
    pub fn verifier<'a>(&'a self, view: &'a View, most: usize) -> Verifier<'a> {
        let own = write::lane_name(self).map(|name| refs::lane_of(&name).to_owned());
        Verifier { store: self, view, own, most, walks: RefCell::default() }
    }
}

impl View {
    /// `cache_tampered`, because of `why`; the cache is emptied, so that the next reader builds it
    /// from the lanes.
    pub fn tampered(&self, id: &ProposalId, why: &str) -> Error {
        self.empty();
        tampered(id, why)
    }
}

/// Verifies proposals of one view.
pub struct Verifier<'a> {
    store: &'a Store,
    view: &'a View,
    /// The name of this clone's own lane.
    own: Option<String>,
    most: usize,
    walks: RefCell<Walks>,
}

/// What has been seen of the lanes so far.
#[derive(Default)]
struct Walks {
    lanes: BTreeMap<String, Walk>,
    /// Commits of other lanes: however long those are, the own one is walked.
    others: usize,
}

/// One lane, from its tips back.
#[derive(Default)]
struct Walk {
    next: Vec<ObjectId>,
    seen: HashSet<ObjectId>,
    /// In this clone's own lane: the commits that name a proposal.
    named: HashMap<String, Vec<ObjectId>>,
}

impl Verifier<'_> {
    /// The proposal `id`, folded again.
    ///
    /// # Errors
    /// `proposal_not_found`; `cache_tampered` with what differs; those of the store.
    pub fn proposal(&self, id: &ProposalId) -> Result<Proposal> {
        let cached = self.view.proposal(id)?;
        let (mut commits, mut begins_here) = (HashSet::new(), false);
        self.view.sources(id, |source| {
            begins_here |=
                source.event == cached.first_event && Some(&source.lane) == self.own.as_ref();
            self.check(id, &source).map_err(|why| tampered(id, &why))?;
            commits.insert(source.commit);
            Ok(())
        })?;
        if let Some(own) = &self.own {
            for commit in self.named(own, id, begins_here) {
                if !commits.contains(&commit.to_string()) {
                    return Err(tampered(id, &format!("it leaves out commit {commit}")));
                }
            }
        }
        match self.view.refolded(&self.store.repo, id, self.own.as_deref())? {
            true => Ok(cached),
            false => Err(tampered(id, "its events lead to another state")),
        }
    }

    /// Whether an event is what the object database and its lane have.
    fn check(&self, id: &ProposalId, source: &Source) -> Result<(), String> {
        let repo = &self.store.repo;
        let event = &source.event;
        let hex = |text: &str| {
            ObjectId::from_hex(text.as_bytes()).map_err(|_| format!("'{text}' is not an object id"))
        };
        let (blob, commit) = (hex(event)?, hex(&source.commit)?);
        let missing = |_| format!("event {event} is not in the object database");
        let header = repo.find_header(blob).map_err(|_| missing(()))?;
        if header.size() != source.body.len() as u64 {
            return Err(format!("event {event} has other bytes there"));
        }
        let found = repo.find_blob(blob).map_err(|_| missing(()))?;
        let hash = gix::objs::compute_hash(repo.object_hash(), Kind::Blob, &found.data);
        if found.data != source.body || hash.ok() != Some(blob) {
            return Err(format!("event {event} has other bytes there"));
        }
        let parsed = Event::from_bytes(&found.data).map_err(|error| error.to_string())?;
        let stamped = Stamped { id: event.clone(), event: parsed };
        if stamped.event.lane != source.lane || stamped.proposal().as_ref() != Some(id) {
            return Err(format!("event {event} is about something else"));
        }
        let lane = LaneRef { name: source.lane.clone(), tip: commit };
        if !Reader::holds(repo, &lane, commit, blob) {
            return Err(format!("commit {commit} does not hold event {event}"));
        }
        match self.reaches(&source.lane, commit) {
            Some(false) => Err(format!("commit {commit} is not in lane {}", source.lane)),
            _ => Ok(()),
        }
    }

    /// Whether `commit` is in `lane`; `None` where it is too far back.
    fn reaches(&self, lane: &str, commit: ObjectId) -> Option<bool> {
        let mut walks = self.walks.borrow_mut();
        loop {
            if self.walk(&mut walks, lane).seen.contains(&commit) {
                return Some(true);
            }
            if self.is_spent(&mut walks, lane) {
                return None;
            }
            if !self.step(&mut walks, lane) {
                return Some(false);
            }
        }
    }

    /// Whether as much of `lane` was walked as may be.
    fn is_spent(&self, walks: &mut Walks, lane: &str) -> bool {
        match self.own.as_deref() == Some(lane) {
            true => self.walk(walks, lane).seen.len() >= self.most,
            false => walks.others >= self.most,
        }
    }

    /// The commits of this clone's own lane that name the proposal `id`, as far back as was walked
    /// for its events. That is to its first one where the proposal begins there; otherwise nothing
    /// tells how far back this clone has spoken of it, and the walk takes what it may.
    fn named(&self, own: &str, id: &ProposalId, begins_here: bool) -> Vec<ObjectId> {
        let mut walks = self.walks.borrow_mut();
        if !begins_here {
            while self.walk(&mut walks, own).seen.len() < MOST_WALKED
                && !self.is_spent(&mut walks, own)
                && self.step(&mut walks, own)
            {}
        }
        self.walk(&mut walks, own).named.get(id.as_str()).cloned().unwrap_or_default()
    }

    fn walk<'w>(&self, walks: &'w mut Walks, lane: &str) -> &'w mut Walk {
        if !walks.lanes.contains_key(lane) {
            let is_own = self.own.as_deref() == Some(lane);
            let kept = refs::kept(&self.store.repo);
            let refs = self.view.lanes.iter().chain(&kept);
            let next = refs
                .filter(|found| found.lane() == lane)
                .filter(|found| !is_own || found.name.starts_with(refs::LOG))
                .map(|found| found.tip)
                .collect();
            walks.lanes.insert(lane.to_owned(), Walk { next, ..Walk::default() });
        }
        walks.lanes.entry(lane.to_owned()).or_default()
    }

    /// Walks one commit further; `false` at the end.
    fn step(&self, walks: &mut Walks, lane: &str) -> bool {
        let is_own = self.own.as_deref() == Some(lane);
        let walk = self.walk(walks, lane);
        let Some(id) = walk.next.pop() else { return false };
        if walk.seen.insert(id)
            && let Ok(commit) = self.store.repo.find_commit(id)
        {
            walk.next.extend(commit.parent_ids().next().map(gix::Id::detach));
            if is_own && let Ok(message) = commit.message_raw() {
                for line in message.lines() {
                    if let Some(id) = line.strip_prefix(b"Proposal-Id: ") {
                        let named = walk.named.entry(id.to_str_lossy().into_owned());
                        named.or_default().push(commit.id);
                    }
                }
            }
        }
        if !is_own {
            walks.others += 1;
        }
        true
    }
}

fn tampered(id: &ProposalId, why: &str) -> Error {
    Error::new(
        &codes::CACHE_TAMPERED,
        format!("the cache says something else of {id} than its lanes: {why}"),
    )
    .with("proposal_id", id.as_str())
    .hint("somebody has edited .git/aye/cache.sqlite; rebuild it: aye doctor --repair")
}
