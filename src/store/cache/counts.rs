//! How many lines proposals add and remove, counted from content that is here.

use std::collections::BTreeMap;
use std::ops::Range;

use gix::ObjectId;
use gix::objs::Exists as _;
use rusqlite::{Connection, Row, Transaction, params};

use super::row::{Stored, entry};
use super::{Summary, View, relations};
use crate::changeset::RepoPath;
use crate::changeset::hunks::{self, Counts, Lines};
use crate::error::Result;
use crate::proposal::snapshot::Figures;
use crate::proposal::{ChangeRecord, Entry, Proposal, State};
use crate::repository::header;

/// Files larger than this are not counted: a list must not cost a diff.
const MOST_COUNTED: u64 = hunks::MOST_BYTES as u64;

/// Bytes of one proposal whose lines are counted; one with more has no count.
const MOST_COUNTED_IN_ALL: u64 = 32 << 20;

/// Proposals of one list whose content is looked for, where it was not here before.
const MOST_LOOKED_FOR: usize = 1_000;

impl View {
    /// Counts the lines of those of `summaries` whose content was not here when they were folded, and
    /// has come since: what a partial clone has fetched for a diff, for instance.
    pub(super) fn count(&self, summaries: &mut [Summary]) -> Result<()> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let uncounted = summaries.iter_mut().filter(|summary| summary.lines == Lines::NotHere);
        for summary in uncounted.take(MOST_LOOKED_FOR) {
            let id = summary.id.as_str();
            if !self.has_contents(connection, id).map_err(|error| self.failed(&error))? {
                continue;
            }
            let proposal = self.proposal(&summary.id)?;
            let Counted { total, lines } = count(&self.repo, &proposal.current().changes);
            summary.lines = total;
            let write = || -> rusqlite::Result<()> {
                let (added, removed) = columns(total);
                connection
                    .prepare_cached(
                        "UPDATE proposal SET added = ?2, removed = ?3 WHERE id = ?1 AND digest = ?4",
                    )?
                    .execute(params![id, added, removed, summary.digest])?;
                for (change, lines) in proposal.current().changes.iter().zip(&lines) {
                    let lines = lines.as_deref().and_then(relations::ranges);
                    connection
                        .prepare_cached(
                            "UPDATE path SET lines = ?3 WHERE path = ?2 AND proposal = ?1
                             AND open = 1",
                        )?
                        .execute(params![id, change.path.display().to_string(), lines])?;
                }
                Ok(())
            };
            // Another process writes: it is counted again next time.
            let _ = (total != Lines::NotHere).then(write);
        }
        Ok(())
    }

    /// Whether both sides of all changes of `id` are here.
    fn has_contents(&self, connection: &Connection, id: &str) -> rusqlite::Result<bool> {
        let mut statement =
            connection.prepare_cached("SELECT before, after FROM path WHERE proposal = ?1")?;
        let mut rows = statement.query([id])?;
        while let Some(row) = rows.next()? {
            for at in 0..2 {
                let side = row.get_ref(at)?.as_str_or_null()?.and_then(entry);
                let id = side.and_then(|side| ObjectId::from_hex(side.id.as_bytes()).ok());
                if id.is_some_and(|id| !self.repo.objects.exists(&id)) {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}

/// What the columns from `at` have of the lines of a proposal.
pub(super) fn lines(row: &Row<'_>, at: usize) -> rusqlite::Result<Lines> {
    let both = row.get::<_, Option<i64>>(at)?.zip(row.get::<_, Option<i64>>(at + 1)?);
    Ok(both.map_or(Lines::NotHere, |(added, removed)| {
        match (usize::try_from(added), usize::try_from(removed)) {
            (Ok(added), Ok(removed)) => Lines::Counted(Counts { added, removed }),
            _ => Lines::NotByLines,
        }
    }))
}

/// The same to write: below 0 where lines say nothing.
pub(super) fn columns(lines: Lines) -> (Option<i64>, Option<i64>) {
    match lines {
        Lines::Counted(counts) => (Some(counts.added as i64), Some(counts.removed as i64)),
        Lines::NotByLines => (Some(-1), Some(-1)),
        Lines::NotHere => (None, None),
    }
}

/// As [`count`], of a proposal whose changes have this `digest`; it reads files only where the
/// cache does not have the same changes already, nor a snapshot of the lane that the proposal begins
/// in, whose writer has counted them (`said`). Of what is pending nobody's word is taken: by its lines it
/// may be chosen to be applied.
pub(super) fn counted(
    repo: &gix::Repository,
    proposal: &Proposal,
    digest: &str,
    said: Option<Counts>,
    known: Option<&Stored>,
) -> Counted {
    let known = known.filter(|known| known.digest == digest);
    let kept = match proposal.state {
        State::Pending => known.filter(|known| known.is_open).map(|known| known.lines),
        _ => said.map(Lines::Counted).or_else(|| known.map(|known| known.lines)),
    };
    match kept.filter(|lines| *lines != Lines::NotHere) {
        Some(total) => Counted { total, lines: Vec::new() },
        None => count(repo, &proposal.current().changes),
    }
}

/// What lists show of a proposal, as the row of an event has it: digest of the changes, lines added and
/// removed, separated by spaces. Nothing where the snapshot counts nothing.
pub(super) fn column(figures: &Figures) -> Option<String> {
    let Figures { digest, added, removed, .. } = figures;
    digest.as_ref().map(|digest| format!("{digest} {added} {removed}"))
}

/// Reads that back, where it is about the changes with this `digest`.
pub(super) fn read(column: &str, digest: &str) -> Option<Counts> {
    let mut words = column.strip_prefix(digest)?.strip_prefix(' ')?.split(' ');
    let mut count = || words.next()?.parse().ok();
    Some(Counts { added: count()?, removed: count()? })
}

/// Adds what a later epoch counts of a proposal ([`column()`]) to the event `id`, which was read before.
pub(super) fn note(
    transaction: &Transaction<'_>,
    id: &ObjectId,
    figures: &str,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("UPDATE event SET figures = ?2 WHERE id = ?1")?
        .execute(params![id.to_string(), figures])
        .map(drop)
}

/// What changes come to.
pub(super) struct Counted {
    /// Of all of them; where some of the content is not here, it may come.
    pub(super) total: Lines,
    /// For each change the lines that it touches, where that could be told.
    pub(super) lines: Vec<Option<Vec<Range<u32>>>>,
}

/// Lines added and removed by `changes`.
fn count(repo: &gix::Repository, changes: &[ChangeRecord]) -> Counted {
    let mut left = MOST_COUNTED_IN_ALL;
    let (mut is_whole, mut has_lines) = (true, true);
    let mut bytes = |entry: &Option<Entry>| -> Result<Option<Vec<u8>>, ()> {
        let Some(entry) = entry else { return Ok(None) };
        let id = ObjectId::from_hex(entry.id.as_bytes()).ok();
        // By its header: the blob may be of any size.
        let Some((id, (_, size))) = id.and_then(|id| Some((id, header(repo, id).ok()?))) else {
            is_whole = false;
            return Err(());
        };
        let rest = left.checked_sub(size).filter(|_| size <= MOST_COUNTED);
        left = rest.ok_or_else(|| has_lines = false)?;
        let mut blob = repo.find_blob(id).map_err(|_| is_whole = false)?;
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
    Counted { total, lines: touched }
}
