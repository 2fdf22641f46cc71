//! Tables of the cache, and how the file is opened.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

/// Raised with every change of the tables or of what is computed into them.
const VERSION: i64 = 4;

/// A list reads many rows of `proposal`, so the proposals themselves, which are large and read one
/// at a time, have a table of their own.
const TABLES: &str = "
BEGIN IMMEDIATE;
CREATE TABLE lane (name TEXT PRIMARY KEY, tip TEXT NOT NULL, seq INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE event (
    id TEXT PRIMARY KEY, proposal TEXT, lane TEXT NOT NULL, seq INTEGER NOT NULL,
    commit_id TEXT NOT NULL, kind TEXT NOT NULL, time INTEGER NOT NULL, plan TEXT,
    body BLOB NOT NULL
);
CREATE INDEX event_proposal ON event (proposal);
CREATE INDEX event_plan ON event (plan, lane, seq) WHERE plan IS NOT NULL;
CREATE TABLE proposal (
    id TEXT PRIMARY KEY, prefix INTEGER NOT NULL, subject TEXT NOT NULL, state TEXT NOT NULL,
    domain TEXT, task TEXT, proposed_by TEXT NOT NULL, created INTEGER NOT NULL,
    expires INTEGER NOT NULL, expiry_recorded INTEGER, digest TEXT NOT NULL, description TEXT,
    path TEXT, files INTEGER NOT NULL, added INTEGER NOT NULL, removed INTEGER NOT NULL,
    revisions INTEGER NOT NULL, comments INTEGER NOT NULL, changes_requested INTEGER NOT NULL,
    contested INTEGER NOT NULL, checked INTEGER
);
CREATE TABLE folded (id TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE INDEX proposal_state ON proposal (state, created, id);
CREATE INDEX proposal_expiring ON proposal (expires) WHERE state = 'pending'
    AND (expiry_recorded IS NULL OR expiry_recorded <> expires);
CREATE INDEX proposal_digest ON proposal (digest) WHERE state = 'pending';
CREATE INDEX proposal_contested ON proposal (created) WHERE contested = 1;
CREATE TABLE path (
    path TEXT NOT NULL, proposal TEXT NOT NULL, PRIMARY KEY (path, proposal)
) WITHOUT ROWID;
CREATE INDEX path_proposal ON path (proposal);
PRAGMA user_version = 4;
COMMIT;
";

/// What a power cut breaks can be rebuilt, so nothing is flushed.
///
/// The journal mode stays SQLite's own, a rollback journal: a process opens the cache for a
/// handful of rows, and write-ahead logging would make and remove two files each time, for
/// reading too. (ext4 writes a *truncated* journal out when it is closed, so not that mode.)
const UNFLUSHED: &str = "PRAGMA synchronous = OFF";

/// Opens the cache at `path` and makes its tables if it is new.
///
/// # Errors
/// Whatever is wrong with the file, an older version included.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let _ = std::fs::create_dir_all(folder);
    }
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
    if version == VERSION {
        connection.execute_batch(UNFLUSHED)?;
        return Ok(connection);
    }
    if version != 0 {
        return Err(rusqlite::Error::InvalidQuery);
    }
    connection.execute_batch(UNFLUSHED)?;
    match connection.execute_batch(TABLES) {
        Ok(()) => Ok(connection),
        // Another process made them in this moment.
        Err(_) => {
            let _ = connection.execute_batch("ROLLBACK");
            let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if version == VERSION { Ok(connection) } else { Err(rusqlite::Error::InvalidQuery) }
        }
    }
}
