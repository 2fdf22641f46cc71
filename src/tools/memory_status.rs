//! `memory.status`: what there is, what waits, what became of what was proposed.

use serde_json::Value;

use super::Session;
use crate::error::{Error, Result};
use crate::memory::service::Service;

/// Its names; some clients refuse the dot.
pub const NAMES: [&str; 2] = ["memory.status", "memory_status"];

/// Answers a call; it takes no arguments.
///
/// # Errors
/// `invalid_parameter`, `memory_not_initialized` and those of the machine.
pub fn call(session: Session<'_>, arguments: &Value) -> Result<Value> {
    let wrong = match arguments {
        Value::Null => None,
        Value::Object(map) => {
            map.keys().next().map(|name| format!("there is no parameter '{name}'"))
        }
        _ => Some("the arguments are no JSON object".to_owned()),
    };
    if let Some(message) = wrong {
        return Err(Error::new(&super::codes::INVALID_PARAMETER, message)
            .hint("memory.status takes no arguments: {}"));
    }
    let service = Service::open(session.store, session.actor, session.agent, session.now)?;
    let status = service.status()?;
    serde_json::to_value(status).map_err(|error| Error::bug(error.to_string()))
}
