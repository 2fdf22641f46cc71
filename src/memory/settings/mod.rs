//! Settings of a store: `meta/manifest.yaml` and `meta/schema.yaml`, merged over defaults.
//!
//! An explicit `false` overrides, a list replaces the default list, an unknown key is an error.
//! Every accepted key is enforced or reported as without effect. HEAD limits the gate's settings
//! (see `gate`).

mod gate;
pub mod manifest;
pub mod schema;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_yaml::Value;

pub use manifest::{Manifest, Slot};
pub use schema::{Approval, Category, Schema};

use super::codes;
use crate::error::{Error, Result};
use crate::spelling::keys::{self, SettingsError};

/// Written by `memory init` with the project's name.
pub const DEFAULT_MANIFEST: &str = include_str!("default-manifest.yaml");

/// Written by `memory init`.
pub const DEFAULT_SCHEMA: &str = include_str!("default-schema.yaml");

/// JSON parses in a tenth of the time; a test compares it with the YAML.
const MANIFEST_JSON: &str = include_str!("default-manifest.json");
const SCHEMA_JSON: &str = include_str!("default-schema.json");

const MAX_BYTES: usize = 256 * 1024;

#[derive(Clone, Debug)]
pub struct Settings {
    /// `meta/manifest.yaml`
    pub manifest: Manifest,
    /// `meta/schema.yaml`
    pub schema: Schema,
}

impl Settings {
    /// A missing file means the defaults.
    ///
    /// # Errors
    /// `memory_config_invalid` with file, key and fix.
    pub fn read(manifest: Option<&[u8]>, schema: Option<&[u8]>) -> Result<Self> {
        Ok(Self {
            manifest: Manifest::read(manifest.unwrap_or_default())?,
            schema: Schema::read(schema.unwrap_or_default())?,
        })
    }
}

impl Default for Settings {
    fn default() -> Self {
        // The defaults are part of the program; a test reads them.
        Self::read(None, None).unwrap_or_else(|error| panic!("default settings: {error}"))
    }
}

fn invalid(file: &str, message: impl std::fmt::Display) -> Error {
    Error::new(&codes::CONFIG_INVALID, format!("{file}: {message}")).with("path", file)
}

/// # Errors
/// `memory_config_invalid` with the unknown key and the nearest known one, or the expected value.
fn decode<T: DeserializeOwned + JsonSchema>(file: &str, value: Value) -> Result<T> {
    keys::decode(value).map_err(|misread| match misread {
        SettingsError::Unknown(key) => {
            let error = invalid(file, format!("unknown key '{}'", key.at));
            error.with("key", key.at).hint(key.hint)
        }
        SettingsError::Value(at, error) if at.is_empty() => invalid(file, error),
        SettingsError::Value(at, error) => invalid(file, format!("{at}: {error}")).with("key", at),
    })
}

fn parse_yaml(file: &str, bytes: &[u8]) -> Result<Value> {
    if bytes.len() > MAX_BYTES {
        return Err(invalid(file, format!("larger than {MAX_BYTES} bytes")));
    }
    if crate::text::yaml::is_too_deep(bytes) {
        return Err(invalid(file, "has too many brackets inside each other")
            .hint("write it as the default is: `aye memory init` in an empty repository"));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| invalid(file, e))?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    if text.lines().all(|line| line.trim().is_empty() || line.trim_start().starts_with('#')) {
        return Ok(Value::Null);
    }
    serde_yaml::from_str(text).map_err(|e| invalid(file, e).hint("it has to be YAML"))
}

/// Merges mappings by key and replaces other values. A key without a value keeps the default.
fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (_, Value::Null) => {}
        (Value::Mapping(base), Value::Mapping(over)) => {
            for (key, value) in over {
                match base.get_mut(&key) {
                    Some(slot) => merge(slot, value),
                    None => {
                        base.insert(key, value);
                    }
                }
            }
        }
        (base, over) => *base = over,
    }
}

fn default(file: &str, json: &str) -> Result<Value> {
    serde_json::from_str(json).map_err(|e| invalid(file, e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_say_the_same_in_yaml_and_in_json() {
        for (yaml, json) in [(DEFAULT_MANIFEST, MANIFEST_JSON), (DEFAULT_SCHEMA, SCHEMA_JSON)] {
            let read: serde_json::Value = serde_yaml::from_str(yaml).expect("YAML");
            assert!(
                serde_json::from_str::<serde_json::Value>(json).expect("JSON") == read,
                "{read}"
            );
        }
    }
}
