//! The store: proposals as threads of commits, the lock, the memo, projections, pending refs.
//!
//! The threads are the source of truth: one event is one commit, and its parents are the events
//! that its writer had seen. [`Store::view`] reads threads. [`Store::write`] is the only way to
//! record an event. The format is in `docs/spec/threads.md`.

mod announce;
mod base_commits;
mod content;
mod contradiction;
mod counts;
mod discover;
mod exchange;
mod ledger;
mod lock;
mod memo;
mod objects;
mod partial;
mod patch_backup;
mod pending;
mod private_content;
mod projection;
mod purge;
mod queries;
mod refs;
mod removal;
mod set_aside;
mod space;
#[cfg(test)]
mod tests;
mod thread;
mod trees;
mod trouble;
mod view;
mod write;

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

use crate::error::{Error, Result};
use crate::proposal::{ProposalId, Status};

pub use announce::{News, NewsList};
pub use content::too_much;
pub use discover::{Projector, Store};
pub use exchange::{ClosedThread, Refs, RemoteRef};
pub use lock::Lock;
pub use memo::{ChangedFile, ProposalRow};
pub use private_content::Content;
pub use projection::Tampering;
pub use purge::{
    ANSWERS, EDITED, PurgeRecord, PurgeRemainder, PurgeReport, PurgeRequest, PurgedBlobs, Subjects,
    Target, changed_files,
};
pub use queries::{DirectPatch, Filter, LogEntry, LogPages, PAGE, Summary};
pub use refs::Role;
pub use removal::Removable;
pub use space::{BY, Sent, Space, fetch_refspec, fetched_directory, push_directory, push_refspec};
pub use thread::{SetAside, Source, Thread, Tip};
pub use trouble::{Notices, ThreadFault};
pub use view::{Moves, ShownTips, View};
pub use write::{NewDecision, NewProposal, NewRevision, ProposeOutcome, Writer, entry_of};

pub mod codes {
    crate::codes! {
        STORE_BUSY = "busy", Busy, "another process holds the store's lock";
        CI_HAS_NO_CLONE = "ci_has_no_clone", Refused, "CI is set, and aye.clone names no clone to write as";
        IN_TRIAL = "in_trial", Refused, "a command of aye try cannot decide or write in a person's name";
        PRIVATE_PATH = "private_path", Refused, "a shared event would reveal private content";
        REMOTE_NOT_FOUND = "remote_not_found", NotFound, "git has no remote of that name";
        THREAD_DAMAGED = "thread_damaged", Invalid, "a commit of a thread is malformed or unreadable";
        THREAD_INCOMPLETE = "thread_incomplete", Invalid, "this clone lacks the beginning of a thread, as in a shallow clone";
        THREAD_TOO_LONG = "thread_too_long", Refused, "the thread has as many events as other clones read";
        TOO_MANY_REFS = "too_many_refs", Refused, "a thread has more fetched refs than aye reads";
        PUBLISHED_ELSEWHERE = "published_elsewhere", Refused, "a remote has a thread that is private here";
        EVENT_CONTRADICTS = "event_contradicts", Invalid, "a change names another result than it produces";
    }
}

/// Proposals that a repair rebuilds under one lock: each takes a millisecond or two, and others
/// wait.
const REBUILT_AT_ONCE: usize = 500;

/// Faults of pending refs, content and projections.
#[derive(Debug)]
pub struct ProjectionFaults {
    /// A word and a sentence for each faulty ref below `refs/aye/pending/`: `moved` if it is not at
    /// its proposal's commit, `missing`, or `unexpected` without such a proposal.
    pub refs: Vec<(&'static str, String)>,
    pub unreadable: Vec<(ProposalId, Error)>,
    /// Projections that differ from what the store would write.
    pub projections: Result<Vec<Tampering>>,
}

impl Default for ProjectionFaults {
    fn default() -> Self {
        Self { refs: Vec::new(), unreadable: Vec::new(), projections: Ok(Vec::new()) }
    }
}

impl Store {
    /// True if projections are stale: a writer was stopped, or events of other clones were fetched.
    /// The next writer updates them.
    pub fn is_unfinished(&self, view: &View<'_>, now: DateTime<Utc>) -> bool {
        matches!(self.repository().private(), Ok(Some(private)) if !lock::noted(&private).is_empty())
            || view.due(now, 1).is_ok_and(|due| !due.is_empty())
    }

    /// The lock's note and a stale thread, to be compared with those after a write.
    pub fn unfinished(&self, view: &View<'_>, now: DateTime<Utc>) -> (Option<String>, Vec<String>) {
        let noted = self.repository().private().ok().flatten().map(|private| lock::noted(&private));
        let due = view.due(now, 1).unwrap_or_default();
        (noted, due.iter().map(ToString::to_string).collect())
    }

    /// Compares pending refs, content and projections with the pending proposals, each of which is
    /// read once. With `is_full` a partial clone fetches their content first.
    pub fn projection_faults(
        &self,
        view: &View<'_>,
        is_full: bool,
        now: DateTime<Utc>,
    ) -> Result<ProjectionFaults> {
        let due = view.due(now, usize::MAX)?;
        let is_due = |id: &ProposalId| due.iter().any(|thread| id.is_of(&thread.to_string()));
        let is_partial = self.repository().is_partial();
        if is_full {
            self.fetch_pending(view)?;
        }
        let mut examined = ProjectionFaults::default();
        let mut targets = pending::targets(self)?;
        let mut projections = projection::Examiner::new(self).transpose();
        let mut pending = BTreeSet::new();
        for summary in view.proposals(&Filter::pending(), now)? {
            let id = summary.id;
            let (target, is_due) = (targets.remove(&id), is_due(&id));
            pending.insert(id.clone());
            // The look at the threads reports unreadable ones.
            let Ok(proposal) = view.proposal(&id) else { continue };
            if self.lacks_content(&proposal.current().changes) {
                // The content was not needed yet, and no ref or file was made of it.
                continue;
            }
            let changeset = match self.changeset(proposal.current()) {
                Ok(changeset) => changeset,
                Err(error) => {
                    examined.unreadable.push((id, error));
                    continue;
                }
            };
            let wrong = match target {
                _ if is_due => None,
                None if is_partial => None,
                None => Some(("missing", "is missing".to_owned())),
                Some(target) => pending::moved(self, &proposal, target).map(|why| ("moved", why)),
            };
            let name = format!("{}{id}", refs::PENDING);
            examined.refs.extend(wrong.map(|(what, why)| (what, format!("{name} {why}"))));
            if let Some(Ok(projections)) = &mut projections {
                projections.proposal(&proposal, &changeset, is_due)?;
            }
        }
        for id in targets.keys().filter(|id| !is_due(id)) {
            let why = format!("{}{id} is there, and {id} is not pending", refs::PENDING);
            examined.refs.push(("unexpected", why));
        }
        examined.projections = match projections {
            None => Ok(Vec::new()),
            Some(projections) => projections.and_then(|found| found.finish(&pending, is_due)),
        };
        Ok(examined)
    }

    /// Fetches the content of pending proposals in one request, in a partial clone.
    pub fn fetch_pending(&self, view: &View<'_>) -> Result<()> {
        if !self.repository().is_partial() {
            return Ok(());
        }
        let mut ids = BTreeSet::new();
        view.open_paths(|_, _, sides| {
            let named = sides.into_iter().flatten();
            ids.extend(named.filter_map(|side| gix::ObjectId::from_hex(side.id.as_bytes()).ok()));
        })?;
        self.ask(ids);
        Ok(())
    }

    /// Rewrites pending refs and projections, and removes those of decided proposals. Proposals
    /// without readable content are skipped. If `view` is out of date the present state counts.
    /// Returns the number of pending proposals.
    ///
    /// # Errors
    /// `busy`.
    pub fn rebuild_projections(&self, view: &View<'_>, now: DateTime<Utc>) -> Result<usize> {
        // Without the lock it would restore refs and files that another process's decision removes.
        let lock = || match self.repository().make_private() {
            Ok(private) => Lock::acquire(&private).map(Some),
            // No other process can record anything, either.
            Err(error) if error.is(&crate::private::codes::PRIVATE_DIR_UNSAFE) => Ok(None),
            Err(error) => Err(error),
        };
        let held = lock()?;
        let newer = if view.is_current() { None } else { Some(self.view()?) };
        let view = newer.as_ref().unwrap_or(view);
        let pending = view.proposals(&Filter::pending(), now)?;
        let known: BTreeSet<_> = pending.iter().map(|s| &s.id).collect();
        let refs = pending::targets(self)?;
        let stale = || refs.keys().filter(|id| !known.contains(id));
        for id in stale().filter(|id| view.proposal(id).is_err()) {
            // The ref may be all that is left of the proposal.
            pending::keep(self, id)?;
        }
        pending::remove_all(self, stale())?;
        for stale in self
            .projection_faults(view, true, now)?
            .projections?
            .iter()
            .filter(|found| ["stale", "unexpected"].contains(&found.what))
        {
            if view.proposal(&stale.id).is_err() {
                projection::keep(self, &stale.id)?;
            }
            projection::remove(self, &stale.id)?;
        }
        drop(held);
        for some in pending.chunks(REBUILT_AT_ONCE) {
            let _held = lock()?;
            let newer = if view.is_current() { None } else { Some(self.view()?) };
            let view = newer.as_ref().unwrap_or(view);
            for summary in some {
                let proposal = view.proposal(&summary.id).ok();
                let Some(proposal) = proposal.filter(|it| it.status(now) == Status::Pending) else {
                    continue;
                };
                if self.changeset(proposal.current()).is_err() {
                    continue;
                }
                pending::make(self, &proposal, view, now)?;
                projection::make(self, &proposal, false)?;
            }
        }
        Ok(pending.len())
    }

    /// Rebuilds the commit (hex) of the pending `proposal`: its diff to its first parent is the
    /// proposed change.
    pub fn pending_commit(
        &self,
        view: &View<'_>,
        proposal: &crate::proposal::Proposal,
        now: DateTime<Utc>,
    ) -> Result<String> {
        pending::make(self, proposal, view, now).map(|commit| commit.to_string())
    }
}
