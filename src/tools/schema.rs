//! Schemas for clients and models. Pure.

use serde_json::{Map, Value};

/// Merges action branches: several model APIs refuse a choice at the top. Requires only what every
/// branch requires.
pub fn input(schema: Value) -> Value {
    let mut schema = simplify(schema);
    let Some(Value::Array(branches)) =
        schema.as_object_mut().and_then(|it| it.shift_remove(CHOICE))
    else {
        return schema;
    };
    let mut all = branches.into_iter();
    let mut merged = all.next().unwrap_or_default();
    for branch in all {
        if let Some(words) = words_mut(&mut merged[PROPERTIES][ACTION]) {
            words.extend(words_of(&branch[PROPERTIES][ACTION]).iter().cloned());
        }
        let required = branch[REQUIRED].as_array().cloned().unwrap_or_default();
        if let Some(all) = merged[REQUIRED].as_array_mut() {
            all.retain(|name| required.contains(name));
        }
        let (Some(properties), Some(more)) =
            (merged[PROPERTIES].as_object_mut(), branch[PROPERTIES].as_object())
        else {
            continue;
        };
        for (name, property) in more {
            properties.entry(name.clone()).or_insert_with(|| property.clone());
        }
    }
    schema[PROPERTIES] = merged[PROPERTIES].take();
    schema[REQUIRED] = merged[REQUIRED].take();
    schema
}

/// Branch of a `plain` schema for the named action. An unknown action gets the first branch, with
/// all actions as words.
pub fn action_branch(schema: &Value, arguments: &Value) -> Value {
    let Some(branches) = schema[CHOICE].as_array() else { return schema.clone() };
    let actions = |branch: &Value| words_of(&branch[PROPERTIES][ACTION]).to_vec();
    let found = branches.iter().find(|branch| actions(branch).contains(&arguments[ACTION]));
    let mut branch = found.or(branches.first()).cloned().unwrap_or_default();
    if found.is_none() {
        branch[PROPERTIES][ACTION]["enum"] = branches.iter().flat_map(actions).collect();
    }
    branch
}

/// Empty for any.
pub fn types(schema: &Value) -> Vec<&str> {
    match schema["anyOf"].as_array() {
        Some(branches) => branches.iter().filter_map(|it| it["type"].as_str()).collect(),
        None => schema["type"].as_str().into_iter().collect(),
    }
}

/// Empty for any.
pub fn words_of(schema: &Value) -> &[Value] {
    schema["enum"].as_array().map_or(&[], Vec::as_slice)
}

fn words_mut(schema: &mut Value) -> Option<&mut Vec<Value>> {
    schema.get_mut("enum")?.as_array_mut()
}

const CHOICE: &str = "oneOf";
const ACTION: &str = "action";
const PROPERTIES: &str = "properties";
const REQUIRED: &str = "required";

/// Drops parts that models do not read. A `null` branch goes, too: a null argument counts as
/// absent.
pub fn simplify(mut schema: Value) -> Value {
    let Some(map) = schema.as_object_mut() else { return schema };
    for key in ["$schema", "title", "default", "minimum"] {
        map.shift_remove(key);
    }
    let mut types = map.get("type").and_then(Value::as_array).into_iter().flatten();
    if let Some(kind) = types.find(|kind| *kind != "null").cloned() {
        map.insert("type".to_owned(), kind);
    }
    if map.get("type").is_some_and(|kind| kind == "integer") {
        map.shift_remove("format");
    }
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|it| *it = simplify(it.take()));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => {
                branches.retain(|branch| branch["type"] != "null");
                branches.iter_mut().for_each(|it| *it = simplify(it.take()));
            }
            ("enum", Value::Array(words)) => words.retain(|word| !word.is_null()),
            ("items" | "additionalProperties", value) => *value = simplify(value.take()),
            _ => {}
        }
    }
    one_of_words(map);
    only_branch(map);
    schema
}

/// Constants become an `enum`; branch texts move to the description.
fn one_of_words(map: &mut Map<String, Value>) {
    if let Some(word) = map.shift_remove("const") {
        map.insert("enum".to_owned(), vec![word].into());
        return;
    }
    let Some(Value::Array(branches)) = map.get("oneOf") else { return };
    let words: Vec<Value> =
        branches.iter().filter_map(|it| it["enum"].as_array()).flatten().cloned().collect();
    if words.is_empty() || words.len() < branches.len() {
        return;
    }
    let mut description = map["description"].as_str().unwrap_or_default().to_owned();
    for branch in branches.iter().filter(|_| words.len() > 1) {
        let word = branch["enum"][0].as_str().unwrap_or_default();
        let says = branch["description"].as_str().unwrap_or_default().trim_end_matches('.');
        description += &format!(" {word}: {says}.");
    }
    map.shift_remove("oneOf");
    map.insert("type".to_owned(), "string".into());
    map.insert("enum".to_owned(), words.into());
    map.insert("description".to_owned(), description.into());
}

fn only_branch(map: &mut Map<String, Value>) {
    let Some(Value::Array(branches)) = map.get_mut("anyOf") else { return };
    if let [one] = branches.as_mut_slice() {
        let one = one.take();
        map.shift_remove("anyOf");
        for (key, value) in one.as_object().into_iter().flatten() {
            map.entry(key.clone()).or_insert_with(|| value.clone());
        }
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
    fn lists_of_types_and_choices_of_words_are_one_each() {
        let choice = json!({"oneOf": [{"type": "string", "const": "x", "description": "Ex."},
            {"type": "string", "const": "y", "description": "Why."}], "description": "Of C."});
        let schema = json!({"properties": {
            "a": {"description": "A", "type": ["string", "null"], "default": null},
            "b": {"anyOf": [{"type": "array", "items": choice}, {"type": "null"}], "description": "B"},
        }});
        let words =
            json!({"description": "Of C. x: Ex. y: Why.", "type": "string", "enum": ["x", "y"]});
        let expected = json!({"properties": {
            "a": {"description": "A", "type": "string"},
            "b": {"description": "B", "type": "array", "items": words},
        }});
        assert_eq!(input(schema), expected);
    }

    #[test]
    fn formats_that_everybody_knows_stay() {
        let schema = json!({"properties": {"format": {"type": "string", "format": "date-time"}}});
        assert_eq!(input(schema.clone()), schema);
    }
}
