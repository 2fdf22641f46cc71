//! How far every lane has been read, and whether that is still where it is.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use rusqlite::{Connection, OptionalExtension as _, Row as SqlRow, Transaction};

use super::absent::{MOST_RETRIES, absent, came_later};
use crate::store::cache::Position;
use crate::store::refs::{self, LaneRef};
use crate::store::trouble::Trouble;
use crate::store::{Store, own};

/// How far every ref has been read.
pub(in crate::store::cache) fn positions(
    connection: &Connection,
) -> rusqlite::Result<BTreeMap<String, Position>> {
    let mut statement = connection.prepare_cached("SELECT name, tip, seq, reached FROM lane")?;
    let rows = statement.query_map([], |row| {
        let seq: i64 = row.get(2)?;
        let position = Position { tip: row.get(1)?, seq: seq as u64, reached: row.get(3)? };
        Ok((row.get(0)?, position))
    })?;
    rows.collect()
}

/// How far the ref `name` has been read.
pub(in crate::store::cache) fn position(
    connection: &Connection,
    name: &str,
) -> rusqlite::Result<Option<Position>> {
    let mut statement =
        connection.prepare_cached("SELECT tip, seq, reached FROM lane WHERE name = ?1")?;
    let row = |row: &SqlRow<'_>| {
        let seq: i64 = row.get(1)?;
        Ok(Position { tip: row.get(0)?, seq: seq as u64, reached: row.get(2)? })
    };
    statement.query_row([name], row).optional()
}

/// This clone's own lanes, each with its last position, as they were when the rest was made.
pub(in crate::store::cache) fn own(
    connection: &Connection,
) -> rusqlite::Result<Vec<(String, u64)>> {
    let last = |lane: &str| -> rusqlite::Result<u64> {
        let rows = positions(connection)?;
        let of_lane = rows.iter().filter(|(name, _)| refs::own_of(name) == Some(lane));
        let last = of_lane.map(|(_, position)| position.seq).max();
        Ok(last.unwrap_or_else(|| furthest(&rows, lane)))
    };
    let mut statement = connection.prepare_cached("SELECT lane FROM own")?;
    let lanes = statement.query_map([], |row| row.get::<_, String>(0))?;
    lanes.map(|lane| lane.and_then(|lane| last(&lane).map(|seq| (lane, seq)))).collect()
}

/// The last position of `lane` in whatever ref it has. It is that of this clone's own one whose ref is gone: what
/// others say they have seen of it was said, and is in what they were sent.
pub(in crate::store::cache) fn furthest(rows: &BTreeMap<String, Position>, lane: &str) -> u64 {
    let of_lane = rows.iter().filter(|(name, _)| refs::lane_of(name) == lane);
    of_lane.map(|(_, position)| position.seq).max().unwrap_or(0)
}

/// Whether what the cache holds was made for the clone whose own lanes have the refs `own`, as it is
/// for one that has just got one of them. What counts of a lane depends on whether it is an own one.
pub(in crate::store::cache) fn is_made_for(
    transaction: &Transaction<'_>,
    own: &BTreeSet<String>,
    rows: &BTreeMap<String, Position>,
) -> rusqlite::Result<bool> {
    let noted: BTreeSet<String> = transaction
        .prepare_cached("SELECT lane FROM own")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    let own: BTreeSet<String> = own.iter().map(|name| refs::lane_of(name).to_owned()).collect();
    let is_known = |own: &str| rows.keys().any(|name| refs::lane_of(name) == own);
    for new in own.difference(&noted) {
        if is_known(new) {
            return Ok(false);
        }
        transaction.execute("INSERT INTO own (lane) VALUES (?1)", [new])?;
    }
    Ok(noted.is_subset(&own))
}

/// The refs of this clone's own lanes, of which the cache has `known`, or `lanes` are.
pub(in crate::store::cache) fn own_refs(
    store: &Store,
    known: &BTreeMap<String, Position>,
    lanes: &[LaneRef],
) -> BTreeSet<String> {
    let names = lanes.iter().map(|lane| &lane.name).chain(known.keys());
    let own = own::lanes(store, names.map(String::as_str)).into_iter();
    own.map(|own| own.name).collect()
}

/// Whether the refs that were read are `lanes`, which are in name order, each up to where it is.
pub(in crate::store::cache) fn are_read(
    connection: &Connection,
    lanes: &[LaneRef],
) -> rusqlite::Result<bool> {
    let mut statement = connection.prepare_cached(
        "SELECT name, tip FROM lane WHERE name >= ?1 AND name < ?2 ORDER BY name",
    )?;
    let mut lanes = lanes.iter();
    let mut hex = [0; gix::hash::Kind::longest().len_in_hex()];
    let after_kept = format!("{}~", refs::KEPT);
    for (from, to) in [("", refs::KEPT), (after_kept.as_str(), "~")] {
        let mut rows = statement.query([from, to])?;
        while let Some(row) = rows.next()? {
            let (name, tip) = (row.get_ref(0)?.as_bytes()?, row.get_ref(1)?.as_bytes()?);
            let is_same = lanes.next().is_some_and(|lane| {
                lane.name.as_bytes() == name && lane.tip.hex_to_buf(&mut hex).as_bytes() == tip
            });
            if !is_same {
                return Ok(false);
            }
        }
    }
    Ok(lanes.next().is_none())
}

/// Whether `lane` has been read up to where it is.
pub(in crate::store::cache) fn is_read(known: &BTreeMap<String, Position>, lane: &LaneRef) -> bool {
    let tip = |position: &Position| ObjectId::from_hex(position.tip.as_bytes()).ok();
    known.get(&lane.name).is_some_and(|position| tip(position) == Some(lane.tip))
}

/// Whether a lane is kept that only another remote than the default one had.
pub(in crate::store::cache) fn keeps_others(connection: &Connection) -> rusqlite::Result<bool> {
    let sql = "SELECT 1 FROM lane WHERE name >= ?1 AND name < ?1 || '~' \
               AND instr(substr(name, length(?1) + 1), '/') > 0";
    connection.prepare_cached(sql)?.exists([refs::KEPT])
}

/// Whether nothing is new in `lanes`, those of this clone and the fetched ones in name order, and nothing
/// that was missing has come, or could be asked for: without `troubles` nothing was.
pub(in crate::store::cache) fn is_current(
    store: &Store,
    connection: &Connection,
    lanes: &[LaneRef],
    troubles: &[Trouble],
) -> rusqlite::Result<bool> {
    let is_new = !connection.prepare_cached("SELECT 1 FROM lane LIMIT 1")?.exists([])?;
    if is_new || !are_read(connection, lanes)? {
        return Ok(false);
    }
    if troubles.is_empty() {
        return Ok(true);
    }
    if store.may_ask_again() && !absent(connection)?.ids.is_empty() {
        return Ok(false);
    }
    Ok(came_later(&store.repository().repo, connection, MOST_RETRIES)?.is_none())
}
