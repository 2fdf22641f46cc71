//! A command in a sandbox that keeps the git directory as it is, as coding agents have one for their shell.

use std::path::Path;

use super::Context;
use crate::error::{Error, codes};
use crate::store::Store;

impl Context {
    /// Whether `error` comes from the git directory of `store`, which a sandbox keeps as it is.
    pub(super) fn is_sandboxed(&self, error: &Error, store: &Store) -> bool {
        error.is(&codes::READ_ONLY) && is_kept(store.common_dir())
    }

    /// `error`, where it comes from a git directory that belongs to this user and cannot be written all
    /// the same, in words that help.
    pub(super) fn name_sandbox(&self, error: Error) -> Error {
        if !error.is(&codes::READ_ONLY) {
            return error;
        }
        let Ok(store) = Store::discover(&self.directory) else { return error };
        if !is_kept(store.common_dir()) {
            return error;
        }
        let place = store.common_dir().display().to_string();
        Error::new(
            &codes::GIT_DIRECTORY_READ_ONLY,
            format!("{place} cannot be written from here, as in a sandbox: {}", error.message()),
        )
        .with("path", place)
        .hint(
            "in an agent's shell: use the tools of `aye mcp`, which runs outside of it, or go on \
             editing where the agent was started with `aye run`: what it leaves is proposed",
        )
    }
}

/// Whether `directory` is this user's own and refuses a new file.
fn is_kept(directory: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let own = rustix::process::geteuid().as_raw();
        let Ok(facts) = directory.metadata() else { return false };
        // Root's own limits are the file system's, or a sandbox's.
        let is_ours = facts.uid() == own && facts.mode() & 0o200 != 0;
        is_ours && tempfile::tempfile_in(directory).is_err()
    }
    #[cfg(not(unix))]
    {
        let _ = directory;
        false
    }
}
