//! Proposals held against the objects they come from.
//!
//! The cache is a file that anybody with write access to the git directory can edit, so before
//! something is decided its proposal is folded again: every event is read from the object
//! database and hashed, its commit has to hold it and to be in the lane, and what comes out has to
//! be what the cache says, byte for byte.

use std::cell::{OnceCell, RefCell};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};

use gix::ObjectId;
use gix::objs::{Exists as _, Kind};

use super::cache::Source;
use super::lane::Reader;
use super::objects::hashed;
use super::refs::{self, LaneRef};
use super::{Store, View, codes, compose};
use crate::error::{Error, Result};
use crate::proposal::audit::Own;
use crate::proposal::{Data, Event, Proposal, ProposalId, Stamped, forks};
use crate::repository::header;

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
    /// The proposal `id`, as [`Store::verified_proposals`].
    ///
    /// # Errors
    /// As there.
    pub fn verified_proposal(&self, view: &View, id: &ProposalId) -> Result<Proposal> {
        let mut verified = self.verified_proposals(view, std::iter::once(id))?;
        verified.pop().ok_or_else(|| Error::bug("a proposal was verified and is gone"))
    }

    /// The proposals `ids`, folded again from their events in the object database, for decisions.
    ///
    /// # Errors
    /// `proposal_not_found`; `cache_tampered` if one is not what the cache says, which is emptied
    /// then, so that the next reader builds it from the lanes.
    pub fn verified_proposals<'i>(
        &self,
        view: &View,
        ids: impl ExactSizeIterator<Item = &'i ProposalId>,
    ) -> Result<Vec<Proposal>> {
        let verifier = self.verifier(view, MOST_WALKED * ids.len());
        let verified: Result<Vec<Proposal>> = ids.map(|id| verifier.proposal(id)).collect();
        verified.inspect_err(|error| {
            if error.is(&codes::CACHE_TAMPERED) {
                view.empty();
            }
        })
    }

    /// Whether the direct patch `stamped` was recorded by this clone, and is what its event in the object database
    /// says: what it writes back is content of which nobody else is believed that it stood there.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn has_recorded(&self, view: &View, stamped: &Stamped) -> Result<bool> {
        if !view.is_from_here(self, &stamped.id)? {
            return Ok(false);
        }
        let Some((commit, body)) = view.body_of_event(&stamped.id)? else { return Ok(false) };
        let verifier = self.verifier(view, MOST_WALKED);
        let Ok(blob) = ObjectId::from_hex(stamped.id.as_bytes()) else { return Ok(false) };
        let Ok(commit) = ObjectId::from_hex(commit.as_bytes()) else { return Ok(false) };
        let lane = &stamped.event.lane;
        let is_it = Event::from_bytes(&body).is_ok_and(|event| {
            event.lane == *lane && event.data.kind() == stamped.event.data.kind()
        });
        Ok(is_it
            && verifier.compare(blob, &body, commit).is_ok()
            && verifier.reaches(lane, commit) != Some(false)
            && verifier.holds(lane, commit, blob))
    }

    /// Verifies several proposals of `view`, walking at most `most` commits of this clone's own lane,
    /// and as many of all others together.
    pub fn verifier<'a>(&'a self, view: &'a View, most: usize) -> Verifier<'a> {
        let own = view.own_lanes(self).iter().map(|own| {
            let (lane, seq) = (own.lane.clone(), view.own_seq(&own.name));
            (lane, seq)
        });
        let own = own.collect();
        let (kept, walks, held) = (OnceCell::new(), RefCell::default(), RefCell::default());
        let (is_by_id, snapshots) = (false, RefCell::default());
        Verifier { store: self, view, own, most, is_by_id, kept, walks, held, snapshots }
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
    /// The names of this clone's own lanes, and their last positions.
    own: Vec<(String, u64)>,
    most: usize,
    is_by_id: bool,
    /// The refs that remember fetched lanes, read once.
    kept: OnceCell<Vec<LaneRef>>,
    walks: RefCell<Walks>,
    held: RefCell<Held>,
    /// Which of the commits that were asked about have a part of a snapshot.
    snapshots: RefCell<HashMap<ObjectId, bool>>,
}

/// The events of lane commits that hold several: one command may have decided about a hundred.
#[derive(Default)]
struct Held {
    events: HashMap<ObjectId, HashSet<ObjectId>>,
    count: usize,
}

/// Most events that are remembered of such commits: other clones choose how many there are.
const MOST_HELD: usize = 50_000;

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
    /// The commits walked so far, with their trees; `None` for one that cannot be read.
    seen: HashMap<ObjectId, Option<ObjectId>>,
    /// In this clone's own lane: the commits that name a proposal.
    named: HashMap<String, Vec<ObjectId>>,
}

impl<'a> Verifier<'a> {
    /// Believes that an object that is there holds what its id says, without reading it: what the
    /// cache has of an event is held against the id alone, and of one that is further back than is
    /// walked it is not asked which commit holds it. For checks over everything that is pending, which
    /// decide nothing.
    #[must_use]
    pub fn by_id(mut self) -> Self {
        self.is_by_id = true;
        self
    }

    /// The proposal `id`, folded again.
    ///
    /// # Errors
    /// `proposal_not_found`; `cache_tampered` with what differs; those of the store.
    pub fn proposal(&self, id: &ProposalId) -> Result<Proposal> {
        let own = Own(&self.own);
        let (mut commits, mut begins_in) = (HashSet::new(), HashSet::new());
        let mut wrong = None;
        let mut events = HashSet::new();
        let folded = self.view.refolded(&self.store.repository().repo, id, own, &mut |source| {
            match self.check(id, &source) {
                Ok((commit, begins)) => {
                    if begins && source.part.is_none() && own.has(source.lane) {
                        begins_in.insert(source.lane.to_owned());
                    }
                    events.insert(source.event.to_owned());
                    commits.insert(commit);
                }
                Err(why) => wrong = Some(why),
            }
            wrong.is_none()
        })?;
        if let Some(why) = wrong {
            return Err(tampered(id, &why));
        }
        for (lane, _) in own.0 {
            for commit in self.named(lane, id, begins_in.contains(lane)) {
                if !commits.contains(&commit) && !self.is_said(lane, commit, id, &events) {
                    return Err(tampered(id, &format!("it leaves out commit {commit}")));
                }
            }
        }
        folded.ok_or_else(|| tampered(id, "its events lead to another state"))
    }

    /// Whether an event is what the object database and its lane have; returns its commit, and
    /// whether the proposal begins with it.
    fn check(&self, id: &ProposalId, source: &Source<'_>) -> Result<(ObjectId, bool), String> {
        let Source { event, lane, body, .. } = *source;
        let hex = |text: &str| {
            ObjectId::from_hex(text.as_bytes()).map_err(|_| format!("'{text}' is not an object id"))
        };
        let (blob, commit) = (hex(event)?, hex(source.commit)?);
        let is_object = self.compare(blob, body, commit)?;
        let says = source.says.map_err(ToString::to_string)?;
        if says.lane != lane || says.about(event).as_ref() != Some(id) {
            return Err(format!("event {event} is about something else"));
        }
        let begins = matches!(says.data, Data::Propose(_) | Data::Publish(_));
        let chain = source.part.unwrap_or(lane);
        let reached = self.reaches(chain, commit);
        if reached.is_none() && self.is_by_id && is_object {
            return Ok((commit, begins));
        }
        if !self.holds(chain, commit, blob) {
            return Err(format!("commit {commit} does not hold event {event}"));
        }
        match reached {
            Some(false) => Err(format!("commit {commit} is not in lane {lane}")),
            _ => Ok((commit, begins)),
        }
    }

    /// Holds `body` against the object `blob`: `false` where that is not there, and `commit` has a
    /// snapshot that may have it.
    fn compare(&self, blob: ObjectId, body: &[u8], commit: ObjectId) -> Result<bool, String> {
        let repo = &self.store.repository().repo;
        let missing = || format!("event {blob} is not in the object database");
        let differs = || format!("event {blob} has other bytes there");
        let hash = hashed(repo.object_hash(), Kind::Blob, body);
        if hash.ok() != Some(blob) {
            return if repo.objects.exists(&blob) { Err(differs()) } else { Err(missing()) };
        }
        // A snapshot that has it is as good: that it has exactly this one is asked by the caller.
        let absent = || if self.has_snapshot(commit) { Ok(false) } else { Err(missing()) };
        if self.is_by_id {
            return if repo.objects.exists(&blob) { Ok(true) } else { absent() };
        }
        // By its header first: what is there may be of any size.
        let Ok((_, size)) = header(repo, blob) else { return absent() };
        if size != body.len() as u64 {
            return Err(differs());
        }
        let found = repo.find_blob(blob).map_err(|_| missing())?;
        if found.data == body { Ok(true) } else { Err(differs()) }
    }

    /// Whether `commit` has a part of a snapshot, which is looked up once for all of its events.
    fn has_snapshot(&self, commit: ObjectId) -> bool {
        let mut known = self.snapshots.borrow_mut();
        *known
            .entry(commit)
            .or_insert_with(|| Reader::has_snapshot(&self.store.repository().repo, commit))
    }

    /// Whether `commit` of `lane` holds the event `event`.
    fn holds(&self, lane: &str, commit: ObjectId, event: ObjectId) -> bool {
        let mut held = self.held.borrow_mut();
        if let Some(events) = held.events.get(&commit) {
            return events.contains(&event);
        }
        let walks = self.walks.borrow();
        let tree = walks.lanes.get(lane).and_then(|walk| *walk.seen.get(&commit)?);
        if let Some(tree) = tree.filter(|_| self.is_own(lane))
            && self.is_only_event(tree, event)
        {
            return true;
        }
        let lane = LaneRef { name: lane.to_owned(), tip: commit };
        let events =
            Reader::held(&self.store.repository().repo, &lane, commit, tree).unwrap_or_default();
        let is_held = events.contains(&event);
        if events.len() > 1 && held.count + events.len() <= MOST_HELD {
            held.count += events.len();
            held.events.insert(commit, events.into_iter().collect());
        }
        is_held
    }

    /// Whether `event` is what the tree of a commit of this clone's own lane has as its only one.
    fn is_only_event(&self, tree: ObjectId, event: ObjectId) -> bool {
        let found = self.store.repository().repo.find_tree(tree).ok();
        let found = found.as_ref().and_then(|tree| tree.find_entry("event.json"));
        found.is_some_and(|entry| entry.object_id() == event)
    }

    /// Whether `commit` is in a lane, or in the part of one that is so called; `None` where it is too
    /// far back.
    fn reaches(&self, lane: &str, commit: ObjectId) -> Option<bool> {
        let mut walks = self.walks.borrow_mut();
        loop {
            if self.walk(&mut walks, lane).seen.contains_key(&commit) {
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
        if self.is_own(lane) {
            self.walk(walks, lane).seen.len() >= self.most
        } else {
            walks.others >= self.most
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

    /// Whether all that `commit` of this clone's own `lane` holds about the proposal `id` is among
    /// `events`: an epoch restates what the one before said, whose ref may be here still.
    fn is_said(
        &self,
        own: &str,
        commit: ObjectId,
        id: &ProposalId,
        events: &HashSet<String>,
    ) -> bool {
        let repo = &self.store.repository().repo;
        let lane = LaneRef { name: own.to_owned(), tip: commit };
        let Ok(held) = Reader::held(repo, &lane, commit, None) else { return false };
        held.iter().map(ToString::to_string).filter(|event| !events.contains(event)).all(|event| {
            let blob = self.store.blob(&event).ok();
            let event = blob.and_then(|bytes| Some((Event::from_bytes(&bytes).ok()?, event)));
            event.is_some_and(|(event, name)| {
                Stamped { id: name, event }.proposal().as_ref() != Some(id)
            })
        })
    }

    fn walk<'w>(&self, walks: &'w mut Walks, lane: &str) -> &'w mut Walk {
        if !walks.lanes.contains_key(lane) {
            let is_ours = |found: &LaneRef| refs::own_of(&found.name) == Some(lane);
            // Copies of it count where its ref is gone.
            let is_own = self.is_own(lane) && self.view.lanes.iter().any(is_ours);
            let kept = self.kept.get_or_init(|| refs::kept(&self.store.repository().repo));
            let refs = self.view.lanes.iter().chain(kept);
            let next = refs
                .filter(|found| found.lane() == forks::lane_of(lane))
                .filter(|found| !is_own || is_ours(found))
                .map(|found| found.tip)
                .collect();
            walks.lanes.insert(lane.to_owned(), Walk { next, ..Walk::default() });
        }
        walks.lanes.entry(lane.to_owned()).or_default()
    }

    /// Walks one commit further; `false` at the end.
    fn step(&self, walks: &mut Walks, lane: &str) -> bool {
        let is_own = self.is_own(lane);
        let walk = self.walk(walks, lane);
        let Some(id) = walk.next.pop() else { return false };
        if let Entry::Vacant(seen) = walk.seen.entry(id) {
            let commit = self.store.repository().repo.find_commit(id).ok();
            let commit = commit.as_ref().and_then(|commit| commit.decode().ok());
            seen.insert(commit.as_ref().map(|commit| commit.tree()));
            if let Some(commit) = commit {
                walk.next.extend(commit.parents().next());
                if is_own {
                    for name in compose::proposals(commit.message) {
                        walk.named.entry(name.to_string()).or_default().push(id);
                    }
                }
            }
        }
        if !is_own {
            walks.others += 1;
        }
        true
    }

    fn is_own(&self, lane: &str) -> bool {
        Own(&self.own).has(lane)
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
