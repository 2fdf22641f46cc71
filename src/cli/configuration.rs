//! Keys of a clone's git configuration that aye sets.

use bstr::ByteSlice as _;

use crate::error::Result;
use crate::repository::Repository;

pub const DECORATION: &str = "log.excludeDecoration";

/// `aye init` sets these keys.
pub const GATE: [(&str, &str); 1] = [("aye.gate", "true")];

/// `aye init --git-log` sets these: decorations and `git la` omit aye's refs.
pub const LOG: [(&str, &str); 2] =
    [(DECORATION, "refs/aye/"), ("alias.la", "log --exclude=refs/aye/* --all --graph --oneline")];

/// `aye sync --enable` and people set these, to any value.
const SYNC: [&str; 2] = ["aye.syncRemote", "aye.syncAfter"];

/// Sets unset keys and returns their names.
pub fn set(repository: &Repository, these: &[(&'static str, &str)]) -> Result<Vec<&'static str>> {
    let mut fresh = Vec::new();
    for (key, value) in these {
        if repository.config(key).is_none() {
            repository.git()?.args(["config", "--local", "--add", key, value]).run()?;
            fresh.push(*key);
        }
    }
    Ok(fresh)
}

/// Returns the keys that have aye's value, and those of `aye sync`.
pub fn present(repository: &Repository) -> Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for (key, value) in LOG.into_iter().chain(GATE) {
        let asked = repository.git()?.args(["config", "--local", "--get-all", key]).answer()?;
        if asked.stdout.lines().any(|line| line == value.as_bytes()) {
            found.push(key);
        }
    }
    for key in SYNC {
        if repository.git()?.args(["config", "--local", "--get-all", key]).answer()?.ok() {
            found.push(key);
        }
    }
    Ok(found)
}

/// Removes aye's own values, and any of `aye sync`.
pub fn remove(repository: &Repository, these: &[&str]) -> Result<()> {
    for (key, value) in LOG.iter().chain(&GATE).filter(|(key, _)| these.contains(key)) {
        let asked = ["config", "--local", "--fixed-value", "--unset-all", key, value];
        repository.git()?.args(asked).run()?;
    }
    for key in SYNC.iter().filter(|key| these.contains(key)) {
        repository.git()?.args(["config", "--local", "--unset-all", key]).run()?;
    }
    Ok(())
}
