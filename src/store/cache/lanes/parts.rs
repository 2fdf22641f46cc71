//! Reading parts of snapshots: each has a thousand proposals, which are folded as they are read.

use std::collections::BTreeSet;

use gix::ObjectId;
use rusqlite::params;

use super::batches::{INSERT, Origin};
use super::{Pass, number};
use crate::proposal::event::Head;
use crate::store::cache::filling::Filling;
use crate::store::cache::parsed::Parsed;
use crate::store::cache::update::Folding;
use crate::store::lane::{Bad, Line, Part};

impl<'a> Pass<'a> {
    /// Adds what `part` says, with which the lane comes to `seq`. Where an `epoch` begins with it, its first
    /// commit and the last position before it are given.
    pub(super) fn take_part(
        &mut self,
        origin: &Origin<'_>,
        part: &Part,
        epoch: Option<(ObjectId, u64)>,
        seq: u64,
    ) -> rusqlite::Result<Result<(), Bad>> {
        let mut folding = None;
        if let Some(steps) = self.filling.as_ref().map(Filling::steps) {
            self.compare_read(origin.lane.lane())?;
            // Its own lane is read up to here.
            let own = self.seen().into_iter().map(|(lane, seen)| match origin.is_own {
                true if lane == origin.lane.lane() => (lane, seq),
                _ => (lane, seen),
            });
            folding = Some(Folding::new(self.transaction, own.collect(), Some(steps))?);
        }
        self.transaction.execute_batch("SAVEPOINT part")?;
        if let Some((root, before)) = epoch {
            self.transaction
                .prepare_cached(
                    "INSERT OR IGNORE INTO epoch (root, lane, seq) VALUES (?1, ?2, ?3)",
                )?
                .execute(params![root.as_bytes(), origin.lane.lane(), number(before)])?;
        }
        let mut folded = BTreeSet::new();
        let read = self.take_lines(origin, part, folding, &mut folded)?;
        if read.is_err() {
            // Nothing of a bad commit counts.
            self.transaction.execute_batch("ROLLBACK TO part")?;
            let again = if origin.is_own { &mut self.touched } else { &mut self.fetched };
            again.append(&mut folded);
            self.question()?;
        }
        self.transaction.execute_batch("RELEASE part")?;
        Ok(read)
    }

    /// The same, up to the first line that is bad. With a `folding` each proposal is folded once another one
    /// follows, and goes to `folded`: while the next is read its memory is free again.
    fn take_lines(
        &mut self,
        origin: &Origin<'_>,
        part: &Part,
        mut folding: Option<Folding<'a>>,
        folded: &mut BTreeSet<String>,
    ) -> rusqlite::Result<Result<(), Bad>> {
        let lines = match part.lines() {
            Ok(lines) => lines,
            Err(bad) => return Ok(Err(bad)),
        };
        let mut insert = self.transaction.prepare_cached(INSERT)?;
        for line in lines {
            match line {
                Err(bad) => return Ok(Err(bad)),
                Ok(Line::Stub(id, stub)) => {
                    self.end_filling()?;
                    self.transaction
                        .prepare_cached(
                            "INSERT OR IGNORE INTO stub (proposal, lane) VALUES (?1, ?2)",
                        )?
                        .execute([id.as_str(), origin.lane.lane()])?;
                    let forked = stub.forked.as_deref().and_then(Head::parse);
                    let witness = stub.witness.iter().filter_map(|tip| Head::parse(tip)).collect();
                    self.remember(origin, forked, witness)?;
                }
                Ok(Line::Event(row)) => {
                    folding.take_if(|folding| self.filling.is_none() || !folding.is_plain());
                    let other =
                        row.proposal.as_ref().is_some_and(|id| !self.parsed.is_last(id.as_str()));
                    if let Some(folding) = folding.as_mut().filter(|_| other) {
                        folded.extend(self.fold_last(folding)?);
                    }
                    self.add(origin, &mut insert, row)?;
                }
            }
        }
        Ok(Ok(()))
    }

    /// Folds the proposal that was met last, of which there is nothing else.
    fn fold_last(&mut self, folding: &mut Folding<'a>) -> rusqlite::Result<Option<String>> {
        let Some((id, fresh)) = self.parsed.take_whole() else { return Ok(None) };
        if let Some(filling) = &mut self.filling {
            filling.fold(std::iter::once(&id));
        }
        self.touched.remove(&id);
        let is_news = self.fetched.remove(&id);
        let traces = is_news.then(|| self.traces());
        folding.fold(&self.objects, &id, (Some(fresh), &mut Parsed::default()), traces)?;
        Ok(Some(id))
    }
}
