//! YAML that is safe on a terminal, and means the same in YAML 1.1.
//!
//! The emitter leaves bidi controls and zero-width characters unescaped. Only a double-quoted
//! scalar can hold an escape, and the emitter alone chooses quotes. So a control character, which
//! forces quotes, and a mark replace each such character; the mark then becomes the escape.
//!
//! The emitter quotes strings that YAML 1.2 would retype. Many readers (PyYAML, Psych) use 1.1:
//! `yes` is a boolean, `12:30` is 750, `2026-01-01` a date (<https://yaml.org/type/>). The same
//! mark, without an escape, quotes such strings.

use serde::Serialize;
use serde_yaml::Value;

use super::is_unsafe;
use crate::error::{Error, Result};

/// Most nested flow collections.
const MAX_NESTING: usize = 64;

/// Checked before parsing: for each token the parser looks at all open brackets.
pub fn is_too_deep(text: &[u8]) -> bool {
    let mut depth = 0_usize;
    text.iter().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > MAX_NESTING
    })
}

/// One YAML document, with escapes for unsafe characters and the field order of JSON.
pub fn document<T: Serialize>(value: &T) -> Result<String> {
    write_document(&serde_json::to_value(value).map_err(|error| Error::bug(error.to_string()))?)
}

fn write_document(value: &serde_json::Value) -> Result<String> {
    let failed = |error: serde_yaml::Error| Error::bug(error.to_string());
    if !has_text(value, &|text| text.contains(misleads) || is_retyped(text)) {
        return serde_yaml::to_string(value).map_err(failed);
    }
    let mut number = 0_u32;
    let mark = loop {
        let mark = format!("aye{number}:");
        if !has_text(value, &|text| text.contains(&mark)) {
            break mark;
        }
        number += 1;
    };
    let mut value = serde_yaml::to_value(value).map_err(failed)?;
    replace(&mut value, &mark);
    let text = serde_yaml::to_string(&value).map_err(failed)?;
    let written = format!("\\x01{mark}");
    let mut parts = text.split(written.as_str());
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        // Eight hexadecimal digits follow each mark.
        let (code, rest) = part.split_at_checked(8).unwrap_or((part, ""));
        if code != NOTHING {
            out += match code.strip_prefix("0000") {
                Some(_) => "\\u",
                None => "\\U",
            };
            out += code.strip_prefix("0000").unwrap_or(code);
        }
        out += rest;
    }
    Ok(out)
}

/// Line feeds and tabs are ordinary in a block.
fn misleads(c: char) -> bool {
    c != '\n' && c != '\t' && is_unsafe(c)
}

/// Follows a mark that only forces quotes.
const NOTHING: &str = "ffffffff";

/// True for a plain string of YAML 1.2 that is none in 1.1. Timestamps stay plain: people mean them
/// as times.
fn is_retyped(text: &str) -> bool {
    const WORDS: [&str; 8] = ["y", "n", "yes", "no", "on", "off", "=", "<<"];
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_number = || {
        digits.starts_with(|c: char| c.is_ascii_digit())
            && digits.contains([':', '_'])
            && digits.bytes().all(|b| b.is_ascii_digit() || matches!(b, b':' | b'_' | b'.'))
    };
    let is_date = || {
        let mut lengths = text.split('-').map(str::len);
        text.len() <= 10
            && matches!(lengths.next(), Some(4))
            && matches!(lengths.next(), Some(1 | 2))
            && matches!(lengths.next(), Some(1 | 2))
            && text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
    };
    WORDS.iter().any(|word| text.eq_ignore_ascii_case(word)) || is_number() || is_date()
}

/// True if a string or key of `value` is one.
fn has_text(value: &serde_json::Value, is_it: &dyn Fn(&str) -> bool) -> bool {
    match value {
        serde_json::Value::String(text) => is_it(text),
        serde_json::Value::Array(items) => items.iter().any(|item| has_text(item, is_it)),
        serde_json::Value::Object(map) => {
            map.iter().any(|(key, value)| is_it(key) || has_text(value, is_it))
        }
        _ => false,
    }
}

fn replace(value: &mut Value, mark: &str) {
    match value {
        Value::String(text) if text.contains(misleads) => *text = marked(text, mark),
        Value::String(text) if is_retyped(text) => *text = format!("\u{1}{mark}{NOTHING}{text}"),
        Value::Sequence(items) => items.iter_mut().for_each(|item| replace(item, mark)),
        Value::Mapping(map) => {
            for (mut key, mut value) in std::mem::take(map) {
                replace(&mut key, mark);
                replace(&mut value, mark);
                map.insert(key, value);
            }
        }
        Value::Tagged(tagged) => replace(&mut tagged.value, mark),
        _ => {}
    }
}

fn marked(text: &str, mark: &str) -> String {
    let mut out = String::with_capacity(text.len() + 32);
    for c in text.chars() {
        if misleads(c) {
            out += &format!("\u{1}{mark}{:08x}", c as u32);
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn same(value: &serde_json::Value) {
        let text = document(value).unwrap();
        assert!(!text.contains(misleads), "{text:?}");
        let read: serde_json::Value = serde_yaml::from_str(&text).unwrap();
        assert_eq!(read, *value, "{text}");
    }

    #[test]
    fn a_harmless_document_is_as_the_emitter_writes_it() {
        let value = serde_json::json!({ "a": "x\n\ty\n", "b": [1, "ü 漢字", null] });
        assert_eq!(document(&value).unwrap(), serde_yaml::to_string(&value).unwrap());
    }

    #[test]
    fn hostile_strings_and_keys_are_escaped_and_stay_the_same() {
        same(&serde_json::json!({
            "a\u{202e}b": "x\u{1b}[31m\u{202e}\r\n\u{9b}\u{85}\u{2028}\u{feff}\u{e0041}",
            "marks": ["aye0:", "\\x01aye0:0000202e", "\u{1}aye1:", "\u{200b}"],
            "plain": "\\u202e", "nested": { "k": [["\u{2066}"]] }, "n": 1.5, "s": "0x1\u{200b}",
        }));
        let text = document(&serde_json::json!({ "path": "a\u{202e}b" })).unwrap();
        assert_eq!(text, "path: \"a\\u202eb\"\n");
    }

    #[test]
    fn what_yaml_1_1_takes_for_something_else_is_quoted() {
        for text in [
            "yes", "No", "ON", "y", "=", "<<", "12:30", "12:30:45.5", "1_000", "-1_0", "+1:2",
            "2026-01-01", "2026-1-1",
        ] {
            same(&serde_json::json!({ text: [text], "other": "x" }));
            let written = document(&serde_json::json!({ "key": text })).unwrap();
            assert_eq!(written, format!("key: \"{text}\"\n"));
        }
        let plain =
            ["yes sir", "12-14", "1.2.3", "a_b", "10:30 h", "2026-01-01T00:00:00Z", "one", "::"];
        for text in plain {
            let written = document(&serde_json::json!({ "key": text })).unwrap();
            assert!(written == format!("key: {text}\n") || written == format!("key: '{text}'\n"));
        }
    }

    proptest! {
        #[test]
        fn any_text_is_the_same_when_read_back(
            text in "([\u{1}\u{7f}-\u{9f}\u{200b}-\u{202e}\u{e0000}-\u{e0010}\\\\\"' :\nax0-9]|aye0:){0,20}"
        ) {
            same(&serde_json::json!({ "key": text.clone(), text: [1] }));
        }
    }
}
