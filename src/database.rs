//! Disposable SQLite files: indexes of what is kept elsewhere, made anew whenever one is in doubt.

use std::path::Path;
use std::time::Duration;

use rusqlite::Connection;

/// What a power cut breaks can be rebuilt, so nothing is flushed.
///
/// The journal mode stays SQLite's own, a rollback journal: a process opens such a file for a
/// handful of rows, and write-ahead logging would make and remove two files each time, for
/// reading too. (ext4 writes a *truncated* journal out when it is closed, so not that mode.)
const UNFLUSHED: &str = "PRAGMA synchronous = OFF";

/// Opens the file at `path`, or one in memory at `:memory:`. Where it is new, `tables` makes its
/// tables in one transaction and sets `user_version` to `version`.
///
/// # Errors
/// Whatever is wrong with the file, another version included.
pub(crate) fn open(path: &Path, version: i64, tables: &str) -> rusqlite::Result<Connection> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let _ = std::fs::create_dir_all(folder);
    }
    let connection = Connection::open(path)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    let present = |connection: &Connection| -> rusqlite::Result<i64> {
        connection.query_row("PRAGMA user_version", [], |row| row.get(0))
    };
    let found = present(&connection)?;
    connection.execute_batch(UNFLUSHED)?;
    if found == 0 && connection.execute_batch(tables).is_err() {
        let _ = connection.execute_batch("ROLLBACK");
        // Unless another process made them in this moment.
        if present(&connection)? != version {
            return Err(rusqlite::Error::InvalidQuery);
        }
    } else if found != 0 && found != version {
        return Err(rusqlite::Error::InvalidQuery);
    }
    Ok(connection)
}

/// Removes the file at `path`, with its journal.
pub(crate) fn remove(path: &Path) {
    for suffix in ["", "-journal"] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(name);
    }
}
