//! The store at one moment: its threads and their memo.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use chrono::DateTime;
use gix::ObjectId;

use super::memo::{self, Row};
use super::objects::object_id;
use super::purge::PurgeRecord;
use super::queries::{ambiguous, not_found};
use super::thread::{Thread, Threads};
use super::trouble::ThreadFault;
use super::{Space, Store, Summary};
use crate::changeset::RepoPath;
use crate::error::{Error, Result};
use crate::proposal::{Event, Proposal, ProposalId, StoredEvent, fold, id};
use crate::repository::idle;

/// Bytes of threads that a view keeps after they were read.
const MOST_KEPT: u64 = 16 << 20;

/// Renames of files in a range of commits.
pub type Moves = Rc<[(RepoPath, RepoPath)]>;

/// The store at one moment: refs are read once, commits when they are needed, and nothing is
/// locked. A proposal is always folded from its commits; lists come from the memo.
pub struct View<'s> {
    store: &'s Store,
    pub(super) threads: Threads<'s>,
    read: RefCell<HashMap<ObjectId, Rc<Thread>>>,
    /// Bytes of the threads in `read`.
    weight: Cell<u64>,
    known: RefCell<BTreeMap<ProposalId, ObjectId>>,
    open: OnceCell<Vec<Row>>,
    decided: OnceCell<Vec<u8>>,
    moves: RefCell<BTreeMap<String, Moves>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShownTips {
    pub(super) own: Option<ObjectId>,
    /// Parents of an event on the shown state.
    pub(super) parents: Vec<ObjectId>,
}

impl Store {
    pub fn view(&self) -> Result<View<'_>> {
        Ok(View {
            store: self,
            threads: Threads::new(self),
            read: RefCell::default(),
            weight: Cell::default(),
            known: RefCell::default(),
            open: OnceCell::new(),
            decided: OnceCell::new(),
            moves: RefCell::default(),
        })
    }
}

impl<'s> View<'s> {
    pub fn store(&self) -> &'s Store {
        self.store
    }

    /// True if no ref has moved since.
    pub fn is_current(&self) -> bool {
        self.threads.is_current()
    }

    /// The times of the refs' directories: two views with the same ones have the same threads.
    pub fn state(&self) -> Option<idle::RefTimes> {
        idle::RefTimes::read(self.store.repository().common_dir(), DateTime::UNIX_EPOCH)
    }

    /// Updates the view after this clone has moved refs of threads to the tips `moved`, under the
    /// lock. Other refs are not read again.
    pub(super) fn moved(&mut self, moved: &[(ObjectId, Space, ObjectId)]) -> Result<()> {
        for (id, space, tip) in moved {
            self.threads.moved(*id, *space, *tip);
            self.read.get_mut().remove(id);
        }
        let Some(mut rows) = self.open.take() else { return Ok(()) };
        for (id, ..) in moved {
            let place = rows.binary_search_by(|row| row.thread.cmp(&id.to_string()));
            let before = place.ok().map(|at| rows.remove(at));
            let at = place.unwrap_or_else(|at| at);
            rows.insert(at, self.fresh_row(id, before.as_ref())?);
        }
        let _ = self.open.set(rows);
        let names: Vec<_> = moved.iter().map(|(id, ..)| (self.name(id), *id)).collect();
        self.known.get_mut().extend(names);
        Ok(())
    }

    fn fresh_row(&self, id: &ObjectId, before: Option<&Row>) -> Result<Row> {
        let row = Row::of(self.store, &*self.thread_of(id)?, self.threads.key(id)?, before);
        Ok(Row { stamp: self.threads.stamp(id)?, ..row })
    }

    pub(super) fn row(&self, id: &ObjectId) -> Option<Row> {
        match self.open.get() {
            Some(rows) => memo::row(rows, &id.to_string()).cloned(),
            None => self.fresh_row(id, None).ok(),
        }
    }

    /// The proposal's id in refs and files: the long one if another open thread has the same short
    /// one.
    pub fn name(&self, id: &ObjectId) -> ProposalId {
        let (id, short) = (id.to_string(), ProposalId::from_event(&id.to_string()));
        let others = self.open.get().into_iter().flatten();
        let mut others = others.filter(|row| row.thread != id && short.is_of(&row.thread));
        if others.next().is_some() { ProposalId::long(&id) } else { short }
    }

    /// The rows of the threads with refs, by id.
    pub(super) fn open(&self) -> Result<&[Row]> {
        if self.open.get().is_none() {
            let rows = memo::open(self)?;
            for row in &rows {
                self.store.notices.add(&row.troubles);
            }
            let _ = self.open.set(rows);
        }
        Ok(self.open.get().map_or(&[], Vec::as_slice))
    }

    /// The rows of the threads that only the ledger has; with a `word`, only those that have it in
    /// their line. A fetched tombstone hides nothing here.
    pub(super) fn decided(
        &self,
        word: Option<&str>,
    ) -> Result<impl Iterator<Item = Row> + use<'_>> {
        if self.decided.get().is_none() {
            let _ = self.decided.set(memo::decided(self)?);
        }
        let bytes = self.decided.get().map_or(&[][..], Vec::as_slice);
        let mut others = HashSet::new();
        if !bytes.is_empty() {
            others.extend(self.open()?.iter().map(|row| row.thread.clone()));
            others.extend(self.threads.purged()?.map(ToString::to_string));
        }
        Ok(memo::rows_with(bytes, word).filter(move |row| !others.contains(&row.thread)))
    }

    /// The thread of `id`.
    ///
    /// # Errors
    /// `proposal_not_found`, `proposal_purged`; `ambiguous_id` with the long ids.
    pub(super) fn thread_id(&self, id: &ProposalId) -> Result<ObjectId> {
        if let Some(known) = self.known.borrow().get(id) {
            return Ok(*known);
        }
        let mut found = self.threads.find(&id::hex_prefix(id.as_str()))?;
        found.retain(|thread| id.is_of(&thread.to_string()));
        let mut found = found.into_iter();
        match (found.next(), found.next()) {
            (None, _) => Err(self.missing(id)),
            (Some(one), None) => {
                self.known.borrow_mut().insert(id.clone(), one);
                Ok(one)
            }
            (Some(one), Some(two)) => {
                let ids: Vec<String> = [one, two]
                    .into_iter()
                    .chain(found)
                    .map(|thread| ProposalId::long(&thread.to_string()).to_string())
                    .collect();
                let why = format!("'{id}' is the short id of several threads: {}", ids.join(", "));
                Err(ambiguous(why, ids, "type the long id of the one you mean"))
            }
        }
    }

    fn missing(&self, id: &ProposalId) -> Error {
        match self.purge_of(id) {
            Ok(Some(record)) => record.error(),
            Ok(None) => not_found(id.as_str()),
            Err(error) => error,
        }
    }

    pub fn thread(&self, id: &ProposalId) -> Result<Rc<Thread>> {
        self.thread_of(&self.thread_id(id)?)
    }

    pub(super) fn thread_of(&self, id: &ObjectId) -> Result<Rc<Thread>> {
        if let Some(thread) = self.read.borrow().get(id) {
            return Ok(Rc::clone(thread));
        }
        self.thread_now(id)
    }

    /// As its commits are now, also if it was read before.
    pub(super) fn thread_now(&self, id: &ObjectId) -> Result<Rc<Thread>> {
        let thread = Rc::new(self.threads.read(id)?);
        let aside: Vec<ThreadFault> =
            thread.set_aside.iter().map(|it| ThreadFault::of_ref(&thread, it)).collect();
        self.store.notices.add(&aside);
        let mut read = self.read.borrow_mut();
        let weight = self.weight.get() + thread.weight;
        self.weight.set(weight);
        if weight > MOST_KEPT {
            read.clear();
            self.weight.set(thread.weight);
        }
        read.insert(*id, Rc::clone(&thread));
        Ok(thread)
    }

    /// The proposal `id`, folded from its commits.
    ///
    /// # Errors
    /// `proposal_not_found`, `proposal_purged`, `ambiguous_id`, `thread_damaged`,
    /// `thread_incomplete`.
    pub fn proposal(&self, id: &ProposalId) -> Result<Proposal> {
        let proposal = self.folded(&self.thread_id(id)?)?;
        Ok(Proposal { id: id.clone(), ..proposal.ok_or_else(|| self.missing(id))? })
    }

    /// The proposal of a list's `summary`, folded from its commits.
    pub fn listed_proposal(&self, summary: &Summary) -> Result<Proposal> {
        let proposal = self.folded(&object_id(&summary.thread)?)?;
        let id = summary.id.clone();
        Ok(Proposal { id, ..proposal.ok_or_else(|| self.missing(&summary.id))? })
    }

    /// The proposal of the thread `id`; `None` if that is a plan or a patch.
    pub(super) fn folded(&self, id: &ObjectId) -> Result<Option<Proposal>> {
        Ok(fold(&self.thread_of(id)?.history))
    }

    /// The tips of the thread of `id`, for a decision on the shown state.
    pub fn tips(&self, id: &ProposalId) -> Result<ShownTips> {
        let thread = self.thread(id)?;
        // [`Writer::pin`](super::Writer::pin) reports a thread that is too long.
        Ok(ShownTips { own: thread.own, parents: thread.parents().unwrap_or_default() })
    }

    /// The space of a proposal.
    ///
    /// # Errors
    /// `proposal_not_found`, `proposal_purged`, `ambiguous_id`.
    pub fn space(&self, id: &ProposalId) -> Result<Space> {
        self.threads.space(&self.thread_id(id)?)
    }

    /// True if `event` names this clone, by its present name or a former one.
    pub fn is_from_here(&self, event: &Event) -> bool {
        self.store.clone_ids().contains(&event.clone)
    }

    /// True if this clone has recorded the event `stamped` of `id`: the event names this clone, and
    /// a ref of this clone, which no fetch can move, leads to it.
    pub fn has_recorded(&self, id: &ProposalId, stamped: &StoredEvent) -> Result<bool> {
        let thread = self.thread(id)?;
        let own = thread.own.filter(|_| self.is_from_here(&stamped.event));
        let own = own.and_then(|own| thread.history.at(&own.to_string()));
        let places = own.zip(thread.history.at(&stamped.id));
        Ok(places.is_some_and(|(own, at)| own == at || thread.history.saw(own, at)))
    }

    /// The space of the thread if the commit `hex` is one of its events. For raw commits in a push.
    pub fn space_of_commit(&self, hex: &str) -> Result<Option<Space>> {
        let Ok(commit) = ObjectId::from_hex(hex.as_bytes()) else { return Ok(None) };
        let Some(id) = super::thread::first_of(self.store, commit) else { return Ok(None) };
        let is_known = !self.threads.tips(&id)?.is_empty();
        is_known.then(|| self.threads.space(&id)).transpose()
    }

    pub(super) fn has_private(&self) -> Result<bool> {
        if self.open()?.iter().any(|row| row.is_private) {
            return Ok(true);
        }
        Ok(self.threads.ledger()?.chunks().iter().any(|chunk| chunk.space == Space::Private))
    }

    /// The refs that are set aside, and the events that do not count.
    pub fn troubles(&self) -> Result<Vec<ThreadFault>> {
        let mut found: Vec<ThreadFault> =
            self.open()?.iter().flat_map(|row| row.troubles.iter().cloned()).collect();
        found.extend(self.threads.ledger()?.aside().iter().map(ThreadFault::of_chunk));
        Ok(found)
    }

    /// Renames in the commits of `range`. `read` is called once, however many proposals need them.
    pub fn moves_in(
        &self,
        range: String,
        read: impl FnOnce() -> Vec<(RepoPath, RepoPath)>,
    ) -> Moves {
        self.moves.borrow_mut().entry(range).or_insert_with(|| read().into()).clone()
    }

    pub fn purged(&self) -> Result<Vec<PurgeRecord>> {
        super::purge::records(self.store, &self.threads)
    }

    pub fn purge_of(&self, id: &ProposalId) -> Result<Option<PurgeRecord>> {
        Ok(self.purged()?.into_iter().find(|record| id.is_of(&record.thread)))
    }

    pub fn purges_elsewhere(&self, id: &ProposalId) -> Result<Vec<PurgeRecord>> {
        super::purge::fetched(self.store, &self.threads, &self.thread_id(id)?)
    }
}
