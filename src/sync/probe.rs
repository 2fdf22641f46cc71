//! Whether a remote takes this clone's refs, as far as a push tells that sends nothing.

use super::{failed, require_remote};
use crate::error::Result;
use crate::store::{Store, push_directory};

/// Pushes nothing: git connects, logs in for a push, and reads the remote's refs. Rules of the
/// server for names of refs, and its hooks, act only on a real push.
///
/// # Errors
/// `remote_not_found`, `remote_failed`.
pub fn probe(store: &Store, remote: &str, prompts: bool) -> Result<()> {
    require_remote(store, remote)?;
    let git = store.repository().git()?;
    let object = git.args(["hash-object", "-w", "-t", "tree", "/dev/null"]).text()?;
    let clone = store.clone_id().unwrap_or_else(|| "0".repeat(16));
    let refspec = format!("{object}:{}{object}", push_directory(&clone));
    let git = store.repository().git()?.may_prompt(prompts);
    let tried = git.args(["push", "--dry-run", "--no-verify", remote, &refspec]).answer()?;
    if tried.ok() { Ok(()) } else { Err(failed(remote, &tried)) }
}
