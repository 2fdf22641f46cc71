//! What aye writes into a clone's own git configuration when it is asked to, and takes out of it again.

use bstr::ByteSlice as _;

use super::memory::driver;
use crate::error::Result;
use crate::store::Store;

/// Refs that git does not decorate commits with.
pub const DECORATION: &str = "log.excludeDecoration";

/// What [`keep_log_readable`] sets.
const LOG: [(&str, &str); 2] =
    [(DECORATION, "refs/aye/"), ("alias.la", "log --exclude=refs/aye/* --all --graph --oneline")];

/// Sets what keeps aye's refs out of decorations, and an alias that leaves them out of `--all`; what is
/// set already stays.
///
/// # Errors
/// Those of git.
pub fn keep_log_readable(store: &Store) -> Result<()> {
    for (key, value) in LOG {
        if store.config(key).is_none() {
            store.git()?.args(["config", "--local", "--add", key, value]).run()?;
        }
    }
    Ok(())
}

/// The names of what is there with the values that aye gives it.
///
/// # Errors
/// If git cannot be started.
pub fn present(store: &Store) -> Result<Vec<&'static str>> {
    let mut found = Vec::new();
    if driver::is_installed(store)? {
        found.push(driver::SECTION);
    }
    for (key, value) in LOG {
        let asked = store.git()?.args(["config", "--local", "--get-all", key]).answer()?;
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
pub fn remove(store: &Store, these: &[&str]) -> Result<()> {
    for name in these {
        match LOG.iter().find(|(key, _)| key == name) {
            Some((key, value)) => {
                let asked = ["config", "--local", "--fixed-value", "--unset-all", key, value];
                store.git()?.args(asked).run()?;
            }
            None => driver::uninstall(store)?,
        }
    }
    Ok(())
}
