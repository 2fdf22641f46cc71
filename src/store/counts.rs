//! How many lines proposals add and remove, and which, counted from content that is here.

use std::collections::BTreeMap;
use std::ops::Range;

use gix::ObjectId;

use super::Store;
use crate::changeset::RepoPath;
use crate::changeset::hunks::{self, Counts, Lines};
use crate::proposal::{ChangeRecord, Entry};

/// Files larger than this are not counted: a list must not cost a diff.
const MOST_COUNTED: u64 = hunks::MOST_BYTES as u64;

/// Bytes of one proposal whose lines are counted; one with more has no count.
const MOST_COUNTED_IN_ALL: u64 = 32 << 20;

/// The lines of changes.
pub(super) struct LineCounts {
    /// Of all of them.
    pub(super) total: Lines,
    /// For each change the lines of the old file that it changes, where they are known.
    pub(super) lines: Vec<Option<Vec<Range<u32>>>>,
}

/// Lines added and removed by `changes`.
pub(super) fn count(store: &Store, changes: &[ChangeRecord]) -> LineCounts {
    let mut left = MOST_COUNTED_IN_ALL;
    let (mut is_whole, mut has_lines) = (true, true);
    let mut bytes = |entry: &Option<Entry>| -> Result<Option<Vec<u8>>, ()> {
        let Some(entry) = entry else { return Ok(None) };
        let id = ObjectId::from_hex(entry.id.as_bytes()).ok();
        // By its header: the blob may be of any size.
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
    // What a moved file becomes, by where it was.
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
            // An edit of another line goes along with it.
            (Some(to), _) => {
                let Ok(to) = bytes(&to.after) else { continue };
                (before, to)
            }
            // What was moved or copied counts by what differs, as it is shown.
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
        // Of a file that is new none was there.
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
