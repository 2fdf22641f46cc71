//! Whether a file is as git has read or written it last, told without reading it.

use gix::index::entry::{Stat, stat};
use gix::index::fs::Metadata;
use gix::index::{Entry, State};

/// Whether `facts` are those of the file of `entry` when `index` was written, and it cannot have been written
/// since within what the clock tells apart ("racy"; <https://git-scm.com/docs/racy-git>).
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
