//! Directories beside its workspace that a client lets its tools into, in its settings (Gemini CLI's
//! `context.includeDirectories`). Everything else in the file keeps its bytes. Pure.

use jsonc_parser::cst::{CstInputValue, CstNode};

use super::settings::{mark, parse};

const OBJECT: &str = "context";
const LIST: &str = "includeDirectories";

/// `text` with `directory` among them.
///
/// # Errors
/// In words, where the text is not JSON, or something else stands where the list belongs.
pub fn put(text: &str, directory: &str) -> Result<String, String> {
    if has(text, directory)? {
        return Ok(text.to_owned());
    }
    let (mark, text) = mark(text);
    let root = parse(if text.trim().is_empty() { "{\n}\n" } else { text })?;
    let top = root.object_value_or_create().ok_or("its top is not an object")?;
    let object = top.object_value_or_create(OBJECT);
    let object = object.ok_or_else(|| format!("its '{OBJECT}' is not an object"))?;
    let list = object.array_value_or_create(LIST);
    let list = list.ok_or_else(|| format!("its '{OBJECT}.{LIST}' is not a list"))?;
    list.append(CstInputValue::String(directory.to_owned()));
    Ok(format!("{mark}{root}"))
}

/// `text` without it, and without the list and the object that are empty then.
///
/// # Errors
/// As [`put`].
pub fn remove(text: &str, directory: &str) -> Result<String, String> {
    if !has(text, directory)? {
        return Ok(text.to_owned());
    }
    let (mark, text) = mark(text);
    let root = parse(text)?;
    let context = root.object_value().and_then(|top| top.get(OBJECT));
    let object = context.as_ref().and_then(|property| property.object_value());
    let property = object.as_ref().and_then(|object| object.get(LIST));
    let list = property.as_ref().and_then(|property| property.array_value());
    let (Some(context), Some(object), Some(property), Some(list)) =
        (context, object, property, list)
    else {
        return Ok(format!("{mark}{text}"));
    };
    let is_it = |node: &CstNode| {
        node.to_serde_value().is_some_and(|value| value.as_str() == Some(directory))
    };
    list.elements().into_iter().filter(is_it).for_each(CstNode::remove);
    if list.elements().is_empty() {
        property.remove();
        if object.properties().is_empty() {
            context.remove();
        }
    }
    Ok(format!("{mark}{root}"))
}

/// Whether `directory` is among them.
///
/// # Errors
/// Where the text is not JSON.
pub fn has(text: &str, directory: &str) -> Result<bool, String> {
    let (_, text) = mark(text);
    if text.trim().is_empty() {
        return Ok(false);
    }
    let value = parse(text)?.to_serde_value().unwrap_or_default();
    let list = value[OBJECT][LIST].as_array();
    Ok(list.into_iter().flatten().any(|item| item.as_str() == Some(directory)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_else_keeps_its_bytes_and_nothing_is_left() {
        for text in [
            "",
            "{}",
            "{ // mine\n  \"a\": [1, 2,],\n}\n",
            "\u{feff}{\r\n\t\"context\": { \"fileName\": \"X.md\" }\r\n}",
            "{\"context\": {\"includeDirectories\": [\"/x\", /* why */ \"/y\"]}}",
        ] {
            let with = put(text, "/t").unwrap();
            assert!(has(&with, "/t").unwrap() && !has(text, "/t").unwrap(), "{with}");
            assert_eq!(put(&with, "/t").unwrap(), with);
            for kept in ["// mine", "[1, 2,]", "/* why */", "\"fileName\": \"X.md\"", "\u{feff}"] {
                assert_eq!(text.contains(kept), with.contains(kept), "{kept} in {with}");
            }
            let without = remove(&with, "/t").unwrap();
            assert!(!without.contains("/t"), "{without}");
            let value = |text: &str| parse(mark(text).1).unwrap().to_serde_value();
            assert_eq!(value(&without), value(if text.is_empty() { "{}" } else { text }));
            assert_eq!(remove(text, "/t").unwrap(), text);
        }
    }

    #[test]
    fn what_is_not_settings_is_refused() {
        for text in ["[", "[]", "{\"context\": 5}", "{\"context\": {\"includeDirectories\": {}}}"] {
            assert!(put(text, "/t").is_err(), "{text}");
        }
    }
}
