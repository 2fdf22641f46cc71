//! `memory.propose_update`: structured edits of the project's memory.

use serde_json::Value;

use super::Arguments;
use super::arguments::shorten;
use crate::app::Session;
use crate::decide;
use crate::error::Result;
use crate::memory::request::FIELDS;
use crate::memory::service::Service;

/// Its names; some clients refuse the dot.
pub const NAMES: [&str; 2] = ["memory.propose_update", "memory_propose_update"];

/// Answers a call. A rejection is an answer. Inside of operations and sources an unknown field is a
/// problem of the request, because it may say what is to be written.
///
/// # Errors
/// `memory_not_initialized` and those of the machine.
pub fn call(session: &Session<'_>, mut arguments: Value) -> Result<Value> {
    let mut ignored = Vec::new();
    if let Some(map) = arguments.as_object_mut() {
        map.retain(|name, _| {
            let known = FIELDS.contains(&name.as_str());
            if !known {
                ignored.push(shorten(name));
            }
            known
        });
    }
    Arguments { known: arguments, ignored }.answer(|arguments| {
        let service = Service::open(session.store, session.caller.actor.clone(), session.now)?;
        decide::memory::propose(&service, &arguments, false)
    })
}
