//! All faults of a call's arguments at once, and the call that was probably meant. Pure.
//!
//! Otherwise a model needs a call per fault. The schema only explains a refusal: the tool alone
//! accepts calls.

use serde_json::{Map, Value, json};

use super::arguments::shorten;
use super::{codes, schema};
use crate::error::Error;
use crate::spelling;
use crate::tools::registry::Tool;

/// Further items repeat the faults.
const MOST: usize = 3;

/// Parameters, and names that models and other tools use.
const PARAMETER_SYNONYMS: [(&str, &[&str]); 12] = [
    ("file_path", &["path", "file", "filename", "filepath", "target_file"]),
    ("old_content", &["old", "old_str", "old_string", "old_text", "search"]),
    ("new_content", &["new", "new_str", "new_string", "new_text", "replace", "replacement"]),
    ("description", &["message", "rationale", "summary", "title"]),
    ("proposal_id", &["id", "proposal"]),
    ("command", &["cmd", "script"]),
    ("patch", &["diff", "input"]),
    ("plan", &["steps", "todos", "tasks", "items"]),
    ("step", &["content", "title", "description", "task"]),
    ("body", &["text", "message", "comment"]),
    ("query", &["q", "question", "search", "text"]),
    ("reason", &["message", "why", "rejection_reason"]),
];

pub fn outline(arguments: &Value) -> Value {
    match arguments {
        Value::String(text) => shorten(text).into(),
        Value::Array(items) => items.iter().take(MOST).map(outline).collect(),
        Value::Object(map) => {
            map.iter().map(|(name, value)| (name.clone(), outline(value))).collect()
        }
        other => other.clone(),
    }
}

/// Adds all faults and the corrected call to errors about arguments.
pub fn explain(error: Error, tool: &Tool, outline: &Value) -> Error {
    let is_ours = [&codes::MISSING_PARAMETER, &codes::INVALID_PARAMETER, &codes::UNKNOWN_ACTION];
    if !is_ours.iter().any(|code| error.is(code)) || !outline.is_object() {
        return error;
    }
    let mut faults = Vec::new();
    let schema = schema::action_branch(&schema::simplify((tool.input)().to_value()), outline);
    let right = correct(&schema, outline, "", &mut faults);
    if faults.is_empty() {
        return error;
    }
    let mut told = Error::new(error.code(), faults.join("; "));
    for (key, value) in error.details() {
        told = told.with(key, value.clone());
    }
    let hint = format!("call {} with {right}", tool.names[0]);
    told.with("faults", faults).with("call", right).hint(hint)
}

/// Corrects `given` (at path `place`), collecting `faults`.
fn correct(schema: &Value, given: &Value, place: &str, faults: &mut Vec<String>) -> Value {
    let types = schema::types(schema);
    if !types.is_empty() && !types.iter().any(|kind| is_a(given, kind)) {
        faults.push(format!("'{place}' is {}, not {}", type_of(given), types.join(" or ")));
        let is_one = types == ["array"]
            && schema::types(&schema["items"]).iter().any(|kind| is_a(given, kind));
        if is_one {
            return json!([correct(&schema["items"], given, place, faults)]);
        }
        return example(schema);
    }
    let words = schema::words_of(schema);
    if !words.is_empty() && !words.contains(given) {
        let words = words.iter().filter_map(Value::as_str);
        faults.push(format!("'{place}' is {given}; {}", spelling::one_of(words)));
        return example(schema);
    }
    match given {
        Value::Object(given) if schema["properties"].is_object() => {
            members(schema, given, place, faults)
        }
        Value::Array(items) => {
            let item =
                |(at, item)| correct(&schema["items"], item, &format!("{place}[{at}]"), faults);
            items.iter().enumerate().map(item).collect()
        }
        other => other.clone(),
    }
}

fn members(
    schema: &Value,
    given: &Map<String, Value>,
    place: &str,
    faults: &mut Vec<String>,
) -> Value {
    let Some(properties) = schema["properties"].as_object() else { return Value::Null };
    let at =
        |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };
    let mut found = Map::new();
    for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
        let known = properties.contains_key(name).then_some(name.as_str());
        let meant = known.or_else(|| intended_parameter(name, properties, given));
        // The tool may know an alias; otherwise its answer names it.
        if let Some(known) = meant {
            if known != name {
                faults.push(format!("'{}' is called '{known}'", at(&shorten(name))));
            }
            let value = correct(&properties[known], value, &at(known), faults);
            found.insert(known.to_owned(), value);
        }
    }
    for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if !found.contains_key(name) {
            faults.push(format!("'{}' is missing", at(name)));
            found.insert(name.to_owned(), example(&properties[name]));
        }
    }
    let in_order = properties.keys().filter_map(|name| found.shift_remove_entry(name));
    in_order.collect()
}

/// Never a parameter that is given as well.
fn intended_parameter<'a>(
    name: &str,
    properties: &'a Map<String, Value>,
    given: &Map<String, Value>,
) -> Option<&'a str> {
    let free = || properties.keys().map(String::as_str).filter(|key| !given.contains_key(*key));
    let is_meant = |key: &&str| {
        PARAMETER_SYNONYMS.iter().any(|(known, others)| known == key && others.contains(&name))
    };
    free().find(is_meant).or_else(|| spelling::nearest(name, free()))
}

fn is_a(value: &Value, kind: &str) -> bool {
    match kind {
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" | "number" => value.is_number(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

fn example(schema: &Value) -> Value {
    if let Some(word) = schema::words_of(schema).first() {
        return word.clone();
    }
    match schema["type"].as_str() {
        Some("boolean") => false.into(),
        Some("integer" | "number") => 1.into(),
        Some("array") => json!([example(&schema["items"])]),
        Some("object") => members(schema, &Map::new(), "", &mut Vec::new()),
        _ => "…".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(tool: &str, arguments: Value) -> Error {
        let error = Error::new(&codes::MISSING_PARAMETER, "one thing is missing");
        explain(error, Tool::find(tool).unwrap(), &outline(&arguments))
    }

    fn call(error: &Error) -> &Value {
        let found = error.details().iter().find(|(key, _)| *key == "call");
        &found.unwrap_or_else(|| panic!("no call in {error:?}")).1
    }

    #[test]
    fn all_faults_are_told_at_once_with_the_call_that_was_meant() {
        let given = json!({"action": "create", "path": "hello.py", "old": "Hello", "new": "Hi"});
        let error = told("changes", given);
        let meant = json!({"action": "propose", "file_path": "hello.py", "old_content": "Hello",
            "new_content": "Hi"});
        assert_eq!(call(&error), &meant, "{}", error.message());
        let error = told("changes", json!({"action": "propose", "file_path": "a"}));
        let meant = json!({"action": "propose", "file_path": "a", "old_content": "…",
            "new_content": "…"});
        assert_eq!(call(&error), &meant);
    }

    #[test]
    fn what_is_wrong_inside_of_a_list_is_told_by_its_place() {
        let edit = json!({"path": "a", "old_content": "x", "new_content": "y"});
        let error = told("revise", json!({"id": "prop_1", "edits": [edit, {"delete": "yes"}]}));
        let meant = json!({"proposal_id": "prop_1", "edits": [
            {"file_path": "a", "old_content": "x", "new_content": "y"},
            {"file_path": "…", "delete": false},
        ]});
        assert_eq!(call(&error), &meant);
        assert!(error.message().contains("edits[1].file_path"), "{}", error.message());
    }

    #[test]
    fn a_call_without_faults_keeps_its_error() {
        let error = told("changes", json!({"action": "list", "limit": 3}));
        assert_eq!(error.message(), "one thing is missing");
    }

    #[test]
    fn the_right_call_of_every_tool_has_no_faults() {
        for tool in crate::tools::registry::TOOLS {
            let schema = schema::simplify((tool.input)().to_value());
            let schema = schema::action_branch(&schema, &Value::Null);
            let call = correct(&schema, &json!({}), "", &mut Vec::new());
            let mut faults = Vec::new();
            assert_eq!(correct(&schema, &call, "", &mut faults), call, "{}", tool.name());
            assert!(faults.is_empty(), "{}: {faults:?}", tool.name());
        }
    }
}
