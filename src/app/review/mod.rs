//! Data of a review: its queue, and proposals in their current state.

pub mod answers;
mod authors;
mod header;
mod plans;
mod queue;
mod unwritten;

pub use plans::{Plans, ReviewPlan, looked_at};
pub use queue::{KnownRevisions, QueueArrivals, ReviewQueue, arrived, found};
pub use unwritten::Unwritten;

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use chrono::{DateTime, Utc};

use self::header::{base, conversation, header, named, sayings};
use crate::app::listing::{ListFacts, marks_of};
use crate::changeset::{Changeset, FileChange, open_conflicts};
use crate::check::relations;
use crate::decide::{self, PlannedFiles, ProposalDisplay};
use crate::error::Result;
use crate::proposal::event::Subject;
use crate::proposal::relations::Dependency;
use crate::proposal::statement::Target;
use crate::proposal::{Actor, Proposal, ProposalId, Status};
use crate::repository::{Repository, idle::RefTimes};
use crate::review::terminal::{Content, LoadResult};
use crate::scan::gate;
use crate::store::{Filter, Store, Summary, View};

/// The store, as one review sees it.
pub struct ReviewStore<'s> {
    store: &'s Store,
    reviewer: Actor,
    /// Proposals pending at the start, with their index; `None` for requested changes.
    slots: BTreeMap<ProposalId, Option<usize>>,
    /// Author and text of sayings already seen.
    heard: BTreeMap<ProposalId, Vec<(String, String)>>,
    /// Valid while refs and HEAD stay.
    looked: PendingCache,
}

struct PendingCache {
    state: (Option<RefTimes>, Option<Target>),
    marks: Rc<ListFacts>,
    /// In order. `None` once listed: the next list compares files again.
    all: Option<Vec<Summary>>,
}

impl PendingCache {
    fn new(
        repository: &Repository,
        view: &View,
        marks: ListFacts,
        all: Option<Vec<Summary>>,
    ) -> Self {
        Self { state: (view.state(), repository.head_target()), marks: Rc::new(marks), all }
    }

    fn is_of_now(&self, repository: &Repository, view: &View) -> bool {
        self.state == (view.state(), repository.head_target())
    }
}

impl<'s> ReviewStore<'s> {
    pub fn new(store: &'s Store, view: &View, reviewer: Actor, found: ReviewQueue) -> Self {
        let ReviewQueue { tickets, marks, all, .. } = found;
        let mut slots: BTreeMap<ProposalId, Option<usize>> =
            all.iter().map(|summary| (summary.id.clone(), None)).collect();
        for (at, ticket) in tickets.iter().enumerate() {
            slots.insert(ticket.id.clone(), Some(at));
        }
        let looked = PendingCache::new(store.repository(), view, marks, Some(all));
        Self { store, reviewer, slots, heard: BTreeMap::new(), looked }
    }

    /// Index in the session.
    pub fn slot(&self, id: &ProposalId) -> Option<usize> {
        self.slots.get(id).copied().flatten()
    }

    /// Pending proposals of this review, in order.
    pub fn pending(&mut self, now: DateTime<Utc>) -> Result<(Vec<Summary>, Rc<ListFacts>)> {
        let view = self.store.view()?;
        let all = match self
            .looked
            .all
            .take()
            .filter(|_| self.looked.is_of_now(self.store.repository(), &view))
        {
            Some(all) => all,
            None => {
                let mut summaries = view.proposals(&Filter::pending(), now)?;
                summaries.retain(|summary| self.slots.contains_key(&summary.id));
                let marks = ListFacts::of(self.store, &view, now, &summaries)?;
                self.looked = PendingCache::new(self.store.repository(), &view, marks, None);
                self.looked.marks.in_order(summaries)
            }
        };
        Ok((all, Rc::clone(&self.looked.marks)))
    }

    /// `known` and `not_taken` as for `Host::load`.
    pub fn load(
        &mut self,
        id: &ProposalId,
        known: Option<&str>,
        not_taken: &BTreeSet<ProposalId>,
        now: DateTime<Utc>,
    ) -> Result<LoadResult> {
        let view = self.store.view()?;
        let proposal = view.proposal(id)?;
        let status = proposal.status(now);
        if status != Status::Pending {
            return Ok(LoadResult::Gone(status.as_str().to_owned()));
        }
        let unreadable = |error: &crate::error::Error| {
            Ok(LoadResult::Gone(format!("found unreadable ({})", error.message())))
        };
        let visible = match decide::display(self.store, &view, &proposal) {
            Ok(visible) => visible,
            Err(error) => return unreadable(&error),
        };
        let is_code = proposal.subject == Subject::Code;
        let related = self.related(&view, now)?;
        let lower = if visible.conflict.is_some() && is_code {
            self.on_lower(&view, &proposal, &related, not_taken)?
        } else {
            None
        };
        let (on, visible) = lower.unwrap_or((Vec::new(), visible));
        let base = base(self.store.repository(), &visible, &on);
        let changeset = match Changeset::new(visible.changes) {
            Ok(changeset) => changeset,
            Err(error) => return unreadable(&error),
        };
        let marks = marks_of(self.store, &view, now, &proposal)?;
        let is_told = |path: &str, line| marks.iter().any(|mark| mark.is_at(path, line));
        let warnings = if is_code {
            gate::file_warnings(self.store.repository(), &changeset, is_told)
        } else {
            Vec::new()
        };
        let warnings = warnings.iter().map(gate::ScanWarning::line).collect();
        let changes = changeset.into_changes();
        let opened = visible.conflict.filter(|_| is_code);
        let opened = opened.map(|plan| open_conflicts::open_conflicts(&plan, &changes));
        let is_planned = visible.planned || opened.is_some();
        let (changes, unfit) =
            opened.map_or((changes, Vec::new()), |open| (open.changes, open.unfit));
        let current = proposal.current();
        let proposed =
            if is_planned { Some(self.store.changeset(current)?.into_changes()) } else { None };
        // A plan that changes nothing is shown as proposed.
        let proposed = proposed.filter(|proposed| !same(proposed, &changes));
        let answers = answers::read(self.store.repository()).remove(&current.event);
        let seen = known.or_else(|| last_seen(&proposal, &self.reviewer));
        let said = conversation(self.store, &proposal);
        self.heard.insert(id.clone(), sayings(&proposal));
        let with_sources =
            |changes| if is_code { self.store.repository().with_sources(changes) } else { changes };
        let (changes, proposed) = (with_sources(changes), proposed.map(with_sources));
        let mut header = header(&proposal, now, base, said);
        header.prefix = view.prefix(id)?;
        (header.marks, header.warnings) = (marks, warnings);
        header.related = named(&view, related.relations(id))?;
        Ok(LoadResult::Ready(Box::new(Content {
            revision: current.event.clone(),
            lower: on,
            proposed,
            unfit,
            header,
            // After requested changes every hunk is asked again.
            answers: answers.filter(|_| proposal.changes_requested.is_none()),
            seen_changes: seen.and_then(|revision| self.changes(&proposal, revision)),
            memory: !is_code,
            quiet: self.store.repository().quiet(changes.iter().map(|change| &change.path)),
            changes,
        })))
    }

    /// `None` while pending at `revision`, otherwise the change in a word.
    pub fn changed(
        &self,
        id: &ProposalId,
        revision: &str,
        now: DateTime<Utc>,
    ) -> Result<Option<String>> {
        let proposal = self.store.view()?.proposal(id)?;
        Ok(match proposal.status(now) {
            Status::Pending if proposal.current().event == revision => None,
            Status::Pending => Some("revised".to_owned()),
            status => Some(status.as_str().to_owned()),
        })
    }

    /// Sayings since the last call or load.
    pub fn heard(&mut self, id: &ProposalId) -> Result<Vec<(String, String)>> {
        let said = sayings(&self.store.view()?.proposal(id)?);
        let before = self.heard.insert(id.clone(), said.clone()).unwrap_or_default();
        // Fetched sayings may be older than known ones, so compare all.
        Ok(said.into_iter().filter(|saying| !before.contains(saying)).collect())
    }

    /// `None` for the current revision, or if unavailable.
    fn changes(&self, proposal: &Proposal, revision: &str) -> Option<Vec<FileChange>> {
        let revision = proposal.revision(revision)?;
        let is_other = revision.event != proposal.current().event;
        let changes = is_other.then(|| self.store.changeset(revision))?;
        Some(changes.ok()?.into_changes())
    }

    /// Result of `proposal` on top of the proposals below it. `None` unless all of them can be
    /// applied in this session and it fits then.
    fn on_lower(
        &self,
        view: &View,
        proposal: &Proposal,
        related: &ListFacts,
        not_taken: &BTreeSet<ProposalId>,
    ) -> Result<Option<(Vec<ProposalId>, ProposalDisplay)>> {
        let takes = |lower: &Dependency| {
            let is_here = self.slot(&lower.id).is_some();
            is_here && !lower.is_revised && !not_taken.contains(&lower.id)
        };
        let below = related.below(&proposal.id, takes);
        let needed = related.relations(&proposal.id).map_or_else(Vec::new, |it| it.needed(takes));
        if needed.is_empty() || below.is_too_high || below.lacks.is_some() {
            return Ok(None);
        }
        let Ok(mut ahead) = PlannedFiles::new(self.store.repository()) else { return Ok(None) };
        for id in &below.taken {
            let shown = ahead.show(self.store, view, &view.proposal(id)?, None, None);
            if !shown.is_ok_and(|shown| shown.plan.refusal().is_none()) {
                return Ok(None);
            }
        }
        let visible = decide::visible_on(self.store, view, proposal, Some(&ahead))?;
        let on = needed.into_iter().map(|lower| lower.id.clone()).collect();
        Ok(visible.refusal.is_none().then_some((on, visible)))
    }

    fn related(&mut self, view: &View, now: DateTime<Utc>) -> Result<Rc<ListFacts>> {
        if !self.looked.is_of_now(self.store.repository(), view) {
            let related = relations::relations(self.store, view, now)?;
            let marks = ListFacts::of_relations(related);
            self.looked = PendingCache::new(self.store.repository(), view, marks, None);
        }
        Ok(Rc::clone(&self.looked.marks))
    }
}

/// Last revision that `reviewer` commented on, unless current.
fn last_seen<'p>(proposal: &'p Proposal, reviewer: &Actor) -> Option<&'p str> {
    let said = proposal.conversation(&[]);
    let number = said.iter().rfind(|saying| saying.by == reviewer)?.earlier?;
    Some(&proposal.revisions.get(number.checked_sub(1)?)?.event)
}

fn same(one: &[FileChange], other: &[FileChange]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|(one, other)| {
            (&one.path, &one.before, &one.after) == (&other.path, &other.before, &other.after)
        })
}
