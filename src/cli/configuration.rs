//! Keys that aye sets in a clone's own git configuration, and removes.

use bstr::ByteSlice as _;

use crate::error::Result;
use crate::repository::Repository;

/// Refs that git's decorations omit.
pub const DECORATION: &str = "log.excludeDecoration";

/// Keys of `aye init`: an agent's patch becomes a proposal.
pub const GATE: [(&str, &str); 1] = [("aye.gate", "true")];

/// Keys of `aye init --git-log`: decorations omit aye's refs, and an alias shows `--all` without
/// them.
pub const LOG: [(&str, &str); 2] =
    [(DECORATION, "refs/aye/"), ("alias.la", "log --exclude=refs/aye/* --all --graph --oneline")];

/// Sets those of `these` keys that are unset, and returns their names.
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

/// Returns the keys that have the value aye gives them.
pub fn present(repository: &Repository) -> Result<Vec<&'static str>> {
    let mut found = Vec::new();
    for (key, value) in LOG.into_iter().chain(GATE) {
        let asked = repository.git()?.args(["config", "--local", "--get-all", key]).answer()?;
        if asked.stdout.lines().any(|line| line == value.as_bytes()) {
            found.push(key);
        }
    }
    Ok(found)
}

/// Removes aye's own values of `these` keys; other values stay.
pub fn remove(repository: &Repository, these: &[&str]) -> Result<()> {
    for (key, value) in LOG.iter().chain(&GATE).filter(|(key, _)| these.contains(key)) {
        let asked = ["config", "--local", "--fixed-value", "--unset-all", key, value];
        repository.git()?.args(asked).run()?;
    }
    Ok(())
}
