//! Checks code proposals against the rules of memory files.

use super::effective_settings;
use crate::changeset::Changeset;
use crate::memory::code_changes::{self, Violation};
use crate::memory::codes;
use crate::memory::disk::Disk;
use crate::memory::guard::ScanGuard;
use crate::memory::settings::Settings;
use crate::repository::Repository;

/// Rules that `changeset` would break; none without a memory store.
pub fn outside_violations(repository: &Repository, changeset: &Changeset) -> Vec<Violation> {
    let mut changes =
        changeset.changes().iter().filter(|change| code_changes::touches(change)).peekable();
    if changes.peek().is_none() {
        return Vec::new();
    }
    let Some(settings) = settings(repository) else { return Vec::new() };
    let guard =
        ScanGuard::new(&settings, super::allowed_fingerprints(repository).unwrap_or_default());
    changes.flat_map(|change| code_changes::violations(change, &settings, &guard)).collect()
}

/// Settings in force; without a work tree's, the committed ones; the strictest if unreadable.
fn settings(repository: &Repository) -> Option<Settings> {
    let in_force =
        repository.worktree().and_then(|tree| effective_settings::read(repository, &Disk(&tree)));
    match in_force {
        Ok(in_force) => Some(in_force.settings),
        Err(error) if error.is(&codes::CONFIG_INVALID) => Some(Settings::closed()),
        Err(_) => {
            effective_settings::committed(repository).unwrap_or_else(|_| Some(Settings::closed()))
        }
    }
}
