//! The `memory.propose_update` tool.

use serde_json::Value;

use super::Arguments;
use super::arguments::shorten;
use crate::app::Session;
use crate::decide;
use crate::error::Result;
use crate::memory::request::FIELDS;
use crate::memory::service::Service;

/// Some clients refuse the dot.
pub const NAMES: [&str; 2] = ["memory.propose_update", "memory_propose_update"];

/// A rejection is an answer. Unknown fields inside operations and sources are not ignored but
/// problems: they may say what to write.
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
