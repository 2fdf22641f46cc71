//! What the cache has of a proposal, to be held against the object database.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::forks::Chains;
use super::parsed::Parsed;
use super::schema::{self, Index};
use super::{View, counts, lanes, row, update};
use crate::error::{Error, Result};
use crate::proposal::audit::Own;
use crate::proposal::event::BlobRef;
use crate::proposal::snapshot::Figures;
use crate::proposal::{Event, Proposal, ProposalId, event};
use crate::store::{Store, refs};

/// An event, and where it comes from, as the cache has it.
pub(in crate::store) struct Source<'r> {
    /// Its id, hex.
    pub(in crate::store) event: &'r str,
    /// The name of its lane.
    pub(in crate::store) lane: &'r str,
    /// The part of a forked lane that it is in.
    pub(in crate::store) part: Option<&'r str>,
    /// The lane commit that holds it, hex.
    pub(in crate::store) commit: &'r str,
    /// Its bytes.
    pub(in crate::store) body: &'r [u8],
    /// What they say.
    pub(in crate::store) says: std::result::Result<&'r Event, &'r Error>,
}

/// Holds an event of the cache against the object database; `false` ends the reading.
pub(in crate::store) type Check<'c> = &'c mut dyn FnMut(Source<'_>) -> bool;

impl View {
    /// What the events about `id` lead to, if that is what is said of it. Each goes through `check`
    /// before it counts.
    pub(in crate::store) fn refolded(
        &self,
        repo: &gix::Repository,
        id: &ProposalId,
        own: Own<'_>,
        check: Check<'_>,
    ) -> Result<Option<Proposal>> {
        let missing = || self.missing(id);
        let Some(connection) = self.by(Index::Event) else { return Err(missing()) };
        type Said = (Option<Vec<u8>>, String, String);
        let read = || -> rusqlite::Result<Option<Said>> {
            connection
                .prepare_cached(
                    "SELECT folded.body, proposal.state, proposal.digest FROM proposal
                     LEFT JOIN folded USING (id) WHERE id = ?1",
                )?
                .query_row(params![id.as_str()], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))
                .optional()
        };
        let (body, state, digest) =
            read().map_err(|error| self.failed(&error))?.ok_or_else(missing)?;
        let mut fold = || {
            let chains = Chains::load(connection, None)?;
            update::folded(
                repo,
                connection,
                &chains,
                id.as_str(),
                own,
                Some(check),
                &mut Parsed::default(),
            )
        };
        let fresh = fold().map_err(|error| self.failed(&error))?.proposal;
        Ok(fresh.filter(|fresh| {
            // Of what only snapshots have, nothing else is kept than these events.
            body.is_none_or(|body| body == row::body(fresh))
                && state == row::word(&fresh.state)
                && digest == event::digest(&fresh.current().changes)
        }))
    }

    /// The last position of this clone's own lane, whose ref is `name`, or of copies of it where that is gone.
    pub(in crate::store) fn own_seq(&self, name: &str) -> u64 {
        let seq = |connection| -> rusqlite::Result<u64> {
            match lanes::position(connection, name)? {
                Some(position) => Ok(position.seq),
                None => Ok(lanes::furthest(&lanes::positions(connection)?, refs::lane_of(name))),
            }
        };
        self.connection.as_ref().and_then(|connection| seq(connection).ok()).unwrap_or(0)
    }

    /// When the newest event about `id` was written, in milliseconds, by its writer's clock.
    pub(in crate::store) fn last_said(&self, id: &ProposalId) -> Result<Option<i64>> {
        let Some(connection) = self.by(Index::Event) else { return Ok(None) };
        connection
            .prepare_cached("SELECT MAX(time) FROM event WHERE proposal = ?1")
            .and_then(|mut query| query.query_row([id.as_str()], |row| row.get(0)))
            .map_err(|error| self.failed(&error))
    }

    /// What a list shows of the content of `id`, where that was counted.
    pub(in crate::store) fn figures(&self, id: &ProposalId) -> Result<Option<Figures>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        connection
            .prepare_cached("SELECT digest, added, removed FROM proposal WHERE id = ?1")
            .and_then(|mut query| {
                let figures = |row: &rusqlite::Row<'_>| {
                    let Some(counts) = counts::lines(row, 1)?.counts() else { return Ok(None) };
                    Ok(Some(Figures {
                        id: id.clone(),
                        digest: Some(row.get(0)?),
                        added: counts.added as u64,
                        removed: counts.removed as u64,
                    }))
                };
                query.query_row([id.as_str()], figures).optional().map(Option::flatten)
            })
            .map_err(|error| self.failed(&error))
    }

    /// The error for a question that the cache cannot answer. Rows that no version of aye writes are the work
    /// of whoever edited the cache: then it is emptied, and the next reader builds it from the lanes.
    pub(in crate::store) fn failed(&self, error: &rusqlite::Error) -> Error {
        use rusqlite::Error as E;
        match error {
            E::FromSqlConversionFailure(..)
            | E::IntegralValueOutOfRange(..)
            | E::Utf8Error(..)
            | E::InvalidColumnType(..)
            | E::InvalidQuery => self.malformed(&error.to_string()),
            _ => failed(error),
        }
    }

    /// `cache_tampered` for a row that is none, because of `why`; the cache is emptied.
    pub(super) fn malformed(&self, why: &str) -> Error {
        self.empty();
        Error::new(
            &crate::store::codes::CACHE_TAMPERED,
            format!("the cache holds what no lane says: {why}"),
        )
        .hint("somebody has edited .git/aye/cache.sqlite; it is rebuilt: run the command again")
    }

    /// Empties the cache: the next reader builds it from the lanes.
    pub(in crate::store) fn empty(&self) {
        let empty = |connection: &Connection| {
            // Within one look at the cache ([`View::hold`]), that ends here.
            if !connection.is_autocommit() {
                let _ = connection.execute_batch("ROLLBACK");
            }
            let emptied = connection.execute_batch(
                "BEGIN IMMEDIATE; DELETE FROM lane; DELETE FROM step; DELETE FROM amount;
                 DELETE FROM trouble; DELETE FROM event; DELETE FROM proposal;
                 DELETE FROM folded; DELETE FROM path; DELETE FROM approved; DELETE FROM fetched;
                 DELETE FROM own; DELETE FROM forked; DELETE FROM part; DELETE FROM witness;
                 DELETE FROM epoch; DELETE FROM bound; COMMIT;",
            );
            if emptied.is_err() {
                let _ = connection.execute_batch("ROLLBACK");
            }
        };
        self.connection.as_ref().map(empty);
    }
}

impl Store {
    /// The bytes of the blob that `named` names on behalf of the event `event` (hex), or of its
    /// statement, if it has at most `most`: an object, or beside the event in a snapshot.
    ///
    /// # Errors
    /// `object_missing` where it is neither, `size_limit_exceeded`.
    pub fn blob_of(&self, event: &str, named: &BlobRef, most: usize) -> Result<Vec<u8>> {
        let is_it = |bytes: &Vec<u8>| crate::sha256::hex(bytes) == named.sha256;
        let beside = || {
            let found = self.on_cache(|connection| {
                schema::want(connection, Index::Event);
                connection
                    .prepare_cached("SELECT statement, manifest FROM event WHERE id = ?1")?
                    .query_row([event], |row| {
                        Ok([row.get::<_, Option<Vec<u8>>>(0)?, row.get::<_, Option<Vec<u8>>>(1)?])
                    })
            });
            found.into_iter().flatten().flatten().find(is_it)
        };
        // A partial clone would ask its remote for each of them.
        let first = if self.repository().is_partial() { beside() } else { None };
        match first {
            Some(bytes) => Ok(bytes),
            None => {
                let found = self.blob_of_at_most(&named.id, most as u64);
                found.or_else(|error| beside().ok_or(error))
            }
        }
    }

    /// The proposal of which a snapshot's event names the blob `id` (hex), which is not here, and the
    /// lane of that.
    pub(in crate::store) fn archived(&self, id: &str) -> Option<(String, String)> {
        self.on_cache(|connection| {
            connection
                .prepare_cached(
                    "SELECT proposal, lane FROM event
                     WHERE is_line = 1 AND proposal IS NOT NULL AND instr(body, CAST(?1 AS BLOB)) > 0",
                )?
                .query_row([id], |row| Ok((row.get(0)?, row.get(1)?)))
        })
    }

    /// What `ask` finds in the cache as it is.
    fn on_cache<T>(&self, ask: impl FnOnce(&Connection) -> rusqlite::Result<T>) -> Option<T> {
        let kept = self.kept.take();
        let connection = match kept {
            Some(connection) => connection,
            None => schema::open(&self.repository().private_dir().join("cache.sqlite")).ok()?,
        };
        let found = ask(&connection).ok();
        self.kept.set(Some(connection));
        found
    }
}

fn failed(error: &rusqlite::Error) -> Error {
    Error::bug(format!("the cache cannot be read: {error}"))
        .hint("delete aye/cache.sqlite in the git directory; it is rebuilt")
}
