//! Whom a subject is for, asked of the cache.

use std::collections::BTreeSet;

use rusqlite::{Connection, OptionalExtension as _, params};

use super::schema::Index;
use super::{About, View};
use crate::changeset::RepoPath;
use crate::error::Result;
use crate::proposal::{Proposal, ProposalId};
use crate::store::audience::{self, Audiences};
use crate::store::{Audience, refs};

/// Proposals that change a file whose contents are compared: more have nothing to do with it.
const MOST_COMPARED: usize = 256;

/// The lanes that hold the first event of `proposal`, or a publication of it, one behind the other.
pub(super) fn owners(connection: &Connection, proposal: &Proposal) -> rusqlite::Result<String> {
    let first: Option<String> = connection
        .prepare_cached("SELECT lane FROM event WHERE id = ?1")?
        .query_row([&proposal.first_event], |row| row.get(0))
        .optional()?;
    Ok(owned(first, proposal))
}

/// The same, where `first` is known to be the lane of the first event.
pub(super) fn owned(first: Option<String>, proposal: &Proposal) -> String {
    let mut owners: BTreeSet<String> = first.into_iter().collect();
    owners.extend(proposal.published.iter().cloned());
    owners.into_iter().collect::<Vec<_>>().join(" ")
}

/// The lanes for nobody else.
pub(super) fn private(connection: &Connection) -> rusqlite::Result<BTreeSet<String>> {
    let mut statement =
        connection.prepare_cached("SELECT name FROM lane WHERE name >= ?1 AND name < ?1 || '~'")?;
    let rows = statement.query_map([refs::PRIVATE], |row| {
        Ok(refs::lane_of(row.get_ref(0)?.as_str()?).to_owned())
    })?;
    rows.collect()
}

fn split(owners: &str) -> BTreeSet<String> {
    owners.split(' ').filter(|lane| !lane.is_empty()).map(str::to_owned).collect()
}

impl View {
    /// Whether everything is for the default audience, as in most clones: the names of the refs say
    /// so, without a question to the cache.
    pub(super) fn is_plain(&self) -> bool {
        *self.is_plain.get_or_init(|| {
            let home = self.home_remotes.as_deref();
            let keeps_others =
                |cache: &Connection| super::lanes::keeps_others(cache).unwrap_or(true);
            self.lanes.iter().all(|lane| audience::is_default(home, &lane.name))
                && !self.connection.as_ref().is_some_and(keeps_others)
        })
    }

    /// Whom all lanes are for, those included that are only kept.
    pub(super) fn audiences(&self) -> &Audiences {
        self.audiences.get_or_init(|| {
            let home = self.home_remotes.clone();
            let names = self.positions().unwrap_or_default();
            Audiences::new(home, names.keys().map(String::as_str))
        })
    }

    /// Whom the proposal `id` is for, and all that is said about it.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn audience(&self, id: &ProposalId) -> Result<Audience> {
        let Some(connection) = &self.connection else { return Ok(Audience::Default) };
        if self.is_plain() {
            return Ok(Audience::Default);
        }
        let owners: Option<String> = connection
            .prepare_cached("SELECT owners FROM proposal WHERE id = ?1")
            .and_then(|mut statement| {
                statement.query_row([id.as_str()], |row| row.get(0)).optional()
            })
            .map_err(|error| self.failed(&error))?;
        self.audience_of_owners(id, &owners.unwrap_or_default())
    }

    /// As [`View::audience`], where the lanes that own the proposal are known.
    pub(super) fn audience_of_owners(&self, id: &ProposalId, owners: &str) -> Result<Audience> {
        let speakers = || self.lanes_about(About::Proposal(id.as_str()));
        self.audiences().of_subject(&split(owners), speakers)
    }

    /// Whom the decision on `id` is for that stands, or where there is none, the proposal. Elsewhere
    /// nobody knows of the decision, and what takes it back would not count.
    ///
    /// # Errors
    /// As [`View::audience`]; `proposal_not_found`.
    pub fn audience_of_decision(&self, id: &ProposalId) -> Result<Audience> {
        if self.is_plain() {
            return Ok(Audience::Default);
        }
        let proposal = self.proposal(id)?;
        let lane = proposal.decision().map(|made| crate::proposal::forks::lane_of(&made.lane));
        match lane.and_then(|lane| self.audiences().of_lane(lane)) {
            Some(audience) => Ok(audience),
            None => self.audience(id),
        }
    }

    /// Whom the lane of the event `id` is for.
    pub(in crate::store) fn audience_of_event(&self, id: &str) -> Result<Audience> {
        let Some(connection) = self.by(Index::Event) else { return Ok(Audience::Default) };
        if self.is_plain() {
            return Ok(Audience::Default);
        }
        let lane: Option<String> = connection
            .prepare_cached("SELECT lane FROM event WHERE id = ?1")
            .and_then(|mut statement| statement.query_row([id], |row| row.get(0)).optional())
            .map_err(|error| self.failed(&error))?;
        let audience = lane.and_then(|lane| self.audiences().of_lane(&lane));
        Ok(audience.unwrap_or(Audience::Default))
    }

    /// Whom the lane is for that the commit `id` (hex) is of, if it is one of a lane.
    pub fn audience_of_commit(&self, id: &str) -> Option<Audience> {
        let connection = self.connection.as_ref()?;
        let id = gix::ObjectId::from_hex(id.as_bytes()).ok()?;
        let (lane, _, _) = super::forks::step(connection, &id).ok()??;
        self.audiences().of_lane(&lane)
    }

    /// How many lanes there are for each audience.
    pub fn lanes_by_audience(&self) -> Vec<(Audience, usize)> {
        let mut lanes: BTreeSet<(Audience, &str)> = BTreeSet::new();
        for lane in &self.lanes {
            let audience = self.audiences().of_lane(lane.lane()).unwrap_or(Audience::Default);
            lanes.insert((audience, lane.lane()));
        }
        let mut counts: Vec<(Audience, usize)> = Vec::new();
        for (audience, _) in lanes {
            match counts.last_mut() {
                Some((last, count)) if *last == audience => *count += 1,
                _ => counts.push((audience, 1)),
            }
        }
        counts
    }

    /// The proposals of other audiences than `audience` that change `path`, the newest first.
    pub(super) fn of_others(&self, audience: &Audience, path: &RepoPath) -> Result<Vec<Proposal>> {
        let Some(connection) = self.by(Index::Path) else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare_cached(
                "SELECT id FROM proposal JOIN path ON proposal.id = path.proposal
                 WHERE path.path = ?1 ORDER BY created DESC, id DESC",
            )?;
            let rows =
                statement.query_map(params![path.display().to_string()], |row| row.get(0))?;
            rows.collect()
        };
        let mut found = Vec::new();
        for id in query().map_err(|error| self.failed(&error))? {
            let id = ProposalId::parse(&id)?;
            let of = self.audience(&id)?;
            if of != *audience {
                found.push(self.proposal(&id)?);
            }
            if found.len() >= MOST_COMPARED {
                break;
            }
        }
        Ok(found)
    }
}
