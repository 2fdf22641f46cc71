//! `memory.status`: what there is, what waits, what became of what was proposed.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Arguments;
use crate::app::Session;
use crate::error::Result;
use crate::memory::service::Service;

/// Its names; some clients refuse the dot.
pub const NAMES: [&str; 2] = ["memory.status", "memory_status"];

/// It takes no arguments.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {}

/// Answers a call.
///
/// # Errors
/// `invalid_parameter`, `memory_not_initialized` and those of the machine.
pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    Arguments::read(arguments, "{}")?.answer(|Parameters {}, _| {
        let service = Service::open(session.store, session.caller.actor.clone(), session.now)?;
        service.status()
    })
}
