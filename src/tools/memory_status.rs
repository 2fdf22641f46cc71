//! `memory.status`: what there is, what waits, what became of what was proposed.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Arguments;
use super::arguments::name_ignored;
use crate::app::Session;
use crate::error::{Error, Result};
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
    let Arguments { known: Parameters {}, ignored } = Arguments::read(arguments, "{}")?;
    let service = Service::open(session.store, session.caller.actor.clone(), session.now)?;
    let status = serde_json::to_value(service.status()?);
    Ok(name_ignored(status.map_err(|error| Error::bug(error.to_string()))?, ignored))
}
