//! Writing events: the only way the store changes.

use std::collections::BTreeSet;

use chrono::{DateTime, Duration, SubsecRound as _, Utc};
use gix::ObjectId;
use gix::objs::Kind;

use super::cache::About;
use super::lane;
use super::lock::Lock;
use super::objects::{Batch, hashed};
use super::trees::Leaf;
use super::{Store, View, compose, pending, place, projection, refs, settle};
use crate::changeset::{Changeset, File};
use crate::error::{Error, Result, codes};
use crate::flush::Method;
use crate::proposal::event::lists::{LONGEST_INLINE, MAX_LIST};
use crate::proposal::event::{BlobRef, Expire, Head, MAX_BYTES, Propose, Revise, Subject, digest};
use crate::proposal::rules::Verb;
use crate::proposal::{
    Actor, Authority, ChangeRecord, Data, Entry, Event, Note, Proposal, ProposalId, Stamped,
    Status, fold,
};

/// How many tips one event puts on record at most; the next one goes on.
const MOST_WITNESSED: usize = 64;

/// How many expiries one command records at most; the next one goes on.
const MOST_EXPIRIES: usize = 500;

/// What a new proposal consists of.
#[derive(Clone, Debug)]
pub struct NewProposal {
    /// The changes.
    pub changeset: Changeset,
    /// Why, in the proposer's words.
    pub description: Option<String>,
    /// Topic.
    pub domain: Option<String>,
    /// The task it belongs to.
    pub related_task_id: Option<String>,
    /// The name the proposer gives itself.
    pub proposed_by: String,
    /// How long it waits.
    pub expires_in: Duration,
    /// Code or memory.
    pub subject: Subject,
    /// The input form: `snippet`, `patch`, `worktree`, `commit`, `tool`.
    pub form: String,
    /// The proposal of somebody else that it is to take the place of.
    pub instead_of: Option<ProposalId>,
    /// The structured request of a memory proposal.
    pub memory: Option<serde_json::Value>,
}

/// What proposing came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The proposal.
    pub id: ProposalId,
    /// It was there already, pending and with the same changes.
    pub duplicate: bool,
}

/// The store while its lock is held.
pub struct Writer<'store> {
    store: &'store Store,
    /// The state before this command's own events (and after [`Writer::commit`], with them).
    pub view: View,
    actor: Actor,
    now: DateTime<Utc>,
    batch: Batch<'store>,
    own: place::Own,
    /// Where the lane ref is, and where it is going.
    old_tip: Option<ObjectId>,
    tip: Option<ObjectId>,
    seq: u64,
    /// The tips of all chains but this clone's own.
    chains: Vec<Head>,
    /// Those that its lane has yet to put on record, the last one first.
    witness: Vec<Head>,
    /// The lane that this one goes on from, until its first event has said so.
    forked: Option<Head>,
    open: Step,
    /// Proposals whose projection and pending ref have to follow.
    touched: BTreeSet<ProposalId>,
    /// Those that a stopped writer has left.
    left_over: BTreeSet<ProposalId>,
    /// Those that other clones' lanes have brought news of.
    fetched: BTreeSet<ProposalId>,
    /// The lock says that something has to follow.
    noted: bool,
    lock: Lock,
}

/// How many proposals of other clones one writer makes projections for: each takes a millisecond
/// or two, and others wait. The rest is left to the next ones.
const FOLLOWED_AT_ONCE: usize = 100;

/// The lane commit that is being put together.
#[derive(Default)]
struct Step {
    /// With their lists, wherever these are stored.
    events: Vec<Stamped>,
    /// Statements, manifests and lists.
    attached: Vec<Leaf>,
}

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
        let lock = Lock::acquire(&self.make_private()?, "lock")?;
        let mut writer = Writer::new(self, actor, now, lock)?;
        writer.record_expiries()?;
        writer.view.release();
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
        let positions = view.positions()?;
        let own = match store.named_lane() {
            Some(name) => place::Own::named(name),
            None => place::own(&store.make_private()?, |lane| view.is_shared(lane))?,
        };
        let name = format!("{}{}", refs::LOG, own.lane);
        let old_tip = view.lanes.iter().find(|known| known.name == name).map(|known| known.tip);
        let mut tip = old_tip;
        let mut seq = positions.get(&name).map_or(0, |position| position.seq);
        if store.named_lane().is_some()
            && let Some((ahead, last)) = settle::ahead(store, &view, &own.lane, old_tip)?
        {
            // Another run has written it since.
            (tip, seq) = (Some(ahead), last);
        }
        let forked = own.from.as_ref().filter(|_| tip.is_none()).and_then(|from| {
            let position = positions.get(&format!("{}{from}", refs::LOG))?;
            let tip = position.reached.clone()?;
            Some(Head { lane: from.clone(), seq: position.seq, tip })
        });
        let tip_text = tip.map(|tip| tip.to_string());
        let mut chains = view.chains()?;
        chains.retain(|chain, head| {
            *chain != own.lane && Some(head.tip.as_str()) != tip_text.as_deref()
        });
        let chains: Vec<Head> = chains.into_values().collect();
        let mut witness = view.unwitnessed(chains.clone())?;
        witness.reverse();
        Ok(Self {
            store,
            view,
            actor: actor.clone(),
            now: now.trunc_subsecs(3),
            batch: Batch::new(&store.repo),
            own,
            old_tip,
            tip,
            seq,
            chains,
            witness,
            forked,
            open: Step::default(),
            touched: left_over.union(&fetched).cloned().collect(),
            left_over,
            fetched,
            noted: !note.is_empty(),
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
            let before = change.before.as_ref().map(|file| self.blob(file)).transpose()?;
            let after = change.after.as_ref().map(|file| self.blob(file)).transpose()?;
            records.push(ChangeRecord::new(change, before, after));
        }
        Ok(records)
    }

    /// Makes a proposal, unless the same one is pending.
    ///
    /// # Errors
    /// As [`Writer::note`].
    pub fn propose(&mut self, new: NewProposal) -> Result<Outcome> {
        let changes = self.record(&new.changeset)?;
        if let Some(id) = self.view.duplicate(&digest(&changes), self.now)? {
            return Ok(Outcome { id, duplicate: true });
        }
        let stamped = self.proposed(new, changes)?;
        Ok(Outcome { id: ProposalId::from_event(&stamped.id), duplicate: false })
    }

    /// Makes a proposal, whether the same one is pending or not, and returns it as it begins.
    ///
    /// # Errors
    /// As [`Writer::note`].
    pub fn propose_another(&mut self, new: NewProposal) -> Result<Proposal> {
        let changes = self.record(&new.changeset)?;
        let stamped = self.proposed(new, changes)?;
        fold(&[stamped]).ok_or_else(|| Error::bug("a new proposal is none"))
    }

    fn proposed(&mut self, new: NewProposal, changes: Vec<ChangeRecord>) -> Result<Stamped> {
        let task = new.related_task_id.as_deref();
        let branch = task.filter(|task| task.starts_with("plan:")).map(|_| self.store.branch());
        self.note(
            None,
            Note::Propose(Propose {
                branch,
                description: new.description,
                domain: new.domain,
                related_task_id: new.related_task_id,
                proposed_by: new.proposed_by,
                expires_at: (self.now + new.expires_in).trunc_subsecs(3),
                subject: new.subject,
                form: new.form,
                instead_of: new.instead_of,
                base: self.head(),
                changes,
                changes_blob: None,
                memory: new.memory,
            }),
        )
    }

    /// This clone's lane.
    pub fn lane(&self) -> &str {
        &self.own.lane
    }

    /// Gives the pending proposal `id` new content.
    ///
    /// # Errors
    /// `not_pending`, and as [`Writer::note`].
    #[expect(clippy::too_many_arguments, reason = "what a revision consists of")]
    pub fn revise(
        &mut self,
        authority: &Authority,
        id: &ProposalId,
        changeset: &Changeset,
        reason: &str,
        description: Option<String>,
        expires_in: Option<Duration>,
        memory: Option<serde_json::Value>,
    ) -> Result<Stamped> {
        self.view.proposal(id)?.require_pending(self.now)?;
        let changes = self.record(changeset)?;
        let expires_at = expires_in.map(|span| (self.now + span).trunc_subsecs(3));
        let base = self.head();
        let reason = reason.to_owned();
        let changes_blob = None;
        let revise =
            Revise { description, expires_at, reason, base, changes, changes_blob, memory };
        self.decide(authority, Some(id), Data::Revise(revise))
    }

    /// Adds an event that decides nothing. Whether it is allowed in the proposal's state is the
    /// caller's to check, on [`Writer::view`].
    ///
    /// # Errors
    /// `size_limit_exceeded`; `internal_error` if the event cannot be written as JSON.
    pub fn note(&mut self, proposal: Option<&ProposalId>, note: Note) -> Result<Stamped> {
        self.append(proposal, note.into())
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
        if authority.actor() != &self.actor || !permits(authority.verb(), &decision) {
            return Err(Error::bug(format!(
                "an authority to {} for '{}'",
                authority.verb().as_str(),
                decision.kind()
            )));
        }
        self.append(proposal, decision)
    }

    /// Adds a blob that the next event names, and puts it into the event's commit as `name-NNNN`,
    /// where NNNN is the number of the event in it, so that it travels with the lane. Beside the
    /// event, because a tree for each kind would be one more object to flush.
    ///
    /// # Errors
    /// As [`Writer::blob`].
    pub fn attach(&mut self, name: &'static str, bytes: &[u8]) -> Result<BlobRef> {
        let id = self.batch.add(Kind::Blob, bytes)?;
        self.open.attached.push(compose::attachment(name, self.open.events.len(), id));
        Ok(BlobRef { id: id.to_string(), sha256: crate::sha256::hex(bytes) })
    }

    fn append(&mut self, proposal: Option<&ProposalId>, data: Data) -> Result<Stamped> {
        self.store.require_lane()?;
        if compose::begins_commit(&self.open.events, &data) {
            self.seal()?;
        }
        self.seq += 1;
        let reading = self.view.hold();
        let heads = self.heads(proposal, &data)?;
        let first = proposal.and_then(|id| self.first_event(id));
        drop(reading);
        let witness = self.witness.split_off(self.witness.len().saturating_sub(MOST_WITNESSED));
        let event = Event {
            proposal: proposal.cloned(),
            first,
            lane: self.own.lane.clone(),
            seq: self.seq,
            actor: self.actor.clone(),
            time: self.now,
            heads,
            witness: witness.into_iter().rev().collect(),
            forked: self.forked.take(),
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
        if bytes.len() > MAX_BYTES {
            // Nobody could read it back, and the lane would end there.
            let size = bytes.len();
            return Err(Error::new(
                &codes::SIZE_LIMIT,
                format!("its record would have {size} bytes, over the limit of {MAX_BYTES}"),
            )
            .with("limit", MAX_BYTES)
            .hint("make several proposals of it, or give whole files (--content-file) instead of old and new text"));
        }
        let id = self.batch.add(Kind::Blob, &bytes)?.to_string();
        let stamped = Stamped { id, event };
        self.touched.extend(stamped.proposal());
        self.open.events.push(stamped.clone());
        Ok(stamped)
    }

    /// What was seen of the lanes that hold events about the same subject: all that orders them.
    fn heads(&self, proposal: Option<&ProposalId>, data: &Data) -> Result<Vec<Head>> {
        let plan = lane::plan(data);
        let about = match (proposal, &plan) {
            (Some(id), _) => About::Proposal(id.as_str()),
            (None, Some(key)) => About::Plan(key),
            (None, None) => return Ok(Vec::new()),
        };
        let lanes = self.view.lanes_about(about)?;
        Ok(self.chains.iter().filter(|head| lanes.contains(&head.lane)).cloned().collect())
    }

    /// The whole id of the first event of `id`, which this command may have just written.
    fn first_event(&self, id: &ProposalId) -> Option<String> {
        let open = self.open.events.iter();
        let mut new = open.filter(|stamped| stamped.proposal().as_ref() == Some(id));
        match new.find(|stamped| matches!(stamped.event.data, Data::Propose(_))) {
            Some(stamped) => Some(stamped.id.clone()),
            None => self.view.proposal(id).ok().map(|proposal| proposal.first_event),
        }
    }

    /// Writes the objects added so far without recording anything. They are durable once
    /// something that comes later is flushed: the lane ref, or an apply journal.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn flush_objects(&mut self) -> Result<()> {
        write_out(self.store, &mut self.batch)
    }

    /// Makes this command's events part of the store. Called for you when the work is done; call
    /// it yourself where something must come after (the end of an apply journal).
    ///
    /// # Errors
    /// `busy`, and those of the file system. After an error nothing is recorded.
    pub fn commit(&mut self) -> Result<()> {
        self.seal()?;
        if let Some(tip) = self.tip.filter(|tip| Some(*tip) != self.old_tip) {
            let ids: Vec<&str> = self.touched.iter().map(ProposalId::as_str).collect();
            self.lock.note(&ids.join("\n"));
            self.noted = true;
            self.move_lane(tip)?;
        }
        let mut settled = Vec::new();
        for id in std::mem::take(&mut self.touched) {
            // What can be rebuilt must not fail what is recorded; `doctor` tells of it.
            if let Ok(false) = self.project(&id) {
                settled.push(id);
            }
        }
        let _ = pending::remove_all(self.store, &settled);
        let fetched = std::mem::take(&mut self.fetched);
        if !fetched.is_empty() {
            self.view.followed(&fetched);
        }
        if std::mem::take(&mut self.noted) {
            self.lock.note("");
        }
        Ok(())
    }

    /// Objects, then the lane's tip, then the view.
    fn move_lane(&mut self, tip: ObjectId) -> Result<()> {
        self.flush_objects()?;
        place::claim(&self.store.make_private()?, &mut self.own)?;
        let name = format!("{}{}", refs::LOG, self.own.lane);
        let durable = self.store.settings()?.durable;
        let dir = &self.store.common_dir;
        refs::compare_and_swap(&self.store.repo, dir, &name, self.old_tip, tip, durable)?;
        self.old_tip = Some(tip);
        self.view.written(self.store, &name, tip);
        crate::failpoint!("store.cache.written");
        // Another writer can do it as well.
        let _ = settle::left(self.store, &self.view, &self.own.lane);
        Ok(())
    }

    /// Makes the files and the ref of `id` follow. `false`: its ref, if there is one, is to go; those
    /// of one command go together.
    fn project(&self, id: &ProposalId) -> Result<bool> {
        let proposal = self.view.proposal(id)?;
        let pending = proposal.status(self.now) == Status::Pending;
        let stage = |pending| {
            if proposal.subject == Subject::Memory
                && let Some(projector) = self.store.projector
            {
                let _ = projector(self.store, &proposal, pending);
            }
        };
        if self.left_over.contains(id) {
            // With the temporary files of the writer that was stopped.
            stage(false);
            let _ = projection::remove(self.store, id);
        }
        if pending && self.fetched.contains(id) && self.store.is_partial() {
            // Its content may have to come over the network, which a writer does not wait for.
            return Ok(true);
        }
        stage(pending);
        if pending {
            let made = pending::make(self.store, &proposal);
            crate::failpoint!("store.pending.made");
            projection::make(self.store, &proposal).and(made)?;
        } else {
            // The ref goes whether the files could be removed or not.
            let _ = projection::remove(self.store, id);
        }
        Ok(pending)
    }

    /// Puts the open events into a lane commit (not yet the lane's tip).
    fn seal(&mut self) -> Result<()> {
        let Step { events, attached } = std::mem::take(&mut self.open);
        if !events.is_empty() {
            let repo = &self.store.repo;
            self.tip = Some(compose::commit(repo, &mut self.batch, &events, attached, self.tip)?);
        }
        Ok(())
    }

    fn record_expiries(&mut self) -> Result<()> {
        if self.store.require_lane().is_err() {
            return Ok(());
        }
        for id in self.view.newly_expired(self.now, MOST_EXPIRIES)? {
            let expires_at = self.view.proposal(&id)?.expires_at;
            self.note(Some(&id), Note::Expire(Expire { expires_at }))?;
        }
        // A clock that ran ahead took their files away; by the right one they are pending.
        self.touched.extend(self.view.revived(self.now, MOST_EXPIRIES)?);
        Ok(())
    }

    fn head(&self) -> Option<String> {
        self.store.repo.head_id().ok().map(|id| id.to_string())
    }
}

/// True where an authority for `verb` covers `decision`. Applying a part makes it a revision first.
fn permits(verb: Verb, decision: &Data) -> bool {
    match decision {
        Data::Revise(_) => matches!(verb, Verb::Revise | Verb::Apply),
        Data::Apply(_) => verb == Verb::Apply,
        Data::Approve(_) => verb == Verb::Approve,
        Data::Mark(_) => verb == Verb::Mark,
        Data::Reject(reject) => match reject.withdrawn {
            true => verb == Verb::Withdraw,
            false => verb == Verb::Reject,
        },
        Data::RequestChanges(_) => verb == Verb::RequestChanges,
        Data::Reopen(_) => verb == Verb::Reopen,
        Data::Undo(_) => verb == Verb::Undo,
        Data::Patch(_) => verb == Verb::Propose,
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

fn write_out(store: &Store, batch: &mut Batch<'_>) -> Result<()> {
    let method = match store.settings()?.durable {
        true => Method::durable(batch.folder(), &store.common_dir),
        false => Method::No,
    };
    batch.write(method)?;
    store.upkeep.wrote(store);
    Ok(())
}

/// The ref of this clone's lane, if it has one already.
pub(super) fn lane_name(store: &Store) -> Option<String> {
    if let Some(name) = store.named_lane() {
        return Some(format!("{}{name}", refs::LOG));
    }
    let folder = store.private().ok()??;
    Some(format!("{}{}", refs::LOG, place::noted(&folder).ok()??))
}
