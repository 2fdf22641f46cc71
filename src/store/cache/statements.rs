//! Decision statements, held to the events that name them and to their place in the lane.
//!
//! Read whenever a proposal is folded, so that what does not fit never counts. The manifest, which
//! may be long, is read where its steps are compared.

use std::rc::Rc;

use gix::ObjectId;
use rusqlite::Connection;

use super::forks::Chains;
use super::lanes;
use crate::proposal::audit::{Own, Rejection, Why};
use crate::proposal::event::Head;
use crate::proposal::forks::lane_of;
use crate::proposal::statement::{MAX_BYTES, Statement};
use crate::proposal::{Event, Stamped};
use crate::repository::header;

/// An event that does not count because of its statement.
pub(super) struct Flaw {
    /// Which, and why.
    pub(super) rejection: Rejection,
    /// The statement, where it is not there: it may come later.
    pub(super) missing: Option<ObjectId>,
}

/// A statement where there is one, or why the event does not count, and what has to come first.
type Read = Result<Option<Statement>, (Why, Option<ObjectId>)>;

/// The statement of `event`, held to the event; `None` where it names none, as in version 0.1.0.
/// `beside` are its bytes where the event comes from a snapshot.
pub(super) fn read(repo: &gix::Repository, event: &Event, beside: Option<&[u8]>) -> Read {
    let Some(named) = event.data.statement() else { return Ok(None) };
    let wrong = (Why::Statement, None);
    let whole = |bytes: &[u8]| match crate::sha256::hex(bytes) == named.sha256 {
        true => held(Statement::from_bytes(bytes).map_err(|_| wrong)?, event),
        false => Err(wrong),
    };
    if let Some(bytes) = beside {
        return whole(bytes);
    }
    let id = ObjectId::from_hex(named.id.as_bytes()).map_err(|_| wrong)?;
    // By its header first: a blob may be of any size.
    let (kind, size) = header(repo, id).map_err(|_| (Why::StatementMissing, Some(id)))?;
    if kind != gix::objs::Kind::Blob || size > MAX_BYTES as u64 {
        return Err(wrong);
    }
    let blob = repo.find_blob(id).map_err(|_| wrong)?;
    whole(&blob.data)
}

/// The statement that has the hash that `event` names, held to what that says.
pub(super) fn held(statement: Statement, event: &Event) -> Read {
    if statement.is_of(event) { Ok(Some(statement)) } else { Err((Why::Statement, None)) }
}

/// Where the events of one proposal are: chain, position and commit of each.
#[derive(Default)]
pub(super) struct Places(Vec<(String, u64, Rc<str>)>);

impl Places {
    /// Adds an event whose lane names its chain.
    pub(super) fn add(&mut self, event: &Event, commit: &Rc<str>) {
        self.0.push((event.lane.clone(), event.seq, commit.clone()));
    }

    /// Whether `seen`, of the statement of `stamped`, which `commit` holds, is in front of that commit
    /// in the lane, with no event about the proposal in between.
    ///
    /// By positions, which grow along a chain, in a lane that is taken apart by `chains`. `own` are
    /// this clone's own lanes: what was put together again by `doctor --repair` has new commits, so one
    /// that is not known there says nothing. Nor does it of an event that an epoch has restated, whose
    /// commits before need not be here, or in a shallow history.
    pub(super) fn fits(
        &self,
        connection: &Connection,
        chains: &Chains,
        stamped: &Stamped,
        commit: &str,
        seen: Option<&str>,
        own: Own<'_>,
    ) -> rusqlite::Result<bool> {
        let forks = &chains.forks;
        let event = &stamped.event;
        let lane = lane_of(&event.lane);
        let behind = |heads: &[Head], chain: &str, seq: u64| {
            heads.iter().any(|head| head.lane == chain && seq <= head.seq)
        };
        let before = forks.behind(&event.lane, event.seq.saturating_sub(1));
        let upto = match seen {
            None => Vec::new(),
            Some(seen) => {
                let Ok(id) = ObjectId::from_hex(seen.as_bytes()) else { return Ok(false) };
                match chains.step(connection, &id)? {
                    None => {
                        return Ok(own.has(lane)
                            || event.seq <= chains.restated(connection, lane)?
                            || lanes::is_shallow(connection, lane)?);
                    }
                    Some((of, seq, part)) => {
                        let chain = part.unwrap_or_else(|| of.clone());
                        if of != lane || !behind(&before, &chain, seq) {
                            return Ok(false);
                        }
                        forks.behind(&chain, seq)
                    }
                }
            }
        };
        let is_between = |(chain, seq, other): &(String, u64, Rc<str>)| {
            **other != *commit && behind(&before, chain, *seq) && !behind(&upto, chain, *seq)
        };
        Ok(!self.0.iter().any(is_between))
    }
}

/// The rejection of `stamped`.
pub(super) fn flaw(stamped: &Stamped, why: Why, missing: Option<ObjectId>) -> Flaw {
    let (event, lane) = (stamped.id.clone(), stamped.event.lane.clone());
    Flaw { rejection: Rejection { event, lane, why, awaits: None }, missing }
}
