//! Hooks put into a client's settings and taken out again: JSON, with comments where the client allows
//! them. Everything else in the file keeps its bytes. Pure.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstRootNode};
use serde_json::Value;

/// `text` (the settings, or nothing) with `entries` among its hooks: the event, and what is to be there.
/// Entries that `is_ours` are replaced.
///
/// # Errors
/// In words, where the text is not JSON, or something else stands where hooks belong.
pub fn put(
    text: &str,
    entries: &[(&str, Value)],
    is_ours: impl Fn(&Value) -> bool,
) -> Result<String, String> {
    let whole = text;
    let (mark, text) = mark(text);
    let text = if text.trim().is_empty() { "{\n}\n" } else { text };
    let root = parse(text)?;
    let present = ours(&root.to_serde_value().unwrap_or_default(), &is_ours);
    let has =
        |(event, entry): &(&str, Value)| present.iter().any(|(e, p)| e == event && p == entry);
    if present.len() == entries.len() && entries.iter().all(has) {
        return Ok(whole.to_owned());
    }
    take_out(&root, &is_ours)?;
    let top = root.object_value_or_create().ok_or("its top is not an object")?;
    let hooks = top.object_value_or_create("hooks").ok_or("its 'hooks' is not an object")?;
    for (event, entry) in entries {
        let list = hooks
            .array_value_or_create(event)
            .ok_or_else(|| format!("its hooks of {event} are not a list"))?;
        list.append(input(entry));
    }
    let after = format!("{mark}{root}");
    // Of two of the same name clients read the last, and what was written went to the first.
    match ours(&root.to_serde_value().unwrap_or_default(), &is_ours).len() == entries.len() {
        true => Ok(after),
        false => Err("it names its hooks, or an event of them, twice".to_owned()),
    }
}

/// `text` without the hooks that `is_ours`, and without the lists and objects that are empty then.
///
/// # Errors
/// As [`put`].
pub fn remove(text: &str, is_ours: impl Fn(&Value) -> bool) -> Result<String, String> {
    let (mark, text) = mark(text);
    if text.trim().is_empty() {
        return Ok(format!("{mark}{text}"));
    }
    let root = parse(text)?;
    take_out(&root, &is_ours)?;
    Ok(format!("{mark}{root}"))
}

/// The hooks in `text` that `is_ours`: their events.
///
/// # Errors
/// As [`put`].
pub fn find(text: &str, is_ours: impl Fn(&Value) -> bool) -> Result<Vec<String>, String> {
    let (_, text) = mark(text);
    let value = parse(text)?.to_serde_value().unwrap_or_default();
    let mut events: Vec<String> =
        ours(&value, &is_ours).into_iter().map(|(event, _)| event).collect();
    events.dedup();
    Ok(events)
}

/// The hooks in `settings` that `is_ours`, with their events, in the order of the file.
fn ours(settings: &Value, is_ours: &impl Fn(&Value) -> bool) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    for (event, list) in settings["hooks"].as_object().into_iter().flatten() {
        for entry in list.as_array().into_iter().flatten().filter(|entry| is_ours(entry)) {
            found.push((event.clone(), entry.clone()));
        }
    }
    found
}

/// The byte order mark that some editors put before a text, and the text.
pub(super) fn mark(text: &str) -> (&str, &str) {
    match text.strip_prefix('\u{feff}') {
        Some(rest) => (&text[..text.len() - rest.len()], rest),
        None => ("", text),
    }
}

/// JSON with comments and trailing commas. What else JSON5 allows no client reads: its settings would be as good as
/// not there, hooks included.
pub(super) fn parse(text: &str) -> Result<CstRootNode, String> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    };
    CstRootNode::parse(text, &options).map_err(|error| error.to_string())
}

fn take_out(root: &CstRootNode, is_ours: &impl Fn(&Value) -> bool) -> Result<(), String> {
    let Some(top) = root.object_value() else { return Ok(()) };
    let Some(property) = top.get("hooks") else { return Ok(()) };
    let hooks = property.object_value().ok_or("its 'hooks' is not an object")?;
    let mut is_changed = false;
    for event in hooks.properties() {
        let Some(list) = event.array_value() else { continue };
        let ours: Vec<CstNode> = list
            .elements()
            .into_iter()
            .filter(|element| element.to_serde_value().is_some_and(|value| is_ours(&value)))
            .collect();
        is_changed |= !ours.is_empty();
        let is_all = !ours.is_empty() && ours.len() == list.elements().len();
        ours.into_iter().for_each(CstNode::remove);
        if is_all {
            event.remove();
        }
    }
    if is_changed && hooks.properties().is_empty() {
        property.remove();
    }
    Ok(())
}

/// `value` as the editor takes it.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(is_it) => CstInputValue::Bool(*is_it),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(list) => CstInputValue::Array(list.iter().map(input).collect()),
        Value::Object(map) => CstInputValue::Object(
            map.iter().map(|(name, value)| (name.clone(), input(value))).collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn is_ours(value: &Value) -> bool {
        value["ours"] == true
    }

    fn entries() -> Vec<(&'static str, Value)> {
        vec![("A", json!({"ours": true, "n": 1})), ("B", json!({"ours": true}))]
    }

    #[test]
    fn all_else_keeps_its_bytes() {
        for text in [
            "{\n  // mine\n  \"model\": \"x\",   \"hooks\": {\n    \"A\": [ {\"theirs\": 1}, ],\n  }\n}\n",
            "{\"a\":1,\"hooks\":{\"C\":[{\"x\":[1,2]}]}}",
            "\u{feff}{\r\n\t\"z\": null, /* why */\r\n\t\"b\": [\r\n]\r\n}\r\n",
        ] {
            let with = put(text, &entries(), is_ours).unwrap();
            assert_eq!(find(&with, is_ours).unwrap(), ["A", "B"]);
            for kept in ["// mine", "theirs", "/* why */", "[1,2]", "\r\n\t\"z\": null"] {
                assert_eq!(text.contains(kept), with.contains(kept), "{kept} in {with}");
            }
            // Twice is once.
            assert_eq!(put(&with, &entries(), is_ours).unwrap(), with);
            let without = remove(&with, is_ours).unwrap();
            assert!(find(&without, is_ours).unwrap().is_empty());
            let value = |text: &str| parse(mark(text).1).unwrap().to_serde_value();
            assert_eq!(value(&without), value(text));
        }
    }

    #[test]
    fn what_is_not_settings_is_refused_and_nothing_made_of_it() {
        for text in [
            "[",
            "{\"hooks\": []}",
            "[]",
            "{\"hooks\": {\"A\": {}}}",
            "nonsense {",
            "{'a': 1}",
            "{a: 1}",
            "{\"a\": 0x1}",
            "{\"a\": NaN}",
            "{\"a\": 1 \"b\": 2}",
            "{\"hooks\": {}, \"hooks\": {}}",
            "{\"hooks\": {\"A\": [], \"A\": []}}",
        ] {
            assert!(put(text, &entries(), is_ours).is_err(), "{text}");
        }
        assert!(put("", &entries(), is_ours).is_ok());
    }
}
