//! The public tool contracts: arguments in, the contract's response out.
//!
//! A tool never prints and never asks; [`Session`] is what it knows of its caller.

pub mod apply_patch;
pub mod changes;
pub mod json;
pub mod memory_fetch_context;
pub mod memory_propose_update;
pub mod memory_status;
#[cfg(unix)]
pub mod readonly_shell;
pub mod update_plan;

use chrono::{DateTime, Utc};
use serde_json::{Map, Value};

use crate::error::{Error, Result};
use crate::proposal::{Actor, Caller};
use crate::store::Store;

/// Error codes of the tools.
pub mod codes {
    crate::codes! {
        UNKNOWN_TOOL = "unknown_tool", NotFound, "no tool has that name";
        UNKNOWN_ACTION = "unknown_action", Invalid, "the tool has no such action";
        MISSING_PARAMETER = "missing_parameter", Invalid, "a required parameter is missing";
        INVALID_PARAMETER = "invalid_parameter", Invalid, "a parameter is of the wrong type or out of range";
    }
}

/// Who calls a tool, where and when.
pub struct Session<'a> {
    /// The repository.
    pub store: &'a Store,
    /// The caller.
    pub actor: Actor,
    /// The caller, with what gave an agent away.
    pub caller: Caller,
    /// The name the caller gave itself (`AYE_AGENT`), if it did.
    pub agent: Option<String>,
    /// The time of the call.
    pub now: DateTime<Utc>,
}

/// Arguments of a call, taken out one by one with their types checked.
#[derive(Debug)]
pub struct Arguments {
    map: Map<String, Value>,
}

impl Arguments {
    /// The arguments of a call. `null` counts as an absent parameter. `example` is what the tool's
    /// own look like.
    ///
    /// # Errors
    /// `invalid_parameter` if `value` is no object.
    pub fn new(value: Value, example: &str) -> Result<Self> {
        match value {
            Value::Object(mut map) => {
                map.retain(|_, value| !value.is_null());
                Ok(Self { map })
            }
            _ => Err(Error::new(&codes::INVALID_PARAMETER, "the arguments are not a JSON object")
                .hint(format!("give {example} or {{\"name\": …, \"arguments\": {{…}}}}"))),
        }
    }

    /// An optional string.
    ///
    /// # Errors
    /// `invalid_parameter` if it is something else.
    pub fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        match self.map.remove(name) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(other) => Err(wrong_type(name, "a string", &other)),
        }
    }

    /// A required string.
    ///
    /// # Errors
    /// `missing_parameter`, `invalid_parameter`.
    pub fn required(&mut self, name: &'static str) -> Result<String> {
        self.text(name)?.ok_or_else(|| {
            let given: Vec<String> = self.map.keys().take(8).map(|key| shorten(key)).collect();
            let instead = match given.as_slice() {
                [] => String::new(),
                given => format!(", which have: {}", given.join(", ")),
            };
            Error::new(&codes::MISSING_PARAMETER, format!("the parameter '{name}' is missing"))
                .with("parameter", name)
                .hint(format!("add \"{name}\" to the arguments{instead}"))
        })
    }

    /// An optional yes or no; absent is no.
    ///
    /// # Errors
    /// `invalid_parameter` if it is something else.
    pub fn flag(&mut self, name: &'static str) -> Result<bool> {
        match self.map.remove(name) {
            None => Ok(false),
            Some(Value::Bool(flag)) => Ok(flag),
            Some(other) => Err(wrong_type(name, "true or false", &other)),
        }
    }

    /// An optional whole number, zero or more.
    ///
    /// # Errors
    /// `invalid_parameter` if it is something else.
    pub fn count(&mut self, name: &'static str) -> Result<Option<usize>> {
        match self.map.remove(name) {
            None => Ok(None),
            Some(Value::Number(number)) => {
                // JSON has one kind of number: 10 and 10.0 are the same.
                let whole = number.as_u64().or_else(|| {
                    number.as_f64().filter(|n| n.fract() == 0.0 && *n >= 0.0).map(|n| n as u64)
                });
                whole
                    .map(|whole| usize::try_from(whole).unwrap_or(usize::MAX))
                    .map(Some)
                    .ok_or_else(|| {
                        wrong_type(name, "a whole number from 0", &Value::Number(number))
                    })
            }
            Some(other) => Err(wrong_type(name, "a number", &other)),
        }
    }

    /// Names of parameters that nobody asked for.
    pub fn unknown(self) -> Vec<String> {
        self.map.into_iter().map(|(name, _)| name).collect()
    }
}

fn shorten(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

fn wrong_type(name: &'static str, wanted: &str, found: &Value) -> Error {
    let shown = shorten(&found.to_string());
    Error::new(
        &codes::INVALID_PARAMETER,
        format!("the parameter '{name}' is {shown}, not {wanted}"),
    )
    .with("parameter", name)
    .hint(format!("give {wanted}"))
}

/// Splits what a caller sent into the tool's name, if it names one, and the arguments:
/// `{"name": …, "arguments": {…}}` (the arguments may be a JSON text, as some clients send
/// them), or the arguments alone.
///
/// # Errors
/// `invalid_json`.
pub fn open_envelope(value: Value) -> Result<(Option<String>, Value)> {
    let Value::Object(mut map) = value else { return Ok((None, value)) };
    let is_envelope =
        map.get("name").is_some_and(Value::is_string) && map.contains_key("arguments");
    if !is_envelope {
        return Ok((None, Value::Object(map)));
    }
    let name = map.remove("name").and_then(|name| name.as_str().map(str::to_owned));
    let arguments = match map.remove("arguments") {
        Some(Value::String(text)) => json::read(
            text.as_bytes(),
            "the arguments are a string that",
            "give them as a JSON object, or as the text of one",
        )?,
        other => other.unwrap_or_default(),
    };
    Ok((name, arguments))
}
