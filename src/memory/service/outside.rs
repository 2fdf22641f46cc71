//! Code proposals held to the rules of the memory files that they touch.

use super::agreed;
use crate::changeset::Changeset;
use crate::memory::codes;
use crate::memory::disk::Disk;
use crate::memory::guard::Scan;
use crate::memory::outside::{self, Violation};
use crate::memory::settings::Settings;
use crate::store::Store;

/// What `changeset`, which is not made of memory operations, would leave of memory files that does
/// not hold. Nothing where there is no memory store.
pub fn outside_violations(store: &Store, changeset: &Changeset) -> Vec<Violation> {
    let mut changes =
        changeset.changes().iter().filter(|change| outside::touches(change)).peekable();
    if changes.peek().is_none() {
        return Vec::new();
    }
    let Some(settings) = settings(store) else { return Vec::new() };
    let guard = Scan::new(&settings, super::allowed_fingerprints(store));
    changes.flat_map(|change| outside::violations(change, &settings, &guard)).collect()
}

/// The settings in force; the committed ones where the work tree has none, the strictest where
/// they cannot be read.
fn settings(store: &Store) -> Option<Settings> {
    let in_force = store.worktree().and_then(|tree| agreed::read(store, &Disk(&tree)));
    match in_force {
        Ok(in_force) => Some(in_force.settings),
        Err(error) if error.is(&codes::CONFIG_INVALID) => Some(Settings::closed()),
        Err(_) => agreed::committed(store).unwrap_or_else(|_| Some(Settings::closed())),
    }
}
