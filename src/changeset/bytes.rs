//! Bytes in JSON: a string where they are UTF-8, else `{"base64": "…"}`. Lossless.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Deserialize)]
#[serde(untagged)]
enum Wire {
    Text(String),
    Bytes { base64: String },
}

/// Writes `bytes`.
///
/// # Errors
/// The serializer's own.
pub fn serialize<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Encoded {
        base64: String,
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => serializer.serialize_str(text),
        Err(_) => Encoded { base64: STANDARD.encode(bytes) }.serialize(serializer),
    }
}

/// Reads what [`serialize`] wrote.
///
/// # Errors
/// If it is neither form, or the base64 is broken.
pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<u8>, D::Error> {
    match Wire::deserialize(deserializer)? {
        Wire::Text(text) => Ok(text.into_bytes()),
        Wire::Bytes { base64 } => STANDARD.decode(base64).map_err(serde::de::Error::custom),
    }
}

/// Bytes for a public document: serialises as [`serialize`] does and says so in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text<'a>(pub &'a [u8]);

impl Serialize for Text<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serialize(self.0, serializer)
    }
}

impl schemars::JsonSchema for Text<'_> {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Bytes".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "text, or base64 where the bytes are not UTF-8",
            "oneOf": [
                { "type": "string" },
                {
                    "type": "object",
                    "properties": { "base64": { "type": "string" } },
                    "required": ["base64"],
                    "additionalProperties": false,
                },
            ],
        })
    }
}
