//! Which histories of one lane are read: whoever may push can begin any number under its name.

use std::collections::{BTreeSet, HashMap, HashSet};

use gix::ObjectId;

use super::super::purge;
use super::{MOST_HISTORIES, Pass, id};
use crate::proposal::{Data, ProposalId};
use crate::store::lane::{Chain, Limits, Progress, Reader};
use crate::store::refs::{self, LaneRef};

/// How many histories of one lane are kept in addition where an epoch that has all of a kept one begins
/// another: it takes the place of that one.
const MOST_EPOCHS: usize = 8 * MOST_HISTORIES;

/// Events, with the proposals that they are about.
type Said = HashMap<ObjectId, Option<ProposalId>>;

impl Pass<'_> {
    /// Whether the history that `chain` begins, which `lane` leads to, is read.
    ///
    /// Parts that somebody has given names of their own are counted by themselves: they are in the way of each
    /// other, and of nothing that bears the lane's name. Nor does it count how many there are where an
    /// epoch says all that is known of one of them, or where all of it is known from an epoch.
    pub(super) fn may_begin(&mut self, lane: &LaneRef, chain: &Chain) -> rusqlite::Result<bool> {
        let kept = self.kept(lane.lane()).count();
        if refs::part_of(&lane.name).is_some() {
            let is_part = |name: &String| {
                name.starts_with(refs::REMOTES)
                    && refs::lane_of(name) == lane.lane()
                    && refs::part_of(name).is_some()
                    && *name != lane.name
            };
            let rows =
                self.rows.iter().filter(|(name, row)| is_part(name) && row.reached.is_some());
            return Ok(kept < MOST_HISTORIES && rows.count() < MOST_HISTORIES);
        }
        if !(2 * MOST_HISTORIES..MOST_EPOCHS).contains(&kept) {
            return Ok(kept < MOST_EPOCHS);
        }
        self.end_filling()?;
        let said = self.all_of(lane, chain)?;
        for (id, of) in &said {
            if !self.is_told(lane.lane(), id, of.as_ref())? {
                return self.restates(lane, &said);
            }
        }
        Ok(true)
    }

    /// Whether the event `id` of `lane`, about the proposal `of`, is known, if only as a stub.
    fn is_told(
        &self,
        lane: &str,
        id: &ObjectId,
        of: Option<&ProposalId>,
    ) -> rusqlite::Result<bool> {
        if let Some((known, _)) = self.known_event(id)? {
            return Ok(known == lane);
        }
        let Some(of) = of else { return Ok(false) };
        self.transaction
            .prepare_cached("SELECT 1 FROM stub WHERE proposal = ?1 AND lane = ?2")?
            .exists([of.as_str(), lane])
    }

    /// The events of `chain` and what they are about, stubs of purged ones included.
    fn all_of(&self, lane: &LaneRef, chain: &Chain) -> rusqlite::Result<Said> {
        let mut purged = purge::ids(self.transaction)?;
        let (mut said, mut stubs) = (Said::new(), Vec::new());
        let mut reader =
            Reader::new(&self.store.repository().repo, lane, Limits::FOREIGN, Progress::default());
        for link in &chain.links {
            let Ok(read) = reader.read(link) else { break };
            for row in read.rows {
                // That of a proposal of which it has only stubs comes behind them.
                if let (Data::Purge(purge), Some(of)) = (&row.event.data, &row.proposal)
                    && !purge.asked
                {
                    purged.insert(of.to_string());
                }
                said.insert(row.id, row.proposal);
            }
            stubs.extend(read.stubs.into_iter().filter_map(|(of, stub)| Some((of, id(&stub.id)?))));
        }
        let stubs = stubs.into_iter().filter(|(of, _)| purged.contains(of.as_str()));
        said.extend(stubs.map(|(of, stub)| (stub, Some(of))));
        Ok(said)
    }

    /// Whether `said` has every event of a history of `lane` that is kept.
    fn restates(&self, lane: &LaneRef, said: &Said) -> rusqlite::Result<bool> {
        let kept: BTreeSet<ObjectId> =
            self.kept(lane.lane()).filter_map(|(_, tip)| id(tip)).collect();
        let said: HashSet<ObjectId> = said.keys().copied().collect();
        for tip in kept {
            if self.covered(lane.lane(), tip, &said, u64::MAX)?.0 == Some(tip) {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
