//! Disposable SQLite files: indexes, rebuilt when in doubt.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::private::check_file;

/// No flush: a damaged file is rebuilt.
///
/// The rollback journal stays: for a handful of rows, write-ahead logging would create and remove
/// two files each time. The mode `TRUNCATE` is out, because ext4 flushes a truncated journal on
/// close.
const UNFLUSHED: &str = "PRAGMA synchronous = OFF";

/// Twice the default, for rows up to a kilobyte. Larger pages gain less than a tenth for long
/// histories, and cost more per proposal.
const PAGE: &str = "PRAGMA page_size = 8192";

/// Longest wait to empty a file in use.
const PATIENCE: Duration = Duration::from_secs(10);

/// Prepared statements: more than any command has. Preparing one takes longer than fetching its
/// row.
const STATEMENTS: usize = 128;

/// Opens `path` (or `:memory:`). A new file gets `tables` and `user_version` in one transaction.
///
/// # Errors
/// A damaged file, or another version.
pub(crate) fn open(path: &Path, version: i64, tables: &str) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    prepare(&connection, version, tables)?;
    Ok(connection)
}

fn prepare(connection: &Connection, version: i64, tables: &str) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite prepares again for each bound value if a table has a partial index.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // A writer of the file could plant triggers that change later inserts.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false)?;
    let present = |connection: &Connection| -> rusqlite::Result<i64> {
        connection.query_row("PRAGMA user_version", [], |row| row.get(0))
    };
    let found = present(connection)?;
    connection.execute_batch(UNFLUSHED)?;
    debug_assert!(tables.contains(&format!("user_version = {version};")), "another version");
    let make = || connection.execute_batch(PAGE).and_then(|()| connection.execute_batch(tables));
    if found == 0 && make().is_err() {
        let _ = connection.execute_batch("ROLLBACK");
        // Another process may have created them just now.
        if present(connection)? != version {
            return Err(rusqlite::Error::InvalidQuery);
        }
    } else if found != 0 && found != version {
        return Err(rusqlite::Error::InvalidQuery);
    }
    Ok(())
}

/// Follows no symlink inside aye's directory.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    if path == Path::new(":memory:") {
        return Connection::open_in_memory();
    }
    let is_there = check_file(path).map_err(|_| rusqlite::Error::InvalidPath(path.into()))?;
    if let Some(directory) = path.parent().filter(|_| !is_there) {
        let _ = std::fs::create_dir_all(directory);
    }
    // SQLite checks every component, but the repository may lie behind symlinks.
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, flags).or_else(|error| {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(error);
        };
        // `above` is aye's own directory; only its ancestors may be resolved.
        let (Some(git_dir), Some(own)) = (above.parent(), above.file_name()) else {
            return Err(error);
        };
        match git_dir.canonicalize() {
            Ok(resolved) if resolved != git_dir => {
                Connection::open_with_flags(resolved.join(own).join(name), flags)
            }
            _ => Err(error),
        }
    })
}

/// Opens the file emptied; other processes wait until `share`.
///
/// It is emptied in place: a process that has it open finds the journal by name, and would use a
/// new file's. Such a process caches the schema by its number, so the emptied file gets another
/// number.
pub(crate) fn open_empty(path: &Path, version: i64, tables: &str) -> rusqlite::Result<Connection> {
    let emptied = alone(path).and_then(|connection| {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
        connection.execute_batch("VACUUM")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
        prepare(&connection, version, tables)?;
        // A reset file counts from zero again, and could repeat a cached number.
        let any = "SELECT 65536 + abs(random() % 1000000000)";
        let number: i64 = connection.query_row(any, [], |row| row.get(0))?;
        connection.pragma_update(None, "schema_version", number)?;
        Ok(connection)
    });
    match emptied {
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
            // Not a database.
            remove(path);
            let connection = alone(path)?;
            prepare(&connection, version, tables)?;
            Ok(connection)
        }
        emptied => emptied,
    }
}

fn alone(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch(UNFLUSHED)?;
    connection.execute_batch(PAGE)?;
    // This order prevents a deadlock between waiting processes.
    connection.execute_batch("BEGIN EXCLUSIVE; PRAGMA locking_mode = EXCLUSIVE; COMMIT")?;
    Ok(connection)
}

pub(crate) fn share(connection: &Connection) -> rusqlite::Result<()> {
    // The lock is released by the next query.
    connection.execute_batch("PRAGMA locking_mode = NORMAL; SELECT 1 FROM sqlite_schema LIMIT 1")
}

fn remove(path: &Path) {
    let is_ours = |directory: &Path| directory.symlink_metadata().is_ok_and(|found| found.is_dir());
    if !path.parent().is_some_and(is_ours) {
        return;
    }
    for suffix in ["-journal", ""] {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        let _ = std::fs::remove_file(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cached statements use indices that the new file has, too, but in other places.
    #[test]
    fn who_has_an_emptied_file_open_reads_what_is_in_it_now() {
        const TABLES: &str =
            "BEGIN; CREATE TABLE a (x INTEGER, y TEXT); CREATE TABLE b (x INTEGER, y TEXT);
                              PRAGMA user_version = 7; COMMIT;";
        let fill = |connection: &Connection, table: &str, rows: i64| {
            let mut insert =
                connection.prepare(&format!("INSERT INTO {table} VALUES (?1, ?2)")).unwrap();
            for row in 0..rows {
                insert.execute((row, "text ".repeat(100))).unwrap();
            }
        };
        let ask = |connection: &Connection| -> rusqlite::Result<(i64, i64)> {
            let mut found =
                connection.prepare_cached("SELECT count(*), sum(length(y)) FROM a WHERE x >= 2")?;
            found.query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        };
        let outer = tempfile::tempdir().unwrap();
        let path = outer.path().join("cache.sqlite");
        let reader = open(&path, 7, TABLES).unwrap();
        for (indexed, other, rows) in [("a", "b", 500), ("b", "a", 400), ("a", "b", 300)] {
            let writer = open_empty(&path, 7, TABLES).unwrap();
            fill(&writer, indexed, rows);
            let index = format!("CREATE INDEX {indexed}_x ON {indexed} (x)");
            writer.execute_batch(&index).unwrap();
            fill(&writer, other, rows);
            share(&writer).unwrap();
            drop(writer);
            assert_eq!(ask(&reader), Ok((rows - 2, (rows - 2) * 500)));
        }
    }
}
