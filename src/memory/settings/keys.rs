//! Which keys the settings files may have, and the nearest one to a key they may not.

use serde_yaml::Value;

use super::invalid;
use crate::error::Result;
use crate::spelling::{meant, nearest, one_of};

/// What a key may hold.
pub enum Shape {
    /// A scalar or a list of scalars; the deserialiser checks which.
    Leaf,
    /// A mapping with these keys.
    Map(&'static [(&'static str, Shape)]),
    /// A mapping whose keys are names the user chose.
    Named(&'static Shape),
    /// A list of mappings.
    List(&'static Shape),
}

/// Checks every key of `value` against `shape`.
///
/// # Errors
/// `memory_config_invalid` naming the path of the first unknown key and the nearest known one.
pub fn check(file: &str, value: &Value, shape: &Shape) -> Result<()> {
    walk(file, value, shape, "")
}

fn walk(file: &str, value: &Value, shape: &Shape, path: &str) -> Result<()> {
    match (value, shape) {
        (Value::Null, _) | (_, Shape::Leaf) => Ok(()),
        (Value::Mapping(map), Shape::Map(known)) => {
            for (key, value) in map {
                let key = name(file, key, path)?;
                let at = join(path, &key);
                let Some((_, shape)) = known.iter().find(|(name, _)| *name == key) else {
                    let names = known.iter().map(|(name, _)| *name);
                    let error = invalid(file, format!("unknown key '{at}'")).with("key", at);
                    return Err(error.hint(match nearest(&key, names.clone()) {
                        Some(near) => meant(&join(path, near)),
                        None => one_of(names),
                    }));
                };
                walk(file, value, shape, &at)?;
            }
            Ok(())
        }
        (Value::Mapping(map), Shape::Named(shape)) => {
            for (key, value) in map {
                let key = name(file, key, path)?;
                walk(file, value, shape, &join(path, &key))?;
            }
            Ok(())
        }
        (Value::Sequence(items), Shape::List(shape)) => {
            for (i, item) in items.iter().enumerate() {
                walk(file, item, shape, &format!("{path}[{i}]"))?;
            }
            Ok(())
        }
        (_, Shape::Map(_) | Shape::Named(_)) => {
            Err(invalid(file, format!("'{path}' has to be a mapping")))
        }
        (_, Shape::List(_)) => Err(invalid(file, format!("'{path}' has to be a list"))),
    }
}

fn name(file: &str, key: &Value, path: &str) -> Result<String> {
    key.as_str()
        .map(str::to_owned)
        .ok_or_else(|| invalid(file, format!("a key under '{path}' is not text")))
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
