//! Beginning an epoch of a lane: what was decided long ago goes from commits of its own into a
//! snapshot, and the lane goes on from there under the same id.
//!
//! Nothing is left out: each event of the epoch before is in the snapshot or restated in a commit,
//! in its own bytes, and readers hold an epoch to that (`cache/lanes/histories.rs`). What goes is the
//! content of files, and the commits and trees. The epoch before is kept as an archive.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use chrono::{DateTime, Duration, SubsecRound as _, Utc};
use gix::ObjectId;
use gix::objs::Kind;

use super::contents::{Brief, Contents, Lines, Place, Places};
use super::lock::Lock;
use super::objects::Batch;
use super::refs::{self, Audience, LaneRef};
use super::{Store, View, compose, place};
use crate::error::{Error, Result};
use crate::flush::Method;
use crate::proposal::event::{BlobRef, Fold, Head};
use crate::proposal::snapshot::{self, MAX_SUBJECT};
use crate::proposal::{Actor, Data, Event, ProposalId, Stamped, State};

/// Lanes with more events than this that can be folded are due.
const MOST_EVENTS: usize = 10_000;

/// How old the oldest event that can be folded may become before its lane is due.
const OLDEST: Duration = Duration::days(180);

/// Parts of a snapshot that wait in memory to be written.
const MOST_WAITING: usize = 8;

/// What is to be folded.
#[derive(Clone, Copy, Debug)]
pub struct Folding {
    /// Whatever can be, whether it is due or not.
    pub all: bool,
    /// What something has happened to since then stays as it is.
    pub before: DateTime<Utc>,
    /// Nothing is written.
    pub dry_run: bool,
}

/// What became of a lane.
#[derive(Clone, Debug)]
pub struct Folded {
    /// The lane.
    pub lane: String,
    /// Whom it is for.
    pub audience: Audience,
    /// A new epoch has begun, or would begin but for `dry_run`.
    pub is_new: bool,
    /// The epoch that the lane is in then.
    pub epoch: u64,
    /// How many proposals went into the snapshot, those of earlier ones not counted.
    pub proposals: usize,
    /// How many events did.
    pub events: usize,
    /// How many events stay in commits.
    pub whole: usize,
    /// The ref of the lane.
    pub name: String,
    /// The ref that the lane had before.
    pub before: String,
    /// The ref that keeps the epoch before.
    pub archive: String,
}

/// What an epoch begins with.
#[derive(Default)]
struct NextEpoch {
    /// In no commit any more.
    folded: BTreeSet<ObjectId>,
    /// What the snapshot says.
    places: Places,
    /// How many proposals are new in it.
    proposals: usize,
    /// The time of the oldest event that is new in it, in milliseconds.
    oldest: Option<i64>,
    /// What the epoch before says, but for its snapshot.
    contents: Contents,
}

impl Store {
    /// Folds this clone's own lanes where that is due. One that it did not begin itself is left
    /// alone.
    ///
    /// # Errors
    /// `busy`, `lane_broken`, `ci_has_no_lane`, and those of the file system. A lane is as it was then,
    /// or in its new epoch.
    pub fn fold_lanes(
        &self,
        actor: &Actor,
        now: DateTime<Utc>,
        folding: Folding,
    ) -> Result<Vec<Folded>> {
        self.require_lane()?;
        let view = self.view()?;
        let own: Vec<Audience> =
            view.own_lanes(self).iter().map(|own| own.audience.clone()).collect();
        drop(view);
        let mut folded = Vec::new();
        for audience in own {
            folded.extend(self.fold_lane(actor, now, folding, &audience)?);
        }
        Ok(folded)
    }

    fn fold_lane(
        &self,
        actor: &Actor,
        now: DateTime<Utc>,
        folding: Folding,
        audience: &Audience,
    ) -> Result<Option<Folded>> {
        let Some(private) = self.repository().private()? else { return Ok(None) };
        let _lock = Lock::acquire(&private, "lock")?;
        let view = self.view()?;
        let mut own = match self.named_lane() {
            Some(name) => place::Own::named(name),
            None => place::own(&private, audience, |lane| view.is_shared(lane))?,
        };
        let names = view.lanes.iter().map(|known| known.name.as_str());
        let Some(name) = refs::newest(names, audience, &own.lane).map(str::to_owned) else {
            return Ok(None);
        };
        let Some(tip) = refs::target(&self.repository().repo, &name)? else { return Ok(None) };
        let last = view.positions()?.get(&name).map_or(0, |position| position.seq);
        let plan = self.plan(&view, &LaneRef { name: name.clone(), tip }, folding.before)?;
        let epoch = refs::epoch_of(&name).unwrap_or(1);
        let count = plan.contents.rows.len();
        let events = plan.folded.len();
        let due = folding.all
            || events > MOST_EVENTS
            || plan.oldest.is_some_and(|oldest| oldest <= (now - OLDEST).timestamp_millis());
        let is_new = due && events > 0;
        let folded = Folded {
            lane: own.lane.clone(),
            audience: audience.clone(),
            is_new,
            epoch: epoch + u64::from(is_new),
            proposals: plan.proposals,
            events,
            whole: count - events,
            name: audience.lane(&own.lane, epoch + u64::from(is_new)),
            before: name.clone(),
            archive: audience.archive(&own.lane, epoch),
        };
        if !is_new || folding.dry_run {
            return Ok(Some(folded));
        }
        let from = Head { lane: own.lane.clone(), seq: last, tip: tip.to_string() };
        let durable = self.repository().settings()?.durable;
        let new = self.epoch(&view, plan, (epoch + 1, &from), (actor, now), durable)?;
        crate::failpoint!("epoch.objects");
        let dir = &self.repository().common_dir;
        let archived = refs::target(&self.repository().repo, &folded.archive)?;
        refs::compare_and_swap(
            &self.repository().repo,
            dir,
            &folded.archive,
            archived,
            tip,
            durable,
        )?
        .sure()?;
        crate::failpoint!("epoch.archived");
        if self.named_lane().is_none() {
            place::claim(&private, &mut own)?;
            place::advance(&private, &own, epoch + 1)?;
        }
        crate::failpoint!("epoch.noted");
        refs::compare_and_swap(&self.repository().repo, dir, &folded.name, None, new, durable)?
            .sure()?;
        crate::failpoint!("epoch.moved");
        refs::remove(&self.repository().repo, dir, &name)?;
        crate::failpoint!("epoch.removed");
        // Built again at once, while somebody waits who knows that this takes a moment.
        drop(view);
        self.view_with_new_cache()?;
        Ok(Some(folded))
    }

    /// Decides what is folded: all that is said here of proposals that were decided, and that nothing
    /// has happened to since `before`; plans but for their last version, and direct patches.
    fn plan(&self, view: &View, lane: &LaneRef, before: DateTime<Utc>) -> Result<NextEpoch> {
        let before = before.timestamp_millis();
        let mut contents = self.contents(lane)?;
        let mut plan =
            NextEpoch { places: std::mem::take(&mut contents.lines), ..NextEpoch::default() };
        let troubled: BTreeSet<&str> =
            view.troubles().iter().filter_map(|trouble| trouble.proposal.as_deref()).collect();
        let rows = &contents.rows;
        let newest: HashMap<&str, u64> =
            rows.iter().filter_map(|row| Some((row.plan.as_deref()?, row.seq))).collect();
        let mut lines = Lines::new(self, lane.lane());
        let mut about: BTreeMap<&ProposalId, Vec<&Brief>> = BTreeMap::new();
        for row in rows {
            if let Some(id) = &row.proposal {
                about.entry(id).or_default().push(row);
                continue;
            }
            let is_last = row.plan.as_deref().is_some_and(|key| newest.get(key) == Some(&row.seq));
            let is_old = row.time < before && !is_last;
            if is_old
                && row.is_loose
                && lines.of(row.id).is_some_and(|line| line.size() <= MAX_SUBJECT)
            {
                plan.add(row);
            }
        }
        for (id, rows) in about {
            if troubled.contains(id.as_str()) || !view.is_settled(id, before)? {
                continue;
            }
            let sizes: Option<Vec<usize>> =
                rows.iter().map(|row| lines.of(row.id).map(|line| line.size())).collect();
            if sizes.is_none_or(|sizes| sizes.iter().sum::<usize>() > MAX_SUBJECT) {
                continue;
            }
            plan.proposals += 1;
            rows.into_iter().for_each(|row| plan.add(row));
        }
        plan.contents = contents;
        Ok(plan)
    }

    /// The commits of the epoch: the parts of its snapshot, then what stays whole. Returns the last. What
    /// is done is written meanwhile.
    fn epoch(
        &self,
        view: &View,
        plan: NextEpoch,
        (epoch, from): (u64, &Head),
        (actor, now): (&Actor, DateTime<Utc>),
        durable: bool,
    ) -> Result<ObjectId> {
        let mut batch = Batch::new(&self.repository().repo);
        let method = if durable {
            Method::durable(batch.directory(), &self.repository().common_dir)
        } else {
            Method::No
        };
        let NextEpoch { folded, places, contents, .. } = plan;
        let (mut parts, mut writer) = (Vec::new(), snapshot::Writer::default());
        let mut lines = Lines::new(self, &from.lane);
        for subject in lines.subjects(|id, _| view.figures(id), places, contents.stubs) {
            for part in writer.add(&subject?) {
                parts.push(named(&mut batch, &part)?);
                if parts.len().is_multiple_of(MOST_WAITING) {
                    batch.write(method)?;
                }
            }
        }
        parts.push(named(&mut batch, &writer.into_last())?);
        let mut tip = self.snapshot_commits(&mut batch, parts, (epoch, from), (actor, now))?;
        for step in &contents.steps {
            let rows = step.of(&contents.rows);
            let ids: Vec<ObjectId> =
                rows.iter().map(|row| row.id).filter(|id| !folded.contains(id)).collect();
            tip = self.restated(&mut batch, (step.commit, rows.len()), &ids, tip)?;
        }
        batch.write(method)?;
        tip.ok_or_else(|| Error::bug("an epoch of nothing"))
    }

    /// The commits of the parts of the snapshot that `epoch` of a lane begins with, which goes on from
    /// `from`. Returns the last; `None` where there are no parts.
    pub(super) fn snapshot_commits(
        &self,
        batch: &mut Batch<'_>,
        parts: Vec<(ObjectId, String)>,
        (epoch, from): (u64, &Head),
        (actor, now): (&Actor, DateTime<Utc>),
    ) -> Result<Option<ObjectId>> {
        let (count, mut tip) = (parts.len() as u64, None);
        for (part, (id, sha256)) in (1_u64..).zip(parts) {
            let snapshot = BlobRef { id: id.to_string(), sha256 };
            let fold = Fold { epoch, from: from.to_text(), part, parts: count, snapshot };
            let event = Event {
                proposal: None,
                first: None,
                lane: from.lane.clone(),
                seq: from.seq + part,
                actor: actor.clone(),
                agent: None,
                time: now.trunc_subsecs(3),
                heads: Vec::new(),
                witness: Vec::new(),
                forked: None,
                needs: None,
                data: Data::Fold(fold),
            };
            let id_of_event = batch.add(Kind::Blob, &event.to_bytes()?)?;
            let stamped = Stamped { id: id_of_event.to_string(), event };
            let attached = vec![compose::attachment("snapshot", 0, id)];
            tip = Some(compose::commit(&self.repository().repo, batch, &[stamped], attached, tip)?);
        }
        Ok(tip)
    }

    /// The commit of `events`, those of the `all` events of `commit` that stay, on `parent`; `parent`
    /// where none stays.
    pub(super) fn restated(
        &self,
        batch: &mut Batch<'_>,
        (commit, all): (ObjectId, usize),
        events: &[ObjectId],
        parent: Option<ObjectId>,
    ) -> Result<Option<ObjectId>> {
        Ok(match events.len() {
            0 => parent,
            count if count == all => {
                Some(compose::on(&self.repository().repo, batch, commit, parent)?)
            }
            _ => Some(self.without(batch, events, parent)?),
        })
    }

    /// A commit of these events out of one that had more.
    fn without(
        &self,
        batch: &mut Batch<'_>,
        events: &[ObjectId],
        parent: Option<ObjectId>,
    ) -> Result<ObjectId> {
        let (mut stay, mut attached) = (Vec::new(), Vec::new());
        for (index, id) in events.iter().enumerate() {
            let id = id.to_string();
            let event = Event::from_bytes(&self.blob(&id)?)?;
            let mut stamped = Stamped { id, event };
            attached.extend(compose::attachments(&self.repository().repo, &mut stamped, index)?);
            stay.push(stamped);
        }
        compose::commit(&self.repository().repo, batch, &stay, attached, parent)
    }
}

impl NextEpoch {
    fn add(&mut self, row: &Brief) {
        self.folded.insert(row.id);
        self.oldest = Some(self.oldest.map_or(row.time, |oldest| oldest.min(row.time)));
        let place = (row.seq, Place::Object(row.id));
        self.places.entry(row.proposal.clone()).or_default().push(place);
    }
}

/// Adds a part of a snapshot to `batch`. Returns its id, and its SHA-256 as hex.
pub(super) fn named(batch: &mut Batch<'_>, part: &[u8]) -> Result<(ObjectId, String)> {
    Ok((batch.add(Kind::Blob, part)?, crate::sha256::hex(part)))
}

impl View {
    /// Whether the proposal `id` was decided, one decision alone stands, this version understands all of it,
    /// and nothing has been said of it since `before`, in milliseconds.
    fn is_settled(&self, id: &ProposalId, before: i64) -> Result<bool> {
        let Ok(proposal) = self.proposal(id) else { return Ok(false) };
        let is_decided = proposal.state != State::Pending;
        Ok(is_decided
            && proposal.beside.is_empty()
            && proposal.needs.is_none()
            && self.last_said(id)?.is_some_and(|time| time < before))
    }
}
