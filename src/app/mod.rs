//! Use cases shared by all front ends: command line and tools.
//!
//! They take and return values. A front end reads clock, environment and terminal into a `Session`,
//! and renders results.

pub mod blame;
pub mod branch_commits;
pub mod capture;
pub mod check;
pub mod comment;
pub mod denied_files;
pub mod doctor;
pub mod dropped;
pub mod editor_buffers;
pub mod ending;
pub mod foreign_session;
pub mod in_session;
pub mod listing;
pub mod log;
pub mod notes;
pub mod outgoing;
pub mod patch;
pub mod plan;
pub mod proposable;
pub mod propose;
pub mod purge;
pub mod quotes;
pub mod real_path;
pub mod recall;
pub mod remark_text;
pub mod review;
pub mod session;
pub mod session_commits;
pub mod site;
pub mod stack;
pub mod stats;
pub mod suggestion;
pub mod trial;
pub mod wait;

mod decision_rest;
mod draft;

pub use draft::Draft;

use chrono::{DateTime, Duration, Utc};

use crate::error::Result;
use crate::proposal::{Actor, ActorKind, Caller, Proposal};
use crate::store::{Store, View};

pub struct Session<'a> {
    pub store: &'a Store,
    /// With evidence of an agent.
    pub caller: Caller,
    /// Time of the call, recorded in events.
    pub now: DateTime<Utc>,
}

impl Session<'_> {
    /// The same session `milliseconds` later, for each further proposal of a stack: relations go by
    /// age, and ids do not ascend.
    pub fn later(&self, milliseconds: usize) -> Self {
        let later = i64::try_from(milliseconds).map_or(Duration::zero(), Duration::milliseconds);
        Self { store: self.store, caller: self.caller.clone(), now: self.now + later }
    }

    /// The agent's session, from its harness or `AYE_SESSION`.
    pub fn session(&self) -> Option<&str> {
        if self.caller.actor.kind != ActorKind::Agent {
            return None;
        }
        self.store.run()?.session.as_deref()
    }
}

/// True if `actor` proposed it in this clone.
fn is_own(store: &Store, proposal: &Proposal, actor: &Actor) -> bool {
    store.clone_ids().iter().any(|clone| proposal.is_proposed_by(actor, Some(clone)))
}

/// True if this clone recorded the event: anyone with push access can claim any clone's name.
fn is_recorded_here(view: &View<'_>, proposal: &Proposal, event: &str) -> Result<bool> {
    let thread = view.thread(&proposal.id)?;
    match thread.history.get(event) {
        Some(stamped) => view.has_recorded(&proposal.id, stamped),
        None => Ok(false),
    }
}
