//! What was found in the content of pending revisions, so that it is read once.

use std::collections::HashMap;

use rusqlite::params;

use super::View;
use crate::error::Result;

impl View {
    /// What [`View::keep_risks`] has kept for `basis`, by the event id of the revision.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn known_risks(&self, basis: &str) -> Result<HashMap<String, u8>> {
        let Some(connection) = &self.connection else { return Ok(HashMap::new()) };
        let query = || -> rusqlite::Result<HashMap<String, u8>> {
            let sql = "SELECT revision, marks FROM risk WHERE basis = ?1";
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement.query_map([basis], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        query().map_err(|error| self.failed(&error))
    }

    /// Keeps the risks of pending revisions, as bits, which stand for as long as `basis` is the same, and forgets
    /// those of proposals that are decided. Where the cache cannot be written, nothing is kept.
    pub fn keep_risks<'m>(&self, basis: &str, risks: impl Iterator<Item = (&'m str, u8)>) {
        let Some(connection) = &self.connection else { return };
        let write = || -> rusqlite::Result<()> {
            connection.execute(
                "DELETE FROM risk WHERE basis <> ?1 OR revision NOT IN
                     (SELECT revision FROM proposal WHERE state = 'pending')",
                [basis],
            )?;
            let sql = "INSERT OR REPLACE INTO risk (revision, basis, marks) VALUES (?1, ?2, ?3)";
            let mut statement = connection.prepare_cached(sql)?;
            for (revision, risk) in risks {
                statement.execute(params![revision, basis, risk])?;
            }
            Ok(())
        };
        // Another process writes: it is found again next time.
        let _ = write();
    }
}
