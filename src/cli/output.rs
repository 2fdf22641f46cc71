//! The output formats, and errors in each of them.

use serde::Serialize;

use crate::error::{Error, Result};
use crate::render::escape;

/// How results are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// For people; may change.
    Text,
    /// One JSON document; stable, additive only.
    Json,
    /// The same document as YAML.
    Yaml,
}

/// `value` as one document of `format`, with a final newline.
///
/// # Errors
/// `internal_error` if the value cannot be serialised.
pub fn structured<T: Serialize>(format: Format, value: &T) -> Result<String> {
    let text = match format {
        Format::Yaml => serde_yaml::to_string(value).map_err(|e| Error::bug(e.to_string()))?,
        _ => serde_json::to_string_pretty(value).map_err(|e| Error::bug(e.to_string()))? + "\n",
    };
    Ok(text)
}

/// The error shape of JSON and YAML output: `{"success": false, "error": {…}}`.
pub fn failure(error: &Error) -> serde_json::Value {
    let mut object = serde_json::Map::new();
    object.insert("code".into(), error.code().id.into());
    object.insert("message".into(), error.message().into());
    object.insert("hint".into(), error.hint_text().into());
    for (key, value) in error.details() {
        object.insert((*key).into(), value.clone());
    }
    serde_json::json!({ "success": false, "error": object })
}

/// `error [code]: message` and `hint: …` lines, safe for a terminal.
pub fn failure_text(error: &Error) -> String {
    let mut text = format!("error[{}]: {}\n", error.code().id, escape::line(error.message()));
    if let Some(hint) = error.hint_text() {
        for line in hint.lines() {
            text += &format!("hint: {}\n", escape::line(line));
        }
    }
    text
}
