//! Disposable SQLite files: indexes of what is kept elsewhere, made anew whenever one is in doubt.

use std::path::Path;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, ErrorCode, OpenFlags};

use crate::private::check_file;

/// What a power cut breaks can be rebuilt, so nothing is flushed.
///
/// The journal mode stays SQLite's own, a rollback journal: a process opens such a file for a
/// handful of rows, and write-ahead logging would make and remove two files each time, for
/// reading too. (ext4 writes a *truncated* journal out when it is closed, so not that mode.)
const UNFLUSHED: &str = "PRAGMA synchronous = OFF";

/// Twice SQLite's own: a row has up to a kilobyte, and each page is written by itself. Still larger ones
/// are less than a tenth faster for a long history, and more to write for a single proposal.
const PAGE: &str = "PRAGMA page_size = 8192";

/// How long to wait for those who read and write a file that is to be emptied.
const PATIENCE: Duration = Duration::from_secs(10);

/// Statements that are kept prepared: more than one command has. Preparing one takes longer than the
/// row that it fetches.
const STATEMENTS: usize = 128;

/// Opens the file at `path`, or one in memory at `:memory:`. Where it is new, `tables` makes its
/// tables in one transaction and sets `user_version` to `version`.
///
/// # Errors
/// Whatever is wrong with the file, another version included.
pub(crate) fn open(path: &Path, version: i64, tables: &str) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.busy_timeout(Duration::from_secs(2))?;
    prepare(&connection, version, tables)?;
    Ok(connection)
}

/// Sees to it that the file has its tables.
fn prepare(connection: &Connection, version: i64, tables: &str) -> rusqlite::Result<()> {
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    // Otherwise SQLite prepares a statement again for each new value that is bound to it, wherever its
    // table has an index on some of its rows: the value might let it use that.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    // No table has them: whoever can write the file would have them change what is put in from then on.
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
        // Unless another process made them in this moment.
        if present(connection)? != version {
            return Err(rusqlite::Error::InvalidQuery);
        }
    } else if found != 0 && found != version {
        return Err(rusqlite::Error::InvalidQuery);
    }
    Ok(())
}

/// Opens or creates the file, which is never reached through a symlink of aye's own directory.
fn connect(path: &Path) -> rusqlite::Result<Connection> {
    if path == Path::new(":memory:") {
        return Connection::open_in_memory();
    }
    let is_there = check_file(path).map_err(|_| rusqlite::Error::InvalidPath(path.into()))?;
    if let Some(directory) = path.parent().filter(|_| !is_there) {
        let _ = std::fs::create_dir_all(directory);
    }
    // SQLite looks at every component, and the repository itself may be reached through symlinks.
    let flags = OpenFlags::default() | OpenFlags::SQLITE_OPEN_NOFOLLOW;
    Connection::open_with_flags(path, flags).or_else(|error| {
        let (Some(above), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(error);
        };
        // `above` is aye's own directory: only what is above it may be resolved.
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

/// Opens the file at `path` as [`open`] does, with nothing in it, whatever was there. Others wait until it
/// is [shared](share).
///
/// It is emptied in its place: who has it open goes by the name of its journal, and takes that of another file
/// of the same name for its own. Such a one has read its schema, too, and goes by that as long as the file has the
/// same number for it; so the emptied file gets another one, for what is where in it is not as it was.
///
/// # Errors
/// As [`open`].
pub(crate) fn open_empty(path: &Path, version: i64, tables: &str) -> rusqlite::Result<Connection> {
    let emptied = alone(path).and_then(|connection| {
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, true)?;
        connection.execute_batch("VACUUM")?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_RESET_DATABASE, false)?;
        prepare(&connection, version, tables)?;
        // It counts from nought again in a file that was reset, up to what is known elsewhere.
        let any = "SELECT 65536 + abs(random() % 1000000000)";
        let number: i64 = connection.query_row(any, [], |row| row.get(0))?;
        connection.pragma_update(None, "schema_version", number)?;
        Ok(connection)
    });
    match emptied {
        Err(error) if error.sqlite_error_code() != Some(ErrorCode::DatabaseBusy) => {
            // It is no such file.
            remove(path);
            let connection = alone(path)?;
            prepare(&connection, version, tables)?;
            Ok(connection)
        }
        emptied => emptied,
    }
}

/// Opens or creates the file, which others wait for from now on.
fn alone(path: &Path) -> rusqlite::Result<Connection> {
    let connection = connect(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.execute_batch(UNFLUSHED)?;
    connection.execute_batch(PAGE)?;
    // In this order nobody who waits for a lock keeps another meanwhile.
    connection.execute_batch("BEGIN EXCLUSIVE; PRAGMA locking_mode = EXCLUSIVE; COMMIT")?;
    Ok(connection)
}

/// Lets others at a file that was opened [empty](open_empty).
///
/// # Errors
/// Those of SQLite.
pub(crate) fn share(connection: &Connection) -> rusqlite::Result<()> {
    // The lock goes with the next question.
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

    /// What is asked often stays prepared, and indices are made as they are wanted: two files have as many, and
    /// not the same.
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
