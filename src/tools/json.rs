//! Unambiguous JSON from callers.
//!
//! Duplicate keys are refused: readers differ on the one that counts, so a request could be shown
//! as one thing and carried out as another (<https://www.rfc-editor.org/rfc/rfc8259#section-4>). A
//! byte order mark is skipped (section 8.1): some shells pipe one.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

use crate::error::{Error, Result, codes};

pub fn strip_bom(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// `what` starts the message ("the request").
///
/// # Errors
/// `invalid_json` with line and column.
pub fn read(bytes: &[u8], what: &str, hint: &str) -> Result<Value> {
    let text = strip_bom(bytes);
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = UniqueKeys.deserialize(&mut reader);
    value.and_then(|value| reader.end().map(|()| value)).map_err(|error| {
        Error::new(&codes::INVALID_JSON, format!("{what} cannot be read as JSON: {error}"))
            .with("line", error.line())
            .with("column", error.column())
            .hint(shape_hint(text).unwrap_or(hint))
    })
}

/// Hint for text that models send in the place of a JSON object.
pub fn shape_hint(text: &[u8]) -> Option<&'static str> {
    let text = text.trim_ascii_start();
    if text.starts_with(b"```") {
        return Some("send the JSON without the ``` fence around it");
    }
    let is_patch =
        ["*** Begin Patch", "diff --git", "--- "].iter().any(|it| text.starts_with(it.as_bytes()));
    is_patch.then_some(
        "send the patch in an object, {\"patch\": \"…\"}, or with `aye propose --patch -`",
    )
}

struct UniqueKeys;

impl<'de> DeserializeSeed<'de> for UniqueKeys {
    type Value = Value;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for UniqueKeys {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(UniqueKeys)? {
            list.push(item);
        }
        Ok(Value::Array(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(UniqueKeys)?;
            if map.contains_key(&key) {
                let shown: String = key.chars().take(60).collect();
                return Err(A::Error::custom(format!("the key '{shown}' is given twice")));
            }
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_key_given_twice_is_refused_at_any_depth() {
        for text in [
            r#"{"action":"list","action":"apply"}"#,
            r#"{"a":[{"b":{"c":1,"c":1}}]}"#,
            r#"{"é":1,"\u00e9":2}"#,
        ] {
            let error = read(text.as_bytes(), "the request", "").unwrap_err();
            assert!(error.is(&codes::INVALID_JSON) && error.message().contains("twice"), "{text}");
        }
        assert!(read(br#"{"a":{"x":1},"b":{"x":1}}"#, "it", "").is_ok());
    }

    #[test]
    fn a_byte_order_mark_is_passed_over_and_rubbish_behind_is_not() {
        assert_eq!(read(b"\xef\xbb\xbf[1]", "it", "").unwrap(), serde_json::json!([1]));
        for text in [&b"{} x"[..], b"", b"\xff", b"{\"a\":1,}", b"nul"] {
            assert!(read(text, "it", "").unwrap_err().is(&codes::INVALID_JSON));
        }
        assert!(read("[".repeat(100_000).as_bytes(), "it", "").is_err());
    }

    proptest! {
        #[test]
        fn otherwise_it_reads_as_everybody_does(text in r#"[\[\]{}:, "a\\0-9.e-]{0,40}"#) {
            if let Ok(value) = read(text.as_bytes(), "it", "") {
                prop_assert_eq!(value, serde_json::from_str::<Value>(&text).unwrap());
            }
        }
    }
}
