//! Code proposals held to the rules of the memory files that they touch.

use super::agreed;
use crate::changeset::Changeset;
use crate::memory::codes;
use crate::memory::disk::Disk;
use crate::memory::guard::Scan;
use crate::memory::outside::{self, Violation};
use crate::memory::settings::Settings;
use crate::repository::Repository;

/// What `changeset`, which is not made of memory operations, would leave of memory files that does
/// not hold. Nothing where there is no memory store.
pub fn outside_violations(repository: &Repository, changeset: &Changeset) -> Vec<Violation> {
    let mut changes =
        changeset.changes().iter().filter(|change| outside::touches(change)).peekable();
    if changes.peek().is_none() {
        return Vec::new();
    }
    let Some(settings) = settings(repository) else { return Vec::new() };
    let guard = Scan::new(&settings, super::allowed_fingerprints(repository));
    changes.flat_map(|change| outside::violations(change, &settings, &guard)).collect()
}

/// The settings in force; the committed ones where the work tree has none, the strictest where
/// they cannot be read.
fn settings(repository: &Repository) -> Option<Settings> {
    let in_force = repository.worktree().and_then(|tree| agreed::read(repository, &Disk(&tree)));
    match in_force {
        Ok(in_force) => Some(in_force.settings),
        Err(error) if error.is(&codes::CONFIG_INVALID) => Some(Settings::closed()),
        Err(_) => agreed::committed(repository).unwrap_or_else(|_| Some(Settings::closed())),
    }
}
