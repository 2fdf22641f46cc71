//! Reading what is new in the lanes into the cache.
//!
//! The result depends on the refs alone, whatever the cache held before: this clone's own lane, as
//! it is; of every other lane what can be read of it, and what `refs/aye/kept/` remembers.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use rusqlite::{
    Connection, OptionalExtension as _, Row as SqlRow, Transaction, TransactionBehavior, params,
};

use super::{Position, forks, update};
use crate::store::audience::default_remotes;
use crate::store::lane::{Bad, Broken, Chain, Limits, Link, Progress, Reader, Row};
use crate::store::refs::{self, LaneRef};
use crate::store::trouble::{Trouble, TroubleKind};
use crate::store::{Store, partial, write};

/// How many histories of one lane are kept: more than two are no accident.
const MOST_HISTORIES: usize = 8;

/// For how many missing objects a reader looks again.
const MOST_RETRIES: usize = 32;

/// Which lanes are looked at.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// All of them.
    All,
    /// This clone's own alone: it has just been written to.
    Own,
}

/// How far every ref has been read.
pub(super) fn positions(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Position>> {
    let mut statement = connection.prepare_cached("SELECT name, tip, seq, reached FROM lane")?;
    let rows = statement.query_map([], |row| {
        let seq: i64 = row.get(2)?;
        let position = Position { tip: row.get(1)?, seq: seq as u64, reached: row.get(3)? };
        Ok((row.get(0)?, position))
    })?;
    rows.collect()
}

/// How far the ref `name` has been read.
pub(super) fn position(connection: &Connection, name: &str) -> rusqlite::Result<Option<Position>> {
    let mut statement =
        connection.prepare_cached("SELECT tip, seq, reached FROM lane WHERE name = ?1")?;
    let row = |row: &SqlRow<'_>| {
        let seq: i64 = row.get(1)?;
        Ok(Position { tip: row.get(0)?, seq: seq as u64, reached: row.get(2)? })
    };
    statement.query_row([name], row).optional()
}

/// What is wrong with the lanes and their events.
pub(super) fn troubles(connection: &Connection) -> rusqlite::Result<Vec<Trouble>> {
    let mut statement = connection.prepare_cached(
        "SELECT kind, name, object, proposal, why FROM trouble ORDER BY kind, name, object",
    )?;
    let rows = statement.query_map([], |row| {
        let kind: String = row.get(0)?;
        let kind = TroubleKind::ALL.into_iter().find(|known| known.id() == kind);
        Ok(Trouble {
            kind: kind.unwrap_or(TroubleKind::Unreadable),
            name: row.get(1)?,
            object: row.get(2)?,
            proposal: row.get(3)?,
            why: row.get(4)?,
        })
    })?;
    let mut troubles = rows.collect::<rusqlite::Result<Vec<Trouble>>>()?;
    let mut statement =
        connection.prepare_cached("SELECT lane, parent, seq, tip FROM forked ORDER BY lane")?;
    let rows = statement.query_map([], |row| {
        let (parent, seq): (String, i64) = (row.get(1)?, row.get(2)?);
        Ok(Trouble {
            kind: TroubleKind::Forked,
            name: row.get(0)?,
            object: row.get(3)?,
            proposal: None,
            why: format!("goes on from event {seq} of lane {parent}"),
        })
    })?;
    for row in rows {
        troubles.push(row?);
    }
    Ok(troubles)
}

/// Whether what the cache holds was made for the clone whose own lanes have the refs `own`, as it is
/// for one that has just got one of them. What counts of a lane depends on whether it is an own one.
fn is_made_for(
    transaction: &Transaction<'_>,
    own: &BTreeSet<String>,
    rows: &BTreeMap<String, Position>,
) -> rusqlite::Result<bool> {
    let noted: BTreeSet<String> = transaction
        .prepare_cached("SELECT lane FROM own")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let own: BTreeSet<String> = own.iter().map(|name| refs::lane_of(name).to_owned()).collect();
    let is_known = |own: &str| rows.keys().any(|name| refs::lane_of(name) == own);
    for new in own.difference(&noted) {
        if is_known(new) {
            return Ok(false);
        }
        transaction.execute("INSERT INTO own (lane) VALUES (?1)", [new])?;
    }
    Ok(noted.is_subset(&own))
}

/// Records `trouble`.
pub(super) fn report(
    transaction: &Connection,
    trouble: &Trouble,
    missing: Option<ObjectId>,
    awaits: Option<u64>,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO trouble (kind, name, lane, object, proposal, why, missing, awaits)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            trouble.kind.id(),
            trouble.name,
            refs::lane_of(&trouble.name),
            trouble.object,
            trouble.proposal,
            trouble.why,
            missing.map(|id| id.to_string()),
            awaits.map(number),
        ])
        .map(drop)
}

/// The refs of this clone's own lanes, of which the cache has `known`, or `lanes` are.
fn own_refs(
    store: &Store,
    known: &BTreeMap<String, Position>,
    lanes: &[LaneRef],
) -> BTreeSet<String> {
    let names = lanes.iter().map(|lane| &lane.name).chain(known.keys());
    let own = write::own_lanes(store, names.map(String::as_str)).into_iter();
    own.map(|(audience, lane)| audience.lane(&lane, 1)).collect()
}

/// What an object that was missing stopped, and that is there now.
#[derive(Default)]
struct Arrived {
    /// Refs whose lane ended at it.
    refs: BTreeSet<String>,
    /// Proposals of which an event named it as its statement.
    proposals: BTreeSet<String>,
}

/// What has come since; lanes first, so that no number of events is in their way.
fn came_later(repo: &gix::Repository, connection: &Connection) -> rusqlite::Result<Arrived> {
    let mut statement = connection.prepare_cached(
        "SELECT name, missing, proposal FROM trouble WHERE missing IS NOT NULL
         ORDER BY proposal IS NOT NULL, name LIMIT ?1",
    )?;
    let rows = statement.query_map([MOST_RETRIES as i64], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
    })?;
    let mut found = Arrived::default();
    for row in rows {
        let (name, missing, proposal) = row?;
        let id = ObjectId::from_hex(missing.as_bytes()).ok();
        if id.is_some_and(|id| repo.find_header(id).is_ok()) {
            match proposal {
                Some(proposal) => found.proposals.insert(proposal),
                None => found.refs.insert(name),
            };
        }
    }
    Ok(found)
}

/// Whether `lane` has been read up to where it is.
fn is_read(known: &BTreeMap<String, Position>, lane: &LaneRef) -> bool {
    let tip = |position: &Position| ObjectId::from_hex(position.tip.as_bytes()).ok();
    known.get(&lane.name).is_some_and(|position| tip(position) == Some(lane.tip))
}

/// Whether a lane is kept that only another remote than the default one had.
pub(super) fn keeps_others(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM lane WHERE name >= ?1 AND name < ?1 || '~' \
               AND instr(substr(name, length(?1) + 1), '/') > 0";
    connection.prepare_cached(sql)?.exists([refs::KEPT])
}

/// Whether nothing is new in `lanes`, those of this clone and the fetched ones, and nothing has come
/// that was missing: without `troubles` nothing was.
pub(super) fn is_current(
    store: &Store,
    connection: &Connection,
    lanes: &[LaneRef],
    troubles: &[Trouble],
) -> rusqlite::Result<bool> {
    let known = positions(connection)?;
    let count = known.keys().filter(|name| !name.starts_with(refs::KEPT)).count();
    if known.is_empty() || count != lanes.len() || !lanes.iter().all(|lane| is_read(&known, lane)) {
        return Ok(false);
    }
    if troubles.is_empty() {
        return Ok(true);
    }
    let arrived = came_later(&store.repo, connection)?;
    Ok(arrived.refs.is_empty() && arrived.proposals.is_empty())
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
    let Arrived { refs: retry, proposals: due } = match reach {
        // It has just been written, by this process.
        Reach::Own => Arrived::default(),
        Reach::All => {
            let known = positions(connection)?;
            let arrived = came_later(&store.repo, connection)?;
            let is_new =
                |lane: &&LaneRef| !is_read(&known, lane) || arrived.refs.contains(&lane.name);
            let new: Vec<&LaneRef> = lanes.iter().filter(is_new).collect();
            let reached = known.values().filter_map(|position| id(position.reached.as_deref()?));
            partial::fetch_events(store, &new, &reached.collect());
            arrived
        }
    };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // What the cache has came from these refs, so read again under the cache's own lock they are the
    // same or newer.
    let rows = positions(&transaction)?;
    let mut pass = Pass {
        store,
        transaction: &transaction,
        own: own_refs(store, &rows, lanes),
        rows,
        home: default_remotes(&store.repo),
        retry,
        broken: Vec::new(),
        moved: BTreeSet::new(),
        touched: BTreeSet::new(),
        fetched: BTreeSet::new(),
        objects: store.repo.clone(),
        unsaved: 0,
        saved: false,
    };
    if !is_made_for(&transaction, &pass.own, &pass.rows)? {
        // Begin again.
        return Err(rusqlite::Error::InvalidQuery);
    }
    match reach {
        Reach::Own => pass.read_some(lanes)?,
        Reach::All => pass.read_all(lanes)?,
    }
    for lane in std::mem::take(&mut pass.moved) {
        pass.compare(&lane)?;
    }
    pass.touched.extend(due);
    pass.fold()?;
    let Pass { broken, saved, .. } = pass;
    transaction.commit()?;
    if saved {
        // The lock goes with the next question.
        connection.execute_batch("PRAGMA locking_mode = NORMAL; SELECT 1 FROM lane LIMIT 1")?;
    }
    Ok(broken)
}

/// How many commits are read in one transaction. A reader that is stopped leaves what it has read
/// until then, as the state of lanes that had not come further.
const BATCH: usize = 1_000;

/// Memory for pages while a long history is read, in KiB: SQLite's own 2 MB are written and read
/// again too often.
const PAGES: i64 = 8 << 10;

/// `repo` with its packs mapped into memory again: once the one before is gone, so is what it has read
/// of them, which is as large as the history is long.
fn fresh(repo: &gix::Repository) -> gix::Repository {
    let mut fresh = repo.clone();
    let store = repo.objects.store_ref();
    let options = gix::odb::store::init::Options::default();
    let replaced = store.replacements();
    if let Ok(objects) = gix::odb::at_opts(store.path(), repo.object_hash(), replaced, options) {
        fresh.objects = gix::odb::memory::Proxy::from(objects);
    }
    fresh
}

/// What came of reading a lane of somebody else.
struct Outcome {
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
    /// Where objects are read: another one in each batch, see [`fresh`].
    objects: gix::Repository,
    /// Commits read in this transaction.
    unsaved: usize,
    /// There were several transactions, and the cache is locked between them.
    saved: bool,
}

impl Pass<'_> {
    /// Folds the proposals of which there are new events.
    fn fold(&mut self) -> rusqlite::Result<()> {
        let mut touched = std::mem::take(&mut self.touched);
        for id in std::mem::take(&mut self.fetched) {
            self.transaction
                .prepare_cached("INSERT OR IGNORE INTO fetched (proposal) VALUES (?1)")?
                .execute([&id])?;
            touched.insert(id);
        }
        let own = self.own.iter().map(|name| {
            let seq = self.rows.get(name).map_or(0, |row| row.seq);
            (refs::lane_of(name).to_owned(), seq)
        });
        update::refold(&self.objects, self.transaction, touched, &own.collect::<Vec<_>>())
    }

    /// Ends the transaction and begins another: the cache is then as if the ref of `lane` were at
    /// `reached` still.
    fn save(
        &mut self,
        lane: &LaneRef,
        reached: Option<ObjectId>,
        seq: u64,
    ) -> rusqlite::Result<()> {
        let Some(tip) = reached else { return Ok(()) };
        self.unsaved = 0;
        self.record(&LaneRef { name: lane.name.clone(), tip }, reached, seq)?;
        // The next pass takes these lanes for read, and would not compare them.
        let (again, complete) = std::mem::take(&mut self.moved)
            .into_iter()
            .partition(|moved| moved.as_str() == lane.lane());
        self.moved = again;
        let complete: BTreeSet<String> = complete;
        for lane in complete {
            self.compare(&lane)?;
        }
        self.fold()?;
        // Whoever came in between would read the same commits again.
        self.transaction.execute_batch(&format!(
            "PRAGMA cache_size = -{PAGES}; PRAGMA locking_mode = EXCLUSIVE; COMMIT"
        ))?;
        self.saved = true;
        crate::failpoint!("store.cache.batch");
        self.transaction.execute_batch("BEGIN IMMEDIATE")?;
        self.objects = fresh(&self.store.repo);
        Ok(())
    }

    fn read_some(&mut self, lanes: &[LaneRef]) -> rusqlite::Result<()> {
        for lane in lanes {
            if let Ok(Some(tip)) = refs::target(&self.store.repo, &lane.name) {
                self.read(&LaneRef { name: lane.name.clone(), tip })?;
            }
        }
        Ok(())
    }

    fn read_all(&mut self, seen: &[LaneRef]) -> rusqlite::Result<()> {
        let repo = &self.store.repo;
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
            self.forget(&name)?;
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
            .prepare_cached("DELETE FROM trouble WHERE name = ?1 AND kind = ?2")?
            .execute([&lane.name, TroubleKind::Unreadable.id()])?;
        self.moved.insert(lane.lane().to_owned());
        let Outcome { reached, seq, end } = self.read_other(lane)?;
        if let Some((commit, bad)) = end {
            let trouble = Trouble {
                kind: TroubleKind::Unreadable,
                name: lane.name.clone(),
                object: commit.to_string(),
                proposal: None,
                why: bad.why,
            };
            report(self.transaction, &trouble, bad.missing, None)?;
        }
        if refs::is_local(&lane.name)
            && let Some(old) = self.rows.get(&lane.name).and_then(|row| row.reached.clone())
            && !self.is_within(&old, reached.as_ref())?
        {
            // Rewritten, and nothing else holds what it was: begin again.
            return Err(rusqlite::Error::InvalidQuery);
        }
        self.record(lane, reached, seq)
    }

    fn read_own(&mut self, lane: &LaneRef) -> rusqlite::Result<()> {
        // Where nothing has parted from it, going on parts nothing.
        if forks::load(self.transaction)?.is_forked(lane.lane()) {
            self.moved.insert(lane.lane().to_owned());
        }
        let broken = |commit: ObjectId, bad: Bad| Broken {
            name: lane.name.clone(),
            commit: commit.to_string(),
            why: bad.why,
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
        if old.is_some() && old != chain.onto.map(|id| id.to_string()).as_deref() {
            // Rewritten: nothing of the old lane may stay, so begin again.
            return Err(rusqlite::Error::InvalidQuery);
        }
        let (mut reached, mut seq) = self.start(chain.onto)?;
        let end =
            self.take_all(lane, Limits::OWN, &chain, &mut progress, (&mut reached, &mut seq))?;
        self.broken.extend(end.map(|(commit, bad)| broken(commit, bad)));
        // Where it is broken the ref is not read to its tip, and so every reader looks again.
        let read = reached.map(|tip| LaneRef { name: lane.name.clone(), tip });
        read.map_or(Ok(()), |read| self.record(&read, reached, seq))
    }

    /// Reads a lane of somebody else.
    fn read_other(&mut self, lane: &LaneRef) -> rusqlite::Result<Outcome> {
        let nothing = |commit: ObjectId, bad: Bad| {
            Ok(Outcome { reached: None, seq: 0, end: Some((commit, bad)) })
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
        let (mut reached, mut seq) = self.start(chain.onto)?;
        let begins = match chain.onto {
            _ if chain.links.is_empty() => false,
            None => true,
            Some(onto) => {
                let onto = onto.to_string();
                !self.kept(lane.lane()).any(|(_, tip)| tip == onto)
            }
        };
        if !is_local
            && !lane.is_kept()
            && begins
            && self.kept(lane.lane()).count() >= MOST_HISTORIES
        {
            return nothing(lane.tip, "it is one history too many of this lane".into());
        }
        let end = self.take_all(lane, limits, &chain, &mut progress, (&mut reached, &mut seq))?;
        self.set_amount(lane.lane(), progress.amount())?;
        Ok(Outcome { reached, seq, end })
    }

    fn chain(
        &mut self,
        lane: &LaneRef,
        limits: Limits,
        progress: &mut Progress,
    ) -> rusqlite::Result<Walked> {
        let (mut links, mut next, mut most) = (Vec::new(), Some(lane.tip), BATCH / 4);
        loop {
            let mut failed = None;
            let mut reader = Reader::new(&self.objects, lane, limits, std::mem::take(progress));
            let walked = reader.walk(&mut links, &mut next, most, |id| match self.step(id) {
                Ok(step) => step.is_some(),
                Err(error) => {
                    failed = Some(error);
                    true
                }
            });
            *progress = reader.into_progress();
            match (failed, walked) {
                (Some(error), _) => return Err(error),
                (None, Err(blocked)) => return Ok(Err(blocked)),
                (None, Ok(Some(onto))) => {
                    links.reverse();
                    return Ok(Ok(Chain { links, onto }));
                }
                (None, Ok(None)) => (self.objects, most) = (fresh(&self.store.repo), BATCH),
            }
        }
    }

    /// Adds the events of `chain` up to the first bad commit, which it returns. `progress`, the last
    /// commit that counts and the last position go along with what is read.
    fn take_all(
        &mut self,
        lane: &LaneRef,
        limits: Limits,
        chain: &Chain,
        progress: &mut Progress,
        (reached, seq): (&mut Option<ObjectId>, &mut u64),
    ) -> rusqlite::Result<Option<(ObjectId, Bad)>> {
        for links in chain.links.chunks(BATCH) {
            let objects = self.objects.clone();
            let mut reader = Reader::new(&objects, lane, limits, std::mem::take(progress));
            let mut end = None;
            for link in links {
                match self.take(&mut reader, lane, link, *seq)? {
                    Ok(next) => (*reached, *seq) = (Some(link.id), next),
                    Err(bad) => {
                        end = Some((link.id, bad));
                        break;
                    }
                }
            }
            *progress = reader.into_progress();
            if end.is_some() {
                return Ok(end);
            }
            self.unsaved += links.len();
            if self.unsaved >= BATCH {
                self.set_amount(lane.lane(), progress.amount())?;
                self.save(lane, *reached, *seq)?;
            }
        }
        Ok(None)
    }

    /// Adds the events of one commit, whose predecessors' last position is `seq`.
    fn take(
        &mut self,
        reader: &mut Reader<'_>,
        lane: &LaneRef,
        link: &Link,
        mut seq: u64,
    ) -> rusqlite::Result<Result<u64, Bad>> {
        let mut failed = None;
        let rows = reader.read(link, |id| match self.lane_of_event(id) {
            Ok(lane) => lane,
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let rows = match rows {
            Ok(rows) => rows,
            Err(bad) => return Ok(Err(bad)),
        };
        let is_own = self.own.contains(&lane.name);
        let touched = if is_own { &mut self.touched } else { &mut self.fetched };
        let commit = link.id.to_string();
        for row in rows {
            seq = seq.max(row.seq);
            insert(self.transaction, lane.lane(), &commit, &row)?;
            if let Some(from) = &row.forked
                && refs::is_lane_name(&from.lane)
            {
                self.transaction
                    .prepare_cached(
                        "INSERT OR IGNORE INTO forked (lane, parent, seq, tip)
                         VALUES (?1, ?2, ?3, ?4)",
                    )?
                    .execute(params![lane.lane(), from.lane, number(from.seq), from.tip])?;
            }
            if is_own {
                for seen in &row.witness {
                    self.transaction
                        .prepare_cached("INSERT OR IGNORE INTO witness (tip) VALUES (?1)")?
                        .execute([&seen.tip])?;
                }
            }
            touched.extend(row.proposal.map(String::from));
        }
        self.transaction
            .prepare_cached("INSERT OR REPLACE INTO step (id, lane, seq) VALUES (?1, ?2, ?3)")?
            .execute(params![link.id.as_bytes(), lane.lane(), number(seq)])?;
        Ok(Ok(seq))
    }

    /// The ref `name` is gone. What it led to stays if another ref has it.
    fn forget(&mut self, name: &str) -> rusqlite::Result<()> {
        let Some(row) = self.rows.remove(name) else { return Ok(()) };
        let lane = refs::lane_of(name).to_owned();
        if let Some(reached) = &row.reached {
            let others: Vec<String> = self
                .rows
                .iter()
                .filter(|(other, _)| refs::lane_of(other) == lane)
                .filter_map(|(_, row)| row.reached.clone())
                .collect();
            let mut held = false;
            for other in others {
                held = held
                    || self
                        .is_within(reached, ObjectId::from_hex(other.as_bytes()).ok().as_ref())?;
            }
            if !held {
                return Err(rusqlite::Error::InvalidQuery);
            }
        }
        for sql in ["DELETE FROM lane WHERE name = ?1", "DELETE FROM trouble WHERE name = ?1"] {
            self.transaction.prepare_cached(sql)?.execute([name])?;
        }
        self.moved.insert(lane);
        Ok(())
    }

    /// Holds the histories of a fetched lane against each other, remembers them, and reports what
    /// was rewound or forked.
    fn compare(&mut self, lane: &str) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("DELETE FROM trouble WHERE lane = ?1 AND kind IN (?2, ?3)")?
            .execute([lane, TroubleKind::Rewound.id(), TroubleKind::Equivocates.id()])?;
        let own = self.own.iter().find(|own| refs::lane_of(own) == lane).cloned();
        let own_tip = own.as_ref().and_then(|own| self.rows.get(own)?.reached.clone());
        let remote: Vec<(String, Option<String>)> = self
            .rows
            .iter()
            .filter(|(name, _)| name.starts_with(refs::REMOTES) && refs::lane_of(name) == lane)
            .map(|(name, row)| (name.clone(), row.reached.clone()))
            .collect();
        // What was fetched from another remote than the default one says so, and stays for that one.
        let mut from = remote.iter().filter_map(|(name, _)| refs::remote_of(name));
        let home = match (&self.home, from.clone().next()) {
            (Some(home), Some(first))
                if from.all(|remote| home.iter().all(|home| home != remote)) =>
            {
                format!("{}{first}/", refs::KEPT)
            }
            _ => refs::KEPT.to_owned(),
        };
        for (_, reached) in &remote {
            if let Some(reached) = reached {
                // What this clone has pushed comes back with every fetch.
                let comes_back = own_tip.as_deref().and_then(id);
                if !self.is_within(reached, comes_back.as_ref())? {
                    self.keep(&home, lane, reached)?;
                }
            }
        }
        self.divide(lane, own_tip.as_deref())?;
        if own.is_some() {
            return self.compare_own(lane);
        }
        let kept: Vec<String> = self.kept(lane).map(|(_, tip)| tip.to_owned()).collect();
        let mut lost = None;
        for tip in &kept {
            let mut held = remote.is_empty();
            for (_, reached) in &remote {
                let reached = reached.as_deref().and_then(id);
                held = held || self.is_within(tip, reached.as_ref())?;
            }
            if !held {
                lost = Some(tip.clone());
            }
        }
        let tips = self.tips(lane);
        // What has a name of its own, as a fork that is settled has, is no surprise.
        let is_named = |tip: &str| {
            let mut named = self.rows.iter().filter(|(name, _)| refs::lane_of(name) == lane);
            named.any(|(name, row)| {
                refs::part_of(name).is_some() && row.reached.as_deref() == Some(tip)
            })
        };
        let mut histories = Vec::new();
        for tip in &tips {
            let mut inner = is_named(tip);
            for other in tips.iter().filter(|other| *other != tip) {
                inner = inner || self.is_within(tip, id(other).as_ref())?;
            }
            if !inner {
                histories.push(tip.clone());
            }
        }
        let (kind, object, why) = match lost {
            Some(tip) => {
                let why = match histories.len() {
                    0 | 1 => "was rewound by its remote; what it had before still counts here",
                    _ => "was rewritten by its remote; both histories count here",
                };
                (TroubleKind::Rewound, tip, why)
            }
            None if histories.len() > 1 => {
                let tip = histories.swap_remove(0);
                (TroubleKind::Equivocates, tip, "has two histories; both count here")
            }
            None => return Ok(()),
        };
        let name = remote.into_iter().next().map_or_else(|| lane.to_owned(), |(name, _)| name);
        let trouble = Trouble { kind, name, object, proposal: None, why: why.into() };
        report(self.transaction, &trouble, None, None)
    }

    /// The commits up to which the histories of `lane` can be read, each once.
    fn tips(&self, lane: &str) -> Vec<String> {
        let rows = self.rows.iter().filter(|(name, _)| refs::lane_of(name) == lane);
        let tips: BTreeSet<&String> = rows.filter_map(|(_, row)| row.reached.as_ref()).collect();
        tips.into_iter().cloned().collect()
    }

    /// Takes a lane of several histories apart, and sees to it that what they say is folded again.
    fn divide(&mut self, lane: &str, own: Option<&str>) -> rusqlite::Result<()> {
        let tips: BTreeSet<ObjectId> = self.tips(lane).iter().filter_map(|tip| id(tip)).collect();
        let (repo, own) = (&self.store.repo, own.and_then(id));
        if !forks::divide(repo, self.transaction, lane, own, &tips)? {
            return Ok(());
        }
        // Who has seen what of this lane may be another matter now, and what waits for it too.
        let mut statement = self.transaction.prepare_cached(
            "SELECT proposal FROM event WHERE lane = ?1 AND proposal IS NOT NULL
             UNION SELECT proposal FROM trouble WHERE awaits IS NOT NULL AND proposal IS NOT NULL",
        )?;
        for id in statement.query_map([lane], |row| row.get::<_, String>(0))? {
            self.fetched.insert(id?);
        }
        Ok(())
    }

    /// Whatever bears the name of this clone's own lane has to be in it.
    fn compare_own(&mut self, lane: &str) -> rusqlite::Result<()> {
        let others: Vec<(String, String)> = self
            .rows
            .iter()
            .filter(|(name, _)| !refs::is_local(name) && refs::lane_of(name) == lane)
            .map(|(name, row)| (name.clone(), row.tip.clone()))
            .collect();
        for (name, tip) in others {
            let found = id(&tip).map(|tip| forks::step(self.transaction, &tip)).transpose()?;
            // A part that has a name of its own was made by the other writer, who has left the lane.
            if name.starts_with(refs::KEPT)
                || refs::part_of(&name).is_some()
                || matches!(found.flatten(), Some((found, _, None)) if found == lane)
            {
                continue;
            }
            let why = "has commits under the name of this clone's own lane that this clone does \
                       not have; both histories count, and the next write begins a new lane";
            let kind = TroubleKind::Equivocates;
            let trouble = Trouble { kind, name, object: tip, proposal: None, why: why.into() };
            report(self.transaction, &trouble, None, None)?;
        }
        Ok(())
    }

    /// Remembers below `home` that `reached` was seen of `lane`. Not being able to is no error: a repository
    /// that cannot be written can still be read.
    fn keep(&mut self, home: &str, lane: &str, reached: &str) -> rusqlite::Result<()> {
        let Some(new) = id(reached) else { return Ok(()) };
        let kept: Vec<(String, String)> =
            self.kept(lane).map(|(name, tip)| (name.to_owned(), tip.to_owned())).collect();
        let mut extends = None;
        for (name, tip) in &kept {
            if self.is_within(reached, id(tip).as_ref())? {
                return Ok(());
            }
            if extends.is_none() && self.is_within(tip, Some(&new))? {
                extends = Some((name.clone(), id(tip)));
            }
        }
        let (name, expected) = extends.unwrap_or_else(|| {
            let first = format!("{home}{lane}");
            let taken = kept.iter().any(|(name, _)| *name == first);
            (if taken { format!("{first}.{}", new.to_hex_with_len(8)) } else { first }, None)
        });
        let store = self.store;
        let dir = &store.common_dir;
        if refs::compare_and_swap(&store.repo, dir, &name, expected, new, false).is_ok() {
            let seq = self.step(&new)?.map_or(0, |(_, seq)| seq);
            self.record(&LaneRef { name, tip: new }, Some(new), seq)?;
        }
        Ok(())
    }

    /// The refs that remember `lane`, and how far they could be read.
    fn kept<'s>(&'s self, lane: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        self.rows
            .range(refs::KEPT.to_owned()..)
            .take_while(|(name, _)| name.starts_with(refs::KEPT))
            .filter(move |(name, _)| refs::lane_of(name) == lane)
            .filter_map(|(name, row)| Some((name.as_str(), row.reached.as_deref()?)))
    }

    /// Whether the known commit `inner` is `outer` or one of its ancestors.
    fn is_within(&self, inner: &str, outer: Option<&ObjectId>) -> rusqlite::Result<bool> {
        let (Some(inner), Some(outer)) = (id(inner), outer) else { return Ok(false) };
        let Some((_, least)) = self.step(&inner)? else { return Ok(inner == *outer) };
        let mut next = Some(*outer);
        while let Some(at) = next {
            if at == inner {
                return Ok(true);
            }
            // Positions never fall along a lane.
            if self.step(&at)?.is_none_or(|(_, seq)| seq < least) {
                return Ok(false);
            }
            let commit = self.store.repo.find_commit(at).ok();
            next = commit.and_then(|commit| commit.parent_ids().next().map(gix::Id::detach));
        }
        Ok(false)
    }

    /// The lane of a commit that counts, and the last position up to it.
    fn step(&self, id: &ObjectId) -> rusqlite::Result<Option<(String, u64)>> {
        Ok(forks::step(self.transaction, id)?.map(|(lane, seq, _)| (lane, seq)))
    }

    fn start(&self, onto: Option<ObjectId>) -> rusqlite::Result<(Option<ObjectId>, u64)> {
        let step = onto.map(|id| self.step(&id)).transpose()?.flatten();
        Ok((onto, step.map_or(0, |(_, seq)| seq)))
    }

    fn lane_of_event(&self, id: &ObjectId) -> rusqlite::Result<Option<String>> {
        self.transaction
            .prepare_cached("SELECT lane FROM event WHERE id = ?1")?
            .query_row([id.to_string()], |row| row.get(0))
            .optional()
    }

    fn amount(&self, lane: &str) -> rusqlite::Result<(usize, u64)> {
        let found = self
            .transaction
            .prepare_cached("SELECT commits, bytes FROM amount WHERE lane = ?1")?
            .query_row([lane], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
            .optional()?;
        Ok(found.map_or((0, 0), |(commits, bytes)| (commits as usize, bytes as u64)))
    }

    fn set_amount(&self, lane: &str, (commits, bytes): (usize, u64)) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO amount (lane, commits, bytes) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![lane, number(commits as u64), number(bytes)])
            .map(drop)
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
        self.rows.insert(lane.name.clone(), position);
        Ok(())
    }
}

fn insert(
    transaction: &Transaction<'_>,
    lane: &str,
    commit: &str,
    row: &Row,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT OR IGNORE INTO event
             (id, proposal, lane, seq, commit_id, kind, time, plan, body)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
        )?
        .execute(params![
            row.id.to_string(),
            row.proposal.as_ref().map(|id| id.as_str()),
            lane,
            number(row.seq),
            commit,
            row.kind,
            row.time,
            row.plan,
            row.body
        ])
        .map(drop)
}

fn id(hex: &str) -> Option<ObjectId> {
    ObjectId::from_hex(hex.as_bytes()).ok()
}

/// SQLite's integers end where a forged number may not.
pub(super) fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
