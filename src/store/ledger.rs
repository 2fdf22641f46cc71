//! The ledger: threads that were decided a while ago, in commits that never move instead of refs.
//!
//! A chunk is a commit of up to 1,000 threads. Its parents are parts in the order of their ids, and
//! `aye-from` names the first id of each. A part is a commit of up to 32 threads, sorted:
//! `aye-thread <id> <n>` for each. Its parents are their tips, so git sends, packs and keeps these.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use bstr::ByteSlice as _;
use chrono::{DateTime, Duration, Utc};
use gix::ObjectId;
use gix::objs::Kind;

use super::objects::{self, Batch, Header, ReadFailure};
use super::refs::{self, Name};
use super::thread::{SetAside, Source, Thread, Threads, Tip};
use super::{Space, Store, codes, trees};
use crate::error::Result;
use crate::proposal::{Actor, ActorKind, Data, Status, fold};
use crate::repository::Repository;

/// Threads of a chunk that is written here.
const MOST_THREADS: usize = 1_000;

/// Parts of a chunk that is read: 16,384 threads, so that chunks can be merged later.
const MOST_PARTS: usize = 512;

/// Threads of a part.
const PART: usize = 32;

/// Parents of a part.
const MOST_TIPS: usize = 64;

/// Chunks of other clones that are read.
const MOST_FETCHED: usize = 1_024;

/// Largest chunk or part that is read, in bytes.
const MOST_BYTES: u64 = 1 << 20;

/// Parts that are kept in memory.
const MOST_KEPT: usize = 4_096;

/// Plans and direct patches without a new event for so long are closed.
const IDLE: Duration = Duration::days(30);

/// Threads with their tips, sorted by id.
type Entries = Vec<(ObjectId, Vec<ObjectId>)>;

/// The first id of each part, and the part.
type Parts = Vec<(ObjectId, ObjectId)>;

/// Commits that were read, or the reason why one was not.
type Known<T> = RefCell<HashMap<ObjectId, Result<Rc<T>, ReadFailure>>>;

pub struct Ledger {
    repository: Repository,
    chunks: Vec<Tip>,
    /// Fetched refs of chunks that are read under another name.
    copies: Vec<(String, ObjectId)>,
    stamp: String,
    excess: Vec<SetAside>,
    listed: Known<Parts>,
    parts: Known<Entries>,
    unread: RefCell<BTreeMap<String, ReadFailure>>,
}

impl Ledger {
    /// The chunks with these refs. The name of a chunk has its id, so no file is read.
    pub(super) fn new(store: &Store, refs: impl Iterator<Item = (String, Name)>) -> Self {
        let mut names = String::new();
        let chunks = refs.map(|(name, parsed)| {
            names += &name;
            let is_own = parsed.source == Source::Own;
            let source = if is_own { Source::Closed } else { Source::ClosedElsewhere };
            Tip { name, id: parsed.id, source, space: parsed.space }
        });
        let (own, mut fetched): (Vec<Tip>, Vec<Tip>) = chunks.partition(Tip::is_own);
        let mut known: BTreeSet<ObjectId> = own.iter().map(|chunk| chunk.id).collect();
        let mut copies = Vec::new();
        fetched.retain(|chunk| {
            let is_new = known.insert(chunk.id);
            if !is_new {
                copies.push((chunk.name.clone(), chunk.id));
            }
            is_new
        });
        let excess = fetched.split_off(MOST_FETCHED.min(fetched.len())).into_iter();
        let why = format!("more than {MOST_FETCHED} chunks of other clones");
        let excess = excess.map(|chunk| SetAside::new(chunk.name, &codes::TOO_MANY_REFS, &why));
        Self {
            repository: store.repository().reopened(),
            excess: excess.collect(),
            chunks: own.into_iter().chain(fetched).collect(),
            copies,
            stamp: crate::sha256::hex(names.as_bytes()),
            listed: RefCell::default(),
            parts: RefCell::default(),
            unread: RefCell::default(),
        }
    }

    /// The chunks that are read, those of this clone first.
    pub fn chunks(&self) -> &[Tip] {
        &self.chunks
    }

    /// Changes with the set of chunks, which themselves never change.
    pub(super) fn stamp(&self) -> &str {
        &self.stamp
    }

    /// The names of all refs of the chunk `id`, fetched ones too.
    pub(super) fn names_of(&self, id: &ObjectId) -> Vec<String> {
        let own = self.chunks.iter().map(|chunk| (&chunk.name, &chunk.id));
        let all = own.chain(self.copies.iter().map(|(name, id)| (name, id)));
        all.filter(|(_, of)| *of == id).map(|(name, _)| name.clone()).collect()
    }

    /// All threads of a chunk with their tips. The result stays valid for ever.
    ///
    /// # Errors
    /// `thread_damaged`, `thread_incomplete`.
    pub fn entries(&self, chunk: &Tip) -> Result<Vec<(ObjectId, Vec<ObjectId>)>> {
        let read = || -> Result<Entries, ReadFailure> {
            let mut entries = Vec::new();
            for (_, part) in self.listed(chunk.id)?.iter() {
                entries.extend(self.read_part(*part)?);
            }
            Ok(entries)
        };
        read().map_err(|why| {
            self.unread.borrow_mut().insert(chunk.name.clone(), why.clone());
            SetAside::unread(chunk.name.clone(), &why).error(self.repository.repo())
        })
    }

    /// The tips of the thread `id` in all chunks, at two commits each; and an own chunk that cannot
    /// be read, which may have more.
    pub(super) fn tips(&self, id: &ObjectId) -> (Vec<Tip>, Option<SetAside>) {
        let (mut tips, mut failed) = (Vec::new(), None);
        for chunk in &self.chunks {
            let found = self.parts_from(
                chunk,
                id,
                |from| from <= id,
                |part| {
                    let at = part.binary_search_by(|(at, _)| at.cmp(id)).ok();
                    at.map(|at| part[at].1.clone()).unwrap_or_default()
                },
            );
            match found {
                Ok(found) => {
                    tips.extend(found.into_iter().map(|tip| Tip { id: tip, ..chunk.clone() }));
                }
                Err(why) if chunk.is_own() => {
                    failed = Some(SetAside::unread(chunk.name.clone(), &why))
                }
                Err(_) => {}
            }
        }
        (tips, failed)
    }

    /// The closed threads with ids from `low` to `high`. A chunk that cannot be read has none.
    pub(super) fn between(&self, low: &ObjectId, high: &ObjectId) -> BTreeSet<ObjectId> {
        let mut ids = BTreeSet::new();
        for chunk in &self.chunks {
            let found = self.parts_from(
                chunk,
                low,
                |from| from <= high,
                |part| {
                    let ids = part.iter().map(|(id, _)| *id);
                    ids.filter(|id| low <= id && id <= high).collect()
                },
            );
            ids.extend(found.unwrap_or_default());
        }
        ids
    }

    /// Chunks that could not be read, and those of other clones beyond the limit.
    pub(super) fn aside(&self) -> Vec<SetAside> {
        let unread = self.unread.borrow();
        let unread = unread.iter().map(|(name, why)| SetAside::unread(name.clone(), why));
        self.excess.iter().cloned().chain(unread).collect()
    }

    /// Applies `pick` to the parts of `chunk` from the one that `low` falls into to the last whose
    /// first id is `within`.
    fn parts_from(
        &self,
        chunk: &Tip,
        low: &ObjectId,
        within: impl Fn(&ObjectId) -> bool,
        pick: impl Fn(&Entries) -> Vec<ObjectId>,
    ) -> Result<Vec<ObjectId>, ReadFailure> {
        let read = || -> Result<Vec<ObjectId>, ReadFailure> {
            let parts = self.listed(chunk.id)?;
            let at = parts.partition_point(|(from, _)| from <= low).saturating_sub(1);
            let mut found = Vec::new();
            for (_, part) in parts[at..].iter().take_while(|(from, _)| within(from)) {
                found.extend(pick(&*self.part(*part)?));
            }
            Ok(found)
        };
        read().inspect_err(|why| {
            self.unread.borrow_mut().insert(chunk.name.clone(), why.clone());
        })
    }

    fn listed(&self, chunk: ObjectId) -> Result<Rc<Parts>, ReadFailure> {
        let read = || {
            let (parts, lines) = self.read(chunk, "aye-from", MOST_PARTS)?;
            let firsts: Option<Vec<ObjectId>> = lines.iter().map(|hex| self.id(hex)).collect();
            let is_whole = |firsts: &Vec<ObjectId>| {
                firsts.len() == parts.len() && firsts.is_sorted_by(|a, b| a < b)
            };
            let firsts = firsts.filter(is_whole).ok_or_else(|| malformed(chunk))?;
            Ok(Rc::new(firsts.into_iter().zip(parts).collect()))
        };
        self.listed.borrow_mut().entry(chunk).or_insert_with(read).clone()
    }

    fn part(&self, part: ObjectId) -> Result<Rc<Entries>, ReadFailure> {
        let mut known = self.parts.borrow_mut();
        if known.len() >= MOST_KEPT {
            known.clear();
        }
        known.entry(part).or_insert_with(|| self.read_part(part).map(Rc::new)).clone()
    }

    fn read_part(&self, part: ObjectId) -> Result<Entries, ReadFailure> {
        let (tips, lines) = self.read(part, "aye-thread", PART)?;
        let mut rest = tips.into_iter();
        let mut entry = |line: &Vec<u8>| {
            let (hex, count) = line.split_once_str(" ")?;
            let count: usize = count.to_str().ok()?.parse().ok()?;
            let tips: Vec<ObjectId> = rest.by_ref().take(count).collect();
            (count > 0 && tips.len() == count).then_some((self.id(hex)?, tips))
        };
        let entries: Option<Entries> = lines.iter().map(&mut entry).collect();
        let is_whole = |entries: &Entries| entries.is_sorted_by(|a, b| a.0 < b.0);
        let entries = entries.filter(|entries| rest.next().is_none() && is_whole(entries));
        entries.ok_or_else(|| malformed(part))
    }

    /// The parents of a commit of the ledger, and at most `most` values of its headers `name`.
    fn read(
        &self,
        commit: ObjectId,
        name: &str,
        most: usize,
    ) -> Result<(Vec<ObjectId>, Vec<Vec<u8>>), ReadFailure> {
        let data = objects::read(&self.repository, commit, Kind::Commit, MOST_BYTES)?;
        let header = Header::parse(&data, self.repository.repo().object_hash(), MOST_PARTS);
        let header = header.ok_or_else(|| malformed(commit))?;
        let values = header.values(name).filter(|values| (1..=most).contains(&values.len()));
        let values = values.ok_or_else(|| malformed(commit))?;
        let values = values.into_iter().map(<[u8]>::to_vec).collect();
        Ok((header.parents, values))
    }

    fn id(&self, hex: &[u8]) -> Option<ObjectId> {
        ObjectId::from_hex(hex).ok().filter(|id| id.kind() == self.repository.repo().object_hash())
    }
}

fn malformed(commit: ObjectId) -> ReadFailure {
    ReadFailure::Bad(format!("commit {commit} is not one of a ledger"))
}

/// Adds the commits of one chunk to `batch`, and returns the chunk.
pub(super) fn compose(
    batch: &mut Batch<'_>,
    threads: &BTreeMap<ObjectId, Vec<ObjectId>>,
    now: DateTime<Utc>,
) -> Result<ObjectId> {
    let empty = batch.add(Kind::Tree, b"")?;
    let who = Actor { name: "aye".to_owned(), email: String::new(), kind: ActorKind::Human };
    let mut commit = |parents: &[ObjectId], headers: &[(&str, Vec<u8>)], message: &str| {
        trees::commit(batch, empty, parents, &who, now.timestamp(), headers, message)
    };
    let (mut parts, mut firsts) = (Vec::new(), Vec::new());
    let (mut tips, mut lines) = (Vec::new(), Vec::new());
    let mut rest = threads.iter().peekable();
    while let Some((id, of)) = rest.next() {
        if lines.is_empty() {
            firsts.push(("aye-from", id.to_string().into_bytes()));
        }
        lines.push(("aye-thread", format!("{id} {}", of.len()).into_bytes()));
        tips.extend(of);
        let is_full =
            |next: &Vec<ObjectId>| lines.len() == PART || tips.len() + next.len() > MOST_TIPS;
        if rest.peek().is_none_or(|(_, next)| is_full(next)) {
            let message = format!("closed: {} threads of a chunk", lines.len());
            parts.push(commit(&tips, &lines, &message)?);
            tips.clear();
            lines.clear();
        }
    }
    commit(&parts, &firsts, &format!("closed: {} threads", threads.len()))
}

impl Store {
    /// The open threads of this clone that [`Store::close`] would close, whatever their age.
    pub fn closable(&self, now: DateTime<Utc>) -> Result<Vec<ObjectId>> {
        let threads = Threads::new(self);
        let mut found = Vec::new();
        for id in threads.ids()? {
            let is_own = |tip: &Tip| tip.source == Source::Own;
            if threads.tips(&id)?.iter().any(is_own)
                && threads.read(&id).is_ok_and(|thread| may_close(&thread, None, now))
            {
                found.push(id);
            }
        }
        Ok(found)
    }

    /// Closes the closable threads of `ids`: a chunk gets their tips, and this clone's refs of them
    /// go. With an `age` only threads with an older last event are closed. Returns their number. A
    /// crash leaves at worst threads that are both closed and open.
    ///
    /// # Errors
    /// `busy`, `thread_damaged` if refs cannot be read.
    pub fn close(
        &self,
        ids: &[ObjectId],
        age: Option<Duration>,
        now: DateTime<Utc>,
    ) -> Result<usize> {
        let _lock = self.lock()?;
        let threads = Threads::new(self);
        let durable = self.repository().settings()?.durable;
        let mut closed = 0;
        for space in Space::ALL {
            let mut ready = BTreeMap::new();
            for id in ids {
                // The own ref in this space. The ref of a published thread in `private/` is
                // history.
                let own = threads
                    .tips(id)?
                    .into_iter()
                    .find(|tip| tip.source == Source::Own && tip.space == space);
                let Some(own) = own else { continue };
                let Ok(thread) = threads.read(id) else { continue };
                if may_close(&thread, age, now) {
                    let tips = if thread.space == space { thread.tips } else { vec![own.id] };
                    ready.insert(*id, (tips, own));
                }
            }
            let ready: Vec<_> = ready.into_iter().collect();
            for some in ready.chunks(MOST_THREADS) {
                let tips = some.iter().map(|(id, (tips, _))| (*id, tips.clone())).collect();
                let mut batch = Batch::new(self.repository());
                let chunk = compose(&mut batch, &tips, now)?;
                batch.write_durably(self.repository())?;
                crate::failpoint!("ledger.objects");
                let name = space.chunk(&chunk);
                if refs::target(self.repository(), &name)? != Some(chunk) {
                    refs::compare_and_swap(self.repository(), &name, None, chunk, durable)?
                        .sure()?;
                }
                crate::failpoint!("ledger.chunk");
                let own = some.iter().map(|(_, (_, own))| (own.name.clone(), Some(own.id)));
                closed += refs::delete(self.repository(), &own.collect::<Vec<_>>(), durable)?.len();
                crate::failpoint!("ledger.refs");
            }
        }
        Ok(closed)
    }
}

/// True if `thread` may leave its refs: decided and not contested, expired, or no proposal and
/// idle.
fn may_close(thread: &Thread, age: Option<Duration>, now: DateTime<Utc>) -> bool {
    let events = thread.history.events();
    // A time in the future does not tell the age of an event.
    let last = events.iter().map(|stamped| stamped.event.time).filter(|time| *time <= now).max();
    let since = |span: Duration| last.is_some_and(|last| now - last > span);
    let first = thread.history.first().map(|first| &first.event.data);
    match first {
        Some(Data::Propose(_)) => fold(&thread.history).is_some_and(|proposal| {
            proposal.status(now) != Status::Pending && !proposal.contested && age.is_none_or(since)
        }),
        _ => since(age.unwrap_or_default().max(IDLE)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::store::thread::tests::{Scene, papers};

    fn id(seed: u64) -> ObjectId {
        ObjectId::from_hex(&crate::sha256::hex(&seed.to_le_bytes()).as_bytes()[..40]).unwrap()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn chunk_has_the_threads_that_it_was_made_of(
            counts in proptest::collection::vec(1_usize..=64, 1..200),
            is_fetched in any::<bool>(),
        ) {
            let scene = Scene::new();
            let threads: BTreeMap<ObjectId, Vec<ObjectId>> = counts
                .iter()
                .enumerate()
                .map(|(at, count)| {
                    let tip = |tip: usize| id((at * 1_000 + tip + 1) as u64);
                    (id(at as u64 * 1_000), (0..*count).map(tip).collect())
                })
                .collect();
            let mut batch = Batch::new(scene.store.repository());
            let chunk = compose(&mut batch, &threads, DateTime::UNIX_EPOCH).unwrap();
            batch.write(crate::flush::FlushMethod::No).unwrap();
            let name = match is_fetched {
                true => format!("{}origin/0123456789abcdef/closed/{chunk}", refs::REMOTES),
                false => Space::Shared.chunk(&chunk),
            };
            scene.set(&name, chunk);
            let all = Threads::new(&scene.store);
            let ledger = all.ledger().unwrap();
            let entries = ledger.entries(&ledger.chunks()[0]).unwrap();
            prop_assert_eq!(entries.into_iter().collect::<BTreeMap<_, _>>(), threads.clone());
            for (id, tips) in &threads {
                let (found, failed) = ledger.tips(id);
                let found: Vec<ObjectId> = found.into_iter().map(|tip| tip.id).collect();
                prop_assert_eq!(&found, tips);
                prop_assert!(failed.is_none());
                let digits = id.to_string();
                prop_assert!(all.find(&digits[..8]).unwrap().contains(id));
                prop_assert_eq!(ledger.between(id, id).len(), 1);
            }
            let bound = |digit: char| ObjectId::from_hex(digit.to_string().repeat(40).as_bytes()).unwrap();
            prop_assert_eq!(ledger.between(&bound('0'), &bound('f')).len(), threads.len());
            prop_assert_eq!(ledger.tips(&id(7)).0, vec![]);
            prop_assert_eq!(ledger.aside(), vec![]);
        }
    }

    fn now() -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + Duration::days(20_000)
    }

    #[test]
    fn decided_threads_leave_their_refs_and_stay_as_they_were() {
        let scene = Scene::new();
        let mut all = Vec::new();
        for at in 0..70 {
            let first = scene.propose(at);
            let space = if at % 7 == 0 { Space::Private } else { Space::Shared };
            scene.set(&space.name(&first), first);
            if at % 2 == 0 {
                scene.set(&space.name(&first), scene.reject(first, &[first], &papers()));
            }
            all.push(first);
        }
        let late = scene.event(&[], now().timestamp(), {
            let mut data = crate::proposal::sample::propose(Default::default(), Vec::new());
            if let Data::Propose(propose) = &mut data {
                propose.expires_at = now() + Duration::days(1);
            }
            data
        });
        scene.set(&Space::Shared.name(&late), late);
        scene.git(&["pack-refs", "--all", "--prune"]);
        let read = |id: &ObjectId| scene.read(*id);
        let before: Vec<Thread> = all.iter().map(read).collect();
        let ids: Vec<ObjectId> = all.iter().chain([&late]).copied().collect();
        assert_eq!(scene.store.close(&ids, None, now()).unwrap(), 70);
        let threads = Threads::new(&scene.store);
        assert_eq!(threads.ids().unwrap(), [late].into());
        assert_eq!(threads.ledger().unwrap().chunks().len(), 2);
        for (id, before) in all.iter().zip(&before) {
            let after = read(id);
            assert_eq!((&after.history, &after.tips), (&before.history, &before.tips));
            assert_eq!((after.space, after.own), (before.space, None));
            assert_eq!(after.parents().unwrap(), before.parents().unwrap());
        }
        assert_eq!(scene.store.close(&ids, None, now()).unwrap(), 0);
        scene.git(&["fsck", "--strict", "--no-dangling"]);
        // A later event creates the ref again.
        let again = scene.comment(&before[3].tips, "late");
        scene.set(&Space::Shared.name(&all[3]), again);
        assert_eq!(read(&all[3]).tips, [again]);
        assert_eq!(scene.store.close(&ids, Some(Duration::days(30_000)), now()).unwrap(), 0);
    }

    #[test]
    fn thread_is_whole_for_whoever_has_read_the_names_before_it_was_closed() {
        let scene = Scene::new();
        let id = scene.propose(1);
        let name = Space::Shared.name(&id);
        scene.set(&name, id);
        scene.set(&format!("{}origin/0123456789abcdef/{id}", refs::REMOTES), id);
        scene.set(&name, scene.reject(id, &[id], &papers()));
        let threads = Threads::new(&scene.store);
        assert_eq!(threads.ids().unwrap(), [id].into());
        assert_eq!(scene.store.close(&[id], None, now()).unwrap(), 1);
        assert_eq!(threads.read(&id).unwrap().history.events().len(), 2);
    }

    #[test]
    fn fetched_chunk_with_a_decision_makes_the_memo_stale() {
        let scene = Scene::new();
        let id = scene.propose(1);
        scene.set(&Space::Shared.name(&id), id);
        let status = || {
            let view = scene.store.view().unwrap();
            view.proposals(&Default::default(), DateTime::UNIX_EPOCH).unwrap()[0].status
        };
        assert_eq!(status(), Status::Pending);
        let tips = [(id, vec![scene.reject(id, &[id], &papers())])].into();
        let mut batch = Batch::new(scene.store.repository());
        let chunk = compose(&mut batch, &tips, DateTime::UNIX_EPOCH).unwrap();
        batch.write(crate::flush::FlushMethod::No).unwrap();
        scene.set(&format!("{}origin/0123456789abcdef/closed/{chunk}", refs::REMOTES), chunk);
        assert_eq!([status(), status()], [Status::Rejected; 2]);
    }

    #[test]
    fn chunk_that_cannot_be_read_stops_only_what_is_found_nowhere_else() {
        let scene = Scene::new();
        let (open, closed) = (scene.propose(1), scene.propose(2));
        for id in [open, closed] {
            scene.set(&Space::Shared.name(&id), id);
            scene.set(&Space::Shared.name(&id), scene.reject(id, &[id], &papers()));
        }
        scene.store.close(&[closed], None, now()).unwrap();
        let bad = scene.comment(&[open], "no chunk");
        let fetched = format!("{}origin/0123456789abcdef/closed/{bad}", refs::REMOTES);
        scene.set(&fetched, bad);
        assert_eq!(scene.read(closed).history.events().len(), 2);
        let threads = Threads::new(&scene.store);
        assert!(threads.read(&id(1)).unwrap_err().is(&crate::proposal::codes::PROPOSAL_NOT_FOUND));
        let aside = threads.ledger().unwrap().aside();
        assert_eq!((aside.len(), aside[0].name.as_str()), (1, fetched.as_str()));
        scene.set(&Space::Shared.chunk(&bad), bad);
        assert_eq!(scene.read(open).history.events().len(), 2);
        assert_eq!(scene.read(closed).history.events().len(), 2);
        let error = Threads::new(&scene.store).read(&id(1)).unwrap_err();
        assert!(error.is(&codes::THREAD_DAMAGED));
        scene.store.set_thread_aside(&Space::Shared.chunk(&bad)).unwrap();
        let error = Threads::new(&scene.store).read(&id(1)).unwrap_err();
        assert!(error.is(&crate::proposal::codes::PROPOSAL_NOT_FOUND));
    }
}
