//! Decision statements, held to the events that name them and to their place in the lane.
//!
//! Read whenever a proposal is folded, so that what does not fit never counts. The manifest, which
//! may be long, is read where its steps are compared.

use std::collections::BTreeMap;

use gix::ObjectId;
use rusqlite::{Connection, OptionalExtension as _};

use crate::proposal::audit::{Rejection, Why};
use crate::proposal::statement::{MAX_BYTES, Statement};
use crate::proposal::{Event, Stamped};

/// An event that does not count because of its statement.
pub(super) struct Flaw {
    /// Which, and why.
    pub(super) rejection: Rejection,
    /// The statement, where it is not there: it may come later.
    pub(super) missing: Option<ObjectId>,
}

/// The statement of `event`, held to the event; `None` where it names none, as in version 0.1.0.
pub(super) fn read(
    repo: &gix::Repository,
    event: &Event,
) -> Result<Option<Statement>, (Why, Option<ObjectId>)> {
    let Some(named) = event.data.statement() else { return Ok(None) };
    let wrong = (Why::Statement, None);
    let id = ObjectId::from_hex(named.id.as_bytes()).map_err(|_| wrong)?;
    // By its header first: a blob may be of any size.
    let header = repo.find_header(id).map_err(|_| (Why::StatementMissing, Some(id)))?;
    if header.kind() != gix::objs::Kind::Blob || header.size() > MAX_BYTES as u64 {
        return Err(wrong);
    }
    let blob = repo.find_blob(id).map_err(|_| wrong)?;
    let statement = Statement::from_bytes(&blob.data).map_err(|_| wrong)?;
    let whole = crate::sha256::hex(&blob.data) == named.sha256;
    if whole && statement.is_of(event) { Ok(Some(statement)) } else { Err(wrong) }
}

/// Where the events of one proposal are: position and commit of each, by lane, in order.
#[derive(Default)]
pub(super) struct Places(BTreeMap<String, Vec<(u64, String)>>);

impl Places {
    /// Adds an event; those of one lane come in order of their positions.
    pub(super) fn add(&mut self, event: &Event, commit: &str) {
        let lane = self.0.entry(event.lane.clone()).or_default();
        lane.push((event.seq, commit.to_owned()));
    }

    /// Whether `seen`, of the statement of `stamped`, which `commit` holds, is in front of that commit
    /// in the lane, with no event about the proposal in between.
    ///
    /// By positions, which grow along a lane: where a lane has two histories, which is reported, they
    /// are those of both. `own` is this clone's own lane: what was put together again by `doctor
    /// --repair` has new commits, so one that is not known there says nothing.
    pub(super) fn fits(
        &self,
        connection: &Connection,
        stamped: &Stamped,
        commit: &str,
        seen: Option<&str>,
        own: Option<&str>,
    ) -> rusqlite::Result<bool> {
        let event = &stamped.event;
        let upto = match seen {
            None => 0,
            Some(seen) => {
                let Ok(id) = ObjectId::from_hex(seen.as_bytes()) else { return Ok(false) };
                let known: Option<(String, i64)> = connection
                    .prepare_cached("SELECT lane, seq FROM step WHERE id = ?1")?
                    .query_row([id.as_bytes()], |row| Ok((row.get(0)?, row.get(1)?)))
                    .optional()?;
                match known {
                    None => return Ok(Some(event.lane.as_str()) == own),
                    Some((lane, _)) if lane != event.lane => return Ok(false),
                    Some((_, seq)) => seq as u64,
                }
            }
        };
        let before = |(seq, other): &&(u64, String)| *seq < event.seq && other != commit;
        let lane = self.0.get(&event.lane);
        let end = lane.map_or(0, |lane| lane.partition_point(|(seq, _)| *seq < event.seq));
        let last = lane.and_then(|lane| lane[..end].iter().rev().find(before));
        Ok(upto < event.seq && last.is_none_or(|(seq, _)| *seq <= upto))
    }
}

/// The rejection of `stamped`.
pub(super) fn flaw(stamped: &Stamped, why: Why, missing: Option<ObjectId>) -> Flaw {
    let (event, lane) = (stamped.id.clone(), stamped.event.lane.clone());
    Flaw { rejection: Rejection { event, lane, why, awaits: None }, missing }
}
