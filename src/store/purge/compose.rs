//! A lane and its archives without a proposal.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, SubsecRound as _, Utc};
use gix::ObjectId;
use gix::objs::Kind;

use super::{Affected, Step};
use crate::error::{Error, Result};
use crate::proposal::event::Head;
use crate::proposal::snapshot::{self, Figures, Stub, Subject};
use crate::proposal::{Actor, Data, Event, ProposalId, Stamped};
use crate::store::cache::About;
use crate::store::lane::{self, Limits, Row};
use crate::store::objects::{Batch, hashed};
use crate::store::refs::{self, LaneRef};
use crate::store::{Store, View, compose, epoch as epochs, place};

/// Events of one commit at most: other clones read no more than ten times as many.
const MOST_OF_A_COMMIT: usize = 100;

/// An archive that has something of a proposal.
pub(super) struct Held {
    /// Its ref.
    pub(super) name: String,
    lane: LaneRef,
    /// To its end.
    pub(super) is_readable: bool,
}

/// The same: its ref, its tip, and the one without.
type Archive = (String, ObjectId, Option<ObjectId>);

impl Store {
    /// Adds the epoch of `affected.lane` without what it says of `affected.ids` to `batch`: `data` is
    /// what stays on record of each. A private lane that was copied here does not become this clone's.
    pub(super) fn begin(
        &self,
        batch: &mut Batch<'_>,
        view: &View,
        affected: Affected,
        (actor, now): (&Actor, DateTime<Utc>),
        data: &Data,
    ) -> Result<Option<Step>> {
        let begun = affected.begun();
        let Affected { lane, ids, is_copied } = &affected;
        let own = if *is_copied || self.named_lane().is_some() {
            None
        } else {
            let private = self.repository().make_private()?;
            Some(place::own(&private, &lane.audience, |lane| view.is_shared(lane))?)
        };
        if own.as_ref().is_some_and(|own| own.lane != lane.lane) {
            return Err(Error::bug("a lane that this clone does not go on writing"));
        }
        let Some(old) = refs::target(&self.repository().repo, &lane.name)? else { return Ok(None) };
        let from = LaneRef { name: lane.name.clone(), tip: old };
        let last = view.own_seq(&lane.name);
        let head = Head { lane: lane.lane.clone(), seq: last, tip: old.to_string() };
        let parts = self.parts_without(&from, ids)?;
        let parts: Result<Vec<_>> = parts.iter().map(|part| epochs::named(batch, part)).collect();
        let parts = parts?;
        let next = last + parts.len() as u64 + 1;
        let tip = self.snapshot_commits(batch, parts, (begun.epoch, &head), (actor, now))?;
        let mut tip = self.rest_without(batch, &from, ids, tip)?;
        let mut events = Vec::new();
        for (seq, id) in (next..).zip(ids) {
            let about = view.lanes_about(About::Proposal(id.as_str()))?;
            let mut heads = view.chains(&lane.audience)?;
            heads.retain(|chain, head| *chain != lane.lane && about.contains(&head.lane));
            let event = Event {
                proposal: Some(id.clone()),
                first: view.first_of(id)?,
                lane: lane.lane.clone(),
                seq,
                actor: actor.clone(),
                agent: None,
                time: now.trunc_subsecs(3),
                heads: heads.into_values().collect(),
                witness: Vec::new(),
                forked: None,
                needs: None,
                data: data.clone(),
            };
            let stamped =
                Stamped { id: batch.add(Kind::Blob, &event.to_bytes()?)?.to_string(), event };
            events.push(stamped);
        }
        for events in events.chunks(MOST_OF_A_COMMIT) {
            tip = Some(compose::commit(&self.repository().repo, batch, events, Vec::new(), tip)?);
        }
        let new = tip.ok_or_else(|| Error::bug("an epoch of nothing"))?;
        Ok(Some(Step { begun, own, old, new }))
    }

    /// The parts of the snapshot of `lane`, and one more where it needs one, with stubs in place of
    /// what it says of `ids`.
    fn parts_without(&self, lane: &LaneRef, ids: &BTreeSet<ProposalId>) -> Result<Vec<Vec<u8>>> {
        let kind = self.repository().repo.object_hash();
        let hash = |bytes: &[u8]| Some(hashed(kind, Kind::Blob, bytes).ok()?.to_string());
        let mut parts = Vec::new();
        let mut stubs: BTreeMap<ProposalId, Vec<Stub>> = BTreeMap::new();
        lane::each_commit(&self.repository().repo, lane, Limits::OWN, |_, said| {
            for row in own(said) {
                if row.kind() == "fold" {
                    let Data::Fold(fold) = &row.event.data else { continue };
                    let bytes = self.blob(&fold.snapshot.id)?;
                    let without = snapshot::without(&bytes, ids, hash);
                    parts.push(without.map_err(Error::bug)?);
                } else if let Some(id) = goes(&row, ids) {
                    let id = id.clone();
                    let stub = Stub::of(&Stamped { id: row.id.to_string(), event: *row.event });
                    stubs.entry(id).or_default().push(stub);
                }
            }
            Ok(())
        })?;
        if !stubs.is_empty() || parts.is_empty() {
            let subjects: Vec<Subject> = stubs
                .into_iter()
                .map(|(id, stubs)| Subject {
                    figures: Some(Figures::none(id)),
                    lines: Vec::new(),
                    stubs,
                })
                .collect();
            parts.extend(snapshot::write(&subjects));
        }
        Ok(parts)
    }

    /// The commits of `lane` that are not of its snapshot, without what they say of `ids`, on `tip`.
    fn rest_without(
        &self,
        batch: &mut Batch<'_>,
        lane: &LaneRef,
        ids: &BTreeSet<ProposalId>,
        mut tip: Option<ObjectId>,
    ) -> Result<Option<ObjectId>> {
        let limits = if refs::is_local(&lane.name) { Limits::OWN } else { Limits::LOCAL };
        lane::each_commit(&self.repository().repo, lane, limits, |commit, said| {
            let rows = own(said);
            let is_part = rows.iter().any(|row| row.kind() == "fold");
            if !is_part {
                let kept = rows.iter().filter(|row| goes(row, ids).is_none());
                let kept: Vec<ObjectId> = kept.map(|row| row.id).collect();
                tip = self.restated(batch, (commit, rows.len()), &kept, tip)?;
            }
            Ok(())
        })?;
        Ok(tip)
    }

    /// The archives that have something of `ids`, composed again without it in `batch`. Their snapshots
    /// go: what is in them is in the lane's newest one, and an archive is there for contents alone.
    pub(super) fn archives_without(
        &self,
        batch: &mut Batch<'_>,
        ids: &BTreeSet<ProposalId>,
    ) -> Result<Vec<Archive>> {
        let mut found = Vec::new();
        for Held { name, lane, is_readable } in self.archives_with(ids)? {
            // What cannot be read cannot be composed, and may have it.
            let new = if is_readable { self.rest_without(batch, &lane, ids, None)? } else { None };
            found.push((name, lane.tip, new));
        }
        Ok(found)
    }

    /// The archives that have something of `ids`, or cannot be read.
    pub(super) fn archives_with(&self, ids: &BTreeSet<ProposalId>) -> Result<Vec<Held>> {
        let mut all = Vec::new();
        for above in refs::ARCHIVES {
            refs::each(&self.repository().repo, above, |name, tip| all.push((name, tip)))?;
        }
        let mut found = Vec::new();
        for (name, tip) in all {
            // A ref has the lane and the number of the epoch; its commits have the lane's own name.
            let last = name.rsplit('/').next().unwrap_or_default();
            let lane = last.split('.').next().unwrap_or_default().to_owned();
            let lane = LaneRef { name: lane, tip };
            let mut has = false;
            let read =
                lane::each_commit(&self.repository().repo, &lane, Limits::LOCAL, |_, said| {
                    has |= said.rows.iter().any(|row| goes(row, ids).is_some());
                    Ok(())
                });
            let is_readable = read.is_ok();
            if has || !is_readable {
                found.push(Held { name, lane, is_readable });
            }
        }
        Ok(found)
    }
}

/// The events of a commit but those of its snapshot.
fn own(said: lane::Said) -> Vec<Row> {
    said.rows.into_iter().filter(|row| row.beside.is_none()).collect()
}

/// The proposal of an event that goes with it.
fn goes<'r>(row: &'r Row, ids: &BTreeSet<ProposalId>) -> Option<&'r ProposalId> {
    row.proposal.as_ref().filter(|id| row.kind() != "purge" && ids.contains(id))
}
