//! Reading what is new of one lane, in batches.

use std::rc::Rc;

use gix::ObjectId;
use rusqlite::{CachedStatement, OptionalExtension as _, params};

use super::super::counts;
use super::super::filling;
use super::{FILLED, PAGES, Pass, Walked, number};
use crate::proposal::event::Head;
use crate::store::lane::{BATCH, Bad, Beside, Chain, Limits, Link, Progress, Reader, Row};
use crate::store::objects::remapped;
use crate::store::refs::{self, LaneRef};

/// Events that wait to be folded, or somewhat more: they are in memory. A commit of a snapshot has a
/// thousand.
const MOST_WAITING: usize = 1_000;

/// Bytes of these. A part of a snapshot has as many.
const MOST_BYTES: usize = 1 << 20;

impl Pass<'_> {
    /// Folds what was read: the cache is then as if the ref of `lane` were at `reached` still.
    fn settle(
        &mut self,
        lane: &LaneRef,
        reached: Option<ObjectId>,
        seq: u64,
    ) -> rusqlite::Result<()> {
        let Some(tip) = reached else { return Ok(()) };
        self.record(&LaneRef { name: lane.name.clone(), tip }, reached, seq)?;
        self.settled = reached;
        // The next pass takes these lanes for read, and would not compare them.
        self.compare_read(lane.lane())?;
        self.fold(true)?;
        self.objects = remapped(&self.store.repository().repo);
        Ok(())
    }

    /// Holds the histories of the lanes that were read against each other; `lane` is still being read.
    pub(super) fn compare_read(&mut self, lane: &str) -> rusqlite::Result<()> {
        let read = std::mem::take(&mut self.moved).into_iter();
        let (again, complete) = read.partition(|moved| moved.as_str() == lane);
        self.moved = again;
        self.compare_all(complete)
    }

    /// Ends the transaction and begins another.
    fn save(&mut self) -> rusqlite::Result<()> {
        self.unsaved = 0;
        // What has waited for more.
        self.fold(false)?;
        let pages = if self.filling.is_some() { FILLED } else { PAGES };
        // Whoever came in between would read the same commits again.
        self.transaction.execute_batch(&format!(
            "PRAGMA cache_size = -{pages}; PRAGMA locking_mode = EXCLUSIVE; COMMIT"
        ))?;
        self.saved = true;
        crate::failpoint!("store.cache.batch");
        self.transaction.execute_batch("BEGIN IMMEDIATE")
    }

    pub(super) fn chain(
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
                    return Ok(Ok(Chain { links, onto, before: progress.before() }));
                }
                (None, Ok(None)) => {
                    (self.objects, most) = (remapped(&self.store.repository().repo), BATCH)
                }
            }
        }
    }

    /// Adds the events of `chain` up to the first bad commit, which it returns. `progress`, the last
    /// commit that counts and the last position go along with what is read.
    pub(super) fn take_all(
        &mut self,
        lane: &LaneRef,
        limits: Limits,
        chain: &Chain,
        progress: &mut Progress,
        (reached, seq): (&mut Option<ObjectId>, &mut u64),
    ) -> rusqlite::Result<Option<(ObjectId, Bad)>> {
        let mut links = chain.links.iter().peekable();
        while links.peek().is_some() {
            let objects = self.objects.clone();
            let mut reader = Reader::new(&objects, lane, limits, std::mem::take(progress));
            let mut end = None;
            let is_full = |pass: &Self| {
                let (count, bytes) = (pass.parsed.len(), pass.parsed.bytes());
                pass.unsaved >= BATCH || count >= MOST_WAITING || bytes >= MOST_BYTES
            };
            for link in links.by_ref() {
                match self.take(&mut reader, lane, link, *seq)? {
                    Ok(next) => (*reached, *seq) = (Some(link.id), next),
                    Err(bad) => {
                        end = Some((link.id, bad));
                        break;
                    }
                }
                self.unsaved += 1;
                if is_full(self) {
                    break;
                }
            }
            *progress = reader.into_progress();
            if end.is_some() {
                return Ok(end);
            }
            if is_full(self) {
                self.set_amount(lane.lane(), progress.amount())?;
                self.settle(lane, *reached, *seq)?;
            }
            if self.unsaved >= BATCH {
                self.save()?;
            }
        }
        Ok(None)
    }

    /// Adds the events of one commit, whose predecessors' last position is `seq`.
    pub(super) fn take(
        &mut self,
        reader: &mut Reader<'_>,
        lane: &LaneRef,
        link: &Link,
        mut seq: u64,
    ) -> rusqlite::Result<Result<u64, Bad>> {
        let (mut failed, mut is_known) = (None, false);
        let said = reader.read_new(link, |id| match self.known_event(id) {
            Ok(found) => {
                is_known |= found.is_some();
                found
            }
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        if let Some(error) = failed {
            return Err(error);
        }
        let said = match said {
            Ok(said) => said,
            Err(bad) => return Ok(Err(bad)),
        };
        if is_known {
            self.end_filling()?;
        }
        let is_own = self.own.contains(&lane.name);
        let origin = Origin { lane, is_own, commit: link.id.to_string().into() };
        seq = seq.max(said.last);
        if let Some(part) = &said.part {
            let epoch = said.epoch.and_then(|fold| fold.from()).map(|from| (link.id, from.seq));
            if let Err(bad) = self.take_part(&origin, part, epoch, seq)? {
                return Ok(Err(bad));
            }
        }
        let mut insert = self.transaction.prepare_cached(INSERT)?;
        for row in said.rows {
            self.add(&origin, &mut insert, row)?;
        }
        self.transaction
            .prepare_cached("INSERT OR REPLACE INTO step (id, lane, seq) VALUES (?1, ?2, ?3)")?
            .execute(params![link.id.as_bytes(), lane.lane(), number(seq)])?;
        if let Some(filling) = &mut self.filling {
            filling.add_step(&link.id);
        }
        Ok(Ok(seq))
    }

    /// Adds an event.
    pub(super) fn add(
        &mut self,
        origin: &Origin<'_>,
        insert: &mut CachedStatement<'_>,
        mut row: Row,
    ) -> rusqlite::Result<()> {
        let figures = row.beside.as_mut().and_then(|beside| beside.figures.take());
        let figures = figures.as_ref().and_then(counts::column);
        let about = row.proposal.as_ref().filter(|id| !self.parsed.is_last(id.as_str()));
        if let Some(filling) = &mut self.filling
            && (row.kind() == "purge" || !filling.is_new(&row.id, about))
        {
            self.end_filling()?;
        }
        if !insert_row(insert, origin, &row, figures.as_deref())? {
            return match figures {
                // Read before, from the epoch that this one goes on from.
                Some(figures) => counts::note(self.transaction, &row.id, &figures),
                None => Ok(()),
            };
        }
        let (forked, witness) = (row.event.forked.clone(), row.event.witness.clone());
        self.remember(origin, forked, witness)?;
        let Some(proposal) = row.proposal else { return Ok(()) };
        let touched = if origin.is_own { &mut self.touched } else { &mut self.fetched };
        if !touched.contains(proposal.as_str()) {
            touched.insert(proposal.to_string());
        }
        if self.filling.is_none() {
            self.parsed.keep(row.id, row.event, row.body.len());
            return Ok(());
        }
        let is_line = row.beside.is_some();
        let Beside { statement, stated, manifest, .. } = row.beside.unwrap_or_default();
        let Row { hex: id, event, body, .. } = row;
        let commit = origin.commit.clone();
        let row =
            filling::Row { id, commit, event, body, statement, stated, manifest, figures, is_line };
        self.parsed.keep_fresh(proposal.as_str(), row);
        Ok(())
    }

    /// Notes what an event says of lanes, whether it is here or only a stub of it: which one its own goes
    /// on from, and, where this clone has written it, the tips that it puts on record.
    pub(super) fn remember(
        &self,
        origin: &Origin<'_>,
        forked: Option<Head>,
        witness: Vec<Head>,
    ) -> rusqlite::Result<()> {
        if let Some(from) = forked.filter(|from| refs::is_lane_name(&from.lane)) {
            self.transaction
                .prepare_cached(
                    "INSERT OR IGNORE INTO forked (lane, parent, seq, tip) VALUES (?1, ?2, ?3, ?4)",
                )?
                .execute(params![origin.lane.lane(), from.lane, number(from.seq), from.tip])?;
        }
        for seen in witness.iter().filter(|_| origin.is_own) {
            self.transaction
                .prepare_cached("INSERT OR IGNORE INTO witness (tip) VALUES (?1)")?
                .execute([&seen.tip])?;
        }
        Ok(())
    }

    /// Lane and position of an event that is in the cache.
    pub(super) fn known_event(&self, id: &ObjectId) -> rusqlite::Result<Option<(String, u64)>> {
        if self.filling.as_ref().is_some_and(|filling| !filling.may_know(id)) {
            return Ok(None);
        }
        self.transaction
            .prepare_cached("SELECT lane, seq FROM event WHERE id = ?1")?
            .query_row([id.to_string()], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64)))
            .optional()
    }

    pub(super) fn amount(&self, lane: &str) -> rusqlite::Result<(usize, u64)> {
        let found = self
            .transaction
            .prepare_cached("SELECT commits, bytes FROM amount WHERE lane = ?1")?
            .query_row([lane], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?)))
            .optional()?;
        Ok(found.map_or((0, 0), |(commits, bytes)| (commits as usize, bytes as u64)))
    }

    pub(super) fn set_amount(
        &self,
        lane: &str,
        (commits, bytes): (usize, u64),
    ) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached(
                "INSERT OR REPLACE INTO amount (lane, commits, bytes) VALUES (?1, ?2, ?3)",
            )?
            .execute(params![lane, number(commits as u64), number(bytes)])
            .map(drop)
    }

    pub(super) fn start(
        &self,
        onto: Option<ObjectId>,
    ) -> rusqlite::Result<(Option<ObjectId>, u64)> {
        let step = onto.map(|id| self.step(&id)).transpose()?.flatten();
        Ok((onto, step.map_or(0, |(_, seq)| seq)))
    }
}

/// Where events are read.
pub(super) struct Origin<'l> {
    pub(super) lane: &'l LaneRef,
    /// It is this clone's own.
    pub(super) is_own: bool,
    /// The lane commit that holds them, hex.
    pub(super) commit: Rc<str>,
}

/// A row of `event`.
pub(super) const INSERT: &str = "INSERT OR IGNORE INTO event
    (id, proposal, lane, seq, commit_id, kind, time, plan, body, is_line, statement, manifest, figures)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)";

/// Adds an event by the statement [`INSERT`], with what a snapshot counts of its proposal; `false` where it
/// is there already.
fn insert_row(
    insert: &mut CachedStatement<'_>,
    origin: &Origin<'_>,
    row: &Row,
    figures: Option<&str>,
) -> rusqlite::Result<bool> {
    let added = insert.execute(params![
        row.hex,
        row.proposal.as_ref().map(|id| id.as_str()),
        origin.lane.lane(),
        number(row.seq),
        &*origin.commit,
        row.kind(),
        row.time(),
        row.plan,
        row.body,
        row.beside.is_some(),
        row.beside.as_ref().and_then(|beside| beside.statement.as_ref()),
        row.beside.as_ref().and_then(|beside| beside.manifest.as_ref()),
        figures,
    ])?;
    Ok(added > 0)
}
