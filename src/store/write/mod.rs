//! Writing events: the only way the store changes.

mod audience;
mod content;
mod follow;
mod publish;

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, SubsecRound as _, Utc};
use gix::ObjectId;
use gix::objs::Kind;

use super::cache::About;
use super::chain::Chain;
use super::lane;
use super::lock::Lock;
use super::objects::{Batch, hashed};
use super::{Audience, Store, View, pending, settle};
use crate::changeset::{Changeset, File};
use crate::error::{Error, Result, codes};
use crate::flush::Method;
use crate::proposal::event::lists::{LONGEST_INLINE, MAX_LIST};
use crate::proposal::event::{BlobRef, Expire, Extend, MAX_WRITTEN};
use crate::proposal::rules::Verb;
use crate::proposal::{
    Actor, ActorKind, Authority, ChangeRecord, Data, Entry, Event, Note, Proposal, ProposalId,
    Stamped, State,
};

pub use self::content::{NewProposal, NewRevision, ProposeOutcome};

/// How many expiries one command records at most; the next one goes on.
const MOST_EXPIRIES: usize = 500;

/// How many proposals below one are looked at; forged ones may stand on each other in a circle.
const MOST_BELOW: usize = 100;

/// The store while its lock is held.
pub struct Writer<'store> {
    store: &'store Store,
    /// The state before this command's own events (and after [`Writer::commit`], with them).
    pub view: View,
    actor: Actor,
    now: DateTime<Utc>,
    batch: Batch<'store>,
    /// The lanes that this command adds to.
    chains: BTreeMap<Audience, Chain>,
    /// Blobs that the next event names.
    attached: Vec<(&'static str, ObjectId)>,
    /// The proposals that this command has made: whom for, and the id of the first event.
    made: BTreeMap<ProposalId, (Audience, String)>,
    /// The proposals that it has given a new revision.
    revised: BTreeSet<ProposalId>,
    /// Proposals whose projection and pending ref have to follow.
    touched: BTreeSet<ProposalId>,
    /// Those that a stopped writer has left.
    left_over: BTreeSet<ProposalId>,
    /// Those that other clones' lanes have brought news of.
    fetched: BTreeSet<ProposalId>,
    /// The lock says that something has to follow.
    noted: bool,
    /// Something that was added is on top of another proposal.
    is_stacked: bool,
    lock: Lock,
}

/// How many proposals of other clones one writer makes projections for: each takes a millisecond
/// or two, and others wait. The rest is left to the next ones.
const FOLLOWED_AT_ONCE: usize = 100;

impl Store {
    /// Takes the lock, brings the view up to date, lets `work` add events, and makes them
    /// durable: objects, then the lane tip, then (not flushed) cache, projection and pending ref.
    /// Nothing is recorded if `work` fails.
    ///
    /// # Errors
    /// `work`'s own, `busy`, `lane_broken`, and those of the file system.
    pub fn write<T>(
        &self,
        actor: &Actor,
        now: DateTime<Utc>,
        work: impl FnOnce(&mut Writer<'_>) -> Result<T>,
    ) -> Result<T> {
        self.require_outside_trial(actor.kind)?;
        let lock = Lock::acquire(&self.make_private()?, "lock")?;
        let mut writer = Writer::new(self, actor, now, lock)?;
        writer.record_expiries()?;
        let result = work(&mut writer)?;
        writer.commit()?;
        Ok(result)
    }

    /// Keeps contents as objects that nothing names yet, which needs neither the lock nor the view.
    /// They are durable once something that comes later is flushed, as after
    /// [`Writer::flush_objects`].
    ///
    /// # Errors
    /// Those of the file system.
    pub fn keep(&self, files: &[Option<&File>]) -> Result<Vec<Option<Entry>>> {
        let mut batch = Batch::new(&self.repo);
        let mut add = |file: &File| blob(&mut batch, file);
        let entries: Result<_> = files.iter().map(|file| file.map(&mut add).transpose()).collect();
        write_out(self, &mut batch)?;
        entries
    }

    /// As [`Store::keep`], for files whose entries are known from [`entry_of`].
    ///
    /// # Errors
    /// As [`Store::keep`].
    pub fn keep_as<'a>(&self, files: impl Iterator<Item = (&'a Entry, &'a File)>) -> Result<()> {
        let mut batch = Batch::new(&self.repo);
        for (entry, file) in files {
            let id = ObjectId::from_hex(entry.id.as_bytes())
                .map_err(|_| Error::bug(format!("'{}' is not an object id", entry.id)))?;
            batch.add_as(id, Kind::Blob, &file.bytes)?;
        }
        write_out(self, &mut batch)
    }

    /// The entry that content of this kind would have, without keeping it.
    ///
    /// # Errors
    /// `internal_error` if it cannot be hashed.
    pub fn entry_of(&self, file: &File) -> Result<Entry> {
        entry_of(self.repo.object_hash(), file)
    }

    /// Records a proposal and reads it back. `true`: the same one was pending, and it is that.
    ///
    /// # Errors
    /// As [`Store::write`].
    pub fn propose(
        &self,
        actor: &Actor,
        now: DateTime<Utc>,
        new: NewProposal,
    ) -> Result<(Proposal, bool)> {
        self.write(actor, now, |writer| {
            let outcome = writer.propose(new)?;
            writer.commit()?;
            Ok((writer.view.proposal(&outcome.id)?, outcome.duplicate))
        })
    }
}

impl<'store> Writer<'store> {
    fn new(
        store: &'store Store,
        actor: &Actor,
        now: DateTime<Utc>,
        mut lock: Lock,
    ) -> Result<Self> {
        let view = store.look()?;
        let note = lock.left_over();
        let left_over: BTreeSet<ProposalId> =
            note.lines().filter_map(|id| ProposalId::parse(id).ok()).collect();
        let fetched = view.fetched(FOLLOWED_AT_ONCE);
        Ok(Self {
            store,
            view,
            actor: actor.clone(),
            now: now.trunc_subsecs(3),
            batch: Batch::new(&store.repo),
            chains: BTreeMap::new(),
            attached: Vec::new(),
            made: BTreeMap::new(),
            revised: BTreeSet::new(),
            touched: left_over.union(&fetched).cloned().collect(),
            left_over,
            fetched,
            noted: !note.is_empty(),
            is_stacked: false,
            lock,
        })
    }

    /// The time that this command's events bear.
    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    /// Who is writing.
    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    /// The store.
    pub fn store(&self) -> &'store Store {
        self.store
    }

    /// Adds a blob. It is in the repository once [`Writer::flush_objects`] or
    /// [`Writer::commit`] return.
    ///
    /// # Errors
    /// `internal_error` if it cannot be hashed.
    pub fn blob(&mut self, file: &File) -> Result<Entry> {
        blob(&mut self.batch, file)
    }

    /// Adds all content of `changeset`, and returns the records that name it.
    ///
    /// # Errors
    /// As [`Writer::blob`].
    pub fn record(&mut self, changeset: &Changeset) -> Result<Vec<ChangeRecord>> {
        let mut records = Vec::with_capacity(changeset.changes().len());
        for change in changeset.changes() {
            let mut keep = |file: &File| {
                let entry = self.blob(file)?;
                // Counted and projected as soon as it is recorded.
                self.store.expect_blob(&entry.id, &file.bytes);
                Ok::<_, Error>(entry)
            };
            let before = change.before.as_ref().map(&mut keep).transpose()?;
            let after = change.after.as_ref().map(&mut keep).transpose()?;
            records.push(ChangeRecord::new(change, before, after));
        }
        Ok(records)
    }

    /// The lane for `audience`.
    fn chain(&mut self, audience: &Audience) -> Result<&mut Chain> {
        if !self.chains.contains_key(audience) {
            let chain = Chain::new(self.store, &self.view, audience.clone())?;
            self.chains.insert(audience.clone(), chain);
        }
        self.chains.get_mut(audience).ok_or_else(|| Error::bug("a lane that was made is gone"))
    }

    /// Adds an event that decides nothing. Whether it is allowed in the proposal's state is the
    /// caller's to check, on [`Writer::view`].
    ///
    /// # Errors
    /// `size_limit_exceeded`; `internal_error` if the event cannot be written as JSON.
    pub fn note(&mut self, proposal: Option<&ProposalId>, note: Note) -> Result<Stamped> {
        self.add(proposal, note.into())
    }

    /// Adds a decision, or new content, for which `authority` was given to the writer's actor.
    ///
    /// # Errors
    /// As [`Writer::note`]; `internal_error` where the authority is for something else.
    pub fn decide(
        &mut self,
        authority: &Authority,
        proposal: Option<&ProposalId>,
        decision: Data,
    ) -> Result<Stamped> {
        if authority.actor() != &self.actor || !permits(authority, &decision) {
            return Err(Error::bug(format!(
                "an authority to {} for '{}'",
                authority.verb().as_str(),
                decision.kind()
            )));
        }
        self.add(proposal, decision)
    }

    fn add(&mut self, proposal: Option<&ProposalId>, data: Data) -> Result<Stamped> {
        let audience = match proposal {
            Some(id) => {
                let takes_back = matches!(data, Data::Undo(_) | Data::Reopen(_));
                self.audience_for(id, takes_back)?
            }
            None => self.audience_of_other(&data)?,
        };
        if let Data::Patch(patch) = &data {
            self.store.remember_patched(&patch.written, &audience)?;
        }
        self.append(&audience, proposal, data)
    }

    /// Adds a blob that the next event names, and puts it into the event's commit as `name-NNNN`,
    /// where NNNN is the number of the event in it, so that it travels with the lane. Beside the
    /// event, because a tree for each kind would be one more object to flush.
    ///
    /// # Errors
    /// As [`Writer::blob`].
    pub fn attach(&mut self, name: &'static str, bytes: &[u8]) -> Result<BlobRef> {
        let id = self.batch.add(Kind::Blob, bytes)?;
        self.attached.push((name, id));
        Ok(BlobRef { id: id.to_string(), sha256: crate::sha256::hex(bytes) })
    }

    /// Gives a proposal that this command makes pending again another term where its own has run out:
    /// the usual one, from now on. It goes where the event went that takes the decision back, and so
    /// comes after it. Readers count it by a person or the proposer; from others it would say nothing.
    /// What the same proposer made it on does not end before it.
    ///
    /// # Errors
    /// `invalid_config`; those of [`Writer::note`].
    pub fn renew(&mut self, id: &ProposalId) -> Result<()> {
        let proposal = self.view.proposal(id)?;
        if proposal.expires_at > self.now {
            return Ok(());
        }
        let audience = self.audience_for(id, true)?;
        let lane = self.chain(&audience)?.lane().to_owned();
        if self.actor.kind != ActorKind::Human && !proposal.is_proposed_by(&self.actor, Some(&lane))
        {
            return Ok(());
        }
        let expires_at = self.now + self.store.settings()?.expires_in;
        self.append(&audience, Some(id), Data::Extend(Extend { expires_at }))?;
        let mut next = proposal.current().on.as_ref().map(|on| on.proposal.clone());
        for _ in 0..MOST_BELOW {
            let Some(lower) = next.and_then(|id| self.view.proposal(&id).ok()) else { break };
            let is_same = lower.actor.identity() == proposal.actor.identity();
            if !is_same || lower.state != State::Pending {
                break;
            }
            if lower.expires_at < expires_at {
                self.note(Some(&lower.id), Note::Extend(Extend { expires_at }))?;
            }
            next = lower.current().on.as_ref().map(|on| on.proposal.clone());
        }
        Ok(())
    }

    fn append(
        &mut self,
        audience: &Audience,
        proposal: Option<&ProposalId>,
        data: Data,
    ) -> Result<Stamped> {
        self.store.require_lane()?;
        let reading = self.view.hold();
        let lanes = self.lanes_about(proposal, &data)?;
        let first = proposal.and_then(|id| self.first_event(id));
        drop(reading);
        let (actor, time, store) = (self.actor.clone(), self.now, self.store);
        // Looked up before the batch is borrowed.
        self.chain(audience)?;
        let Some(chain) = self.chains.get_mut(audience) else {
            return Err(Error::bug("a lane that was made is gone"));
        };
        chain.make_room(&store.repo, &mut self.batch, &data)?;
        let event = Event {
            proposal: proposal.cloned(),
            first,
            lane: chain.lane().to_owned(),
            seq: chain.next_seq(),
            agent: store.run.clone().filter(|_| actor.kind == ActorKind::Agent),
            actor,
            time,
            heads: chain.heads(|lane| lanes.contains(lane)),
            witness: chain.take_witness(),
            forked: chain.take_forked(),
            needs: None,
            data,
        };
        let mut bytes = event.to_bytes()?;
        if bytes.len() > LONGEST_INLINE {
            let mut short = event.clone();
            if let Some(list) = short.take_list()?.filter(|list| list.len() <= MAX_LIST) {
                short.name_list(self.attach("list", &list)?);
                bytes = short.to_bytes()?;
            }
        }
        if bytes.len() > MAX_WRITTEN {
            // No other clone would read it, nor what comes behind it in the lane.
            let size = bytes.len();
            return Err(Error::new(
                &codes::SIZE_LIMIT,
                format!("its record would have {size} bytes, over the limit of {MAX_WRITTEN}"),
            )
            .with("limit", MAX_WRITTEN)
            .hint(
                "shorten its texts (description, reason, rationale), make several proposals of it, or \
                 give whole files (--content-file, \"content\") instead of old and new text",
            ));
        }
        let id = self.batch.add(Kind::Blob, &bytes)?.to_string();
        let stamped = Stamped { id, event };
        self.is_stacked |= match &stamped.event.data {
            Data::Propose(propose) => propose.on.is_some(),
            Data::Revise(revise) => revise.on.is_some(),
            _ => false,
        };
        self.touched.extend(stamped.proposal());
        let attached = std::mem::take(&mut self.attached);
        let chain = self.chain(audience)?;
        for (name, id) in attached {
            chain.attach(name, id);
        }
        chain.push(stamped.clone(), bytes.len());
        Ok(stamped)
    }

    /// The lanes that hold events about the same subject: what was seen of them is all that orders it.
    fn lanes_about(&self, proposal: Option<&ProposalId>, data: &Data) -> Result<BTreeSet<String>> {
        let plan = lane::plan(data);
        let about = match (proposal, &plan) {
            (Some(id), _) => About::Proposal(id.as_str()),
            (None, Some(key)) => About::Plan(key),
            (None, None) => return Ok(BTreeSet::new()),
        };
        self.view.lanes_about(about)
    }

    /// The whole id of the first event of `id`, which this command may have just written.
    fn first_event(&self, id: &ProposalId) -> Option<String> {
        match self.made.get(id) {
            Some((_, first)) => Some(first.clone()),
            None => self.view.proposal(id).ok().map(|proposal| proposal.first_event),
        }
    }

    /// Writes the objects added so far without recording anything. They are durable once
    /// something that comes later is flushed: the lane ref, or an apply journal.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn flush_objects(&mut self) -> Result<()> {
        self.view.release();
        write_out(self.store, &mut self.batch)
    }

    /// Makes this command's events part of the store. Called for you when the work is done; call
    /// it yourself where something must come after (the end of an apply journal).
    ///
    /// # Errors
    /// `busy`, and those of the file system. After an error nothing is recorded.
    pub fn commit(&mut self) -> Result<()> {
        self.view.release();
        for chain in self.chains.values_mut() {
            chain.seal(&self.store.repo, &mut self.batch)?;
        }
        if self.chains.values().any(Chain::is_ahead) {
            self.note_touched();
            self.noted = true;
            self.move_lanes()?;
        }
        if !self.fetched.is_empty() {
            // First: what another process reads of them from here on has to follow once more.
            self.note_touched();
            self.noted = true;
            self.view.followed(&self.fetched);
        }
        let mut settled = Vec::new();
        let touched = std::mem::take(&mut self.touched);
        for id in self.lower_first(touched) {
            // What can be rebuilt must not fail what is recorded; `doctor` tells of it.
            match self.project(&id) {
                Ok(false) => settled.push(id),
                Ok(true) => self.announce(&id),
                Err(_) => {}
            }
        }
        if pending::remove_all(self.store, &settled).is_err() {
            self.touched.extend(settled);
        }
        self.fetched.clear();
        if self.noted || !self.touched.is_empty() {
            self.noted = !self.touched.is_empty();
            self.note_touched();
        }
        Ok(())
    }

    /// Leaves to whoever comes next what is still to follow.
    fn note_touched(&mut self) {
        let ids: Vec<&str> = self.touched.iter().map(ProposalId::as_str).collect();
        self.lock.note(&ids.join("\n"));
    }

    /// Says that the pending proposal `id` waits, where that is new and not its reader's own doing.
    fn announce(&self, id: &ProposalId) {
        let is_new = self.made.contains_key(id);
        if self.actor.kind != ActorKind::Human
            && (is_new || self.revised.contains(id))
            && let Ok(proposal) = self.view.proposal(id)
        {
            self.store.announced.add(&proposal, !is_new);
        }
    }

    /// Objects, then the tips of the lanes, then the view. Each lane has its events of this command
    /// whole or not at all; no lane's depend on another's.
    fn move_lanes(&mut self) -> Result<()> {
        self.flush_objects()?;
        let mut moved = Vec::new();
        let mut result = Ok(());
        for chain in self.chains.values_mut().filter(|chain| chain.is_ahead()) {
            result = chain.settle(self.store);
            if result.is_err() {
                break;
            }
            moved.extend(chain.lane_ref());
        }
        if !moved.is_empty() {
            self.view.written(self.store, &moved);
            crate::failpoint!("store.cache.written");
        }
        result?;
        for own in self.view.own_lanes(self.store) {
            // Another writer can do it as well.
            let _ = settle::left(self.store, &self.view, &own.audience, &own.lane);
        }
        Ok(())
    }

    fn record_expiries(&mut self) -> Result<()> {
        if self.store.require_lane().is_err() {
            return Ok(());
        }
        for id in self.view.newly_expired(self.now, MOST_EXPIRIES)? {
            if self.store.named_lane().is_some() && self.view.audience(&id)? != Audience::Default {
                continue;
            }
            let expires_at = self.view.proposal(&id)?.expires_at;
            self.note(Some(&id), Note::Expire(Expire { expires_at }))?;
        }
        // A clock that ran ahead took their files away; by the right one they are pending.
        self.touched.extend(self.view.revived(self.now, MOST_EXPIRIES)?);
        Ok(())
    }

    fn head(&self) -> Option<String> {
        self.store.checkout().ok()?.commit.map(|id| id.to_string())
    }
}

/// True where `authority` covers `decision`. Applying a part makes it a revision first.
fn permits(authority: &Authority, decision: &Data) -> bool {
    let verb = authority.verb();
    match decision {
        Data::Publish(_) => verb == Verb::Publish,
        Data::Purge(_) => verb == Verb::Purge,
        Data::Revise(_) => matches!(verb, Verb::Revise | Verb::Apply | Verb::Publish),
        Data::Apply(_) => verb == Verb::Apply,
        Data::Approve(_) => verb == Verb::Approve,
        Data::Mark(_) => verb == Verb::Mark,
        // An agent's authority is over its own proposals, which it withdraws.
        Data::Reject(reject) => {
            verb == Verb::Reject && (reject.withdrawn || authority.actor().kind != ActorKind::Agent)
        }
        Data::RequestChanges(_) => verb == Verb::RequestChanges,
        Data::Reopen(_) | Data::Undo(_) => verb == Verb::Undo,
        Data::Patch(_) => verb == Verb::Patch,
        _ => false,
    }
}

/// The entry of `file` in a repository that hashes by `kind`.
///
/// # Errors
/// `internal_error` if it cannot be hashed.
pub fn entry_of(kind: gix::hash::Kind, file: &File) -> Result<Entry> {
    let id = hashed(kind, Kind::Blob, &file.bytes)?;
    Ok(Entry { id: id.to_string(), mode: file.mode.as_str().into() })
}

fn blob(batch: &mut Batch<'_>, file: &File) -> Result<Entry> {
    let id = batch.add(Kind::Blob, &file.bytes)?;
    Ok(Entry { id: id.to_string(), mode: file.mode.as_str().into() })
}

/// Writes the objects of `batch`, as durably as the settings have it.
///
/// # Errors
/// As [`Batch::write`].
pub(super) fn write_out(store: &Store, batch: &mut Batch<'_>) -> Result<()> {
    let method = if store.settings()?.durable {
        Method::durable(batch.directory(), &store.common_dir)
    } else {
        Method::No
    };
    batch.write(method)?;
    store.upkeep.wrote(store);
    Ok(())
}
