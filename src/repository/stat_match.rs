//! Detects unchanged files without reading them.

use gix::index::entry::{Stat, stat};
use gix::index::fs::Metadata;
use gix::index::{Entry, State};

/// True if the stat data equals the index entry's, and the entry is not racy
/// (<https://git-scm.com/docs/racy-git>).
pub fn is_untouched(
    index: &State,
    entry: &Entry,
    facts: &Metadata,
    options: stat::Options,
) -> bool {
    Stat::from_fs(facts).is_ok_and(|found| {
        entry.stat.matches(&found, options) && !entry.stat.is_racy(index.timestamp(), options)
    })
}
