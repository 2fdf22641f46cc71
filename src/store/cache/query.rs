//! Questions to the cache about proposals. Those about events are in `events`, those about what people type
//! in `names`.

use chrono::{DateTime, TimeZone as _, Utc};
use rusqlite::{OptionalExtension as _, Row, params, params_from_iter};

use super::forks::Chains;
use super::parsed::Parsed;
use super::schema::Index;
use super::{Filter, View, counts, lanes, row, update};
use crate::changeset::RepoPath;
use crate::changeset::hunks::Lines;
use crate::error::{Error, Result};
use crate::proposal::audit::Own;
use crate::proposal::document::Approval;
use crate::proposal::event::Subject;
use crate::proposal::steps::Step;
use crate::proposal::{Entry, Proposal, ProposalId, Status, codes, id};
use crate::store::Audience;

/// Steps of one file that are looked at: more are no chain that somebody follows.
const MOST_STEPS: usize = 256;

/// One row of a list.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The id.
    pub id: ProposalId,
    /// How many characters behind `prop_` suffice to name it.
    pub prefix: usize,
    /// Code or memory.
    pub subject: Subject,
    /// Status at the time of the question.
    pub status: Status,
    /// Topic.
    pub domain: Option<String>,
    /// Related task.
    pub task: Option<String>,
    /// Proposer's name.
    pub proposed_by: String,
    /// When.
    pub created_at: DateTime<Utc>,
    /// Until when.
    pub expires_at: DateTime<Utc>,
    /// Why.
    pub description: Option<String>,
    /// First changed file.
    pub path: String,
    /// How many files.
    pub files: usize,
    /// Lines added and removed.
    pub lines: Lines,
    /// How many revisions.
    pub revisions: usize,
    /// How many comments.
    pub comments: usize,
    /// A reviewer wants changes.
    pub changes_requested: bool,
    /// Decided differently in two clones.
    pub contested: bool,
    /// The version of aye that can read what may be a decision.
    pub needs: Option<String>,
    /// Exit status of the last check, −1 for a signal.
    pub checked: Option<i32>,
    /// Digest of the current changes.
    pub digest: String,
    /// Event id of the current revision.
    pub revision: String,
    /// What a tool's caller says became of it, while it is pending: `applied` or `rejected`.
    pub marked: Option<String>,
    /// Who recorded it.
    pub recorded_by: String,
    /// Who wrote the current revision.
    pub author: String,
    /// Approvals by people that wrote nothing, oldest first; of very many the newest.
    pub approvals: Vec<Approval>,
    /// An apply of it was taken back.
    pub is_undone: bool,
    /// The branch that the current revision was made on, whole.
    pub target_ref: Option<String>,
    /// Whom it is for.
    pub audience: Audience,
    /// The lanes that hold its first event, or a publication of it, one behind the other.
    owners: String,
}

pub(super) const SUMMARY: &str =
    "SELECT id, prefix, subject, state, domain, task, proposed_by, created,
    expires, description, path, files, added, removed, revisions, comments, changes_requested,
    contested, checked, digest, marked, recorded_by, author, revision, approvals, needs, owners, undone,
    target_ref
    FROM proposal";

/// Whether one is pending though it is on record that it has run out: the clock was set back.
pub(super) const REVIVED: &str = "SELECT id FROM proposal INDEXED BY proposal_revived
    WHERE state = 'pending' AND expiry_recorded = expires AND expires > ?1 LIMIT 1";

/// Those whose time has run out without an event that says so.
pub(super) const EXPIRING: &str = "SELECT id FROM proposal INDEXED BY proposal_expiring
    WHERE state = 'pending' AND expires <= ?1
    AND (expiry_recorded IS NULL OR expiry_recorded <> expires) LIMIT ?2";

/// Whether one is pending.
pub(super) const ANY_PENDING: &str =
    "SELECT 1 FROM proposal INDEXED BY proposal_open WHERE state = 'pending' AND expires > ?1
     AND (expiry_recorded IS NULL OR expiry_recorded <> expires) LIMIT 1";

/// The newest decisions on proposals with a staging id.
pub(super) const DECIDED: &str = "SELECT decided, created, id FROM proposal
    WHERE staging IS NOT NULL AND decided IS NOT NULL
    ORDER BY decided DESC, created DESC, id DESC LIMIT ?1";

/// Those that ran out last.
pub(super) const LAPSED: &str = "SELECT expires, created, id FROM proposal
    WHERE staging IS NOT NULL AND decided IS NULL AND expires <= ?2
    ORDER BY expires DESC, created DESC, id DESC LIMIT ?1";

/// The files of the undecided ones.
pub(super) const OPEN_PATHS: &str = "SELECT path, proposal, before, after FROM path INDEXED BY path_open WHERE open = 1 ORDER BY path";

/// The undecided ones that change a file.
pub(super) const TOUCHING: &str = "WHERE id IN
    (SELECT proposal FROM path INDEXED BY path_open WHERE path = ?1 AND open = 1)
    AND +state = 'pending' AND +expires > ?2 ORDER BY created, id";

/// Two undecided ones at most that make this of a file. Whoever may push chooses how many have run out.
pub(super) const MAKING: &str = "SELECT id FROM proposal WHERE id IN
    (SELECT proposal FROM path INDEXED BY path_open WHERE path = ?1 AND after = ?2 AND open = 1
     LIMIT 1000)
    AND +state = 'pending' AND +expires > ?3 AND id <> ?4 LIMIT 2";

impl Summary {
    /// Whether one of `lanes` holds its first event, and no other lane that or a publication of it.
    pub fn is_only_of(&self, lanes: &[String]) -> bool {
        lanes.contains(&self.owners)
    }
}

impl View {
    /// The proposals that are pending at `now` and change the file `path`, oldest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn touching(&self, path: &RepoPath, now: DateTime<Utc>) -> Result<Vec<Summary>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<Summary>> {
            let mut statement = connection.prepare_cached(&format!("{SUMMARY} {TOUCHING}"))?;
            let values = params![path.display().to_string(), millis(now)];
            let rows = statement.query_map(values, |row| summary(row, now))?;
            rows.collect()
        };
        self.with_audiences(query().map_err(|error| self.failed(&error))?)
    }

    /// The only proposal but `id` that is pending at `now` and makes `entry` of the file `path`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn only_one_making(
        &self,
        (path, entry): (&RepoPath, &Entry),
        id: &ProposalId,
        now: DateTime<Utc>,
    ) -> Result<Option<ProposalId>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        let query = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare_cached(MAKING)?;
            let path = path.display().to_string();
            let values = params![path, row::side(entry), millis(now), id.as_str()];
            let rows = statement.query_map(values, |row| row.get(0))?;
            rows.collect()
        };
        let found = query().map_err(|error| self.failed(&error))?;
        let [only] = &found[..] else { return Ok(None) };
        Ok(ProposalId::parse(only).ok())
    }

    /// The proposals that `filter` lets through, oldest first unless it says otherwise.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn proposals(&self, filter: &Filter, now: DateTime<Utc>) -> Result<Vec<Summary>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<Summary>> {
            let open =
                filter.is_open() && !connection.prepare_cached(REVIVED)?.exists([millis(now)])?;
            filter.indices(open).iter().for_each(|index| _ = self.by(*index));
            let (narrowed, values) = filter.sql(now, open);
            let mut statement = connection.prepare_cached(&format!("{SUMMARY}{narrowed}"))?;
            let rows = statement.query_map(params_from_iter(values), |row| summary(row, now))?;
            rows.collect()
        };
        let mut summaries = query().map_err(|error| self.failed(&error))?;
        self.count(&mut summaries)?;
        self.with_audiences(summaries)
    }

    /// The ids of [`View::proposals`].
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn ids_of(&self, filter: &Filter, now: DateTime<Utc>) -> Result<Vec<ProposalId>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<String>> {
            let open =
                filter.is_open() && !connection.prepare_cached(REVIVED)?.exists([millis(now)])?;
            filter.indices(open).iter().for_each(|index| _ = self.by(*index));
            let (narrowed, values) = filter.sql(now, open);
            let mut statement =
                connection.prepare_cached(&format!("SELECT id FROM proposal{narrowed}"))?;
            let rows = statement.query_map(params_from_iter(values), |row| row.get(0))?;
            rows.collect()
        };
        let ids = query().map_err(|error| self.failed(&error))?;
        ids.iter().map(|id| ProposalId::parse(id)).collect()
    }

    /// The steps that people's decisions have made of the file at `path`: of many, those of the
    /// newest proposals.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn approved_steps(&self, path: &RepoPath) -> Result<Vec<(ProposalId, Step)>> {
        let Some(connection) = self.by(Index::Approved) else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<(ProposalId, Step)>> {
            let mut statement = connection.prepare_cached(
                "SELECT approved.proposal, before, after
                 FROM approved JOIN proposal ON proposal.id = approved.proposal
                 WHERE approved.path = ?1 ORDER BY created DESC, approved.proposal LIMIT ?2",
            )?;
            let name = path.display().to_string();
            let mut rows = statement.query(params![name, MOST_STEPS as i64])?;
            let mut steps = Vec::new();
            while let Some(row) = rows.next()? {
                let side = |at| -> rusqlite::Result<_> {
                    Ok(row.get_ref(at)?.as_str_or_null()?.and_then(row::entry))
                };
                let id: String = row.get(0)?;
                let step = Step { path: path.clone(), before: side(1)?, after: side(2)? };
                steps.extend(ProposalId::parse(&id).ok().map(|id| (id, step)));
            }
            Ok(steps)
        };
        query().map_err(|error| self.failed(&error))
    }

    /// Whether a person's decision has made `after` of the file at `path`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn has_step_to(&self, path: &RepoPath, after: &Option<Entry>) -> Result<bool> {
        let Some(connection) = self.by(Index::Approved) else { return Ok(false) };
        let values = params![path.display().to_string(), after.as_ref().map(row::side)];
        connection
            .prepare_cached("SELECT 1 FROM approved WHERE path = ?1 AND after IS ?2")
            .and_then(|mut statement| statement.exists(values))
            .map_err(|error| self.failed(&error))
    }

    /// Proposals that were decided differently in two clones, oldest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn contested(&self, now: DateTime<Utc>) -> Result<Vec<Summary>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<Summary>> {
            let mut statement = connection
                .prepare_cached(&format!("{SUMMARY} WHERE contested = 1 ORDER BY created, id"))?;
            let rows = statement.query_map([], |row| summary(row, now))?;
            rows.collect()
        };
        self.with_audiences(query().map_err(|error| self.failed(&error))?)
    }

    /// When the last of the `most` newest applied proposals was decided.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn last_applied(&self, most: usize) -> Result<Option<DateTime<Utc>>> {
        let Some(connection) = self.by(Index::State) else { return Ok(None) };
        let last: Option<i64> = connection
            .query_row(
                "SELECT max(decided) FROM (SELECT decided FROM proposal WHERE state = 'applied'
                 ORDER BY created DESC, id DESC LIMIT ?1)",
                [most as i64],
                |row| row.get(0),
            )
            .map_err(|error| self.failed(&error))?;
        Ok(last.and_then(|last| Utc.timestamp_millis_opt(last).single()))
    }

    /// True if anything has ever been recorded.
    pub fn has_events(&self) -> bool {
        self.connection.is_some()
    }

    /// True if a proposal is pending at `now`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn has_pending(&self, now: DateTime<Utc>) -> Result<bool> {
        let Some(connection) = &self.connection else { return Ok(false) };
        let exists = |sql| connection.prepare_cached(sql)?.exists([millis(now)]);
        exists(ANY_PENDING)
            .and_then(|found| if found { Ok(true) } else { exists(REVIVED) })
            .map_err(|error| self.failed(&error))
    }

    /// How many proposals are pending at `now`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn count_pending(&self, now: DateTime<Utc>) -> Result<usize> {
        let Some(connection) = &self.connection else { return Ok(0) };
        connection
            .query_row(
                "SELECT count(*) FROM proposal WHERE state = 'pending' AND expires > ?1",
                [now.timestamp_millis()],
                |row| row.get::<_, i64>(0),
            )
            .map(|count| count as usize)
            .map_err(|error| self.failed(&error))
    }

    /// The memory proposals with a staging id that were decided or ran out last, at most `most`, the
    /// latest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn settled(&self, now: DateTime<Utc>, most: usize) -> Result<Vec<ProposalId>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<(i64, i64, String)>> {
            let read = |row: &Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
            let mut found: Vec<_> = connection
                .prepare_cached(DECIDED)?
                .query_map([most as i64], read)?
                .collect::<rusqlite::Result<_>>()?;
            let mut lapsed = connection.prepare_cached(LAPSED)?;
            for row in lapsed.query_map([most as i64, millis(now)], read)? {
                found.push(row?);
            }
            Ok(found)
        };
        let mut found = query().map_err(|error| self.failed(&error))?;
        found.sort_unstable_by(|a, b| b.cmp(a));
        found.iter().take(most).map(|(_, _, id)| ProposalId::parse(id)).collect()
    }

    /// A proposal as the cache keeps it, unread. `None` where it is not kept in full.
    pub(in crate::store) fn body(&self, id: &ProposalId) -> Result<Option<Vec<u8>>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        connection
            .prepare_cached("SELECT body FROM folded WHERE id = ?1")
            .and_then(|mut body| body.query_row([id.as_str()], |row| row.get(0)).optional())
            .map_err(|error| self.failed(&error))
    }

    /// Hands each file that an undecided proposal changes to `each`, by path: with the proposal's id
    /// and both sides as `row::side` writes them.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn open_paths(&self, mut each: impl FnMut(&str, &str, [Option<&str>; 2])) -> Result<()> {
        let Some(connection) = &self.connection else { return Ok(()) };
        let mut query = || -> rusqlite::Result<()> {
            let mut statement = connection.prepare_cached(OPEN_PATHS)?;
            let mut rows = statement.query([])?;
            while let Some(row) = rows.next()? {
                let side = |at| row.get_ref(at)?.as_str_or_null().map_err(rusqlite::Error::from);
                let (path, id) = (row.get_ref(0)?.as_str()?, row.get_ref(1)?.as_str()?);
                each(path, id, [side(2)?, side(3)?]);
            }
            Ok(())
        };
        query().map_err(|error| self.failed(&error))
    }

    /// A proposal with everything that happened to it.
    ///
    /// # Errors
    /// `proposal_not_found`.
    pub fn proposal(&self, id: &ProposalId) -> Result<Proposal> {
        let Some(body) = self.body(id)? else {
            if let Some(proposal) = self.folded_away(id).map_err(|error| self.failed(&error))? {
                return Ok(proposal);
            }
            return Err(self.missing(id));
        };
        serde_json::from_slice(&body)
            .map_err(|error| self.malformed(&format!("{id} cannot be read: {error}")))
    }

    /// That there is no proposal `id`, or none any more.
    pub(super) fn missing(&self, id: &ProposalId) -> Error {
        match self.purge_of(id) {
            Ok(Some(record)) => record.error(),
            Ok(None) => Error::new(&codes::PROPOSAL_NOT_FOUND, format!("no proposal '{id}'"))
                .with("proposal_id", id.as_str())
                .hint("`aye list --status all` shows all"),
            Err(error) => error,
        }
    }

    /// The proposal `id` where only snapshots have it: folded from its events.
    fn folded_away(&self, id: &ProposalId) -> rusqlite::Result<Option<Proposal>> {
        let Some(connection) = self.by(Index::Event) else { return Ok(None) };
        let is_there = connection
            .prepare_cached("SELECT 1 FROM proposal WHERE id = ?1")?
            .exists([id.as_str()])?;
        if !is_there {
            return Ok(None);
        }
        let (chains, own) = (Chains::load(connection, None)?, lanes::own(connection)?);
        let folded = update::folded(
            &self.repo,
            connection,
            &chains,
            id.as_str(),
            Own(&own),
            None,
            &mut Parsed::default(),
        )?;
        Ok(folded.proposal)
    }

    /// A pending proposal with the same digest of changes and of the same subject.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn duplicate(
        &self,
        digest: &str,
        audience: &Audience,
        now: DateTime<Utc>,
    ) -> Result<Option<ProposalId>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        let query = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare_cached(
                "SELECT id FROM proposal WHERE digest = ?1 AND state = 'pending' AND expires > ?2
                 ORDER BY created, id",
            )?;
            let rows =
                statement.query_map(params![digest, now.timestamp_millis()], |row| row.get(0))?;
            rows.collect()
        };
        for id in query().map_err(|error| self.failed(&error))? {
            let id = ProposalId::parse(&id)?;
            if self.audience(&id)? == *audience {
                return Ok(Some(id));
            }
        }
        Ok(None)
    }

    /// Whom the proposals of these rows are for.
    fn with_audiences(&self, mut summaries: Vec<Summary>) -> Result<Vec<Summary>> {
        if !summaries.is_empty() && !self.is_plain() {
            for summary in &mut summaries {
                summary.audience = self.audience_of_owners(&summary.id, &summary.owners)?;
            }
        }
        Ok(summaries)
    }

    /// Proposals whose time has run out and for which no event says so.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn newly_expired(&self, now: DateTime<Utc>, limit: usize) -> Result<Vec<ProposalId>> {
        self.ids(EXPIRING, now, limit)
    }

    /// Proposals whose expiry is on record though they are pending: the clock was set back.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn revived(&self, now: DateTime<Utc>, limit: usize) -> Result<Vec<ProposalId>> {
        self.ids(&REVIVED.replace("LIMIT 1", "LIMIT ?2"), now, limit)
    }

    fn ids(&self, sql: &str, now: DateTime<Utc>, limit: usize) -> Result<Vec<ProposalId>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare_cached(sql)?;
            let rows = statement
                .query_map(params![now.timestamp_millis(), limit as i64], |row| row.get(0))?;
            rows.collect()
        };
        query()
            .map_err(|error| self.failed(&error))?
            .into_iter()
            .map(|id| ProposalId::parse(&id))
            .collect()
    }
}

fn millis(time: DateTime<Utc>) -> i64 {
    time.timestamp_millis()
}

fn summary(row: &Row<'_>, now: DateTime<Utc>) -> rusqlite::Result<Summary> {
    let time = |millis: i64| Utc.timestamp_millis_opt(millis).single().unwrap_or_default();
    let expires_at = time(row.get(8)?);
    let status = match row.get::<_, String>(3)?.as_str() {
        "applied" => Status::Applied,
        "rejected" => Status::Rejected,
        _ if now >= expires_at => Status::Expired,
        _ => Status::Pending,
    };
    let id: String = row.get(0)?;
    let count = |index: usize| row.get::<_, i64>(index).map(|count| count.max(0) as usize);
    Ok(Summary {
        id: ProposalId::parse(&id).map_err(|_| rusqlite::Error::InvalidQuery)?,
        prefix: count(1)?.max(id::SHORTEST),
        subject: match row.get::<_, String>(2)?.as_str() {
            "memory" => Subject::Memory,
            _ => Subject::Code,
        },
        status,
        domain: row.get(4)?,
        task: row.get(5)?,
        proposed_by: row.get(6)?,
        created_at: time(row.get(7)?),
        expires_at,
        description: row.get(9)?,
        path: row.get::<_, Option<String>>(10)?.unwrap_or_default(),
        files: count(11)?,
        lines: counts::lines(row, 12)?,
        revisions: count(14)?,
        comments: count(15)?,
        changes_requested: row.get(16)?,
        contested: row.get(17)?,
        checked: row.get(18)?,
        digest: row.get(19)?,
        marked: row.get(20)?,
        recorded_by: row.get(21)?,
        author: row.get(22)?,
        revision: row.get(23)?,
        approvals: row
            .get::<_, Option<String>>(24)?
            .and_then(|text| serde_json::from_str(&text).ok())
            .unwrap_or_default(),
        needs: row.get(25)?,
        audience: Audience::Default,
        owners: row.get(26)?,
        is_undone: row.get(27)?,
        target_ref: row.get(28)?,
    })
}
