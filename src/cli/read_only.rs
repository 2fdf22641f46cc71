//! Hints for a git directory that cannot be written.

use std::path::Path;

use super::Context;
use crate::error::{Error, codes};
use crate::repository::Repository;
use crate::store::Store;

impl Context {
    pub(super) fn is_sandboxed(&self, error: &Error, repository: &Repository) -> bool {
        error.is(&codes::READ_ONLY) && is_read_only(repository.common_dir())
    }

    pub(super) fn name_sandbox(&self, error: Error) -> Error {
        if !error.is(&codes::READ_ONLY) {
            return error;
        }
        let Ok(store) = Store::discover(&self.directory) else { return error };
        if !is_read_only(store.repository().common_dir()) {
            return error;
        }
        let place = store.repository().common_dir().display().to_string();
        error.after(format_args!("{place} cannot be written from here")).with("path", place).hint(
            "check its owner and permissions; in an agent's sandbox use the tools of `aye mcp`, which runs outside \
             of it, or go on editing where the agent was started with `aye run`: what it leaves is proposed",
        )
    }
}

/// A probe: modes say nothing in a sandbox or to root.
fn is_read_only(directory: &Path) -> bool {
    tempfile::tempfile_in(directory).is_err()
}
