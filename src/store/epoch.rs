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

use super::lane::{self, Limits, Row};
use super::lock::Lock;
use super::objects::Batch;
use super::refs::{self, Audience, LaneRef};
use super::{Store, View, compose, place};
use crate::error::{Error, Result};
use crate::flush::Method;
use crate::proposal::event::{BlobRef, Fold, Head};
use crate::proposal::snapshot::{self, Figures, Line, MAX_SUBJECT, Stub, Subject};
use crate::proposal::{Actor, Data, Event, ProposalId, Stamped, State};

/// Lanes with more events than this that can be folded are due.
const MOST_EVENTS: usize = 10_000;

/// How old the oldest event that can be folded may become before its lane is due.
const OLDEST: Duration = Duration::days(180);

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

/// A commit of the epoch before that is not of its snapshot.
pub(super) struct Step {
    commit: ObjectId,
    pub(super) rows: Vec<Row>,
}

/// What is left of purged proposals.
pub(super) type Stubs = BTreeMap<ProposalId, Vec<Stub>>;

/// Events with their positions, by proposal; those about none in front.
pub(super) type Lines = BTreeMap<Option<String>, Vec<(u64, Line)>>;

/// What an epoch begins with.
#[derive(Default)]
struct Plan {
    /// In no commit any more.
    folded: BTreeSet<ObjectId>,
    /// What the snapshot says.
    subjects: Lines,
    /// Proposals that are new in it.
    proposals: BTreeSet<String>,
    /// The time of the oldest event that is new in it, in milliseconds.
    oldest: Option<i64>,
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
        let Some(private) = self.private()? else { return Ok(None) };
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
        let Some(tip) = refs::target(&self.repo, &name)? else { return Ok(None) };
        let last = view.positions()?.get(&name).map_or(0, |position| position.seq);
        let (lines, stubs, steps) = self.read_lane(&LaneRef { name: name.clone(), tip })?;
        let plan = self.plan(&view, lines, &steps, folding.before)?;
        let epoch = refs::epoch_of(&name).unwrap_or(1);
        let count: usize = steps.iter().map(|step| step.rows.len()).sum();
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
            proposals: plan.proposals.len(),
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
        let mut batch = Batch::new(&self.repo);
        let parts = snapshot::write(&subjects(plan.subjects, stubs, |id| view.figures(id))?);
        let new =
            self.epoch(&mut batch, &parts, (epoch + 1, &from), (actor, now), &steps, &plan.folded)?;
        let durable = self.settings()?.durable;
        let method = match durable {
            true => Method::durable(batch.folder(), &self.common_dir),
            false => Method::No,
        };
        batch.write(method)?;
        crate::failpoint!("epoch.objects");
        let dir = &self.common_dir;
        let archived = refs::target(&self.repo, &folded.archive)?;
        refs::compare_and_swap(&self.repo, dir, &folded.archive, archived, tip, durable)?;
        crate::failpoint!("epoch.archived");
        if self.named_lane().is_none() {
            place::claim(&private, &mut own)?;
            place::advance(&private, &own, epoch + 1)?;
        }
        crate::failpoint!("epoch.noted");
        refs::compare_and_swap(&self.repo, dir, &folded.name, None, new, durable)?;
        crate::failpoint!("epoch.moved");
        refs::remove(&self.repo, dir, &name)?;
        crate::failpoint!("epoch.removed");
        // Built again at once, while somebody waits who knows that this takes a moment.
        drop(view);
        self.forget_cache();
        self.view()?;
        Ok(Some(folded))
    }

    /// The lines of the snapshot that the lane begins with, its stubs, and its other commits, oldest
    /// first.
    pub(super) fn read_lane(&self, lane: &LaneRef) -> Result<(Vec<Row>, Stubs, Vec<Step>)> {
        let (mut lines, mut stubs, mut steps) = (Vec::new(), Stubs::new(), Vec::new());
        lane::each_commit(&self.repo, lane, Limits::OWN, |commit, said| {
            let (old, rows): (Vec<Row>, Vec<Row>) =
                said.rows.into_iter().partition(|row| row.beside.is_some());
            lines.extend(old);
            for (id, stub) in said.stubs {
                stubs.entry(id).or_default().push(stub);
            }
            let rows: Vec<Row> = rows.into_iter().filter(|row| row.kind != "fold").collect();
            if !rows.is_empty() {
                steps.push(Step { commit, rows });
            }
            Ok(())
        })?;
        Ok((lines, stubs, steps))
    }

    /// Decides what is folded: all that is said here of proposals that were decided, and that nothing
    /// has happened to since `before`; plans but for their last version, and direct patches.
    fn plan(
        &self,
        view: &View,
        lines: Vec<Row>,
        steps: &[Step],
        before: DateTime<Utc>,
    ) -> Result<Plan> {
        let before = before.timestamp_millis();
        let mut plan = Plan::default();
        for row in lines {
            plan.subjects.entry(row.about()).or_default().push((row.seq, row.as_line()));
        }
        let troubled: BTreeSet<&str> =
            view.troubles().iter().filter_map(|trouble| trouble.proposal.as_deref()).collect();
        let rows = || steps.iter().flat_map(|step| &step.rows);
        let newest: HashMap<&str, u64> =
            rows().filter_map(|row| Some((row.plan.as_deref()?, row.seq))).collect();
        let mut about: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
        for row in rows() {
            if let Some(id) = &row.proposal {
                about.entry(id.as_str()).or_default().push(row);
                continue;
            }
            let is_last = row.plan.as_deref().is_some_and(|key| newest.get(key) == Some(&row.seq));
            let is_old = row.time < before && !is_last;
            if is_old
                && ["plan", "patch", "undo"].contains(&row.kind.as_str())
                && let Some(line) = self.line(row).filter(|line| line.size() <= MAX_SUBJECT)
            {
                plan.add(row, line);
            }
        }
        for (id, rows) in about {
            let parsed = ProposalId::parse(id)?;
            if troubled.contains(id) || !view.is_settled(&parsed, before)? {
                continue;
            }
            let lines: Option<Vec<Line>> = rows.iter().map(|row| self.line(row)).collect();
            let Some(lines) = lines else { continue };
            if lines.iter().map(Line::size).sum::<usize>() > MAX_SUBJECT {
                continue;
            }
            plan.proposals.insert(id.to_owned());
            for (row, line) in rows.into_iter().zip(lines) {
                plan.add(row, line);
            }
        }
        Ok(plan)
    }

    /// The line of an event; `None` where it has to stay whole, because something that it names is a
    /// long list, the first event of a private proposal, or cannot be read.
    pub(super) fn line(&self, row: &Row) -> Option<Line> {
        if row.beside.is_some() {
            return Some(row.as_line());
        }
        let event = Event::from_bytes(&row.body).ok()?;
        if event.list().is_some() || matches!(event.data, Data::Publish(_)) {
            return None;
        }
        let read = |named: &BlobRef| -> Option<Vec<u8>> {
            let bytes = self.blob(&named.id).ok()?;
            (crate::sha256::hex(&bytes) == named.sha256).then_some(bytes)
        };
        let statement = match event.data.statement() {
            None => None,
            Some(named) => Some(read(named)?),
        };
        let manifest = match statement.as_deref().and_then(snapshot::manifest) {
            None => None,
            Some(named) => Some(read(&named)?),
        };
        let line = Line { event: row.body.clone(), statement, manifest };
        line.is_plain().then_some(line)
    }

    /// The commits of the epoch: the parts of its snapshot, then what stays whole. Returns the last.
    fn epoch(
        &self,
        batch: &mut Batch<'_>,
        parts: &[Vec<u8>],
        (epoch, from): (u64, &Head),
        (actor, now): (&Actor, DateTime<Utc>),
        steps: &[Step],
        folded: &BTreeSet<ObjectId>,
    ) -> Result<ObjectId> {
        let mut tip = self.snapshot_commits(batch, parts, (epoch, from), (actor, now))?;
        for step in steps {
            let rows: Vec<&Row> =
                step.rows.iter().filter(|row| !folded.contains(&row.id)).collect();
            tip = self.restated(batch, (step.commit, step.rows.len()), &rows, tip)?;
        }
        tip.ok_or_else(|| Error::bug("an epoch of nothing"))
    }

    /// The commits of the parts of the snapshot that `epoch` of a lane begins with, which goes on from
    /// `from`. Returns the last; `None` where there are no parts.
    pub(super) fn snapshot_commits(
        &self,
        batch: &mut Batch<'_>,
        parts: &[Vec<u8>],
        (epoch, from): (u64, &Head),
        (actor, now): (&Actor, DateTime<Utc>),
    ) -> Result<Option<ObjectId>> {
        let (count, mut tip) = (parts.len() as u64, None);
        for (part, bytes) in (1_u64..).zip(parts) {
            let id = batch.add(Kind::Blob, bytes)?;
            let snapshot = BlobRef { id: id.to_string(), sha256: crate::sha256::hex(bytes) };
            let fold = Fold { epoch, from: from.to_text(), part, parts: count, snapshot };
            let event = Event {
                proposal: None,
                first: None,
                lane: from.lane.clone(),
                seq: from.seq + part,
                actor: actor.clone(),
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
            tip = Some(compose::commit(&self.repo, batch, &[stamped], attached, tip)?);
        }
        Ok(tip)
    }

    /// The commit of `rows`, those of the `all` events of `commit` that stay, on `parent`; `parent`
    /// where none stays.
    pub(super) fn restated(
        &self,
        batch: &mut Batch<'_>,
        (commit, all): (ObjectId, usize),
        rows: &[&Row],
        parent: Option<ObjectId>,
    ) -> Result<Option<ObjectId>> {
        Ok(match rows.len() {
            0 => parent,
            count if count == all => Some(compose::on(&self.repo, batch, commit, parent)?),
            _ => Some(self.without(batch, rows, parent)?),
        })
    }

    /// A commit of these events out of one that had more.
    fn without(
        &self,
        batch: &mut Batch<'_>,
        rows: &[&Row],
        parent: Option<ObjectId>,
    ) -> Result<ObjectId> {
        let (mut events, mut attached) = (Vec::new(), Vec::new());
        for (index, row) in rows.iter().enumerate() {
            let event = Event::from_bytes(&row.body)?;
            let mut stamped = Stamped { id: row.id.to_string(), event };
            attached.extend(compose::attachments(&self.repo, &mut stamped, index)?);
            events.push(stamped);
        }
        compose::commit(&self.repo, batch, &events, attached, parent)
    }
}

/// The subjects of a snapshot, each with its events by position; then what is left of those that were
/// purged, which stay so. `figures` are those of a proposal, `None` where it is not known.
///
/// # Errors
/// Those of `figures`.
pub(super) fn subjects(
    lines: Lines,
    stubs: Stubs,
    figures: impl Fn(&ProposalId) -> Result<Option<Figures>>,
) -> Result<Vec<Subject>> {
    let mut subjects = Vec::with_capacity(lines.len());
    for (id, mut lines) in lines {
        lines.sort_by_key(|(seq, _)| *seq);
        let figures = match id {
            None => None,
            Some(id) => {
                let id = ProposalId::parse(&id)?;
                let begins =
                    lines.first().and_then(|(_, line)| Event::from_bytes(&line.event).ok());
                let begins = begins.is_some_and(|event| matches!(event.data, Data::Propose(_)));
                let counted = if begins { figures(&id)? } else { None };
                Some(counted.unwrap_or(Figures::none(id)))
            }
        };
        let lines = lines.into_iter().map(|(_, line)| line).collect();
        subjects.push(Subject { figures, lines, stubs: Vec::new() });
    }
    subjects.extend(stubs.into_iter().map(|(id, stubs)| Subject {
        figures: Some(Figures::none(id)),
        lines: Vec::new(),
        stubs,
    }));
    Ok(subjects)
}

impl Plan {
    fn add(&mut self, row: &Row, line: Line) {
        self.folded.insert(row.id);
        self.oldest = Some(self.oldest.map_or(row.time, |oldest| oldest.min(row.time)));
        self.subjects.entry(row.about()).or_default().push((row.seq, line));
    }
}

impl View {
    /// Whether the proposal `id` was decided, all clones agree, this version understands all of it,
    /// and nothing has been said of it since `before`, in milliseconds.
    fn is_settled(&self, id: &ProposalId, before: i64) -> Result<bool> {
        let Ok(proposal) = self.proposal(id) else { return Ok(false) };
        let is_decided = proposal.state != State::Pending;
        Ok(is_decided
            && !proposal.contested
            && proposal.needs.is_none()
            && self.last_said(id)?.is_some_and(|time| time < before))
    }
}
