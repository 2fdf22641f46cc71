//! Proposals that were purged by those whose they are.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use chrono::{DateTime, Utc};
use gix::ObjectId;
use rusqlite::{Connection, OptionalExtension as _};

use super::schema::Index;
use super::{View, budget};
use crate::error::{Error, Result};
use crate::proposal::event::timestamp;
use crate::proposal::{Actor, ActorKind, Data, Event, ProposalId, codes};
use crate::store::lists;

/// The purged proposals, each with the event (hex) that says so.
pub(super) type Purged = BTreeMap<String, String>;

/// What is on record of a purged proposal.
#[derive(Clone, Debug)]
pub struct Record {
    /// The proposal.
    pub id: ProposalId,
    /// The whole id of its first event, hex.
    pub first: String,
    /// The lane that says so.
    pub lane: String,
    /// By whom.
    pub by: Actor,
    /// When, by that machine's clock.
    pub at: DateTime<Utc>,
    /// Why.
    pub reason: String,
}

impl Record {
    /// That the proposal is gone, as an error.
    pub fn error(&self) -> Error {
        let Self { id, by, at, reason, .. } = self;
        let at = timestamp(*at);
        let why = format!("{id} was purged by {} at {at}: {reason}", by.name);
        Error::new(&codes::PROPOSAL_PURGED, why)
            .with("proposal_id", id.as_str())
            .with("purged_by", by.name.clone())
            .with("purged_at", at)
            .with("reason", reason.clone())
            .hint(format!("what is on record of it: aye log {id}"))
    }
}

/// The proposals in the cache as purged.
pub(super) fn all(connection: &Connection) -> rusqlite::Result<Purged> {
    let mut statement = connection.prepare_cached("SELECT id, event FROM purged")?;
    let rows = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?;
    rows.collect()
}

/// Their ids.
pub(super) fn ids(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    Ok(all(connection)?.into_keys().collect())
}

/// Whether `id` is one of them.
pub(super) fn is_purged(connection: &Connection, id: &str) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM purged WHERE id = ?1")?.exists([id])
}

/// Notes that these are all of them.
pub(super) fn set(connection: &Connection, purged: &Purged) -> rusqlite::Result<()> {
    connection.execute("DELETE FROM purged", [])?;
    let mut insert = connection.prepare_cached("INSERT INTO purged (id, event) VALUES (?1, ?2)")?;
    for (id, event) in purged {
        insert.execute([id, event])?;
    }
    Ok(())
}

/// Whether a lane has stubs.
pub(super) fn has_stubs(connection: &Connection) -> rusqlite::Result<bool> {
    connection.prepare_cached("SELECT 1 FROM stub LIMIT 1")?.exists([])
}

/// A purge that somebody says to have made.
struct Said {
    event: String,
    lane: String,
    first: String,
}

/// A lane that has the first event of a proposal.
struct Carrier {
    first: String,
    /// The lane that the event says it is of.
    of: String,
    /// The one that has it.
    lane: String,
}

/// The proposals that are purged as far as the events in the cache go.
///
/// A purge counts where the lane that says so is the one that the first event is of, by that event's
/// own bytes; and else where every lane that has the first event, as a publication has it, says so, or
/// none has it any more. So no lane hides what another one has. Every clone comes to the same, also the one
/// whose lane it is: it may have been restored from a backup made before it purged.
pub(super) fn believed(
    repo: &gix::Repository,
    connection: &Connection,
) -> rusqlite::Result<Purged> {
    let mut statement = connection.prepare_cached(
        "SELECT id, proposal, lane, body
         FROM event INDEXED BY event_purge
         WHERE kind = 'purge' AND proposal IS NOT NULL ORDER BY time, id",
    )?;
    let mut rows = statement.query([])?;
    let mut said: BTreeMap<String, Vec<Said>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        let proposal: String = row.get(1)?;
        let lane: String = row.get(2)?;
        let Some(first) = purges(row.get_ref(3)?.as_bytes().unwrap_or_default()) else { continue };
        said.entry(proposal).or_default().push(Said { event: row.get(0)?, lane, first });
    }
    let mut purged = Purged::new();
    for (id, said) in said {
        let carriers = carriers(repo, connection, &id)?;
        let firsts: BTreeSet<&str> = if carriers.is_empty() {
            said.iter().map(|said| said.first.as_str()).collect()
        } else {
            carriers.iter().map(|carrier| carrier.first.as_str()).collect()
        };
        let counts = |first: &str| {
            let says =
                |lane: &str| said.iter().any(|said| said.first == first && said.lane == lane);
            let mut of_first = carriers.iter().filter(|carrier| carrier.first == first);
            of_first.clone().any(|carrier| says(&carrier.of))
                || of_first.all(|carrier| says(&carrier.lane))
        };
        let owners = |said: &&Said| carriers.iter().any(|carrier| carrier.of == said.lane);
        let record = said.iter().find(owners).or(said.first());
        if let Some(record) = record.filter(|_| firsts.iter().all(|first| counts(first))) {
            purged.insert(id, record.event.clone());
        }
    }
    Ok(purged)
}

/// The whole id of the first event of the proposal that the event `body` purges, if it does.
fn purges(body: &[u8]) -> Option<String> {
    let event = Event::from_bytes(body).ok()?;
    let Data::Purge(purge) = &event.data else { return None };
    let first = event.first.filter(|first| ObjectId::from_hex(first.as_bytes()).is_ok())?;
    let is_about = event.proposal == Some(ProposalId::from_event(&first));
    (!purge.asked && is_about && event.actor.kind == ActorKind::Human).then_some(first)
}

fn carriers(
    repo: &gix::Repository,
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<Vec<Carrier>> {
    let mut statement = connection.prepare_cached(
        "SELECT id, kind, lane, body FROM event
         WHERE proposal = ?1 AND kind IN ('propose', 'publish')",
    )?;
    let mut rows = statement.query([id])?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        let (first, lane): (String, String) = (row.get(0)?, row.get(2)?);
        if row.get_ref(1)?.as_str()? == "propose" {
            found.push(Carrier { first, of: lane.clone(), lane });
            continue;
        }
        let body = row.get_ref(3)?.as_bytes().unwrap_or_default();
        let Ok(Event { data: Data::Publish(publish), actor, .. }) = Event::from_bytes(body) else {
            continue;
        };
        let original = lists::original(repo, &publish, budget::LARGEST_ORIGINAL);
        if let Ok((original, _)) = original
            && actor.kind == ActorKind::Human
        {
            found.push(Carrier { first: original.id, of: original.event.lane, lane });
        }
    }
    Ok(found)
}

impl View {
    /// What is on record of the purged proposals, the newest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn purged(&self) -> Result<Vec<Record>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<Record>> {
            let mut statement = connection.prepare_cached(
                "SELECT purged.id, event.lane, event.body FROM purged
                 JOIN event ON event.id = purged.event ORDER BY event.time DESC, purged.id",
            )?;
            let rows =
                statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
            rows.filter_map(|row| row.map(record).transpose()).collect()
        };
        query().map_err(|error| self.failed(&error))
    }

    /// What is on record of `id`, if it was purged.
    ///
    /// # Errors
    /// As [`View::purged`].
    pub fn purge_of(&self, id: &ProposalId) -> Result<Option<Record>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        let row = connection
            .prepare_cached(
                "SELECT purged.id, event.lane, event.body FROM purged
                 JOIN event ON event.id = purged.event WHERE purged.id = ?1",
            )
            .and_then(|mut statement| {
                let row =
                    statement.query_row([id.as_str()], |r| Ok((r.get(0)?, r.get(1)?, r.get(2)?)));
                row.optional()
            });
        Ok(row.map_err(|error| self.failed(&error))?.and_then(record))
    }
}

impl View {
    /// Who has asked for `id` to be purged.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn asked_to_purge(&self, id: &ProposalId) -> Result<Vec<Actor>> {
        let mut found = Vec::new();
        self.each_body_of(id, |body| {
            if let Ok(event) = Event::from_bytes(body)
                && let Data::Purge(purge) = &event.data
                && purge.asked
                && event.actor.kind == ActorKind::Human
            {
                found.push(event.actor);
            }
        })?;
        Ok(found)
    }

    /// The whole id of the first event of `id`, hex.
    pub(in crate::store) fn first_of(&self, id: &ProposalId) -> Result<Option<String>> {
        if let Some(record) = self.purge_of(id)? {
            return Ok(Some(record.first));
        }
        Ok(Some(self.proposal(id)?.first_event))
    }

    /// The events about `id` but those that purge it, by the lanes that hold them.
    pub(in crate::store) fn events_of(
        &self,
        id: &ProposalId,
    ) -> Result<BTreeMap<String, HashSet<ObjectId>>> {
        let Some(connection) = self.by(Index::Event) else { return Ok(BTreeMap::new()) };
        events_of(connection, id.as_str()).map_err(|error| self.failed(&error))
    }

    /// The names of those who have said something of `id` in `lane`.
    pub(in crate::store) fn speakers_of(
        &self,
        id: &ProposalId,
        lane: &str,
    ) -> Result<BTreeSet<String>> {
        let mut found = BTreeSet::new();
        self.each_body_of(id, |body| {
            if let Ok(mut event) = Event::from_bytes(body)
                && event.lane == lane
            {
                budget::cut(&mut event);
                found.insert(event.actor.name);
            }
        })?;
        Ok(found)
    }

    /// Hands each event that is about a proposal to `each`: the proposal, the event's id (hex), its
    /// bytes.
    pub(in crate::store) fn each_body(
        &self,
        mut each: impl FnMut(&str, &str, &[u8]),
    ) -> Result<()> {
        let sql = "SELECT body, proposal, id FROM event WHERE proposal IS NOT NULL";
        self.bodies(sql, [], |row, body| {
            each(row.get_ref(1)?.as_str()?, row.get_ref(2)?.as_str()?, body);
            Ok(())
        })
    }

    /// Hands the bytes of each event about `id` to `each`.
    pub(in crate::store) fn each_body_of(
        &self,
        id: &ProposalId,
        mut each: impl FnMut(&[u8]),
    ) -> Result<()> {
        let sql = "SELECT body FROM event WHERE proposal = ?1";
        self.bodies(sql, [id.as_str()], |_, body| {
            each(body);
            Ok(())
        })
    }

    fn bodies(
        &self,
        sql: &str,
        of: impl rusqlite::Params,
        mut each: impl FnMut(&rusqlite::Row<'_>, &[u8]) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let Some(connection) = self.by(Index::Event) else { return Ok(()) };
        let query = || -> rusqlite::Result<()> {
            let mut statement = connection.prepare(sql)?;
            let mut rows = statement.query(of)?;
            while let Some(row) = rows.next()? {
                each(row, row.get_ref(0)?.as_bytes().unwrap_or_default())?;
            }
            Ok(())
        };
        query().map_err(|error| self.failed(&error))
    }

    /// The lanes that have the first event of `id`, or a publication of it.
    pub(in crate::store) fn owners(&self, id: &ProposalId) -> Result<Vec<String>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let owners: Option<String> = connection
            .prepare_cached("SELECT owners FROM proposal WHERE id = ?1")
            .and_then(|mut statement| {
                statement.query_row([id.as_str()], |row| row.get(0)).optional()
            })
            .map_err(|error| self.failed(&error))?;
        let owners = owners.unwrap_or_default();
        Ok(owners.split(' ').filter(|lane| !lane.is_empty()).map(str::to_owned).collect())
    }
}

/// The events about a proposal but those that purge it, by the lanes that hold them.
pub(super) fn events_of(
    connection: &Connection,
    id: &str,
) -> rusqlite::Result<BTreeMap<String, HashSet<ObjectId>>> {
    let mut statement = connection
        .prepare_cached("SELECT lane, id FROM event WHERE proposal = ?1 AND kind <> 'purge'")?;
    let mut rows = statement.query([id])?;
    let mut found: BTreeMap<String, HashSet<ObjectId>> = BTreeMap::new();
    while let Some(row) = rows.next()? {
        if let Ok(event) = ObjectId::from_hex(row.get_ref(1)?.as_bytes()?) {
            found.entry(row.get(0)?).or_default().insert(event);
        }
    }
    Ok(found)
}

fn record((id, lane, body): (String, String, Vec<u8>)) -> Option<Record> {
    let id = ProposalId::parse(&id).ok()?;
    let mut event = Event::from_bytes(&body).ok()?;
    budget::cut(&mut event);
    let Data::Purge(purge) = event.data else { return None };
    let (by, at, reason) = (event.actor, event.time, purge.reason);
    Some(Record { id, first: event.first?, lane, by, at, reason })
}
