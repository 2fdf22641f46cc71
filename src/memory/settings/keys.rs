//! Reading a settings file into its type, and the nearest key to one that the type does not have.

use schemars::{JsonSchema, SchemaGenerator};
use serde::de::DeserializeOwned;
use serde_ignored::Path;
use serde_json::Value as Json;
use serde_yaml::Value;

use super::invalid;
use crate::error::{Error, Result};
use crate::spelling::{meant, nearest, one_of};

/// Decodes `value`, and holds every key of it against those of `T`.
///
/// # Errors
/// `memory_config_invalid` naming the path of the first unknown key and the nearest known one, or
/// what the value of a known key should be.
pub fn decode<T: DeserializeOwned + JsonSchema>(file: &str, value: Value) -> Result<T> {
    let mut unknown: Option<Vec<String>> = None;
    let read = serde_ignored::deserialize(value, |path| {
        unknown.get_or_insert_with(|| steps(&path));
    });
    if let Some(steps) = unknown {
        return Err(unknown_key::<T>(file, &steps));
    }
    read.map_err(|error: serde_yaml::Error| invalid(file, error))
}

/// The keys and positions that lead to `path`, from the outside in.
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

fn unknown_key<T: JsonSchema>(file: &str, steps: &[String]) -> Error {
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
    let at = joined(parents, key);
    let error = invalid(file, format!("unknown key '{at}'")).with("key", at);
    error.hint(match nearest(key, names.clone()) {
        Some(near) => meant(&joined(parents, near)),
        None => one_of(names),
    })
}

/// The definition that `schema` points to, or itself.
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
