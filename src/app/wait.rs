//! Waits for decisions and new proposals.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use chrono::{DateTime, TimeDelta, Utc};
use schemars::JsonSchema;
use serde::Serialize;

use super::listing::{self, Item, ListFacts};
use crate::app::quotes;
use crate::changeset::Changeset;
use crate::changeset::interdiff::interdiff;
use crate::error::Result;
use crate::proposal::document::{self, Remark};
use crate::proposal::event::{RevisionReason, timestamp};
use crate::proposal::state::Revision;
use crate::proposal::{Actor, Proposal, ProposalId, Status};
use crate::render::diff::{self, Options};
use crate::repository::idle::RefTimes;
use crate::store::{Filter, Store, Summary};

/// Shortest and longest pause between polls of ref timestamps.
const PAUSES: (Duration, Duration) = (Duration::from_millis(25), Duration::from_millis(500));

/// The document of `aye wait`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Document {
    /// `aye/wait@1`.
    pub schema: &'static str,
    /// The proposal.
    pub proposal_id: String,
    /// `pending`, `applied`, `rejected` or `expired`.
    pub status: Status,
    /// A reviewer asked for changes.
    pub changes_requested: bool,
    /// The time was over before anything was decided.
    pub timed_out: bool,
    /// Why it was rejected, or what should change.
    pub reason: Option<String>,
    /// The actor who decided or asked.
    pub by: Option<String>,
    /// The same, with the kind, which the document does not have.
    #[serde(skip)]
    pub actor: Option<Actor>,
    /// When.
    pub at: Option<String>,
    /// The commit made with the decision.
    pub commit: Option<String>,
    /// The current revision if it is not the proposer's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub revised: Option<LaterRevision>,
    /// Object ids of the events of the proposer's revisions that the decision was not about: the
    /// decider had not seen them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub undecided_revisions: Vec<String>,
    /// All comments, oldest first.
    pub comments: Vec<Remark>,
}

/// A revision by another actor than the proposer.
#[derive(Debug, Serialize, JsonSchema)]
pub struct LaterRevision {
    /// The revision's author.
    pub by: String,
    /// The same, with the kind, which the document does not have.
    #[serde(skip)]
    pub actor: Actor,
    /// `partial` (some hunks were taken), `edited`, `rebase` or `answer`.
    #[schemars(with = "String")]
    pub reason: RevisionReason,
    /// Unified diff from the proposer's last content to it; null if that content is no longer here.
    pub diff: Option<String>,
}

/// Waits until proposal `id` is decided, expires or gets a request of changes; at most for `limit`.
pub fn until(
    store: &Store,
    id: &ProposalId,
    limit: Option<Duration>,
    clock: impl Fn() -> DateTime<Utc>,
) -> Result<Document> {
    let started = Instant::now();
    let mut tips = RefTimes::read(store.repository().common_dir(), clock());
    let mut proposal = look(store, id)?;
    let mut pause = PAUSES.0;
    loop {
        let now = clock();
        let status = proposal.status(now);
        let decided = status != Status::Pending || proposal.changes_requested.is_some();
        let over = limit.is_some_and(|limit| started.elapsed() >= limit);
        if decided || over {
            return Ok(document(store, &proposal, status, !decided));
        }
        let mut rest = pause;
        if let Some(limit) = limit {
            rest = rest.min(limit.saturating_sub(started.elapsed()));
        }
        let left = (proposal.expires_at - now).max(TimeDelta::zero()).to_std().unwrap_or_default();
        std::thread::sleep(rest.min(left).max(Duration::from_millis(1)));
        pause = pause.mul_f32(1.3).min(PAUSES.1);
        let current = RefTimes::read(store.repository().common_dir(), clock());
        // Without readable tips every poll reads the store.
        if current.is_none() || current != tips {
            tips = current;
            proposal = look(store, id)?;
            pause = PAUSES.0;
        }
    }
}

/// The document of `aye wait --any`.
#[derive(Debug, Serialize, JsonSchema)]
pub struct NewProposals {
    /// `aye/wait-any@1`.
    pub schema: &'static str,
    /// The time was over before anything new was pending.
    pub timed_out: bool,
    /// The proposals that are pending and were not, or not at this revision; oldest first.
    pub proposals: Vec<Item>,
}

/// Waits for a pending proposal or revision that is new since the call; requested changes do not
/// count.
pub fn any(
    store: &Store,
    limit: Option<Duration>,
    clock: impl Fn() -> DateTime<Utc>,
) -> Result<NewProposals> {
    let started = Instant::now();
    let open = || -> Result<Vec<Summary>> {
        let filter = Filter { status: Some(Status::Pending), ..Filter::default() };
        let all = store.view()?.proposals(&filter, clock())?.into_iter();
        Ok(all.filter(|summary| !summary.changes_requested).collect())
    };
    let mut tips = RefTimes::read(store.repository().common_dir(), clock());
    let known: HashSet<String> = open()?.into_iter().map(|summary| summary.revision).collect();
    let mut pause = PAUSES.0;
    loop {
        if limit.is_some_and(|limit| started.elapsed() >= limit) {
            let (schema, proposals) = ("aye/wait-any@1", Vec::new());
            return Ok(NewProposals { schema, timed_out: true, proposals });
        }
        let left = limit.map_or(pause, |limit| limit.saturating_sub(started.elapsed()));
        std::thread::sleep(pause.min(left).max(Duration::from_millis(1)));
        pause = pause.mul_f32(1.3).min(PAUSES.1);
        let current = RefTimes::read(store.repository().common_dir(), clock());
        if current.is_some() && current == tips {
            continue;
        }
        (tips, pause) = (current, PAUSES.0);
        let new: Vec<Summary> =
            open()?.into_iter().filter(|summary| !known.contains(&summary.revision)).collect();
        if !new.is_empty() {
            let marks = ListFacts::of(store, &store.view()?, clock(), &new)?;
            let proposals = listing::items(&new, &marks);
            return Ok(NewProposals { schema: "aye/wait-any@1", timed_out: false, proposals });
        }
    }
}

fn look(store: &Store, id: &ProposalId) -> Result<Proposal> {
    store.view()?.proposal(id)
}

fn revised(store: &Store, proposal: &Proposal) -> Option<LaterRevision> {
    let current = proposal.current();
    if proposal.is_own(current) {
        return None;
    }
    let own = proposal.revisions.iter().rfind(|revision| proposal.is_own(revision))?;
    let changes = |revision: &Revision| store.changeset(revision).map(Changeset::into_changes).ok();
    let diff = changes(own)
        .zip(changes(current))
        .map(|(own, current)| diff::changeset(&interdiff(&own, &current), &Options::default()));
    let actor = current.actor.clone();
    Some(LaterRevision { by: actor.name.clone(), actor, reason: current.reason.clone(), diff })
}

/// Proposer's revisions made without knowledge of the decision.
fn undecided(proposal: &Proposal) -> Vec<String> {
    let revisions = proposal.revisions.iter().filter(|revision| proposal.is_own(revision));
    let events = revisions.map(|revision| &revision.event);
    events.filter(|event| proposal.undecided.contains(event)).cloned().collect()
}

pub fn document(store: &Store, proposal: &Proposal, status: Status, timed_out: bool) -> Document {
    let request = proposal.changes_requested.as_ref().filter(|_| status == Status::Pending);
    let decision = proposal.decision();
    let actor = decision.map(|decision| &decision.by).or_else(|| request.map(|asked| &asked.by));
    Document {
        schema: "aye/wait@1",
        proposal_id: proposal.id.to_string(),
        status,
        changes_requested: request.is_some(),
        timed_out,
        reason: decision
            .and_then(|decision| decision.reason.clone())
            .or_else(|| request.and_then(|request| request.reason.clone())),
        by: actor.map(|actor| actor.name.clone()),
        actor: actor.cloned(),
        at: decision.map(|d| timestamp(d.at)).or_else(|| request.map(|r| timestamp(r.at))),
        commit: decision.and_then(|decision| decision.commit.clone()),
        revised: revised(store, proposal),
        undecided_revisions: undecided(proposal),
        comments: document::comments(proposal, &quotes::places(store, proposal)),
    }
}
