//! Schemas as clients and their models take them. Pure.

use serde_json::{Map, Value};

/// `schema` of the arguments of a tool, without a choice at its top, which the interfaces of several
/// models refuse: the properties of all its branches, of which those are required that all require. A
/// constant that differs from branch to branch becomes a choice of words.
pub fn input(schema: Value) -> Value {
    let Value::Object(mut schema) = plain(schema) else { return Value::Null };
    let Some(Value::Array(branches)) =
        schema.shift_remove("oneOf").or_else(|| schema.shift_remove("anyOf"))
    else {
        return Value::Object(schema);
    };
    let mut properties = Map::new();
    let mut required: Option<Vec<Value>> = None;
    for branch in &branches {
        for (name, property) in branch["properties"].as_object().into_iter().flatten() {
            match properties.get_mut(name) {
                None => {
                    properties.insert(name.clone(), words(property));
                }
                Some(known) => join(known, property),
            }
        }
        let needs = branch["required"].as_array().cloned().unwrap_or_default();
        required = Some(match required {
            None => needs,
            Some(others) => others.into_iter().filter(|name| needs.contains(name)).collect(),
        });
    }
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), required.unwrap_or_default().into());
    Value::Object(schema)
}

/// `schema` without the formats of numbers that only this program's language knows, and without lists of
/// types.
fn plain(mut schema: Value) -> Value {
    match &mut schema {
        Value::Object(map) => {
            let is_ours = |format: &Value| {
                let name = format.as_str().unwrap_or_default();
                let name = name.trim_start_matches('u');
                name.starts_with("int") || ["float", "double"].contains(&name)
            };
            if map.get("format").is_some_and(is_ours) {
                map.shift_remove("format");
            }
            one_type(map);
            for value in map.values_mut() {
                *value = plain(value.take());
            }
        }
        Value::Array(list) => {
            for value in list {
                *value = plain(value.take());
            }
        }
        _ => {}
    }
    schema
}

/// A list of types as a choice, which has no branch of `null`: in arguments that counts as absent.
fn one_type(map: &mut Map<String, Value>) {
    let is_null = |branch: &Value| branch["type"] == "null";
    if let Some(Value::Array(types)) = map.get("type") {
        let branches = types.iter().map(|name| serde_json::json!({ "type": name })).collect();
        map.shift_remove("type");
        map.insert("anyOf".to_owned(), Value::Array(branches));
    }
    let Some(Value::Array(branches)) = map.get_mut("anyOf") else { return };
    branches.retain(|branch| !is_null(branch));
    if let [one] = branches.as_mut_slice() {
        let one = one.take();
        map.shift_remove("anyOf");
        for (key, value) in one.as_object().into_iter().flatten() {
            map.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
}

/// `property` with its constant, if it has one, as a choice of one.
fn words(property: &Value) -> Value {
    let mut property = property.clone();
    if let Some(map) = property.as_object_mut()
        && let Some(word) = map.shift_remove("const")
    {
        map.insert("enum".to_owned(), Value::Array(vec![word]));
    }
    property
}

/// Adds the constant of `other` to the choice of `known`.
fn join(known: &mut Value, other: &Value) {
    if let (Some(choice), Some(word)) = (known["enum"].as_array_mut(), other.get("const"))
        && !choice.contains(word)
    {
        choice.push(word.clone());
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_choice_of_objects_becomes_one_object() {
        let choice = json!({
            "type": "object",
            "oneOf": [
                {"type": "object", "properties": {"action": {"type": "string", "const": "a"},
                    "x": {"type": "integer", "format": "uint32"}}, "required": ["action", "x"]},
                {"type": "object", "properties": {"action": {"type": "string", "const": "b"}},
                    "required": ["action"]},
            ],
        });
        let expected = json!({
            "type": "object",
            "properties": {"action": {"type": "string", "enum": ["a", "b"]},
                "x": {"type": "integer"}},
            "required": ["action"],
        });
        assert_eq!(input(choice), expected);
    }

    #[test]
    fn lists_of_types_are_taken_apart() {
        let schema = json!({"properties": {
            "a": {"description": "A", "type": ["string", "null"]},
            "b": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}], "description": "B"},
        }});
        let expected = json!({"properties": {
            "a": {"description": "A", "type": "string"},
            "b": {"description": "B", "$ref": "#/$defs/B"},
        }});
        assert_eq!(input(schema), expected);
    }

    #[test]
    fn formats_that_everybody_knows_stay() {
        let schema = json!({"properties": {"format": {"type": "string", "format": "date-time"}}});
        assert_eq!(input(schema.clone()), schema);
    }
}
