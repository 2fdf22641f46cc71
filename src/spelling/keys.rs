//! Decodes settings, and suggests the nearest key for an unknown one. Pure.

use schemars::{JsonSchema, SchemaGenerator};
use serde::Deserializer;
use serde::de::DeserializeOwned;
use serde_ignored::Path;
use serde_json::Value as Json;
use serde_path_to_error::Track;

use super::{did_you_mean_hint, nearest, one_of};

#[derive(Debug, PartialEq, Eq)]
pub enum SettingsError<E> {
    Unknown(UnknownKey),
    /// Path of a known key with a wrong value (empty: the whole text), and the error.
    Value(String, E),
}

#[derive(Debug, PartialEq, Eq)]
pub struct UnknownKey {
    /// Keys with full stops between, positions in brackets.
    pub at: String,
    /// The nearest known key, or all known keys.
    pub hint: String,
}

/// Decodes settings and checks every key against those of `T`.
///
/// # Errors
/// The first unknown key, or else the first wrong value.
pub fn decode<'de, T, D>(settings: D) -> Result<T, SettingsError<D::Error>>
where
    T: DeserializeOwned + JsonSchema,
    D: Deserializer<'de>,
{
    let mut unknown: Option<Vec<String>> = None;
    let mut track = Track::new();
    let settings = serde_path_to_error::Deserializer::new(settings, &mut track);
    let read = serde_ignored::deserialize(settings, |path| {
        unknown.get_or_insert_with(|| steps(&path));
    });
    match unknown {
        Some(steps) => Err(SettingsError::Unknown(unknown_key::<T>(&steps))),
        None => read.map_err(|error| {
            let at = track.path().to_string();
            SettingsError::Value(if at == "." { String::new() } else { at }, error)
        }),
    }
}

/// In declaration order.
pub fn of<T: JsonSchema>() -> Vec<String> {
    let whole = SchemaGenerator::default().into_root_schema_for::<T>();
    let all = whole.as_value().get("properties").and_then(Json::as_object);
    all.into_iter().flat_map(|all| all.keys().cloned()).collect()
}

/// Outermost first.
fn steps(path: &Path<'_>) -> Vec<String> {
    let (parent, step) = match path {
        Path::Root => return Vec::new(),
        Path::Map { parent, key } => (parent, Some(key.clone())),
        Path::Seq { parent, index } => (parent, Some(format!("[{index}]"))),
        Path::Some { parent }
        | Path::NewtypeStruct { parent }
        | Path::NewtypeVariant { parent } => (parent, None),
    };
    let mut all = steps(parent);
    all.extend(step);
    all
}

fn unknown_key<T: JsonSchema>(steps: &[String]) -> UnknownKey {
    let whole = SchemaGenerator::default().into_root_schema_for::<T>();
    let (key, parents) = steps.split_last().map_or(("", steps), |(key, rest)| (key.as_str(), rest));
    let known = parents.iter().try_fold(whole.as_value(), |schema, step| {
        let schema = resolved(whole.as_value(), schema);
        let named = schema.get("properties").and_then(|all| all.get(step));
        named.or_else(|| schema.get("additionalProperties")).or_else(|| schema.get("items"))
    });
    let known = known.and_then(|schema| resolved(whole.as_value(), schema).get("properties"));
    let names = known.and_then(Json::as_object).into_iter().flat_map(|all| all.keys());
    let names = names.map(String::as_str);
    // YAML and TOML distinguish case; known keys are lower case with `_`.
    let written = key.to_ascii_lowercase().replace('-', "_");
    let hint = match nearest(&written, names.clone()) {
        Some(near) => did_you_mean_hint(&joined(parents, near)),
        None => one_of(names),
    };
    UnknownKey { at: joined(parents, key), hint }
}

/// Follows a `$ref`.
fn resolved<'a>(whole: &'a Json, schema: &'a Json) -> &'a Json {
    let pointer = schema.get("$ref").and_then(Json::as_str);
    pointer.and_then(|to| whole.pointer(to.strip_prefix('#')?)).unwrap_or(schema)
}

fn joined(parents: &[String], key: &str) -> String {
    let mut all = String::new();
    for step in parents.iter().map(String::as_str).chain([key]) {
        if !all.is_empty() && !step.starts_with('[') {
            all.push('.');
        }
        all.push_str(step);
    }
    all
}
