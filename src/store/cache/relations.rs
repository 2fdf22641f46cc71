//! What pending proposals have to do with each other, from the cache.

use std::collections::BTreeMap;
use std::ops::Range;

use chrono::{DateTime, Utc};
use rusqlite::Connection;

use super::View;
use super::row::entry;
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::relations::{Lower, Open, Relations, Touch, relations};
use crate::proposal::{Entry, ProposalId, State};

/// More ranges than this are not kept: of such a change it is not known which lines it touches.
const MOST_RANGES: usize = 256;

/// How many files of proposals are looked at. Those that few proposals change come first, and what one
/// that would be too much has to do with others is not told.
const MOST_TOUCHES: i64 = 1 << 17;

/// How many ranges are kept in memory: of a change behind them it is not known which lines it touches.
const MOST_RANGES_IN_ALL: usize = 1 << 21;

/// The files that several pending proposals change, and what each makes of them; oldest first.
const SHARED: &str = "SELECT proposal.id, path.path, before, after, lines, revisions
    FROM path INDEXED BY path_open JOIN proposal ON proposal.id = path.proposal
    WHERE open = 1 AND path.path IN
        (SELECT path FROM
            (SELECT path, sum(proposals) OVER (ORDER BY proposals, path) AS sum FROM
                (SELECT path, count(*) AS proposals FROM path INDEXED BY path_open WHERE open = 1
                 GROUP BY path HAVING count(*) > 1))
         WHERE sum <= ?2)
    AND state = 'pending' AND expires > ?1
    ORDER BY created, proposal.id, path.path";

/// The pending proposals that were made on another one, which is pending too: with that one, and
/// whether it has been revised since. That one of them stands on itself, as a lane of somebody else may
/// say, means nothing.
const RECORDED: &str = "SELECT upper.id, lower.id, lower.revision <> upper.lower_revision
    FROM proposal upper INDEXED BY proposal_lower JOIN proposal lower ON lower.id = upper.lower
    WHERE upper.lower IS NOT NULL AND upper.state = 'pending' AND upper.expires > ?1
    AND lower.state = 'pending' AND lower.expires > ?1 AND lower.id <> upper.id";

/// What each file starts from of the pending proposals that were made on one that is not pending any more.
const LEFT: &str = "SELECT upper.id, path.path, path.before
    FROM proposal upper INDEXED BY proposal_lower JOIN path ON path.proposal = upper.id
    WHERE upper.lower IS NOT NULL AND upper.state = 'pending' AND upper.expires > ?1
    AND path.before IS NOT NULL AND NOT EXISTS (SELECT 1 FROM proposal lower
        WHERE lower.id = upper.lower AND lower.state = 'pending' AND lower.expires > ?1)
    LIMIT ?2";

/// How many of these files are looked for: each is a question of its own.
const MOST_LEFT: i64 = 1 << 10;

/// `3-5,9-9`: from 0, the end not included. `None` where there are too many to keep.
pub(super) fn ranges(lines: &[Range<u32>]) -> Option<String> {
    if lines.len() > MOST_RANGES {
        return None;
    }
    let one = |range: &Range<u32>| format!("{}-{}", range.start, range.end);
    Some(lines.iter().map(one).collect::<Vec<_>>().join(","))
}

/// As [`ranges`] wrote it.
fn lines(text: &str) -> Option<Vec<Range<u32>>> {
    let one = |range: &str| {
        let (start, end) = range.split_once('-')?;
        Some(start.parse().ok()?..end.parse().ok()?)
    };
    text.split(',').filter(|range| !range.is_empty()).map(one).collect()
}

impl View {
    /// What the proposals that are pending at `now` have to do with each other; those with no relation
    /// are left out. `is_present` tells whether HEAD or the work tree has that content of a file, which
    /// is named as `RepoPath::display` has it; it is asked only where another proposal makes the same.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn relations(
        &self,
        now: DateTime<Utc>,
        mut is_present: impl FnMut(&str, &Entry) -> bool,
    ) -> Result<BTreeMap<ProposalId, Relations>> {
        let Some(connection) = &self.connection else { return Ok(BTreeMap::new()) };
        let mut recorded = recorded(connection, now).map_err(|error| self.failed(&error))?;
        // What a decision has left out may be what makes it now, and is younger.
        for (upper, path, base) in left(connection, now).map_err(|error| self.failed(&error))? {
            let Ok(at) = RepoPath::new(&path) else { continue };
            if let Some(id) = self.only_one_making((&at, &base), &upper, now)?
                && !is_present(&path, &base)
            {
                recorded.entry(upper).or_insert(Lower { id, is_revised: false });
            }
        }
        let mut open: Vec<Open> = Vec::new();
        let (mut revised, mut ranges) = (Vec::new(), MOST_RANGES_IN_ALL);
        let mut read = || -> rusqlite::Result<()> {
            let mut statement = connection.prepare_cached(SHARED)?;
            let mut rows = statement.query([now.timestamp_millis(), MOST_TOUCHES])?;
            while let Some(row) = rows.next()? {
                let side = |at: usize| -> rusqlite::Result<Option<Entry>> {
                    Ok(row.get_ref(at)?.as_str_or_null()?.and_then(entry))
                };
                let touch = Touch {
                    path: row.get(1)?,
                    before: side(2)?,
                    after: side(3)?,
                    lines: row.get_ref(4)?.as_str_or_null()?.and_then(lines).filter(|lines| {
                        let left = ranges.checked_sub(lines.len());
                        ranges = left.unwrap_or(ranges);
                        left.is_some()
                    }),
                };
                let Ok(id) = ProposalId::parse(row.get_ref(0)?.as_str()?) else { continue };
                match open.last_mut().filter(|open| open.id == id) {
                    Some(open) => open.touches.push(touch),
                    None => {
                        if row.get::<_, i64>(5)? > 1 {
                            revised.push(open.len());
                        }
                        open.push(Open { id, touches: vec![touch], earlier: Vec::new() });
                    }
                }
            }
            Ok(())
        };
        read().map_err(|error| self.failed(&error))?;
        for at in revised {
            let proposal = self.proposal(&open[at].id)?;
            if !matches!(proposal.state, State::Pending) {
                continue;
            }
            let current = proposal.revisions.len().saturating_sub(1);
            let earlier = proposal.revisions.iter().take(current).flat_map(|r| &r.changes);
            open[at].earlier = earlier
                .filter_map(|change| {
                    Some((change.path.display().to_string(), change.after.clone()?))
                })
                .collect();
        }
        Ok(relations(&open, &recorded, is_present))
    }
}

/// Of each pending proposal that says so, the pending one that it was made on.
fn recorded(
    connection: &Connection,
    now: DateTime<Utc>,
) -> rusqlite::Result<BTreeMap<ProposalId, Lower>> {
    let mut statement = connection.prepare_cached(RECORDED)?;
    let mut rows = statement.query([now.timestamp_millis()])?;
    let mut found = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let id = |at: usize| -> rusqlite::Result<Option<ProposalId>> {
            Ok(ProposalId::parse(row.get_ref(at)?.as_str()?).ok())
        };
        if let (Some(upper), Some(lower)) = (id(0)?, id(1)?) {
            found.insert(upper, Lower { id: lower, is_revised: row.get(2)? });
        }
    }
    Ok(found)
}

/// As [`LEFT`] has them.
fn left(
    connection: &Connection,
    now: DateTime<Utc>,
) -> rusqlite::Result<Vec<(ProposalId, String, Entry)>> {
    let mut statement = connection.prepare_cached(LEFT)?;
    let rows = statement.query_map([now.timestamp_millis(), MOST_LEFT], |row| {
        let id = ProposalId::parse(row.get_ref(0)?.as_str()?).ok();
        Ok(id.zip(entry(row.get_ref(2)?.as_str()?)).map(|(id, base)| (id, row.get(1), base)))
    })?;
    let row =
        |(id, path, base): (_, rusqlite::Result<String>, _)| path.map(|path| (id, path, base));
    rows.filter_map(|found| found.transpose().map(|found| found.and_then(row))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read_as_written() {
        for given in [vec![], vec![0..0, 2..2], vec![3..5, 9..9, 12..40]] {
            assert_eq!(lines(&ranges(&given).unwrap()), Some(given));
        }
        assert_eq!(ranges(&vec![1..2; MOST_RANGES + 1]), None);
        assert_eq!((lines("x"), lines("1-")), (None, None));
    }
}
