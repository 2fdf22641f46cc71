//! Public tool contracts. A tool never prints or prompts; it knows its caller by `Session` alone.

pub mod apply_patch;
pub mod argument_faults;
pub mod arguments;
pub mod changes;
pub mod comment;
pub mod edits;
pub mod failure;
pub mod json;
pub mod memory_propose_update;
pub mod memory_search;
pub mod readonly_shell;
pub mod registry;
pub mod revise;
pub mod schema;
pub mod show;
pub mod update_plan;
pub mod wait;

pub use arguments::Arguments;

use serde_json::Value;

use crate::error::Result;

pub mod codes {
    crate::codes! {
        UNKNOWN_TOOL = "unknown_tool", NotFound, "no tool has that name";
        UNKNOWN_ACTION = "unknown_action", Invalid, "the tool does not have that action";
        MISSING_PARAMETER = "missing_parameter", Invalid, "a required parameter is missing";
        INVALID_PARAMETER = "invalid_parameter", Invalid, "a parameter is of the wrong type or out of range";
    }
}

/// Splits `{"name": …, "arguments": {…}}`; anything else is arguments alone. Some clients send the
/// inner arguments as JSON text.
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
