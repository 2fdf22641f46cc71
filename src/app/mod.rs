//! Use cases that all front ends share: the command line, and whoever calls the tools.
//!
//! They take values and return values. A front end reads clock, environment and terminal, makes a
//! [`Session`] of that, and renders what it gets.

pub mod blame;
pub mod capture;
pub mod check;
pub mod comment;
pub mod denied;
pub mod doctor;
pub mod dropped;
pub mod elsewhere;
pub mod ending;
pub mod inside;
pub mod listing;
pub mod log;
pub mod notes;
pub mod outgoing;
pub mod patch;
pub mod plan;
pub mod proposable;
pub mod propose;
pub mod real;
pub mod recall;
pub mod review;
pub mod session;
pub mod site;
pub mod stack;
pub mod suggestion;
pub mod told;
pub mod trial;
pub mod wait;

mod draft;
mod left_out;

pub use draft::Draft;

use chrono::{DateTime, Utc};

use crate::error::Result;
use crate::proposal::{Actor, ActorKind, Caller, Proposal};
use crate::store::{Store, View};

/// Who asks for something, where and when.
pub struct Session<'a> {
    /// The repository.
    pub store: &'a Store,
    /// Who asks, with what showed an agent.
    pub caller: Caller,
    /// The time of the call, which events bear.
    pub now: DateTime<Utc>,
}

impl Session<'_> {
    /// The session of the agent who asks, where its harness or `AYE_SESSION` names one.
    pub fn session(&self) -> Option<&str> {
        if self.caller.actor.kind != ActorKind::Agent {
            return None;
        }
        self.store.run()?.session.as_deref()
    }
}

/// Whether `actor`, in this clone, has proposed it.
fn is_own(store: &Store, proposal: &Proposal, actor: &Actor) -> bool {
    store.clone_ids().iter().any(|clone| proposal.is_proposed_by(actor, Some(clone)))
}

/// Whether the event of `proposal` was recorded in this clone: whoever may push can name any clone in theirs.
///
/// # Errors
/// If the thread cannot be read.
fn is_recorded_here(view: &View<'_>, proposal: &Proposal, event: &str) -> Result<bool> {
    let thread = view.thread(&proposal.id)?;
    match thread.history.get(event) {
        Some(stamped) => view.has_recorded(&proposal.id, stamped),
        None => Ok(false),
    }
}
