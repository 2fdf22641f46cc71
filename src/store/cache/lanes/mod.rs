//! Reading what is new in the lanes into the cache.
//!
//! The result depends on the refs alone, whatever the cache held before: this clone's own lane, as
//! it is; of every other lane what can be read of it, and what `refs/aye/kept/` remembers.

mod absent;
mod batches;
mod histories;
mod known;
mod parts;
mod purges;
mod roots;
mod troubles;

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use rusqlite::{Connection, Transaction, TransactionBehavior, params};

use absent::{Absent, Arrived, MOST_RETRIES, absent, came_later};
pub(super) use known::{furthest, is_current, keeps_others, own, position, positions};
use known::{is_made_for, is_read, own_refs};
pub(super) use troubles::{is_shallow, report, troubles};

use super::filling::Filling;
use super::news::News;
use super::parsed::Parsed;
use super::{Position, forks, schema, update};
use crate::database;
use crate::store::audience::default_remotes;
use crate::store::lane::{Bad, Broken, Chain, Limits, Progress, rest_of};
use crate::store::refs::{self, LaneRef};
use crate::store::traces::Traces;
use crate::store::trouble::{TOO_MANY, Trouble, TroubleKind};
use crate::store::{Store, partial, rewound};

/// How many histories of one lane are kept, those of its parts and those that bear its name each: more than
/// two are no accident.
const MOST_HISTORIES: usize = 8;

/// Which lanes are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All of them.
    All,
    /// This clone's own alone: it has just been written to.
    Own,
}

/// Reads what is new in the lanes; `lanes` are those of this clone and the fetched ones. Returns
/// this clone's own lane if it could not be read to its end.
///
/// # Errors
/// Those of SQLite; and where what the cache holds is not what the refs lead to any more.
pub(super) fn catch_up(
    store: &Store,
    connection: &mut Connection,
    lanes: &[LaneRef],
    reach: Reach,
) -> rusqlite::Result<Vec<Broken>> {
    let Arrived { refs: retry, proposals: due, is_deeper } = match reach {
        // It has just been written, by this process.
        Reach::Own => Arrived::default(),
        Reach::All => {
            let known = positions(connection)?;
            let absent =
                if store.may_ask_again() { absent(connection)? } else { Absent::default() };
            let is_new =
                |lane: &&LaneRef| !is_read(&known, lane) || absent.refs.contains(&lane.name);
            let new: Vec<&LaneRef> = lanes.iter().filter(is_new).collect();
            let reached = known.values().filter_map(|position| id(position.reached.as_deref()?));
            let has_come = partial::fetch_events(store, &new, &reached.collect(), &absent.ids);
            let most = if has_come { usize::MAX } else { MOST_RETRIES };
            came_later(&store.repository().repo, connection, most)?
        }
    };
    if is_deeper {
        // What comes first in a lane is read first. Begin again.
        return Err(rusqlite::Error::InvalidQuery);
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // What the cache has came from these refs, so read again under the cache's own lock they are the
    // same or newer.
    let rows = positions(&transaction)?;
    let was_empty = rows.is_empty();
    if was_empty {
        transaction.execute_batch(&format!("PRAGMA cache_size = -{FILLED}"))?
    } else {
        schema::index_events(&transaction)?
    }
    let mut pass = Pass {
        store,
        transaction: &transaction,
        own: own_refs(store, &rows, lanes),
        rows,
        home: default_remotes(&store.repository().repo),
        retry,
        broken: Vec::new(),
        moved: BTreeSet::new(),
        touched: BTreeSet::new(),
        fetched: BTreeSet::new(),
        objects: store.repository().repo.clone(),
        parsed: Parsed::default(),
        unsaved: 0,
        saved: false,
        filling: was_empty.then(Filling::default),
        traces: OnceCell::new(),
        left: Vec::new(),
        settled: None,
        begins_again: false,
    };
    if !is_made_for(&transaction, &pass.own, &pass.rows)? {
        // Begin again.
        return Err(rusqlite::Error::InvalidQuery);
    }
    match reach {
        Reach::Own => pass.read_some(lanes)?,
        Reach::All => pass.read_all(lanes)?,
    }
    pass.follow_purges(was_empty)?;
    let moved = std::mem::take(&mut pass.moved);
    pass.compare_all(moved)?;
    pass.require_held()?;
    pass.touched.extend(due);
    pass.fold(false)?;
    pass.report_purged()?;
    let Pass { broken, saved, .. } = pass;
    transaction.commit()?;
    if was_empty {
        connection
            .execute_batch(&format!("PRAGMA cache_size = -{SORTED}; PRAGMA shrink_memory"))?;
    }
    if saved {
        database::share(connection)?;
    }
    Ok(broken)
}

/// Memory for pages while a long history is read, in KiB: SQLite's own 2 MB are written and read
/// again too often.
const PAGES: i64 = 24 << 10;

/// The same while a cache is filled: without the indices of events all tables grow at their ends.
const FILLED: i64 = 4 << 10;

/// The same afterwards, and while indices are made: as much again is needed for what is sorted.
const SORTED: i64 = 8 << 10;

/// What came of reading a lane of somebody else.
struct LanesRead {
    /// The last commit that counts.
    reached: Option<ObjectId>,
    /// The last position up to it.
    seq: u64,
    /// The first bad commit.
    end: Option<(ObjectId, Bad)>,
}

/// What is new of a lane, or the commit at which the way to it is blocked.
type Walked = Result<Chain, (ObjectId, Bad)>;

/// One pass over the lanes, in a transaction.
struct Pass<'a> {
    store: &'a Store,
    transaction: &'a Transaction<'a>,
    rows: BTreeMap<String, Position>,
    /// The refs of this clone's own lanes.
    own: BTreeSet<String>,
    /// The default remotes; `None`: all are.
    home: Option<Vec<String>>,
    /// Refs to read again, though they have not moved.
    retry: BTreeSet<String>,
    broken: Vec<Broken>,
    /// Names of the lanes that have changed and may have several histories.
    moved: BTreeSet<String>,
    /// Proposals that this clone's own lane has new events of.
    touched: BTreeSet<String>,
    /// Proposals that other lanes have new events of.
    fetched: BTreeSet<String>,
    /// Where objects are read: another one in each batch, see [`remapped`](crate::store::objects::remapped).
    objects: gix::Repository,
    /// Events that were read in this transaction and not folded yet.
    parsed: Parsed,
    /// Commits read in this transaction.
    unsaved: usize,
    /// There were several transactions, and the cache is locked between them.
    saved: bool,
    /// The cache was empty, and its events have no indices yet.
    filling: Option<Filling>,
    /// What stands here for proposals, once it was looked for.
    traces: OnceCell<Option<Traces>>,
    /// Commits up to which refs were read before that lead elsewhere now, with their lanes.
    left: Vec<(String, String)>,
    /// The commit up to which the lane that is being read was folded: it goes on from there.
    settled: Option<ObjectId>,
    /// What is kept of a lane has moved on to a new epoch: what a reader without a cache will find
    /// from now on is not what was read. All lanes of a fetch may do so, and are compared first.
    begins_again: bool,
}

impl Pass<'_> {
    /// Holds the histories of each of `lanes` against each other.
    ///
    /// # Errors
    /// Those of SQLite; and where the cache has to begin again.
    fn compare_all(&mut self, lanes: BTreeSet<String>) -> rusqlite::Result<()> {
        for lane in lanes {
            self.compare(&lane)?;
        }
        if self.begins_again { Err(rusqlite::Error::InvalidQuery) } else { Ok(()) }
    }

    /// From here on the cache is asked what there is of a proposal.
    fn end_filling(&mut self) -> rusqlite::Result<()> {
        match self.filling {
            Some(_) => self.question(),
            None => Ok(()),
        }
    }

    /// The same, whether it was asked before or not.
    fn question(&mut self) -> rusqlite::Result<()> {
        self.filling = None;
        self.parsed.forget_fresh();
        // What is sorted needs memory as well.
        self.transaction
            .execute_batch(&format!("PRAGMA cache_size = -{SORTED}; PRAGMA shrink_memory"))?;
        schema::index_events(self.transaction)?;
        self.transaction.execute_batch(&format!("PRAGMA cache_size = -{PAGES}"))
    }

    /// Folds the proposals of which there are new events. With `goes_on` more of the same lane follows, which
    /// may begin with more of the last proposal.
    fn fold(&mut self, goes_on: bool) -> rusqlite::Result<()> {
        let mut touched = std::mem::take(&mut self.touched);
        let mut news = std::mem::take(&mut self.fetched);
        touched.extend(news.iter().cloned());
        let mut last = None;
        if let Some(filling) = &mut self.filling {
            let has_troubles =
                self.transaction.prepare_cached("SELECT 1 FROM trouble LIMIT 1")?.exists([])?;
            if !has_troubles && touched.iter().all(|id| self.parsed.is_fresh(id)) {
                last = if goes_on { self.parsed.take_last() } else { None };
                filling.fold(self.parsed.fresh_ids());
            } else {
                self.end_filling()?
            }
        }
        let parsed = std::mem::take(&mut self.parsed);
        if let Some(last) = last {
            self.touched.extend(touched.take(&last.0));
            self.fetched.extend(news.take(&last.0));
            self.parsed.put_last(last);
        }
        let is_wanted = self.filling.is_some() && !news.is_empty();
        let traces = if is_wanted { self.traces() } else { None };
        let news = News { ids: news, traces };
        update::refold(&self.objects, self.transaction, (touched, news), self.seen(), parsed)
    }

    /// This clone's own lanes, with the positions up to which they were read.
    fn seen(&self) -> Vec<(String, u64)> {
        let seen = self.own.iter().map(|name| {
            let lane = refs::lane_of(name);
            let seq = self.rows.get(name).map_or_else(|| furthest(&self.rows, lane), |row| row.seq);
            (lane.to_owned(), seq)
        });
        seen.collect()
    }

    /// What stands here for proposals.
    fn traces(&self) -> Option<&Traces> {
        self.traces.get_or_init(|| Traces::of(self.store).ok()).as_ref()
    }

    fn read_some(&mut self, lanes: &[LaneRef]) -> rusqlite::Result<()> {
        for lane in lanes {
            if let Ok(Some(tip)) = refs::target(&self.store.repository().repo, &lane.name) {
                self.read(&LaneRef { name: lane.name.clone(), tip })?;
            }
        }
        Ok(())
    }

    fn read_all(&mut self, seen: &[LaneRef]) -> rusqlite::Result<()> {
        let repo = &self.store.repository().repo;
        let mut lanes = refs::lanes(repo).unwrap_or_else(|_| seen.to_vec());
        lanes.extend(refs::kept(repo));
        // This clone's own comes first: whatever else bears its name has to be in it. What is
        // kept comes before what remotes have now, so that this can be held against it.
        lanes.sort_by_key(|lane| (self.rank(lane), lane.name.clone()));
        for lane in &lanes {
            self.read(lane)?;
        }
        let present: BTreeSet<&str> = lanes.iter().map(|lane| lane.name.as_str()).collect();
        let gone: Vec<String> =
            self.rows.keys().filter(|name| !present.contains(name.as_str())).cloned().collect();
        for name in gone {
            self.forget(&name, &lanes)?;
        }
        Ok(())
    }

    fn rank(&self, lane: &LaneRef) -> u8 {
        match &lane.name {
            name if self.own.contains(name) => 0,
            name if refs::is_local(name) => 1,
            name if name.starts_with(refs::KEPT) => 2,
            _ => 3,
        }
    }

    /// Reads what is new behind one ref.
    fn read(&mut self, lane: &LaneRef) -> rusqlite::Result<()> {
        let is_own = self.own.contains(&lane.name);
        let tip = lane.tip.to_string();
        let row = self.rows.get(&lane.name).filter(|row| row.tip == tip);
        let current = match row {
            None => false,
            Some(row) if is_own => row.reached.as_deref() == Some(&tip),
            Some(_) => !self.retry.contains(&lane.name),
        };
        if current {
            return Ok(());
        }
        if is_own {
            return self.read_own(lane);
        }
        self.transaction
            .prepare_cached("DELETE FROM trouble WHERE name = ?1 AND kind IN (?2, ?3)")?
            .execute([&*lane.name, TroubleKind::Unreadable.id(), TroubleKind::Incomplete.id()])?;
        self.moved.insert(lane.lane().to_owned());
        if self.retry.contains(&lane.name) {
            // An epoch may say more now.
            self.unbind(lane.lane())?;
        }
        let LanesRead { reached, seq, end } = self.read_other(lane)?;
        if let Some((commit, bad)) = end {
            // What a partial clone lacks is with its remote, and damaged only where it says so.
            let kind = if bad.missing.is_some() && self.store.repository().is_partial() {
                TroubleKind::Incomplete
            } else {
                TroubleKind::Unreadable
            };
            let trouble = Trouble {
                kind,
                name: lane.name.clone(),
                object: commit.to_string(),
                proposal: None,
                why: bad.why,
            };
            report(self.transaction, &trouble, bad.missing, None)?;
        }
        if (refs::is_local(&lane.name) || lane.is_kept())
            && let Some(old) = self.rows.get(&lane.name).and_then(|row| row.reached.clone())
            && !self.is_ancestor(&old, reached.as_ref())?
        {
            // Rewritten, or on in a new epoch: begin again.
            return Err(rusqlite::Error::InvalidQuery);
        }
        self.record(lane, reached, seq)
    }

    fn read_own(&mut self, lane: &LaneRef) -> rusqlite::Result<()> {
        let is_earlier = |name: &String| refs::own_of(name) == Some(lane.lane());
        if !self.rows.contains_key(&lane.name) && self.rows.keys().any(is_earlier) {
            // On in a new epoch. Begin again, with what a reader without a cache finds in it.
            return Err(rusqlite::Error::InvalidQuery);
        }
        // Where nothing has parted from it, going on parts nothing.
        if forks::load(self.transaction)?.is_forked(lane.lane()) {
            self.moved.insert(lane.lane().to_owned());
        }
        let is_partial = self.store.repository().is_partial();
        let broken = |commit: ObjectId, bad: Bad| Broken {
            name: lane.name.clone(),
            commit: commit.to_string(),
            why: bad.why,
            is_absent: bad.missing.is_some() && is_partial,
        };
        let mut progress = Progress::default();
        let chain = match self.chain(lane, Limits::OWN, &mut progress)? {
            Ok(chain) => chain,
            Err((commit, bad)) => {
                self.broken.push(broken(commit, bad));
                return Ok(());
            }
        };
        let old = self.rows.get(&lane.name).and_then(|row| row.reached.as_deref());
        if let Some(old) =
            old.filter(|old| Some(*old) != chain.onto.map(|id| id.to_string()).as_deref())
        {
            rewound::keep(self.store, &lane.name, old);
            // Rewritten: nothing of the old lane may stay, so begin again.
            return Err(rusqlite::Error::InvalidQuery);
        }
        self.report_shallow(lane, &chain)?;
        let (mut reached, mut seq) = self.start(chain.onto)?;
        let end =
            self.take_all(lane, Limits::OWN, &chain, &mut progress, (&mut reached, &mut seq))?;
        self.broken.extend(end.map(|(commit, bad)| broken(commit, bad)));
        if !self.rows.contains_key(&lane.name) && furthest(&self.rows, lane.lane()) > seq {
            // It was gone, and counted as far as copies of it had come. Begin again.
            return Err(rusqlite::Error::InvalidQuery);
        }
        // Where it is broken the ref is not read to its tip, and so every reader looks again.
        let read = reached.map(|tip| LaneRef { name: lane.name.clone(), tip });
        read.map_or(Ok(()), |read| self.record(&read, reached, seq))
    }

    /// Reads a lane of somebody else.
    fn read_other(&mut self, lane: &LaneRef) -> rusqlite::Result<LanesRead> {
        let nothing = |commit: ObjectId, bad: Bad| {
            Ok(LanesRead { reached: None, seq: 0, end: Some((commit, bad)) })
        };
        if !refs::is_lane_name(lane.lane()) {
            return nothing(lane.tip, "that is not the name of a lane".into());
        }
        let is_local = refs::is_local(&lane.name);
        let limits = if is_local { Limits::LOCAL } else { Limits::FOREIGN };
        let amount = self.amount(lane.lane())?;
        let mut progress = Progress::new(amount);
        let chain = match self.chain(lane, limits, &mut progress)? {
            Ok(chain) => chain,
            Err((commit, bad)) => return nothing(commit, bad),
        };
        if let Some(onto) = chain.onto
            && self.step(&onto)?.is_none_or(|(other, _)| other != lane.lane())
        {
            return nothing(onto, "it is a commit of another lane".into());
        }
        self.report_shallow(lane, &chain)?;
        let (mut reached, mut seq) = self.start(chain.onto)?;
        let begins = match chain.onto {
            _ if chain.links.is_empty() => false,
            None => true,
            Some(onto) => {
                let onto = onto.to_string();
                !self.kept(lane.lane()).any(|(_, tip)| tip == onto)
            }
        };
        if !is_local && !lane.is_kept() && begins && !self.may_begin(lane, &chain)? {
            return nothing(lane.tip, TOO_MANY.into());
        }
        let end = self.take_all(lane, limits, &chain, &mut progress, (&mut reached, &mut seq))?;
        self.set_amount(lane.lane(), progress.amount())?;
        Ok(LanesRead { reached, seq, end })
    }

    /// Reports that the history of `lane` is not here from its beginning.
    fn report_shallow(&self, lane: &LaneRef, chain: &Chain) -> rusqlite::Result<()> {
        let (Some(before), Some(first)) = (chain.before, chain.links.first()) else {
            return Ok(());
        };
        let trouble = Trouble {
            kind: TroubleKind::Shallow,
            name: lane.name.clone(),
            object: first.id.to_string(),
            proposal: None,
            why: rest_of(&self.store.repository().repo, &lane.name),
        };
        report(self.transaction, &trouble, Some(before), None)
    }

    /// The ref `name` is gone, and `lanes` are there. What it led to stays if another ref has it.
    fn forget(&mut self, name: &str, lanes: &[LaneRef]) -> rusqlite::Result<()> {
        let Some(row) = self.rows.remove(name) else { return Ok(()) };
        let lane = refs::lane_of(name).to_owned();
        if let Some(reached) = &row.reached {
            // Where aye itself removes the ref of an own lane, the next epoch has one.
            let is_there = |other: &LaneRef| other.lane() == lane && refs::is_local(&other.name);
            if self.own.contains(name) && !lanes.iter().any(is_there) {
                rewound::keep(self.store, name, reached);
                // Also where a fetched copy has it: what counts goes by how far the own lane has come.
                return Err(rusqlite::Error::InvalidQuery);
            }
            let Some(holder) = self.holder(&lane, reached)? else {
                return Err(rusqlite::Error::InvalidQuery);
            };
            // It still begins where it did.
            self.transaction
                .prepare_cached("UPDATE trouble SET name = ?2 WHERE name = ?1 AND kind = ?3")?
                .execute([name, &holder, TroubleKind::Shallow.id()])?;
        }
        for sql in ["DELETE FROM lane WHERE name = ?1", "DELETE FROM trouble WHERE name = ?1"] {
            self.transaction.prepare_cached(sql)?.execute([name])?;
        }
        self.moved.insert(lane);
        Ok(())
    }

    fn record(
        &mut self,
        lane: &LaneRef,
        reached: Option<ObjectId>,
        seq: u64,
    ) -> rusqlite::Result<()> {
        let position =
            Position { tip: lane.tip.to_string(), seq, reached: reached.map(|id| id.to_string()) };
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO lane (name, tip, seq, reached) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![lane.name, position.tip, number(seq), position.reached])?;
        let old = self.rows.insert(lane.name.clone(), position);
        if let Some(old) = old.and_then(|old| old.reached)
            && reached != id(&old)
            && self.settled.is_none_or(|settled| id(&old) != Some(settled))
        {
            self.left.push((lane.lane().to_owned(), old));
        }
        Ok(())
    }

    /// Begins again where no ref leads any more to what was read of a lane that has epochs: what is
    /// known then is what a reader without a cache finds in the epoch.
    fn require_held(&mut self) -> rusqlite::Result<()> {
        for (lane, tip) in std::mem::take(&mut self.left) {
            let has_epochs = self
                .transaction
                .prepare_cached("SELECT 1 FROM epoch WHERE lane = ?1")?
                .exists([&lane])?;
            if has_epochs && !self.is_held(&lane, &tip)? {
                return Err(rusqlite::Error::InvalidQuery);
            }
        }
        Ok(())
    }
}

fn id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

/// SQLite's integers end where a forged number may not.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
