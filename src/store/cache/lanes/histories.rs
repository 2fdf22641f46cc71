//! Holding the histories of one lane against each other: what is kept, what goes on from what, what
//! is reported.

use std::collections::{BTreeSet, HashSet};

use gix::ObjectId;
use rusqlite::{OptionalExtension as _, params};

use super::super::{forks, purge};
use super::{Pass, id, report};
use crate::proposal::ProposalId;
use crate::store::lane::{Limits, Progress, Reader};
use crate::store::refs::{self, LaneRef};
use crate::store::trouble::{Trouble, TroubleKind};

impl Pass<'_> {
    /// Holds the histories of a fetched lane against each other, remembers them, and reports what
    /// was rewound or forked.
    pub(super) fn compare(&mut self, lane: &str) -> rusqlite::Result<()> {
        self.transaction
            .prepare_cached("DELETE FROM trouble WHERE lane = ?1 AND kind IN (?2, ?3)")?
            .execute([lane, TroubleKind::Rewound.id(), TroubleKind::Equivocates.id()])?;
        self.bind(lane)?;
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
        if super::is_shallow(self.transaction, lane)? {
            // What is between them is not here, so that nothing tells whether one goes on from the other.
            return Ok(());
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
    pub(super) fn tips(&self, lane: &str) -> Vec<String> {
        let rows = self.rows.iter().filter(|(name, _)| refs::lane_of(name) == lane);
        let tips: BTreeSet<&String> = rows.filter_map(|(_, row)| row.reached.as_ref()).collect();
        tips.into_iter().cloned().collect()
    }

    /// Takes a lane of several histories apart, and sees to it that what they say is folded again.
    pub(super) fn divide(&mut self, lane: &str, own: Option<&str>) -> rusqlite::Result<()> {
        let tips: BTreeSet<ObjectId> = self.tips(lane).iter().filter_map(|tip| id(tip)).collect();
        let (repo, own) = (&self.store.repository().repo, own.and_then(id));
        if !forks::divide(repo, self.transaction, lane, own, &tips)? {
            return Ok(());
        }
        // Which part an event is in is not known of those in memory.
        self.end_filling()?;
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
    pub(super) fn compare_own(&mut self, lane: &str) -> rusqlite::Result<()> {
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

    /// Remembers below `home` that `reached` was seen of `lane`. Not being able to is no error: a
    /// repository that cannot be written can still be read.
    pub(super) fn keep(&mut self, home: &str, lane: &str, reached: &str) -> rusqlite::Result<()> {
        let Some(new) = id(reached) else { return Ok(()) };
        let kept: Vec<(String, String)> =
            self.kept(lane).map(|(name, tip)| (name.to_owned(), tip.to_owned())).collect();
        let mut extends = Vec::new();
        for (name, tip) in &kept {
            if self.is_within(reached, id(tip).as_ref())? {
                return Ok(());
            }
            if self.is_within(tip, Some(&new))? {
                extends.push((name.clone(), id(tip)));
            }
        }
        let moves_on = extends.first().cloned();
        let (name, expected) = moves_on.clone().unwrap_or_else(|| {
            let first = format!("{home}{lane}");
            // A lane that somebody has named may have the name of a remote, whose lanes are kept below that.
            let is_named = lane.len() != 16 || !lane.bytes().all(|b| b.is_ascii_hexdigit());
            let taken = is_named || kept.iter().any(|(name, _)| *name == first);
            (if taken { format!("{first}.{}", new.to_hex_with_len(8)) } else { first }, None)
        });
        let store = self.store;
        let dir = &store.repository().common_dir;
        if refs::compare_and_swap(&store.repository().repo, dir, &name, expected, new, false)
            .is_ok()
        {
            let seq = self.step(&new)?.map_or(0, |(_, seq)| seq);
            self.record(&LaneRef { name, tip: new }, Some(new), seq)?;
            if let Some((_, Some(old))) = moves_on
                && !self.is_ancestor(&old.to_string(), Some(&new))?
            {
                // It has moved on to a new epoch.
                self.begins_again = true;
            }
            // An epoch may go on from several.
            for (name, tip) in extends.into_iter().skip(1) {
                if refs::target(&store.repository().repo, &name).is_ok_and(|target| target == tip)
                    && refs::remove_all(&store.repository().repo, dir, &[name], false).is_ok()
                {
                    self.begins_again = true;
                }
            }
        }
        Ok(())
    }

    /// The refs that remember `lane`, and how far they could be read.
    pub(super) fn kept<'s>(&'s self, lane: &'s str) -> impl Iterator<Item = (&'s str, &'s str)> {
        self.rows
            .range(refs::KEPT.to_owned()..)
            .take_while(|(name, _)| name.starts_with(refs::KEPT))
            .filter(move |(name, _)| refs::lane_of(name) == lane)
            .filter_map(|(name, row)| Some((name.as_str(), row.reached.as_deref()?)))
    }

    /// Whether all that the known commit `inner` and those before it say is in `outer` or before it.
    pub(super) fn is_within(
        &self,
        inner: &str,
        outer: Option<&ObjectId>,
    ) -> rusqlite::Result<bool> {
        self.is_behind(inner, outer, |id| {
            forks::parents(&self.store.repository().repo, self.transaction, id)
        })
    }

    /// Whether the known commit `inner` is `outer` or one of its ancestors.
    pub(super) fn is_ancestor(
        &self,
        inner: &str,
        outer: Option<&ObjectId>,
    ) -> rusqlite::Result<bool> {
        self.is_behind(inner, outer, |id| {
            Ok(forks::git_parent(&self.store.repository().repo, id).into_iter().collect())
        })
    }

    fn is_behind(
        &self,
        inner: &str,
        outer: Option<&ObjectId>,
        parents: impl Fn(&ObjectId) -> rusqlite::Result<Vec<ObjectId>>,
    ) -> rusqlite::Result<bool> {
        let (Some(inner), Some(outer)) = (id(inner), outer) else { return Ok(false) };
        let Some((_, least)) = self.step(&inner)? else { return Ok(inner == *outer) };
        let (mut todo, mut met) = (vec![*outer], HashSet::new());
        while let Some(at) = todo.pop() {
            if at == inner {
                return Ok(true);
            }
            // Positions never fall along a lane.
            if self.step(&at)?.is_some_and(|(_, seq)| seq >= least) && met.insert(at) {
                todo.extend(parents(&at)?);
            }
        }
        Ok(false)
    }

    /// Whether some ref leads to the commit `tip` of `lane`, which one has led to.
    pub(super) fn is_held(&self, lane: &str, tip: &str) -> rusqlite::Result<bool> {
        Ok(self.holder(lane, tip)?.is_some())
    }

    /// Such a ref.
    pub(super) fn holder(&self, lane: &str, tip: &str) -> rusqlite::Result<Option<String>> {
        for (name, row) in self.rows.iter().filter(|(name, _)| refs::lane_of(name) == lane) {
            if self.is_ancestor(tip, row.reached.as_deref().and_then(id).as_ref())? {
                return Ok(Some(name.clone()));
            }
        }
        Ok(None)
    }

    /// Finds out what the epochs of `lane` go on from: of each other history the commits up to which
    /// the epoch has all their events. What an epoch says it goes on from is not asked: that commit
    /// may have been fetched or not, and what counts is that nothing is left out.
    fn bind(&self, lane: &str) -> rusqlite::Result<()> {
        // Whoever may push chooses how many there are: as many as are read of a lane, and some more.
        let mut statement = self.transaction.prepare_cached(
            "SELECT root, onto, seq FROM epoch WHERE lane = ?1 ORDER BY seq DESC, root LIMIT 32",
        )?;
        let roots = statement
            .query_map([lane], |row| {
                let last = row.get::<_, i64>(2)? as u64;
                Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?, last))
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        let mut bound = Vec::new();
        for (root, onto, last) in roots {
            let Ok(root) = ObjectId::try_from(&root[..]) else { continue };
            let mut onto = forks::ids(&self.store.repository().repo, &onto.unwrap_or_default());
            let (mut inside, mut outside, mut says_more) = (Vec::new(), Vec::new(), false);
            for tip in self.tips(lane).iter().filter_map(|tip| id(tip)) {
                let seen = self.bound(&root, &tip)?;
                let is_inside = match seen {
                    Some(is_inside) => is_inside,
                    None => self.begins_with(&root, tip)?,
                };
                if is_inside {
                    inside.push(tip)
                } else {
                    outside.push((tip, seen.is_none()))
                }
                if seen.is_none() {
                    says_more |= is_inside;
                    self.transaction
                        .prepare_cached(
                            "INSERT INTO bound (root, tip, is_inside) VALUES (?1, ?2, ?3)",
                        )?
                        .execute(params![root.as_bytes(), tip.as_bytes(), is_inside])?;
                }
            }
            let mut open = Vec::new();
            for (tip, is_new) in outside {
                // The rest of one that was left out in part may have come.
                if is_new || says_more && !self.is_within(&tip.to_string(), Some(&root))? {
                    open.push(tip);
                }
            }
            if open.is_empty() {
                continue;
            }
            let said = self.said(lane, inside)?;
            let (mut furthest, mut all) =
                (onto.first().copied(), onto.split_off(onto.len().min(1)));
            for tip in open {
                let (covered, before) = self.covered(lane, tip, &said, last)?;
                let Some(mut covered) = covered else { continue };
                all.extend(before);
                if self.is_within(&root.to_string(), Some(&covered))? {
                    // A later epoch, which says nothing else either, goes on from this one.
                    let Some(before) = before else { continue };
                    covered = before;
                }
                let is_further = match &furthest {
                    None => true,
                    Some(known) => (self.seq(known)?, *known) < (self.seq(&covered)?, covered),
                };
                if is_further {
                    all.extend(furthest.replace(covered));
                }
            }
            self.set_onto(&root, &Vec::from_iter(furthest))?;
            bound.push((root, furthest, all));
        }
        // An earlier epoch first: what it goes on from, one that goes on from it does as well.
        for (root, furthest, mut all) in bound.into_iter().rev() {
            let mut onto = Vec::from_iter(furthest);
            all.sort_by_cached_key(|id| self.seq(id).ok().map(|seq| (seq, *id)));
            while let Some(before) = all.pop() {
                let mut is_known = onto.len() >= super::MOST_HISTORIES;
                for other in &onto {
                    is_known = is_known || self.is_within(&before.to_string(), Some(other))?;
                }
                if !is_known {
                    onto.push(before);
                }
            }
            self.set_onto(&root, &onto)?;
        }
        Ok(())
    }

    fn seq(&self, id: &ObjectId) -> rusqlite::Result<Option<u64>> {
        Ok(self.step(id)?.map(|(_, seq)| seq))
    }

    /// Notes what the epoch that begins with `root` goes on from.
    fn set_onto(&self, root: &ObjectId, onto: &[ObjectId]) -> rusqlite::Result<()> {
        let bytes: Vec<u8> = onto.iter().flat_map(|id| id.as_bytes().iter().copied()).collect();
        self.transaction
            .prepare_cached("UPDATE epoch SET onto = ?2 WHERE root = ?1")?
            .execute(params![root.as_bytes(), bytes])
            .map(drop)
    }

    /// The events of the histories of `lane` up to `tips`. One that is only a stub counts where its
    /// proposal was purged by its owner: anybody else's lane may leave nothing out.
    fn said(&self, lane: &str, tips: Vec<ObjectId>) -> rusqlite::Result<HashSet<ObjectId>> {
        let purged = purge::ids(self.transaction)?;
        let counts = |of: Option<ProposalId>| of.is_none_or(|of| purged.contains(of.as_str()));
        let mut reader = self.any_reader(lane);
        let (mut said, mut walked) = (HashSet::new(), HashSet::new());
        for tip in tips {
            let mut next = Some(tip);
            while let Some(at) = next.filter(|at| walked.insert(*at)) {
                let Ok((ids, parent)) = reader.ids(at) else { break };
                said.extend(ids.into_iter().filter_map(|(id, of)| counts(of).then_some(id)));
                next = parent;
            }
        }
        Ok(said)
    }

    /// Of the history of `lane` up to `tip` the last commit up to which all events are in `said`, and the
    /// last such that is at position `last` at most.
    pub(super) fn covered(
        &self,
        lane: &str,
        tip: ObjectId,
        said: &HashSet<ObjectId>,
        last: u64,
    ) -> rusqlite::Result<(Option<ObjectId>, Option<ObjectId>)> {
        let mut reader = self.any_reader(lane);
        let (mut newest_first, mut next) = (Vec::new(), Some(tip));
        while let Some(at) = next {
            let Some((_, seq)) = self.step(&at)? else { break };
            let Ok((ids, parent)) = reader.ids(at) else { break };
            newest_first.push((at, seq, ids.iter().all(|(id, _)| said.contains(id))));
            next = parent;
        }
        let oldest_first = newest_first.iter().rev();
        let covered = || oldest_first.clone().take_while(|(.., is_said)| *is_said);
        let before = covered().take_while(|(_, seq, _)| *seq <= last).last();
        Ok((covered().last().map(|(id, ..)| *id), before.map(|(id, ..)| *id)))
    }

    /// Whether the history up to `tip` begins with `root`, where that was found out before.
    fn bound(&self, root: &ObjectId, tip: &ObjectId) -> rusqlite::Result<Option<bool>> {
        self.transaction
            .prepare_cached("SELECT is_inside FROM bound WHERE root = ?1 AND tip = ?2")?
            .query_row([root.as_bytes(), tip.as_bytes()], |row| row.get(0))
            .optional()
    }

    /// Whether the history up to `tip` begins with `root`: back to a tip of which that is known, so
    /// that what is new of a long history costs as much as it is.
    fn begins_with(&self, root: &ObjectId, tip: ObjectId) -> rusqlite::Result<bool> {
        let mut next = Some(tip);
        while let Some(at) = next {
            if at == *root {
                return Ok(true);
            }
            if let Some(is_inside) = self.bound(root, &at)? {
                return Ok(is_inside);
            }
            next = forks::git_parent(&self.store.repository().repo, &at);
        }
        Ok(false)
    }

    /// Forgets what [`Pass::bind`] has found.
    pub(super) fn unbind(&self, lane: &str) -> rusqlite::Result<()> {
        for sql in [
            "DELETE FROM bound WHERE root IN (SELECT root FROM epoch WHERE lane = ?1)",
            "UPDATE epoch SET onto = NULL WHERE lane = ?1",
        ] {
            self.transaction.prepare_cached(sql)?.execute([lane])?;
        }
        Ok(())
    }

    /// A reader of commits that were read before, within limits.
    fn any_reader(&self, lane: &str) -> Reader<'_> {
        let tip = ObjectId::null(self.store.repository().repo.object_hash());
        let lane = LaneRef { name: lane.to_owned(), tip };
        Reader::new(&self.store.repository().repo, &lane, Limits::LOCAL, Progress::default())
    }

    /// The lane of a commit that counts, and the last position up to it.
    pub(super) fn step(&self, id: &ObjectId) -> rusqlite::Result<Option<(String, u64)>> {
        Ok(forks::step(self.transaction, id)?.map(|(lane, seq, _)| (lane, seq)))
    }
}
