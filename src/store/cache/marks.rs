//! What was found in the content of pending revisions, so that it is read once.

use rusqlite::{OptionalExtension as _, params};

use super::View;
use crate::error::Result;

impl View {
    /// What [`View::keep_marks`] has kept of a revision for `basis`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn known_marks(&self, basis: &str, revision: &str) -> Result<Option<String>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        let query = || -> rusqlite::Result<Option<String>> {
            let sql = "SELECT found FROM marks WHERE revision = ?1 AND basis = ?2";
            let mut statement = connection.prepare_cached(sql)?;
            statement.query_row([revision, basis], |row| row.get(0)).optional()
        };
        query().map_err(|error| self.failed(&error))
    }

    /// Keeps the marks of pending revisions, as text, which stand for as long as `basis` is the same, and forgets
    /// those of proposals that are decided. Where the cache cannot be written, nothing is kept.
    pub fn keep_marks<'m>(&self, basis: &str, marks: impl Iterator<Item = (&'m str, String)>) {
        let Some(connection) = &self.connection else { return };
        let write = || -> rusqlite::Result<()> {
            connection.execute(
                "DELETE FROM marks WHERE basis <> ?1 OR revision NOT IN
                     (SELECT revision FROM proposal WHERE state = 'pending')",
                [basis],
            )?;
            let sql = "INSERT OR REPLACE INTO marks (revision, basis, found) VALUES (?1, ?2, ?3)";
            let mut statement = connection.prepare_cached(sql)?;
            for (revision, found) in marks {
                statement.execute(params![revision, basis, found])?;
            }
            Ok(())
        };
        // Another process writes: it is found again next time.
        let _ = write();
    }
}
