//! `memory.fetch_context`: the pack an agent reads.

use serde_json::Value;

use super::Session;
use crate::error::{Error, Result};
use crate::memory::service::{Ask, Service};

/// Its names; some clients refuse the dot.
pub const NAMES: [&str; 2] = ["memory.fetch_context", "memory_fetch_context"];

/// Answers a call.
///
/// # Errors
/// `invalid_parameter`, `memory_not_initialized` and those of the machine.
pub fn call(session: Session<'_>, arguments: Value) -> Result<Value> {
    let service = Service::open(session.store, session.actor, session.agent, session.now)?;
    let pack = service.context(&ask(arguments)?)?;
    serde_json::to_value(pack).map_err(|error| Error::bug(error.to_string()))
}

fn ask(arguments: Value) -> Result<Ask> {
    let invalid = |name: &str, wanted: &str| {
        Error::new(
            &super::codes::INVALID_PARAMETER,
            format!("the parameter '{name}' is not {wanted}"),
        )
        .hint(format!("give {wanted}"))
    };
    let map = match arguments {
        Value::Object(map) => map,
        Value::Null => return Ok(Ask::default()),
        _ => return Err(invalid("arguments", "a JSON object")),
    };
    let mut ask = Ask::default();
    for (name, value) in map {
        let list = |value: Value| -> Result<Vec<String>> {
            match value {
                Value::Null => Ok(Vec::new()),
                Value::String(one) => Ok(vec![one]),
                Value::Array(items) => items
                    .into_iter()
                    .map(|item| match item {
                        Value::String(text) => Ok(text),
                        _ => Err(invalid(&name, "a list of strings")),
                    })
                    .collect(),
                _ => Err(invalid(&name, "a list of strings")),
            }
        };
        match (name.as_str(), value) {
            (_, Value::Null) => {}
            ("query", Value::String(text)) => ask.query = text,
            ("query", _) => return Err(invalid(&name, "a string")),
            ("scope", value) => ask.scope = list(value)?,
            ("include", value) => ask.include = list(value)?,
            ("exclude_archive", Value::Bool(value)) => ask.exclude_archive = value,
            ("exclude_archive", _) => return Err(invalid(&name, "true or false")),
            ("budget", value) => match value.as_u64() {
                Some(0) => {}
                Some(budget) => ask.budget = usize::try_from(budget).ok(),
                None => return Err(invalid(&name, "a whole number of characters")),
            },
            _ => {
                let known = ["query", "scope", "budget", "include", "exclude_archive"];
                return Err(Error::new(
                    &super::codes::INVALID_PARAMETER,
                    format!("there is no parameter '{name}'"),
                )
                .hint(format!("parameters: {}", known.join(", "))));
            }
        }
    }
    Ok(ask)
}
