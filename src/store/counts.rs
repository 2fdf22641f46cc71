//! Lines that proposals add and remove, counted from content that is in this clone.

use std::collections::BTreeMap;
use std::ops::Range;

use gix::ObjectId;

use super::Store;
use crate::changeset::RepoPath;
use crate::changeset::hunks::{self, Counts, Lines};
use crate::proposal::{ChangeRecord, Entry};

/// Size of the largest file that is counted: a list must not cost a diff.
const MOST_COUNTED: u64 = hunks::MOST_BYTES as u64;

/// Bytes of one proposal whose lines are counted; a larger one has no count.
const MOST_COUNTED_IN_ALL: u64 = 32 << 20;

pub(super) struct LineCounts {
    pub(super) total: Lines,
    /// For each change the lines of the old file that it changes, if known.
    pub(super) lines: Vec<Option<Vec<Range<u32>>>>,
}

pub(super) fn count(store: &Store, changes: &[ChangeRecord]) -> LineCounts {
    let mut left = MOST_COUNTED_IN_ALL;
    let (mut is_whole, mut has_lines) = (true, true);
    let mut bytes = |entry: &Option<Entry>| -> Result<Option<Vec<u8>>, ()> {
        let Some(entry) = entry else { return Ok(None) };
        let id = ObjectId::from_hex(entry.id.as_bytes()).ok();
        // The header is enough, and the blob may be of any size.
        let Some((id, (_, size))) =
            id.and_then(|id| Some((id, store.repository().header(id).ok()?)))
        else {
            is_whole = false;
            return Err(());
        };
        let rest = left.checked_sub(size).filter(|_| size <= MOST_COUNTED);
        left = rest.ok_or_else(|| has_lines = false)?;
        let mut blob = store.repository().repo().find_blob(id).map_err(|_| is_whole = false)?;
        let bytes = std::mem::take(&mut blob.data);
        if crate::changeset::file::is_binary(&bytes) {
            has_lines = false;
            return Err(());
        }
        Ok(Some(bytes))
    };
    let (mut total, mut touched) = (Counts::default(), Vec::new());
    // The result of each moved file, by its old path.
    let mut moved: BTreeMap<&RepoPath, &ChangeRecord> = BTreeMap::new();
    let by_path: BTreeMap<&RepoPath, &ChangeRecord> =
        if changes.iter().any(|change| change.origin.is_some()) {
            changes.iter().map(|change| (&change.path, change)).collect()
        } else {
            BTreeMap::new()
        };
    let source = |change: &ChangeRecord| {
        let origin = change.origin.as_ref().filter(|_| change.before.is_none())?;
        by_path.get(origin).copied().filter(|source| source.before.is_some())
    };
    for change in changes {
        if let Some(source) = source(change).filter(|source| source.after.is_none()) {
            moved.entry(&source.path).or_insert(change);
        }
    }
    let mut is_told = true;
    for change in changes {
        touched.push(None);
        let (Ok(before), Ok(after)) = (bytes(&change.before), bytes(&change.after)) else {
            continue;
        };
        let to = moved.get(&change.path).filter(|_| change.after.is_none());
        let source = source(change);
        let (from, into) = match (to, source) {
            // An edit of another line is applied to the moved file.
            (Some(to), _) => {
                let Ok(to) = bytes(&to.after) else { continue };
                (before, to)
            }
            // Moved and copied files count by the lines that differ, as they are shown.
            (None, Some(source)) => {
                let Ok(origin) = bytes(&source.before) else { continue };
                (origin, after)
            }
            (None, None) => (before, after),
        };
        let (from, into) = (from.as_deref(), into.as_deref());
        if hunks::is_large(from.unwrap_or_default(), into.unwrap_or_default()) {
            is_told = false;
            continue;
        }
        let (counts, lines) = hunks::measure(from, into);
        if to.is_none() {
            total += counts;
        }
        // A new file had no lines.
        let is_new = to.is_none() && source.is_some();
        let lines = if is_new { hunks::measure(None, into).1 } else { lines };
        *touched.last_mut().expect("just pushed") = Some(lines);
    }
    let total = match (is_whole, has_lines && is_told) {
        (false, _) => Lines::NotHere,
        (true, false) => Lines::NotByLines,
        (true, true) => Lines::Counted(total),
    };
    LineCounts { total, lines: touched }
}
