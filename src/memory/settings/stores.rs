//! Other stores that a store names: `stores[]` of the manifest and `meta/stores.lock`. Both are
//! read strictly and kept as they are; `service/stores.rs` reads what they name.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_yaml::Value;

use super::manifest::PATH;
use super::{decode, invalid, parse_yaml};
use crate::error::Result;

/// The lock file's path in the store.
pub const LOCK_PATH: &str = "meta/stores.lock";

/// Another store.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
pub struct StoreRef {
    /// What it is called here.
    pub name: String,
    /// Where it is: a URL or a path.
    pub source: String,
    /// Branch, tag or commit.
    pub revision: Option<String>,
    /// Where the store is in that repository.
    pub path: Option<String>,
    /// How it is read; only reading alone is supported.
    pub mode: Option<String>,
    /// How much its sections count.
    pub priority_multiplier: Option<f64>,
    /// How soon changes show.
    pub readback_consistency: Option<String>,
}

/// `meta/stores.lock`, as agent-memory writes it.
#[derive(Deserialize, JsonSchema)]
struct Lock {
    #[serde(default)]
    #[expect(dead_code, reason = "known, so that it is no unknown key")]
    version: u64,
    #[serde(default)]
    stores: BTreeMap<String, Locked>,
}

/// Where one store was when it was pinned.
#[derive(Deserialize, JsonSchema)]
#[expect(dead_code, reason = "known, so that they are no unknown keys")]
struct Locked {
    source: String,
    requested_revision: Option<String>,
    /// Text; written without quotes, an id of digits alone is a number, and pins nothing.
    #[schemars(with = "String")]
    resolved_commit: Option<Value>,
    resolved_at: Option<String>,
    store_path: Option<String>,
    /// The source is a directory without a commit to pin it to.
    #[serde(default)]
    unlocked: bool,
}

/// Checks the stores of a manifest.
///
/// # Errors
/// `memory_config_invalid` naming the entry.
pub fn validate(stores: &[StoreRef]) -> Result<()> {
    for (i, store) in stores.iter().enumerate() {
        let wrong = |what: String| Err(invalid(PATH, format!("stores[{i}]: {what}")));
        if store.name.trim().is_empty() || store.source.trim().is_empty() {
            return wrong("needs a name and a source".into());
        }
        if stores[..i].iter().any(|other| other.name == store.name) {
            return wrong(format!("the name '{}' is taken", store.name));
        }
        if store.priority_multiplier.is_some_and(|factor| !factor.is_finite() || factor <= 0.0) {
            return wrong("priority_multiplier has to be positive".into());
        }
        let path = store.path.as_deref().unwrap_or(".");
        if path != "." && crate::changeset::RepoPath::new(path).is_err() {
            return wrong(format!("the path '{path}' leads out of the repository"));
        }
    }
    Ok(())
}

/// True for the words that mean reading alone.
pub fn is_read_only(mode: &str) -> bool {
    let plain: String = mode.chars().filter(char::is_ascii_alphabetic).collect();
    ["readonly", "read", "pinned", "ro"].contains(&plain.to_ascii_lowercase().as_str())
}

/// What the lock file says of one store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pin {
    /// Where it was when it was pinned.
    pub source: String,
    /// The commit, as it is written there.
    pub commit: String,
    /// Where the store is in that repository.
    pub path: Option<String>,
}

/// The stores that the lock file pins, by name; none where it cannot be read.
pub fn pins(text: Option<&[u8]>) -> BTreeMap<String, Pin> {
    let value = text.and_then(|text| parse_yaml(LOCK_PATH, text).ok());
    let lock: Option<Lock> = value.and_then(|value| serde_yaml::from_value(value).ok());
    let pin = |(name, entry): (String, Locked)| {
        let pin = Pin {
            source: entry.source,
            commit: entry.resolved_commit?.as_str()?.to_owned(),
            path: entry.store_path,
        };
        Some((name, pin))
    };
    lock.into_iter().flat_map(|lock| lock.stores).filter_map(pin).collect()
}

/// What is wrong with the lock file, in words; nothing where there is none.
pub fn check_lock(text: Option<&str>, stores: &[StoreRef]) -> Vec<String> {
    let Some(text) = text else { return Vec::new() };
    let value = parse_yaml(LOCK_PATH, text.as_bytes());
    let lock = match value.and_then(|value| decode::<Lock>(LOCK_PATH, value)) {
        Ok(lock) => lock,
        Err(error) => return vec![error.message().to_owned()],
    };
    let mut problems = Vec::new();
    for (name, entry) in lock.stores {
        match stores.iter().find(|store| store.name == name) {
            None => {
                problems.push(format!("'{name}' is locked, but the manifest names no such store"))
            }
            Some(store) if entry.source != store.source => {
                problems.push(format!("'{name}' is locked to another source than the manifest's"));
            }
            Some(_) => {}
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stores(yaml: &str) -> Result<Vec<StoreRef>> {
        let text = format!("stores: {yaml}");
        super::super::Manifest::read(text.as_bytes()).map(|manifest| manifest.stores)
    }

    #[test]
    fn entries_are_read_strictly() {
        let all = "[{name: wiki, source: 'https://x/w.git', revision: main, path: docs, mode: read, priority_multiplier: 0.5, readback_consistency: eventual}]";
        assert_eq!(stores(all).unwrap()[0].revision.as_deref(), Some("main"));
        for bad in [
            "[{name: wiki}]",
            "[{name: '', source: x}]",
            "[{name: a, source: x}, {name: a, source: y}]",
            "[{name: a, source: x, path: ../y}]",
            "[{name: a, source: x, priority_multiplier: 0}]",
            "[{name: a, source: x, priority: 1}]",
            "{name: a}",
        ] {
            assert!(stores(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_lock_file_agrees_with_the_manifest() {
        let known = stores("[{name: wiki, source: s}]").unwrap();
        let lock = |yaml: &str| check_lock(Some(yaml), &known).len();
        assert_eq!(check_lock(None, &known).len(), 0);
        assert_eq!(lock("version: 1\nstores: {wiki: {source: s, resolved_commit: abc}}"), 0);
        assert_eq!(
            lock(
                "version: 1\nstores:\n  wiki: {source: s, requested_revision: v1, unlocked: true}"
            ),
            0
        );
        assert_eq!(lock("stores: {wiki: {source: other}}"), 1);
        assert_eq!(lock("stores: {gone: {source: s}}"), 1);
        assert_eq!(lock("stores: {wiki: {sauce: s}}"), 1);
        assert_eq!(lock("stores: ["), 1);
    }
}
