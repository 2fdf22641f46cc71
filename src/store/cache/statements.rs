//! Decision statements and their manifests, held to the events that name them and to their place in the lane.
//!
//! Read whenever a proposal is folded, so that what does not fit never counts.

use std::borrow::Cow;
use std::rc::Rc;

use gix::ObjectId;
use rusqlite::Connection;

use super::forks::Chains;
use super::lanes;
use crate::proposal::audit::{Own, Rejection, Why};
use crate::proposal::event::{BlobRef, Head};
use crate::proposal::forks::lane_of;
use crate::proposal::manifest::{self, Manifest};
use crate::proposal::statement::{MAX_BYTES, Statement};
use crate::proposal::{Event, Stamped};
use crate::repository::{blob_within, promisor};

/// An event that does not count because of its statement.
pub(super) struct Flaw {
    /// Which, and why.
    pub(super) rejection: Rejection,
    /// The statement, where it is not there: it may come later.
    pub(super) missing: Option<ObjectId>,
}

/// Why an event does not count, and what has to come first.
type Wrong = (Why, Option<ObjectId>);

/// What stands beside an event in a snapshot.
#[derive(Default)]
pub(super) struct Beside<'b> {
    /// Its statement.
    pub(super) statement: Option<&'b [u8]>,
    /// What that says, where it was read. It has the hash that the event names.
    pub(super) stated: Option<Box<Statement>>,
    /// The manifest of that.
    pub(super) manifest: Option<&'b [u8]>,
}

/// The statement of `event`, held to the event, and the manifest that it names; `None` where the event names
/// none, as in version 0.1.0. In a partial clone a manifest may come later: the event counts without.
pub(super) fn read(
    repo: &gix::Repository,
    event: &Event,
    beside: Beside<'_>,
) -> Result<Option<(Statement, Option<Manifest>)>, Wrong> {
    let Some(named) = event.data.statement() else { return Ok(None) };
    let wrong = (Why::Statement, None);
    let statement = match beside.stated {
        Some(stated) => *stated,
        None => {
            let missing = |id| (Why::StatementMissing, Some(id));
            let bytes = bytes(repo, named, beside.statement, MAX_BYTES, wrong, missing)?;
            Statement::from_bytes(&bytes).map_err(|_| wrong)?
        }
    };
    if !statement.is_of(event) {
        return Err(wrong);
    }
    let Some(named) = &statement.manifest else { return Ok(Some((statement, None))) };
    let wrong = (Why::Manifest, None);
    let missing = |id| (Why::ManifestMissing, Some(id));
    let manifest = match bytes(repo, named, beside.manifest, manifest::MAX_BYTES, wrong, missing) {
        Ok(bytes) => Some(Manifest::from_bytes(&bytes).map_err(|_| wrong)?),
        Err((Why::ManifestMissing, _)) if promisor(repo).is_some() => None,
        Err(error) => return Err(error),
    };
    Ok(Some((statement, manifest)))
}

/// The bytes that `named` names, of which there are at most `most`: those `beside` the event, or those of an
/// object. `wrong` where they are others, `missing` where there are none.
fn bytes<'b>(
    repo: &gix::Repository,
    named: &BlobRef,
    beside: Option<&'b [u8]>,
    most: usize,
    wrong: Wrong,
    missing: impl Fn(ObjectId) -> Wrong,
) -> Result<Cow<'b, [u8]>, Wrong> {
    let bytes = match beside {
        Some(bytes) => Cow::Borrowed(bytes),
        None => {
            let id = ObjectId::from_hex(named.id.as_bytes()).map_err(|_| wrong)?;
            match blob_within(repo, id, most as u64) {
                Ok(Some(bytes)) => Cow::Owned(bytes),
                Ok(None) => return Err(wrong),
                Err(_) => return Err(missing(id)),
            }
        }
    };
    if crate::sha256::hex(&bytes) == named.sha256 { Ok(bytes) } else { Err(wrong) }
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
