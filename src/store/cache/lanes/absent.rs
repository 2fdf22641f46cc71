//! Objects that the lanes name and that are not here, and those of them that have come since.

use std::collections::BTreeSet;

use gix::ObjectId;
use rusqlite::Connection;

use super::id;
use crate::store::trouble::TroubleKind;

/// For how many missing objects a reader looks again.
pub(super) const MOST_RETRIES: usize = 32;

/// What is not here, and what that stops.
#[derive(Default)]
pub(super) struct Absent {
    /// Refs whose lane ends at it.
    pub(super) refs: BTreeSet<String>,
    /// The objects themselves, but for those before the end of a shallow history.
    pub(super) ids: BTreeSet<ObjectId>,
}

/// What the lanes that were read lack.
pub(super) fn absent(connection: &Connection) -> rusqlite::Result<Absent> {
    let mut statement = connection.prepare_cached(
        "SELECT name, missing, proposal FROM trouble WHERE missing IS NOT NULL AND kind <> ?1",
    )?;
    let rows = statement.query_map([TroubleKind::Shallow.id()], |row| {
        Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, Option<String>>(2)?))
    })?;
    let mut found = Absent::default();
    for row in rows {
        let (name, missing, proposal) = row?;
        found.ids.extend(id(&missing));
        if proposal.is_none() {
            found.refs.insert(name);
        }
    }
    Ok(found)
}

/// What an object that was missing stopped, and that is there now.
#[derive(Default)]
pub(super) struct Arrived {
    /// Refs whose lane ended at it.
    pub(super) refs: BTreeSet<String>,
    /// Proposals of which an event named it as its statement.
    pub(super) proposals: BTreeSet<String>,
    /// It is what came before the end of a shallow history.
    pub(super) is_deeper: bool,
}

impl Arrived {
    pub(super) fn is_none(&self) -> bool {
        self.refs.is_empty() && self.proposals.is_empty() && !self.is_deeper
    }
}

/// What has come since, of at most `most` missing objects; lanes first, so that no number of events is
/// in their way.
pub(super) fn came_later(
    repo: &gix::Repository,
    connection: &Connection,
    most: usize,
) -> rusqlite::Result<Arrived> {
    let mut statement = connection.prepare_cached(
        "SELECT name, missing, proposal, kind FROM trouble WHERE missing IS NOT NULL
         ORDER BY proposal IS NOT NULL, name LIMIT ?1",
    )?;
    let mut rows = statement.query([i64::try_from(most).unwrap_or(i64::MAX)])?;
    let mut found = Arrived::default();
    while let Some(row) = rows.next()? {
        let missing = id(row.get_ref(1)?.as_str()?);
        if missing.is_none_or(|id| repo.find_header(id).is_err()) {
            continue;
        }
        match row.get::<_, Option<String>>(2)? {
            Some(proposal) => found.proposals.extend([proposal]),
            None if row.get_ref(3)?.as_str()? == TroubleKind::Shallow.id() => {
                found.is_deeper = true
            }
            None => found.refs.extend([row.get::<_, String>(0)?]),
        }
    }
    Ok(found)
}
