//! What is wrong with the lanes and their events, as the cache keeps it.

use gix::ObjectId;
use rusqlite::{Connection, params};

use super::number;
use crate::store::refs;
use crate::store::trouble::{Trouble, TroubleKind};

/// What is wrong with the lanes and their events.
pub(in crate::store::cache) fn troubles(connection: &Connection) -> rusqlite::Result<Vec<Trouble>> {
    let mut statement = connection.prepare_cached(
        "SELECT kind, name, object, proposal, why FROM trouble ORDER BY kind, name, object",
    )?;
    let rows = statement.query_map([], |row| {
        let kind: String = row.get(0)?;
        let kind = TroubleKind::ALL.into_iter().find(|known| known.id() == kind);
        Ok(Trouble {
            kind: kind.unwrap_or(TroubleKind::Unreadable),
            name: row.get(1)?,
            object: row.get(2)?,
            proposal: row.get(3)?,
            why: row.get(4)?,
        })
    })?;
    let mut troubles = rows.collect::<rusqlite::Result<Vec<Trouble>>>()?;
    let mut statement =
        connection.prepare_cached("SELECT lane, parent, seq, tip FROM forked ORDER BY lane")?;
    let rows = statement.query_map([], |row| {
        let (parent, seq): (String, i64) = (row.get(1)?, row.get(2)?);
        Ok(Trouble {
            kind: TroubleKind::Forked,
            name: row.get(0)?,
            object: row.get(3)?,
            proposal: None,
            why: format!("goes on from event {seq} of lane {parent}"),
        })
    })?;
    for row in rows {
        troubles.push(row?);
    }
    Ok(troubles)
}

/// Records `trouble`.
pub(in crate::store::cache) fn report(
    transaction: &Connection,
    trouble: &Trouble,
    missing: Option<ObjectId>,
    awaits: Option<u64>,
) -> rusqlite::Result<()> {
    transaction
        .prepare_cached(
            "INSERT INTO trouble (kind, name, lane, object, proposal, why, missing, awaits)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
        )?
        .execute(params![
            trouble.kind.id(),
            trouble.name,
            refs::lane_of(&trouble.name),
            trouble.object,
            trouble.proposal,
            trouble.why,
            missing.map(|id| id.to_string()),
            awaits.map(number),
        ])
        .map(drop)
}

/// Whether a history of `lane` is not here from its beginning.
pub(in crate::store::cache) fn is_shallow(
    connection: &Connection,
    lane: &str,
) -> rusqlite::Result<bool> {
    connection
        .prepare_cached("SELECT 1 FROM trouble WHERE lane = ?1 AND kind = ?2")?
        .exists([lane, TroubleKind::Shallow.id()])
}
