//! `memory.propose_update`: structured edits of the project's memory.

use serde_json::Value;

use super::Session;
use crate::decide;
use crate::error::{Error, Result, codes};
use crate::memory::service::{Mode, Service};

/// Its names; some clients refuse the dot.
pub const NAMES: [&str; 2] = ["memory.propose_update", "memory_propose_update"];

/// Answers a call. A rejection is an answer.
///
/// # Errors
/// `memory_not_initialized` and those of the machine.
pub fn call(session: Session<'_>, arguments: &Value) -> Result<Value> {
    let service = Service::open(session.store, session.actor, session.agent, session.now)?;
    let response = decide::memory::propose(&service, arguments, Mode::Routed, None)?;
    serde_json::to_value(response).map_err(|error| Error::new(&codes::INTERNAL, error.to_string()))
}
