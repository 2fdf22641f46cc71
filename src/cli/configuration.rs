//! What aye writes into a clone's own git configuration when it is asked to, and takes out of it again.

use bstr::ByteSlice as _;

use crate::error::Result;
use crate::repository::Repository;

/// Refs that git does not decorate commits with.
pub const DECORATION: &str = "log.excludeDecoration";

/// What `aye init` sets: a patch of an agent's becomes a proposal.
pub const GATE: [(&str, &str); 1] = [("aye.gate", "true")];

/// What `aye init --git-log` sets: aye's refs are in no decoration, and an alias leaves them out of `--all`.
pub const LOG: [(&str, &str); 2] =
    [(DECORATION, "refs/aye/"), ("alias.la", "log --exclude=refs/aye/* --all --graph --oneline")];

/// Sets `these` keys; what is set already stays. Returns the names of those that were not.
///
/// # Errors
/// Those of git.
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

/// The names of what is there with the values that aye gives it.
///
/// # Errors
/// If git cannot be started.
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

/// Takes `these`, which are some of what [`present`] names, out of it. Other values stay.
///
/// # Errors
/// Those of git.
pub fn remove(repository: &Repository, these: &[&str]) -> Result<()> {
    for (key, value) in LOG.iter().chain(&GATE).filter(|(key, _)| these.contains(key)) {
        let asked = ["config", "--local", "--fixed-value", "--unset-all", key, value];
        repository.git()?.args(asked).run()?;
    }
    Ok(())
}
