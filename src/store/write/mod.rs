//! Writing: the only way to record an event.
//!
//! One writer at a time holds the store's lock. An event is composed when it is added, with the
//! seen events as parents, so its id is known at once. One move of this clone's ref records it,
//! after its objects are flushed. A command's events in a thread count together or not at all; in
//! several threads each event is complete in itself.

mod content;
mod decision;
mod event;
mod projections;
mod publish;

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chrono::{DateTime, Duration, SubsecRound as _, Utc};
use gix::ObjectId;
use gix::objs::Kind;

use super::lock::Lock;
use super::memo;
use super::objects::{Batch, hashed, object_id};
use super::queries::CLOSED_AFTER;
use super::thread::Thread;
use super::{Content, ShownTips, Space, Store, View, pending, refs};
use crate::changeset::{Changeset, File};
use crate::error::{Error, Result};
use crate::proposal::event::{Note, Patch, Purge, Written};
use crate::proposal::history::History;
use crate::proposal::rules::Verb;
use crate::proposal::{
    Actor, Authority, ChangeRecord, Data, Entry, Proposal, ProposalId, StoredEvent, fold,
};

pub use content::{NewProposal, NewRevision, ProposeOutcome};
pub use decision::NewDecision;

/// Other clones' threads that one writer updates projections for: each takes a millisecond or two,
/// and others wait.
const FOLLOWED_AT_ONCE: usize = 100;

/// Events of a plan's thread; the plan continues in a new one. Readers read twice as many.
const MOST_OF_A_PLAN: usize = 500;

/// The store while its lock is held.
pub struct Writer<'store> {
    store: &'store Store,
    /// The state before this command's own events; after [`Writer::commit`] with them.
    pub view: View<'store>,
    actor: Actor,
    now: DateTime<Utc>,
    batch: Batch<'store>,
    /// Blobs that were added, and may not be written yet.
    added: HashSet<ObjectId>,
    chains: BTreeMap<ObjectId, Chain>,
    /// New proposals, and those with a new revision.
    made: BTreeSet<ObjectId>,
    revised: BTreeSet<ObjectId>,
    touched: BTreeSet<ObjectId>,
    /// Such threads of a stopped writer, and those that other clones or the clock have changed.
    left_over: BTreeSet<ObjectId>,
    fetched: BTreeSet<ObjectId>,
    is_noted: bool,
    /// An added event is about a proposal on top of another one.
    is_stacked: bool,
    lock: Lock,
}

struct Chain {
    space: Space,
    own: Option<ObjectId>,
    parents: Vec<ObjectId>,
    seen: Vec<StoredEvent>,
    clone: String,
    /// A new thread, whose ref is moved first.
    is_new: bool,
    is_ahead: bool,
}

impl Chain {
    /// The proposal as the next event has seen it.
    fn proposal(&self) -> Option<Proposal> {
        fold(&History::new(self.seen.clone()))
    }
}

impl Store {
    /// Takes the lock, lets `work` add events, and makes these durable. Nothing is recorded if
    /// `work` fails.
    ///
    /// # Errors
    /// `work`'s own, `busy`, and errors of threads and the file system.
    pub fn write<T>(
        &self,
        actor: &Actor,
        now: DateTime<Utc>,
        work: impl FnOnce(&mut Writer<'_>) -> Result<T>,
    ) -> Result<T> {
        self.require_outside_trial(actor.kind)?;
        let lock = self.lock()?;
        let mut writer = Writer::new(self, actor, now, lock)?;
        let result = work(&mut writer)?;
        writer.commit()?;
        let ended = writer.view.to_close(now);
        drop(writer);
        if !ended.is_empty() {
            // Another writer can close them as well.
            let _ = self.close(&ended, Some(Duration::days(CLOSED_AFTER)), now);
        }
        Ok(result)
    }

    /// Writes contents as objects without a ref, without lock and view. They are durable after a
    /// later flush, as with [`Writer::flush_objects`].
    pub fn keep(&self, files: &[Option<&File>]) -> Result<Vec<Option<Entry>>> {
        let mut batch = Batch::new(self.repository());
        let mut add = |file: &File| blob(&mut batch, file);
        let entries: Result<_> = files.iter().map(|file| file.map(&mut add).transpose()).collect();
        write_out(self, &mut batch)?;
        entries
    }

    /// As [`Store::keep`], for files whose entries are known from [`entry_of`].
    pub fn keep_as<'a>(&self, files: impl Iterator<Item = (&'a Entry, &'a File)>) -> Result<()> {
        let mut batch = Batch::new(self.repository());
        for (entry, file) in files {
            batch.add_as(object_id(&entry.id)?, Kind::Blob, &file.bytes)?;
        }
        write_out(self, &mut batch)
    }

    pub fn entry_of(&self, file: &File) -> Result<Entry> {
        entry_of(self.repository().repo().object_hash(), file)
    }

    /// Records a proposal. Returns the identical pending proposal and `true`, or the new one and
    /// `false`.
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
        let view = store.view()?;
        let note = lock.left_over();
        let ids = note.lines().filter_map(|id| ObjectId::from_hex(id.as_bytes()).ok());
        let left_over: BTreeSet<ObjectId> = ids.collect();
        let now = now.trunc_subsecs(3);
        let mut fetched = view.due(now, FOLLOWED_AT_ONCE)?;
        fetched.extend(view.left(now, FOLLOWED_AT_ONCE)?);
        Ok(Self {
            store,
            view,
            actor: actor.clone(),
            now,
            batch: Batch::new(store.repository()),
            added: HashSet::new(),
            chains: BTreeMap::new(),
            made: BTreeSet::new(),
            revised: BTreeSet::new(),
            touched: left_over.union(&fetched).copied().collect(),
            left_over,
            fetched,
            is_noted: !note.is_empty(),
            is_stacked: false,
            lock,
        })
    }

    pub fn now(&self) -> DateTime<Utc> {
        self.now
    }

    pub fn actor(&self) -> &Actor {
        &self.actor
    }

    pub fn store(&self) -> &'store Store {
        self.store
    }

    /// Adds a blob. It is written by [`Writer::flush_objects`] or [`Writer::commit`].
    pub fn blob(&mut self, file: &File) -> Result<Entry> {
        let entry = blob(&mut self.batch, file)?;
        self.added.insert(object_id(&entry.id)?);
        Ok(entry)
    }

    pub fn record(&mut self, changeset: &Changeset) -> Result<Vec<ChangeRecord>> {
        let mut records = Vec::with_capacity(changeset.changes().len());
        for change in changeset.changes() {
            let before = change.before.as_ref().map(|file| self.blob(file)).transpose()?;
            let after = change.after.as_ref().map(|file| self.blob(file)).transpose()?;
            records.push(ChangeRecord::new(change, before, after));
        }
        Ok(records)
    }

    /// The thread of `id`, which this command may have begun.
    fn whole(&self, id: &ProposalId) -> Result<ObjectId> {
        let made = self.made.iter().find(|made| id.is_of(&made.to_string()));
        made.map_or_else(|| self.view.thread_id(id), |made| Ok(*made))
    }

    /// Binds this command's events in the thread of `id` to the tips when it was shown; tips
    /// fetched since are not seen. Returns the shown proposal, with this command's events.
    ///
    /// # Errors
    /// `changed_since_shown` if this clone itself has added to it.
    pub fn pin(&mut self, id: &ProposalId, shown: &ShownTips) -> Result<Proposal> {
        let whole = self.whole(id)?;
        let thread = self.view.thread_of(&whole)?;
        let is_here = |tip: &ObjectId| thread.history.at(&tip.to_string()).is_some();
        if thread.own != shown.own || !shown.parents.iter().all(is_here) {
            let why = format!("{id} is not as it was shown: this clone has added something to it");
            return Err(Error::new(&crate::proposal::codes::CHANGED_SINCE_SHOWN, why)
                .with("proposal_id", id.as_str())
                .hint(format!("nothing was written; look again: aye diff {id}")));
        }
        let is_begun = self.chains.get(&whole).is_some_and(|chain| chain.is_ahead);
        if is_begun {
            return self.proposal(id);
        }
        let parents = match &shown.parents[..] {
            [] => thread.parents()?,
            parents => parents.to_vec(),
        };
        let chain = self.chain_on(&thread, parents)?;
        let proposal = chain.proposal();
        self.chains.insert(whole, chain);
        let proposal = proposal.ok_or_else(|| Error::bug("what was shown is no proposal"))?;
        Ok(Proposal { id: id.clone(), ..proposal })
    }

    /// A proposal with this command's events, recorded or not.
    pub fn proposal(&self, id: &ProposalId) -> Result<Proposal> {
        let chain = self.chains.get(&self.whole(id)?).filter(|chain| chain.is_ahead);
        match chain.and_then(Chain::proposal) {
            Some(proposal) => Ok(Proposal { id: id.clone(), ..proposal }),
            None => self.view.proposal(id),
        }
    }

    fn chain_on(&self, thread: &Thread, parents: Vec<ObjectId>) -> Result<Chain> {
        let history = &thread.history;
        let at = |id: &ObjectId| history.at(&id.to_string());
        let tips: Vec<usize> = parents.iter().filter_map(at).collect();
        let is_seen = |at: usize| tips.iter().any(|tip| *tip == at || history.saw(*tip, at));
        let events = history.events().iter().enumerate();
        let made = self.store.make_clone_id()?;
        Ok(Chain {
            space: thread.space,
            own: thread.own,
            parents,
            seen: events.filter(|(at, _)| is_seen(*at)).map(|(_, event)| event.clone()).collect(),
            clone: thread.clone_of(&self.store.clone_ids()).unwrap_or(made),
            is_new: false,
            is_ahead: false,
        })
    }

    fn chain(&mut self, id: &ObjectId) -> Result<&mut Chain> {
        if !self.chains.contains_key(id) {
            let thread = self.view.thread_of(id)?;
            let chain = self.chain_on(&thread, thread.parents()?)?;
            self.chains.insert(*id, chain);
        }
        self.chains.get_mut(id).ok_or_else(|| Error::bug("a thread that was read is gone"))
    }

    /// Adds an event that decides nothing. The caller checks on [`Writer::view`] that the
    /// proposal's state allows it.
    ///
    /// # Errors
    /// `size_limit_exceeded`, `thread_too_long`; `internal_error` if the event cannot be written as
    /// JSON.
    pub fn note(&mut self, proposal: Option<&ProposalId>, note: Note) -> Result<StoredEvent> {
        let data = Data::from(note);
        match (proposal, &data) {
            (Some(id), _) => {
                let id = self.whole(id)?;
                self.append(&id, data, None)
            }
            (None, Data::Plan(plan)) => {
                let branch =
                    plan.get("branch").and_then(|branch| branch.as_str()).unwrap_or_default();
                let known = self.view.plan_tip(branch, |_| true)?.map(|(id, _)| id);
                let has_room = |id: &ObjectId| {
                    self.view.thread_of(id).is_ok_and(|thread| {
                        thread.history.events().len() < MOST_OF_A_PLAN
                            && thread.space == Space::Shared
                    })
                };
                match known.filter(has_room) {
                    Some(id) => self.append(&id, data, None),
                    None => self.begin(Space::Shared, data),
                }
            }
            (None, _) => Err(Error::bug(format!("'{}' is about no proposal", data.kind()))),
        }
    }

    /// Records a direct patch as a new thread.
    ///
    /// # Errors
    /// `internal_error` if the authority is for something else.
    pub fn patch(&mut self, authority: &Authority, written: Vec<Written>) -> Result<StoredEvent> {
        self.require(authority, &[Verb::Patch])?;
        let is_private = {
            let contents = written.iter().flat_map(|file| {
                [Content::before(&file.path, file.before.as_ref()), Content::written(file)]
            });
            self.store.is_private(written.iter().map(|file| &file.path))?
                || self.store.is_from_private(&self.view, None, contents.flatten())?
        };
        let space = if is_private { Space::Private } else { Space::Shared };
        for file in written.iter().filter(|_| is_private) {
            // Its lines identify it wherever they are moved.
            let bytes = file.after.as_ref().and_then(|it| self.store.present(&file.path, it));
            if let Some(bytes) = bytes {
                self.added.insert(self.batch.add(Kind::Blob, &bytes)?);
            }
        }
        let evidence = authority.evidence().clone();
        let patch = Patch { written, written_blob: None, evidence };
        self.begin(space, Data::Patch(patch))
    }

    /// Records a person's wish to purge the thread of `id`, with which another person has to agree.
    ///
    /// # Errors
    /// `internal_error` if the authority is for something else.
    pub fn ask_purge(
        &mut self,
        authority: &Authority,
        id: &ProposalId,
        purge: Purge,
    ) -> Result<StoredEvent> {
        self.require(authority, &[Verb::Purge])?;
        let id = self.whole(id)?;
        self.append(&id, Data::Purge(purge), None)
    }

    /// Refuses an authority of another actor, or for another verb.
    fn require(&self, authority: &Authority, verbs: &[Verb]) -> Result<()> {
        if *authority.actor() == self.actor && verbs.contains(&authority.verb()) {
            return Ok(());
        }
        let verb = authority.verb().as_str();
        Err(Error::bug(format!("an authority to {verb} was used for something else")))
    }

    /// Writes the objects added so far without recording anything. They are durable after a later
    /// flush of a ref or an apply journal.
    pub fn flush_objects(&mut self) -> Result<()> {
        write_out(self.store, &mut self.batch)
    }

    /// Drops events that are not recorded. Their objects stay, for the same events at the same
    /// time.
    pub fn drop_events(&mut self) {
        self.chains.clear();
        self.made.clear();
        self.revised.clear();
        self.touched = self.left_over.union(&self.fetched).copied().collect();
    }

    /// Records this command's events. [`Store::write`] calls it at the end; callers do if something
    /// must come after it, such as the end of an apply journal.
    ///
    /// # Errors
    /// `busy`, and those of the file system. After a thread's error its events are not recorded.
    pub fn commit(&mut self) -> Result<()> {
        let has_followed = |id: &&ObjectId| self.view.row(id).is_some_and(|row| row.has_followed());
        let same: BTreeSet<ObjectId> = self.touched.iter().filter(has_followed).copied().collect();
        if self.chains.values().any(|chain| chain.is_ahead) {
            self.note_touched();
            self.is_noted = true;
            self.move_refs()?;
        } else if !self.fetched.is_empty() {
            self.note_touched();
            self.is_noted = true;
        }
        let (mut settled, mut rows) = (Vec::new(), Vec::new());
        let touched = std::mem::take(&mut self.touched);
        for id in self.lower_first(touched) {
            // A failure of projections must not fail the recorded events; `doctor` reports it.
            let Ok(is_pending) = self.project(&id, same.contains(&id)) else { continue };
            if is_pending {
                self.announce(&id);
            } else {
                settled.push(id);
            }
            if !self.touched.contains(&id) {
                rows.extend(self.view.row(&id).map(|row| row.followed(is_pending)));
            }
        }
        let names: Vec<ProposalId> = settled.iter().map(|id| self.view.name(id)).collect();
        if pending::remove_all(self.store, &names).is_err() {
            self.touched.extend(settled);
        }
        memo::note(self.store, &rows);
        self.fetched.clear();
        if self.is_noted || !self.touched.is_empty() {
            self.is_noted = !self.touched.is_empty();
            self.note_touched();
        }
        Ok(())
    }

    /// Notes for the next writer the threads with stale projections.
    fn note_touched(&mut self) {
        let ids: Vec<String> = self.touched.iter().map(ToString::to_string).collect();
        self.lock.note(&ids.join("\n"));
    }

    /// Objects first, then the refs, new threads first, then the view.
    fn move_refs(&mut self) -> Result<()> {
        self.flush_objects()?;
        let durable = self.store.repository().settings()?.durable;
        let mut ahead: Vec<ObjectId> =
            self.chains.iter().filter(|(_, it)| it.is_ahead).map(|(id, _)| *id).collect();
        ahead.sort_by_key(|id| self.chains.get(id).is_none_or(|chain| !chain.is_new));
        let (mut moved, mut result) = (Vec::new(), Ok(()));
        for id in ahead {
            let Some(chain) = self.chains.get_mut(&id) else { continue };
            let (name, tip) = (chain.space.name(&id), chain.parents.first().copied());
            let Some(tip) = tip else { continue };
            match refs::compare_and_swap(self.store.repository(), &name, chain.own, tip, durable) {
                Ok(refs::MoveOutcome::Flushed) => {}
                Ok(refs::MoveOutcome::Unflushed(error)) => {
                    self.store.notices.unflushed(&name, &error)
                }
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
            (chain.own, chain.is_ahead, chain.is_new) = (Some(tip), false, false);
            moved.push((id, chain.space, tip));
        }
        self.view.moved(&moved)?;
        result
    }
}

/// The entry of `file` in a repository that hashes by `kind`.
pub fn entry_of(kind: gix::hash::Kind, file: &File) -> Result<Entry> {
    let id = hashed(kind, Kind::Blob, &file.bytes)?;
    Ok(Entry { id: id.to_string(), mode: file.mode.as_str().into() })
}

fn blob(batch: &mut Batch<'_>, file: &File) -> Result<Entry> {
    let id = batch.add(Kind::Blob, &file.bytes)?;
    Ok(Entry { id: id.to_string(), mode: file.mode.as_str().into() })
}

pub(super) fn write_out(store: &Store, batch: &mut Batch<'_>) -> Result<()> {
    batch.write_durably(store.repository())?;
    store.upkeep.wrote(store.repository());
    Ok(())
}
