//! Schemas as clients and their models take them. Pure.

use serde_json::{Map, Value, json};

/// `schema` of the arguments of a tool as one object without references: the interfaces of several models
/// refuse a choice at the top, and resolve nothing. Of a choice it has the properties of all branches, of which
/// those are required that all require; a constant that differs from branch to branch becomes a choice of words.
///
/// `schema` is one of `schemars`, whose definitions are not recursive.
pub fn input(schema: Value) -> Value {
    let Value::Object(mut schema) = resolved(schema) else { return Value::Null };
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
                    properties.insert(name.clone(), property.clone());
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

/// `schema` without references and what else no model reads, but with its choices.
pub fn resolved(mut schema: Value) -> Value {
    let definitions = schema["$defs"].take();
    plain(schema, &definitions)
}

/// `schema` with its references replaced by what they name in `definitions`, and without what no model reads:
/// the dialect, names of types, defaults, formats of numbers, branches of `null` (in arguments that counts as
/// absent).
fn plain(mut schema: Value, definitions: &Value) -> Value {
    let Some(map) = schema.as_object_mut() else { return schema };
    if let Some(Value::String(name)) = map.shift_remove("$ref") {
        let named = &definitions[name.rsplit('/').next().unwrap_or_default()];
        // What stands beside the reference is nearer to its use; of properties both count.
        for (key, value) in named.as_object().into_iter().flatten() {
            match (map.get_mut(key), value) {
                (None, value) => drop(map.insert(key.clone(), value.clone())),
                (Some(Value::Object(own)), Value::Object(more)) => own.extend(more.clone()),
                (Some(Value::Array(own)), Value::Array(more)) => own.extend(more.clone()),
                _ => {}
            }
        }
    }
    for key in ["$schema", "$defs", "title", "default", "minimum"] {
        map.shift_remove(key);
    }
    if map.get("type").is_some_and(|kind| kind == "integer") {
        map.shift_remove("format");
    }
    if let Some(Value::Array(types)) = map.get("type") {
        let branches: Vec<Value> = types.iter().map(|name| json!({ "type": name })).collect();
        map.shift_remove("type");
        map.insert("anyOf".to_owned(), branches.into());
    }
    for (key, value) in map.iter_mut() {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(|it| *it = plain(it.take(), definitions));
            }
            ("anyOf" | "oneOf" | "allOf", Value::Array(branches)) => {
                branches.retain(|branch| branch["type"] != "null");
                branches.iter_mut().for_each(|it| *it = plain(it.take(), definitions));
            }
            ("items" | "additionalProperties", value) => *value = plain(value.take(), definitions),
            _ => {}
        }
    }
    one_of_words(map);
    only_branch(map);
    schema
}

/// A constant, or a choice of constants, as a list of words; what the branches say stands in the description.
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

/// A choice of one branch is that branch.
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

/// Adds the words of `other` to those of `known`.
fn join(known: &mut Value, other: &Value) {
    let words = known.get_mut("enum").and_then(Value::as_array_mut);
    if let (Some(words), Some(more)) = (words, other["enum"].as_array()) {
        words.extend(more.iter().filter(|word| !words.contains(word)).cloned().collect::<Vec<_>>());
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
    fn references_and_lists_of_types_are_resolved() {
        let schema = json!({"properties": {
            "a": {"description": "A", "type": ["string", "null"], "default": null},
            "b": {"anyOf": [{"$ref": "#/$defs/B"}, {"type": "null"}], "description": "B"},
        }, "$defs": {"B": {"type": "array", "items": {"$ref": "#/$defs/C"}, "description": "All"},
            "C": {"oneOf": [{"type": "string", "const": "x", "description": "Ex."},
                {"type": "string", "const": "y", "description": "Why."}], "description": "Of C."}}});
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
