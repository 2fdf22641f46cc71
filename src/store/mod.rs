//! The store: lanes and objects through git, the lock, the cache, projections, pending refs.
//!
//! Source of truth are the lanes, append-only chains of commits under `refs/aye/log/<lane>`.
//! Reading goes through [`Store::view`], which is the cache brought up to date with the lane
//! tips; writing goes through [`Store::write`], which is the only way an event comes to be.

mod above;
mod announce;
mod aside;
mod audience;
mod before;
mod cache;
mod chain;
mod compose;
mod contents;
mod contradiction;
mod deinit;
mod discover;
mod epoch;
mod facts;
mod fetches;
pub mod idle;
mod inspect;
mod instructions;
mod lane;
mod leftovers;
mod lists;
mod lock;
mod loose;
mod objects;
mod own;
mod partial;
mod pending;
mod place;
mod projection;
mod purge;
mod purged;
mod quiet;
mod quotes;
mod read;
mod refs;
pub mod refused;
mod rewound;
pub mod seen;
mod settle;
mod traces;
mod trees;
mod trouble;
mod upkeep;
mod verify;
mod write;

use std::collections::BTreeSet;

use chrono::{DateTime, Utc};
use gix::objs::Exists as _;

use crate::error::{Error, Result};
use crate::proposal::{ProposalId, Status};
use lock::Lock;

pub use announce::{Announced, News};
pub use audience::Pushes;
pub use cache::{
    Content, Filter, Hold, LogEntry, LogPages, Moves, OwnTip, PAGE, PurgeRecord, Summary, View,
};
pub use deinit::Held;
pub use discover::{Projector, Store};
pub use epoch::{Folded, Folding};
pub use fetches::Overwrites;
pub use inspect::Damage;
pub use lane::Broken;
pub use leftovers::{Leftover, StaleLock};
pub use projection::Tampering;
pub use purge::{
    ANSWERS, Begun, Contents, EDITED, Holder, Purged, Purging, Standing, Subjects, Target, Where,
};
pub use read::too_much;
pub use refs::Audience;
pub use rewound::Rewound;
pub use trees::{tree_changes, tree_entry};
pub use trouble::{Notices, Trouble, TroubleKind};
pub use upkeep::Upkeep;
pub use verify::Verifier;
pub use write::{NewProposal, NewRevision, ProposeOutcome, Writer, entry_of};

/// Error codes of the store.
pub mod codes {
    crate::codes! {
        STORE_BUSY = "busy", Busy, "another process holds the store's lock";
        CI_HAS_NO_LANE = "ci_has_no_lane", Refused, "CI is set, and aye.lane names no lane to write to";
        IN_TRIAL = "in_trial", Refused, "a command of aye try would decide, or write in a person's name";
        PRIVATE_PATH = "private_path", Refused, "what is private would come to where others see it";
        REMOTE_NOT_FOUND = "remote_not_found", NotFound, "git has no remote of that name";
        LANE_BROKEN = "lane_broken", Invalid, "a lane has a commit, tree or event that cannot be read";
        LANE_SHALLOW = "lane_shallow", Invalid, "a lane is needed from its beginning, which is not in this shallow clone";
        CACHE_TAMPERED = "cache_tampered", Conflict, "the cache does not hold what the lanes say of a proposal";
        EVENT_CONTRADICTS = "event_contradicts", Invalid, "a change shows another result than it makes";
        PROPOSAL_ARCHIVED = "proposal_archived", NotFound, "the content of the proposal was folded away, and its archive is not here";
    }
}

/// How many proposals a repair makes refs and files for while others wait: each takes a millisecond or two.
const REBUILT_AT_ONCE: usize = 500;

/// What is wrong with what stands for pending proposals.
#[derive(Debug)]
pub struct Examined {
    /// Refs below `refs/aye/pending/`: `moved` where one is not at its proposal's commit, `missing`,
    /// or `unexpected` where no such proposal is pending; with a sentence about it.
    pub refs: Vec<(&'static str, String)>,
    /// Proposals whose content is missing or damaged.
    pub unreadable: Vec<(ProposalId, Error)>,
    /// Projections that are not what the store would write, or why they cannot be looked at.
    pub projections: Result<Vec<Tampering>>,
}

impl Default for Examined {
    fn default() -> Self {
        Self { refs: Vec::new(), unreadable: Vec::new(), projections: Ok(Vec::new()) }
    }
}

impl Store {
    /// True if projections have yet to follow: a writer was stopped before it made them, or lanes
    /// of other clones were fetched. The next writer sees to it.
    pub fn is_unfinished(&self, view: &View) -> bool {
        matches!(self.repository().private(), Ok(Some(private)) if lock::is_noted(&private))
            || !view.fetched(1).is_empty()
    }

    /// What there is to see to first, to be compared with what there is after a write.
    pub fn unfinished(&self, view: &View) -> (Option<String>, BTreeSet<ProposalId>) {
        let noted = self.repository().private().ok().flatten().map(|private| lock::noted(&private));
        (noted, view.fetched(1))
    }

    /// Holds what stands for the pending proposals against them: each proposal is read once. What the
    /// last look has found to be as it should is passed over where it has not changed since, unless
    /// this one `is_full`.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn examine(&self, view: &View, is_full: bool, now: DateTime<Utc>) -> Result<Examined> {
        let fetched = view.fetched(usize::MAX);
        let is_partial = self.repository().is_partial();
        if is_full {
            self.fetch_pending(view)?;
        }
        let mut examined = Examined::default();
        let mut targets = pending::targets(self)?;
        let mut projections = projection::Examiner::new(self).transpose();
        let mut pending = BTreeSet::new();
        let mut seen = seen::Sound::load(self, seen::EXAMINED, is_full);
        for summary in view.proposals(&Filter::pending(), now)? {
            let id = summary.id;
            let (target, is_due) = (targets.remove(&id), fetched.contains(&id));
            pending.insert(id.clone());
            // Taken before anything is looked at: what changes meanwhile is another state.
            let line = match (&projections, target) {
                (Some(Ok(projections)), Some(target))
                    if !is_due && self.repository().repo.objects.exists(&target) =>
                {
                    let body = view.body(&id)?;
                    body.and_then(|body| {
                        let what = format!("{id} {target} {}", crate::sha256::hex(&body));
                        projections.line(&id, &what, now)
                    })
                }
                _ => None,
            };
            if line.as_ref().is_some_and(|line| seen.has(line)) {
                continue;
            }
            let proposal = view.proposal(&id)?;
            if self.awaits(&proposal.current().changes) {
                // It was not needed yet, and nothing was made of it.
                continue;
            }
            let changeset = match self.changeset(&proposal.current().changes) {
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
            let name = || format!("{}{id}", refs::PENDING);
            let mut is_right = wrong.is_none();
            examined.refs.extend(wrong.map(|(what, why)| (what, format!("{} {why}", name()))));
            if let Some(Ok(projections)) = &mut projections {
                is_right &= projections.proposal(&proposal, &changeset, is_due)?;
            }
            if let Some(line) = line.filter(|_| is_right) {
                seen.add(&line);
            }
        }
        seen.save();
        let is_due = |id: &ProposalId| fetched.contains(id) || projection::is_due(view, id, now);
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

    /// Writes pending refs and projections anew and removes those of decided proposals; passes
    /// over those whose content cannot be read. Returns how many proposals are pending. Where another process
    /// has recorded something since `view` was made, it goes by that.
    ///
    /// # Errors
    /// `busy`, and those of the file system.
    pub fn rebuild_projections(&self, view: &View, now: DateTime<Utc>) -> Result<usize> {
        // Otherwise it would make again what goes with a decision that another process records meanwhile.
        let held = |view: &View| -> Result<(Option<Lock>, Option<View>)> {
            let lock = match self.repository().make_private() {
                Ok(private) => Some(Lock::acquire(&private, "lock")?),
                // Nobody else can record anything, either.
                Err(error) if error.is(&crate::private::codes::PRIVATE_DIR_UNSAFE) => None,
                Err(error) => return Err(error),
            };
            let newer = if view.is_current(self) { None } else { Some(self.readable_view()?) };
            Ok((lock, newer))
        };
        let (lock, newer) = held(view)?;
        let view = newer.as_ref().unwrap_or(view);
        view.followed(&view.fetched(usize::MAX));
        let pending = view.proposals(&Filter::pending(), now)?;
        let known: BTreeSet<_> = pending.iter().map(|s| &s.id).collect();
        let refs = pending::targets(self)?;
        let stale = || refs.keys().filter(|id| !known.contains(id));
        for id in stale().filter(|id| view.proposal(id).is_err()) {
            // Nothing but this may be left of it.
            pending::keep(self, id)?;
        }
        pending::remove_all(self, stale())?;
        for stale in self
            .examine(view, true, now)?
            .projections?
            .iter()
            .filter(|found| ["stale", "unexpected"].contains(&found.what))
        {
            if view.proposal(&stale.id).is_err() {
                projection::keep(self, &stale.id)?;
            }
            projection::remove(self, &stale.id)?;
        }
        drop(lock);
        for some in pending.chunks(REBUILT_AT_ONCE) {
            let (_lock, newer) = held(view)?;
            let view = newer.as_ref().unwrap_or(view);
            for summary in some {
                let proposal = view.proposal(&summary.id).ok();
                let Some(proposal) = proposal.filter(|it| it.status(now) == Status::Pending) else {
                    continue;
                };
                if self.changeset(&proposal.current().changes).is_err() {
                    continue;
                }
                pending::make(self, &proposal, view, now)?;
                projection::make(self, &proposal)?;
            }
        }
        Ok(pending.len())
    }

    /// The commit (hex) of the pending `proposal`, made again: its diff to its first parent is what is
    /// proposed.
    ///
    /// # Errors
    /// If objects or the ref cannot be written.
    pub fn pending_commit(
        &self,
        view: &View,
        proposal: &crate::proposal::Proposal,
        now: DateTime<Utc>,
    ) -> Result<String> {
        pending::make(self, proposal, view, now).map(|commit| commit.to_string())
    }
}
