//! Threads: the refs that lead to the events of a proposal, and the commits that they lead to.
//!
//! A fetched ref is hostile until it was walked. If it leads to anything but events of its thread
//! it is set aside by name, and all other refs count. The result depends only on the commits that
//! the ref leads to, so all clones agree.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use gix::ObjectId;
use gix::objs::{Exists as _, Kind};

use super::ledger::Ledger;
use super::objects::{self, Header, ReadFailure};
use super::refs::{self, Name, Role};
use super::{Space, Store, codes, space};
use crate::error::{Code, Error, Result};
use crate::proposal::statement::{ends_sha256, parse_ends};
use crate::proposal::{
    Data, DecisionDocuments, Event, History, Manifest, ProposalId, Statement, StoredEvent,
    codes as proposal_codes,
};

/// Events, and bytes of their commits, that a ref may lead to.
const MOST: (usize, u64) = (1_000, 16 << 20);

/// Events and bytes up to which a writer takes other clones' tips as parents; the rest is room for
/// its own. Otherwise two floods below an honest event would make an honest clone's ref too long
/// for everybody else.
const ROOM: (usize, u64) = (500, 8 << 20);

/// Events that one command may add, and bytes of one.
const MOST_ADDED: (usize, u64) = (16, 1 << 20);

/// Parents of an event.
const MOST_PARENTS: usize = 16;

/// Fetched refs that are read of a thread.
const MOST_FETCHED: usize = 64;

/// Bytes of an event's commit.
const MOST_BYTES: u64 = 1 << 20;

/// Bytes of manifests and lists that a ref may lead to.
const MOST_LISTED: u64 = 64 << 20;

/// Bytes that are read of a thread's fetched refs, and bytes of memory for them. More refs are
/// named and not read. Own refs have no such limit.
const MOST_READ: u64 = 32 << 20;
const MOST_KEPT: u64 = 32 << 20;

/// Bytes of memory for a value of JSON, and for a byte of a list or a manifest.
const PER_VALUE: u64 = 64;
const PER_BYTE: u64 = 4;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    Own,
    Fetched {
        remote: String,
        clone: String,
    },
    /// Another clone's ref that its remote has lost.
    Kept,
    Closed,
    ClosedElsewhere,
}

/// A commit that a ref or a chunk gives for a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tip {
    pub name: String,
    /// The commit; null if the ref holds no id.
    pub id: ObjectId,
    pub source: Source,
    pub space: Space,
}

impl Tip {
    pub fn is_own(&self) -> bool {
        matches!(self.source, Source::Own | Source::Closed)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SetAside {
    pub name: String,
    pub code: &'static Code,
    pub why: String,
}

impl SetAside {
    pub(super) fn new(name: String, code: &'static Code, why: &str) -> Self {
        Self { name, code, why: why.to_owned() }
    }

    pub(super) fn unread(name: String, why: &ReadFailure) -> Self {
        match why {
            ReadFailure::Missing(id) => {
                Self::new(name, &codes::THREAD_INCOMPLETE, &format!("{id} is not in this clone"))
            }
            ReadFailure::Bad(why) => Self::new(name, &codes::THREAD_DAMAGED, why),
        }
    }

    /// The error for a command that needs this ref.
    pub(super) fn error(&self, repo: &gix::Repository) -> Error {
        let error = Error::new(self.code, format!("{}: {}", self.name, self.why));
        error.with("ref", self.name.as_str()).hint(if !self.code.eq(&codes::THREAD_INCOMPLETE) {
            "restore the ref or the object from another clone, or from a backup; `aye doctor` names others"
                .to_owned()
        } else if repo.common_dir().join("shallow").exists() {
            let remote = space::sync_remotes(repo).into_iter().next().unwrap_or_else(|| "origin".into());
            format!("git fetch --unshallow {remote} '{}'", space::fetch_refspec(&remote))
        } else {
            "fetch it from another clone; `git fsck` names the missing object".to_owned()
        })
    }
}

#[derive(Clone, Debug)]
pub struct Thread {
    pub id: ObjectId,
    pub space: Space,
    pub history: History,
    /// The tips that no other reaches, sorted.
    pub tips: Vec<ObjectId>,
    pub own: Option<ObjectId>,
    pub set_aside: Vec<SetAside>,
    parents: Vec<ObjectId>,
    /// Events and bytes below the parents.
    below: (usize, u64),
    /// Estimated bytes of memory.
    pub(super) weight: u64,
}

impl Thread {
    /// The sorted parents of this clone's next event: its own tip, and other clones' tips that
    /// leave room for its own events.
    ///
    /// # Errors
    /// `thread_too_long`.
    pub fn parents(&self) -> Result<Vec<ObjectId>> {
        let (events, bytes) = self.below;
        if events + MOST_ADDED.0 <= MOST.0 && bytes + MOST_ADDED.1 <= MOST.1 {
            return Ok(self.parents.clone());
        }
        let id = ProposalId::from_event(&self.id.to_string());
        Err(Error::new(
            &codes::THREAD_TOO_LONG,
            format!("{id} has {events} events of {bytes} bytes"),
        )
        .with("proposal_id", id.as_str())
        .hint("propose it again: aye propose --instead-of names this one"))
    }

    /// Number of events that this clone's next event has seen.
    pub fn len(&self) -> usize {
        self.below.0
    }

    /// Always false: each thread has a first event.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The clone's name in new events: the first of `ids` (this clone's present and former names)
    /// that the first event has, or the present one.
    pub fn clone_of(&self, ids: &[String]) -> Option<String> {
        let first = self.history.first().map(|first| &first.event.clone);
        let mut all = ids.iter();
        all.clone().find(|id| Some(*id) == first).or_else(|| all.next()).cloned()
    }

    /// Refuses an event whose own tree lacks content that it names.
    ///
    /// # Errors
    /// `thread_damaged`; `thread_incomplete` if a tree is missing.
    pub fn require_content(&self, store: &Store, event: &str) -> Result<()> {
        match self.history.get(event) {
            Some(stamped) => store.require_held(event, stamped.event.data.changes()),
            None => Ok(()),
        }
    }

    /// This clone's ref, which may not exist yet.
    pub fn name(&self) -> String {
        self.space.name(&self.id)
    }
}

#[derive(Default)]
struct RefNames {
    threads: BTreeMap<ObjectId, Vec<Ref>>,
    tombstones: BTreeMap<ObjectId, Vec<Ref>>,
    chunks: Vec<(String, Name)>,
}

/// A ref, whose file is read when it is needed.
#[derive(Clone)]
struct Ref {
    name: String,
    source: Source,
    space: Space,
    target: Option<ObjectId>,
}

/// The threads of a store. The names of all refs are read at the first query, and targets thread by
/// thread. Both stay as they were read.
pub struct Threads<'s> {
    store: &'s Store,
    all: OnceCell<RefNames>,
    read: RefCell<HashMap<ObjectId, Rc<[Tip]>>>,
    ledger: OnceCell<Ledger>,
}

impl<'s> Threads<'s> {
    pub fn new(store: &'s Store) -> Self {
        Self { store, all: OnceCell::new(), read: RefCell::default(), ledger: OnceCell::new() }
    }

    /// The threads with a ref that this clone has not purged.
    ///
    /// # Errors
    /// `thread_damaged` if refs cannot be read.
    pub fn ids(&self) -> Result<BTreeSet<ObjectId>> {
        let all = self.all()?;
        Ok(all.threads.keys().filter(|id| !all.is_purged(id)).copied().collect())
    }

    /// All threads that this clone has not purged, open and closed. Unreadable chunks are skipped.
    pub(super) fn all_ids(&self) -> Result<BTreeSet<ObjectId>> {
        let (all, ledger) = (self.all()?, self.ledger()?);
        let mut ids = self.ids()?;
        for chunk in ledger.chunks() {
            let entries = ledger.entries(chunk).into_iter().flatten().map(|(id, _)| id);
            ids.extend(entries.filter(|id| !all.is_purged(id)));
        }
        Ok(ids)
    }

    /// The threads, open and closed, with this `prefix` (hex) that this clone has not purged.
    pub fn find(&self, prefix: &str) -> Result<BTreeSet<ObjectId>> {
        let digits = self.store.repository().repo().object_hash().len_in_hex();
        let end = |digit: char| {
            let filled = prefix.chars().chain(std::iter::repeat(digit)).take(digits);
            ObjectId::from_hex(filled.collect::<String>().as_bytes())
        };
        let (Ok(low), Ok(high)) = (end('0'), end('f')) else { return Ok(BTreeSet::new()) };
        let all = self.all()?;
        let mut found: BTreeSet<ObjectId> =
            all.threads.range(low..=high).map(|(id, _)| *id).collect();
        found.extend(self.ledger()?.between(&low, &high));
        found.retain(|id| !all.is_purged(id));
        Ok(found)
    }

    /// The tips of the thread `id`, with those of the ledger; empty for an unknown or purged
    /// thread.
    pub fn tips(&self, id: &ObjectId) -> Result<Vec<Tip>> {
        if self.is_gone(id)? { Ok(Vec::new()) } else { self.found(id).map(|(tips, _)| tips) }
    }

    /// As [`Threads::tips`], purged or not, with an unreadable own chunk that may have more.
    pub(super) fn found(&self, id: &ObjectId) -> Result<(Vec<Tip>, Option<SetAside>)> {
        let own = |it: &&Ref| it.source == Source::Own;
        let named = self.all()?.threads.get(id).into_iter().flatten().filter(own).count();
        let there = self.refs_of(id)?.iter().filter(|tip| tip.is_own()).count();
        if there < named {
            // Another process has closed it since the names were read.
            return Threads::new(self.store).listed(id);
        }
        self.listed(id)
    }

    fn listed(&self, id: &ObjectId) -> Result<(Vec<Tip>, Option<SetAside>)> {
        let mut tips = self.refs_of(id)?.to_vec();
        let (closed, failed) = self.ledger()?.tips(id);
        tips.extend(closed);
        Ok((tips, failed))
    }

    /// The space of the thread `id`: private if this clone has it in `private/` and has not
    /// published it.
    pub fn space(&self, id: &ObjectId) -> Result<Space> {
        Ok(space_of(&self.tips(id)?))
    }

    /// A hash of the tips of the thread `id`, with those of the ledger.
    pub fn key(&self, id: &ObjectId) -> Result<String> {
        Ok(hash_of(&self.tips(id)?, ""))
    }

    /// A hash of the refs of the thread `id` and of the names of all chunks. While it is the same,
    /// so is [`Threads::key`]. No chunk is read.
    pub(super) fn stamp(&self, id: &ObjectId) -> Result<String> {
        Ok(hash_of(&self.refs_of(id)?, self.ledger()?.stamp()))
    }

    pub fn is_gone(&self, id: &ObjectId) -> Result<bool> {
        Ok(self.all()?.is_purged(id))
    }

    pub fn purged(&self) -> Result<impl Iterator<Item = &ObjectId>> {
        let all = self.all()?;
        Ok(all.tombstones.keys().filter(|id| all.is_purged(id)))
    }

    pub fn tombstones(&self) -> Result<Vec<(ObjectId, Tip)>> {
        let all = self.all()?.tombstones.iter();
        Ok(all
            .flat_map(|(id, refs)| refs.iter().filter_map(|it| Some((*id, self.tip(it)?))))
            .collect())
    }

    pub fn ledger(&self) -> Result<&Ledger> {
        let chunks = &self.all()?.chunks;
        Ok(self.ledger.get_or_init(|| Ledger::new(self.store, chunks.iter().cloned())))
    }

    pub fn is_current(&self) -> bool {
        let Some(then) = self.all.get() else { return true };
        let now = Threads::new(self.store);
        now.all().is_ok_and(|now| now.names().eq(then.names()))
            && self
                .read
                .borrow()
                .iter()
                .all(|(id, tips)| now.refs_of(id).is_ok_and(|now| *now == **tips))
    }

    /// Records that the caller has moved this clone's ref of the thread `id` to `tip`.
    pub(super) fn moved(&mut self, id: ObjectId, space: Space, tip: ObjectId) {
        self.read.get_mut().remove(&id);
        let Some(all) = self.all.get_mut() else { return };
        let name = space.name(&id);
        let refs = all.threads.entry(id).or_default();
        refs.retain(|it| it.name != name);
        refs.push(Ref { name, source: Source::Own, space, target: Some(tip) });
        refs.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    }

    /// The tip of a ref; null if it cannot be read, `None` if it is symbolic.
    fn tip(&self, of: &Ref) -> Option<Tip> {
        let repository = self.store.repository();
        let null = || ObjectId::null(repository.repo().object_hash());
        let read = || refs::target(repository, &of.name).unwrap_or_else(|_| Some(null()));
        let id = of.target.or_else(read)?;
        Some(Tip { name: of.name.clone(), id, source: of.source.clone(), space: of.space })
    }

    /// The names of all refs. A thread is in a chunk before its ref is deleted, so packed refs are
    /// read first.
    fn all(&self) -> Result<&RefNames> {
        if let Some(all) = self.all.get() {
            return Ok(all);
        }
        let repository = self.store.repository();
        let others = [refs::PENDING, refs::SESSION, refs::BEFORE, refs::BROKEN];
        let mut found = BTreeMap::new();
        refs::each_packed(repository, refs::ROOT, |name, id| {
            found.insert(name.to_owned(), Some(id));
        })?;
        found.extend(refs::below(repository, refs::ROOT, &|name| !others.contains(&name))?);
        let (remotes, hash) = (space::remotes(repository.repo()), repository.repo().object_hash());
        let mut all = RefNames::default();
        for (name, target) in found {
            let Some(parsed) = Name::parse(&name, &remotes, hash) else { continue };
            let of = match parsed.role {
                Role::Thread => &mut all.threads,
                Role::Tombstone => &mut all.tombstones,
                Role::Chunk => {
                    all.chunks.push((name, parsed));
                    continue;
                }
            };
            of.entry(parsed.id).or_default().push(Ref {
                name,
                source: parsed.source,
                space: parsed.space,
                target,
            });
        }
        Ok(self.all.get_or_init(|| all))
    }

    fn refs_of(&self, id: &ObjectId) -> Result<Rc<[Tip]>> {
        if let Some(tips) = self.read.borrow().get(id) {
            return Ok(tips.clone());
        }
        let refs = self.all()?.threads.get(id).into_iter().flatten();
        let tips: Rc<[Tip]> = refs.filter_map(|it| self.tip(it)).collect();
        self.read.borrow_mut().insert(*id, tips.clone());
        Ok(tips)
    }

    /// Reads the thread `id` from its commits.
    ///
    /// # Errors
    /// `proposal_not_found`, `proposal_purged`; `thread_damaged` if this clone's own ref, or every
    /// ref, is bad; `thread_incomplete` if an object is missing.
    pub fn read(&self, id: &ObjectId) -> Result<Thread> {
        if self.is_gone(id)? {
            let id = ProposalId::from_event(&id.to_string());
            return Err(Error::new(
                &proposal_codes::PROPOSAL_PURGED,
                format!("{id} was purged here"),
            )
            .with("proposal_id", id.as_str())
            .hint("its tombstone says by whom and why: aye log"));
        }
        let (tips, failed) = self.found(id)?;
        if tips.is_empty() {
            return Err(failed.map_or_else(
                || {
                    Error::new(&proposal_codes::PROPOSAL_NOT_FOUND, format!("no thread {id}"))
                        .hint("`aye list` shows the proposals")
                },
                |chunk| chunk.error(self.store.repository().repo()),
            ));
        }
        Reading::new(self.store, *id).thread(tips)
    }

    /// As [`Threads::read`], for a private thread.
    ///
    /// # Errors
    /// `not_private`.
    pub fn read_private(&self, id: &ObjectId) -> Result<Thread> {
        let thread = self.read(id)?;
        if thread.space == Space::Private {
            return Ok(thread);
        }
        let id = ProposalId::from_event(&id.to_string());
        Err(Error::new(&proposal_codes::NOT_PRIVATE, format!("{id} is not private, it is shared"))
            .with("proposal_id", id.as_str())
            .hint("only a private proposal can be published"))
    }
}

impl RefNames {
    fn is_purged(&self, id: &ObjectId) -> bool {
        let mut tombstones = self.tombstones.get(id).into_iter().flatten();
        tombstones.any(|it| it.source == Source::Own)
    }

    fn names(&self) -> impl Iterator<Item = &String> {
        let refs = self.threads.values().chain(self.tombstones.values()).flatten();
        refs.map(|it| &it.name).chain(self.chunks.iter().map(|(name, _)| name))
    }
}

fn hash_of(tips: &[Tip], chunks: &str) -> String {
    let line = |tip: &Tip| format!("{} {} {}\n", tip.space.as_str(), tip.is_own(), tip.id);
    let lines: BTreeSet<String> = tips.iter().map(line).collect();
    crate::sha256::hex((lines.into_iter().collect::<String>() + chunks).as_bytes())
}

fn space_of(tips: &[Tip]) -> Space {
    let has = |space| tips.iter().any(|tip| tip.is_own() && tip.space == space);
    let is_private = has(Space::Private) && !has(Space::Shared);
    if is_private { Space::Private } else { Space::Shared }
}

pub(super) fn blobs_of(store: &Store, event: &ObjectId) -> Result<BTreeSet<ObjectId>> {
    let repo = store.repository().repo();
    let read = || -> Result<BTreeSet<ObjectId>, ReadFailure> {
        let data = objects::read(store.repository(), *event, Kind::Commit, MOST_BYTES)?;
        let header = Header::parse(&data, repo.object_hash(), MOST_PARENTS);
        let mut waiting = vec![header.ok_or_else(|| not_an_event(event, "malformed"))?.tree];
        let (mut trees, mut blobs, mut bytes) = (HashSet::new(), BTreeSet::new(), 0);
        while let Some(tree) = waiting.pop().filter(|_| bytes < MOST_LISTED) {
            if !trees.insert(tree) {
                continue;
            }
            if store.may_ask_again() {
                store.ask([tree].into());
            }
            let data = objects::read(store.repository(), tree, Kind::Tree, MOST_LISTED)?;
            bytes += data.len() as u64;
            for entry in gix::objs::TreeRefIter::from_bytes(&data, repo.object_hash()).flatten() {
                if entry.mode.is_tree() {
                    waiting.push(entry.oid.to_owned());
                } else {
                    blobs.insert(entry.oid.to_owned());
                }
            }
        }
        Ok(blobs)
    };
    read().map_err(|why| SetAside::unread(event.to_string(), &why).error(repo))
}

/// The thread that `commit` claims to be an event of: the end of its first parents. Nothing is
/// checked.
pub(super) fn first_of(store: &Store, commit: ObjectId) -> Option<ObjectId> {
    let repo = store.repository().repo();
    let mut at = commit;
    for _ in 0..MOST.0 {
        let data = objects::read(store.repository(), at, Kind::Commit, MOST_BYTES).ok()?;
        let header = Header::parse(&data, repo.object_hash(), MOST_PARENTS)?;
        header.values("aye-event").filter(|events| events.len() == 1)?;
        match header.parents.first() {
            Some(parent) => at = *parent,
            None => return Some(at),
        }
    }
    None
}

fn too_large(tip: &Tip) -> SetAside {
    let why = "the fetched refs of the thread lead to more than is read";
    SetAside::new(tip.name.clone(), &codes::TOO_MANY_REFS, why)
}

fn not_an_event(commit: &ObjectId, why: &str) -> ReadFailure {
    ReadFailure::Bad(format!("commit {commit} is not an event: {why}"))
}

struct ReadCommit {
    parents: Vec<ObjectId>,
    tree: ObjectId,
    bytes: u64,
    weight: u64,
    listed: u64,
    /// `None` once no good ref is known to lead here.
    stamped: Option<StoredEvent>,
    is_open: bool,
}

struct Reading<'s> {
    store: &'s Store,
    id: ObjectId,
    nodes: HashMap<ObjectId, ReadCommit>,
    /// Commits that make every ref bad which leads to them.
    bad: HashMap<ObjectId, ReadFailure>,
    spent: u64,
    weight: u64,
}

/// A walked ref, with the commits that it leads to.
struct RefReach {
    tip: Tip,
    reach: HashSet<ObjectId>,
}

impl<'s> Reading<'s> {
    fn new(store: &'s Store, id: ObjectId) -> Self {
        Self { store, id, nodes: HashMap::new(), bad: HashMap::new(), spent: 0, weight: 0 }
    }

    fn thread(mut self, mut tips: Vec<Tip>) -> Result<Thread> {
        let space = space_of(&tips);
        let mut aside = Vec::new();
        // The private tip of a published thread is history.
        tips.retain(|tip| space == Space::Private || tip.space == space);
        let own = tips.iter().find(|tip| tip.source == Source::Own && tip.space == space);
        let own = own.map(|tip| tip.id);
        // Own refs first, then others by name.
        tips.sort_by(|a, b| (!a.is_own(), &a.name).cmp(&(!b.is_own(), &b.name)));
        let mut seen = HashSet::new();
        let mut fetched = 0;
        let mut walked = Vec::new();
        for tip in tips {
            if !tip.is_own() && space == Space::Private {
                let why = "a private thread of this clone is at a remote";
                aside.push(SetAside::new(tip.name, &codes::PUBLISHED_ELSEWHERE, why));
                continue;
            }
            if !seen.insert(tip.id) {
                continue;
            }
            fetched += usize::from(!tip.is_own());
            if fetched > MOST_FETCHED && !tip.is_own() {
                let why = format!("more than {MOST_FETCHED} refs of a thread were fetched");
                aside.push(SetAside::new(tip.name, &codes::TOO_MANY_REFS, &why));
                continue;
            }
            match self.walk(&tip) {
                Ok(reach) => walked.push(RefReach { tip, reach }),
                Err(why) if tip.is_own() => return Err(why.error(self.store.repository().repo())),
                Err(why) => aside.push(why),
            }
        }
        self.fetch(&walked);
        let mut good: Vec<RefReach> = Vec::new();
        for one in walked {
            match self.complete(&one) {
                Ok(()) => good.push(one),
                Err(why) if one.tip.is_own() || self.awaits(&why) => {
                    return Err(why.error(self.store.repository().repo()));
                }
                Err(why) => aside.push(why),
            }
        }
        if good.is_empty() {
            let is_missing = |why: &&SetAside| why.code == &codes::THREAD_INCOMPLETE;
            let why = aside.iter().find(is_missing).or_else(|| aside.first());
            return Err(why.map_or_else(
                || Error::bug(format!("the thread {} has no refs", self.id)),
                |why| why.error(self.store.repository().repo()),
            ));
        }
        let (parents, below) = self.parents(&good, own);
        let tips = unreached(good.iter());
        let union: HashSet<&ObjectId> = good.iter().flat_map(|walked| &walked.reach).collect();
        let nodes = &mut self.nodes;
        let events = union.into_iter().filter_map(|id| nodes.get_mut(id)?.stamped.take()).collect();
        let (history, weight) = (History::new(events), self.weight);
        Ok(Thread {
            id: self.id,
            space,
            history,
            tips,
            own,
            set_aside: aside,
            parents,
            below,
            weight,
        })
    }

    /// True if a missing object may come later, so that the thread is not folded without it.
    fn awaits(&self, why: &SetAside) -> bool {
        why.code == &codes::THREAD_INCOMPLETE && self.store.repository().is_partial()
    }

    /// The commits that `tip` leads to, within the limits of one ref.
    fn walk(&mut self, tip: &Tip) -> Result<HashSet<ObjectId>, SetAside> {
        let mut fresh = Vec::new();
        let walked = self.reach(tip, &mut fresh);
        match &walked {
            Ok(_) => self.weight += fresh.iter().map(|id| self.nodes[id].weight).sum::<u64>(),
            // Other refs may lead there as well; the events are read again for these.
            Err(_) => fresh.iter().for_each(|id| {
                self.nodes.entry(*id).and_modify(|node| node.stamped = None);
            }),
        }
        walked
    }

    fn reach(
        &mut self,
        tip: &Tip,
        fresh: &mut Vec<ObjectId>,
    ) -> Result<HashSet<ObjectId>, SetAside> {
        let (mut reach, mut bytes, mut added) = (HashSet::new(), 0, 0);
        let mut waiting = vec![tip.id];
        while let Some(at) = waiting.pop() {
            if !reach.insert(at) {
                continue;
            }
            if let Some(why) = self.bad.get(&at) {
                return Err(SetAside::unread(tip.name.clone(), why));
            }
            if self.nodes.get(&at).is_none_or(|node| node.stamped.is_none()) {
                let most = if tip.is_own() {
                    u64::MAX
                } else if self.spent > MOST_READ {
                    0
                } else {
                    MOST_KEPT.saturating_sub(self.weight + added)
                };
                let node = match self.node(at, most) {
                    Ok(node) => node,
                    Err(None) => return Err(too_large(tip)),
                    Err(Some(why)) => {
                        self.bad.insert(at, why.clone());
                        return Err(SetAside::unread(tip.name.clone(), &why));
                    }
                };
                added += node.weight;
                // Many small values take longer to read than one large one.
                self.spent += if tip.is_own() { 0 } else { node.bytes.max(node.weight / 4) };
                self.nodes.insert(at, node);
                fresh.push(at);
            }
            let node = &self.nodes[&at];
            bytes += node.bytes;
            waiting.extend(&node.parents);
            if reach.len() > MOST.0 || bytes > MOST.1 {
                let why = format!("it leads to more than {} events or {} bytes", MOST.0, MOST.1);
                return Err(SetAside::new(tip.name.clone(), &codes::THREAD_TOO_LONG, &why));
            }
        }
        Ok(reach)
    }

    /// Reads one commit; `None` if it would take more than `most` bytes of memory.
    fn node(&self, id: ObjectId, most: u64) -> Result<ReadCommit, Option<ReadFailure>> {
        if id.is_null() {
            return Err(Some(ReadFailure::Bad("the ref holds no object id".to_owned())));
        }
        if most == 0 {
            return Err(None);
        }
        let repo = self.store.repository().repo();
        let data = objects::read(self.store.repository(), id, Kind::Commit, MOST_BYTES)?;
        let values = data.iter().filter(|byte| b",:[{".contains(byte)).count() as u64;
        let weight = data.len() as u64 + PER_VALUE * values;
        if weight > most {
            return Err(None);
        }
        let not = |why: &str| Some(not_an_event(&id, why));
        let header = Header::parse(&data, repo.object_hash(), MOST_PARENTS)
            .filter(|header| header.parents.is_sorted_by(|a, b| a < b))
            .ok_or_else(|| not("its first lines are malformed"))?;
        if header.parents.is_empty() && id != self.id {
            return Err(not(&format!("it begins another thread than {}", self.id)));
        }
        let repeated = || not("a header stands there twice, or in the message");
        let events = header.values("aye-event").ok_or_else(repeated)?;
        let statements = header.values("aye-statement").ok_or_else(repeated)?;
        let ([line], [] | [_]) = (&*events, &*statements) else { return Err(repeated()) };
        let statement = statements.first().and_then(|line| Statement::from_line(line).ok());
        let event = Event::from_line(line, statement.as_ref());
        let event = event.map_err(|error| not(error.message()))?;
        let papers = statement.filter(|_| matches!(event.data, Data::Decision(_)));
        let papers = papers.zip(statements.first()).map(|(statement, line)| DecisionDocuments {
            statement,
            sha256: crate::sha256::hex(line),
            manifest: None,
            ended_statements: Vec::new(),
            fault: None,
        });
        let named = papers.as_ref().map(|papers| &papers.statement);
        let is_open = event.list().is_some()
            || named.is_some_and(|named| named.manifest.is_some() || named.ends.is_some());
        let stamped = StoredEvent {
            id: id.to_string(),
            sha256: crate::sha256::hex(line),
            parents: header.parents.iter().map(ToString::to_string).collect(),
            event,
            documents: papers,
        };
        Ok(ReadCommit {
            parents: header.parents,
            tree: header.tree,
            bytes: data.len() as u64,
            weight,
            listed: 0,
            stamped: Some(stamped),
            is_open,
        })
    }

    /// Fetches manifests and lists that a partial clone lacks: first trees, then blobs.
    fn fetch(&self, walked: &[RefReach]) {
        if !self.store.may_ask_again() {
            return;
        }
        let repo = self.store.repository().repo();
        let open = || {
            let ids = walked.iter().flat_map(|walked| &walked.reach);
            ids.filter_map(|id| self.nodes.get(id)).filter(|node| node.is_open)
        };
        let absent = |ids: BTreeSet<ObjectId>| {
            ids.into_iter().filter(|id| !repo.objects.exists(id)).collect::<BTreeSet<_>>()
        };
        self.store.ask(absent(open().map(|node| node.tree).collect()));
        let entries = open().filter_map(|node| self.entries(node.tree).ok()).flatten();
        let blobs = entries.filter(|(name, _)| name != "before" && name != "after");
        self.store.ask(absent(blobs.map(|(_, id)| id).collect()));
    }

    fn entries(&self, tree: ObjectId) -> Result<HashMap<String, ObjectId>, ReadFailure> {
        let repo = self.store.repository().repo();
        let data = objects::read(self.store.repository(), tree, Kind::Tree, MOST_BYTES)?;
        let entries = gix::objs::TreeRefIter::from_bytes(&data, repo.object_hash()).flatten();
        Ok(entries.map(|entry| (entry.filename.to_string(), entry.oid.to_owned())).collect())
    }

    /// Reads the manifests and lists of all commits of a ref.
    fn complete(&mut self, walked: &RefReach) -> Result<(), SetAside> {
        let name = || walked.tip.name.clone();
        let mut listed = 0;
        for id in &walked.reach {
            if let Some(why) = self.bad.get(id) {
                return Err(SetAside::unread(name(), why));
            }
            let Some(mut node) = self.nodes.remove(id) else { continue };
            let most =
                if walked.tip.is_own() { u64::MAX } else { MOST_KEPT.saturating_sub(self.weight) };
            let done = if node.is_open { self.read_lists(&mut node, most) } else { Ok(()) };
            listed += node.listed;
            self.nodes.insert(*id, node);
            if done == Err(None) {
                return Err(too_large(&walked.tip));
            }
            if let Err(Some(why)) = done {
                self.bad.insert(*id, why.clone());
                return Err(SetAside::unread(name(), &why));
            }
            if listed > MOST_LISTED {
                let why =
                    format!("it leads to more than {MOST_LISTED} bytes of manifests and lists");
                return Err(SetAside::new(name(), &codes::THREAD_TOO_LONG, &why));
            }
        }
        Ok(())
    }

    /// Reads the manifest and lists of `node` from its own tree; `None` if they would take more
    /// than `most` bytes of memory.
    fn read_lists(&mut self, node: &mut ReadCommit, most: u64) -> Result<(), Option<ReadFailure>> {
        let Some(stamped) = &mut node.stamped else { return Ok(()) };
        let entries = self.entries(node.tree)?;
        let commit = stamped.id.clone();
        let not = |why: &str| ReadFailure::Bad(format!("commit {commit} is not an event: {why}"));
        let repository = self.store.repository();
        let (mut listed, mut added) = (0, 0);
        let mut blob =
            |name: &str, id: Option<&str>, longest| -> Result<Vec<u8>, Option<ReadFailure>> {
                let id = id.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
                let found = entries.get(name).filter(|found| id.is_none_or(|id| id == **found));
                let found = found.ok_or_else(|| not(&format!("its tree has no such {name}")))?;
                // The size is read before anything is inflated.
                let size = repository.header(*found).map_or(0, |(_, size)| size);
                added += size * PER_BYTE;
                if added > most {
                    return Err(None);
                }
                listed += size;
                Ok(objects::read(repository, *found, Kind::Blob, longest)?)
            };
        if let Some(list) = stamped.event.list().cloned() {
            let name =
                if matches!(stamped.event.data, Data::Patch(_)) { "written" } else { "changes" };
            let data = blob(name, Some(&list.id), MOST_LISTED)?;
            stamped.event.put_list(&data).map_err(|error| Some(not(error.message())))?;
        }
        if let Some(papers) = &mut stamped.documents {
            if let Some(named) = &papers.statement.manifest {
                let data = blob("manifest", Some(&named.id), MOST_LISTED)?;
                papers.manifest = Manifest::from_bytes(&data).ok();
                if papers.manifest.is_none() {
                    papers.fault = Some("its manifest is not canonical");
                } else if crate::sha256::hex(&data) != named.sha256 {
                    papers.fault = Some("its manifest is not the one that the statement names");
                }
            }
            if let Some(named) = &papers.statement.ends {
                match parse_ends(&blob("ends", None, MOST_BYTES)?) {
                    Some(ends) if ends_sha256(&ends) == *named => papers.ended_statements = ends,
                    Some(_) => papers.fault = Some("its ends differ from the statement"),
                    None => papers.fault = Some("its ends are not canonical"),
                }
            }
        }
        (node.listed, node.is_open) = (listed, false);
        self.weight += added;
        Ok(())
    }

    /// The parents of the next event, and the number and bytes of all events below them. The own
    /// tip comes first and always counts, then tips with the fewest events, while there is room.
    fn parents(&self, good: &[RefReach], own: Option<ObjectId>) -> (Vec<ObjectId>, (usize, u64)) {
        let mut all: Vec<&RefReach> = good.iter().collect();
        all.sort_by_key(|walked| (Some(walked.tip.id) != own, walked.reach.len(), walked.tip.id));
        let bytes = |id: &ObjectId| self.nodes.get(id).map_or(0, |node| node.bytes);
        let (mut below, mut size) = (HashSet::new(), 0);
        let mut taken: Vec<&RefReach> = Vec::new();
        for walked in all {
            let fresh: Vec<ObjectId> = walked.reach.difference(&below).copied().collect();
            let added: u64 = fresh.iter().map(bytes).sum();
            // An earlier one reaches it.
            let is_behind = fresh.is_empty();
            let has_room = below.len() + fresh.len() <= ROOM.0 && size + added <= ROOM.1;
            if taken.is_empty() || has_room && !is_behind && taken.len() < MOST_PARENTS {
                below.extend(fresh);
                size += added;
                taken.push(walked);
            }
        }
        (unreached(taken.into_iter()), (below.len(), size))
    }
}

fn unreached<'w>(walked: impl Iterator<Item = &'w RefReach> + Clone) -> Vec<ObjectId> {
    let is_reached = |tip: &ObjectId| {
        walked.clone().any(|other| other.tip.id != *tip && other.reach.contains(tip))
    };
    let mut tips: Vec<ObjectId> =
        walked.clone().map(|walked| walked.tip.id).filter(|tip| !is_reached(tip)).collect();
    tips.sort_unstable();
    tips
}

#[cfg(test)]
pub(in crate::store) mod tests;
