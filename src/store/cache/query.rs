//! Questions to the cache.

use std::collections::BTreeSet;

use chrono::{DateTime, TimeZone as _, Utc};
use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, Row, params, params_from_iter};

use super::gather::{Budget, Parsed};
use super::{Filter, View, counts, failed, forks, lanes, update};
use crate::changeset::RepoPath;
use crate::changeset::hunks::Counts;
use crate::error::{Error, Result};
use crate::plan::Key;
use crate::proposal::audit::Own;
use crate::proposal::document::Approval;
use crate::proposal::event::Subject;
use crate::proposal::steps::Step;
use crate::proposal::{Entry, Event, Proposal, ProposalId, Stamped, Status, codes, fold, id};
use crate::store::Audience;
use crate::store::refs::{self, LaneRef};

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
    /// Lines added and removed; nothing where the content of the files is not here.
    pub counts: Option<Counts>,
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
    /// Whom it is for.
    pub audience: Audience,
    /// The lanes that hold its first event, or a publication of it, one behind the other.
    owners: String,
}

/// One line of the audit log.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// The event.
    pub stamped: Stamped,
    /// The lane commit that holds it, hex.
    pub commit: String,
}

pub(super) const SUMMARY: &str =
    "SELECT id, prefix, subject, state, domain, task, proposed_by, created,
    expires, description, path, files, added, removed, revisions, comments, changes_requested,
    contested, checked, digest, marked, recorded_by, author, revision, approvals, needs, owners FROM proposal";

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

/// Those whose staging id lies between two texts.
pub(super) const STAGING: &str = "SELECT staging, id FROM proposal
    WHERE staging IS NOT NULL AND staging >= ?1 AND staging < ?2 ORDER BY created DESC, id DESC";

/// The files of the undecided ones.
pub(super) const OPEN_PATHS: &str = "SELECT path, proposal, before, after FROM path INDEXED BY path_open WHERE open = 1 ORDER BY path";

/// The undecided ones that change a file.
pub(super) const TOUCHING: &str = "WHERE id IN
    (SELECT proposal FROM path INDEXED BY path_open WHERE path = ?1 AND open = 1)
    AND +state = 'pending' AND +expires > ?2 ORDER BY created, id";

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
    /// `internal_error` if the cache cannot be read.
    pub fn touching(&self, path: &RepoPath, now: DateTime<Utc>) -> Result<Vec<Summary>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<Summary>> {
            let mut statement = connection.prepare_cached(&format!("{SUMMARY} {TOUCHING}"))?;
            let values = params![path.display().to_string(), millis(now)];
            let rows = statement.query_map(values, |row| summary(row, now))?;
            rows.collect()
        };
        self.with_audiences(query().map_err(|error| failed(&error))?)
    }

    /// The proposals that `filter` lets through, oldest first unless it says otherwise.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn proposals(&self, filter: &Filter, now: DateTime<Utc>) -> Result<Vec<Summary>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<Summary>> {
            let open =
                filter.is_open() && !connection.prepare_cached(REVIVED)?.exists([millis(now)])?;
            let (narrowed, values) = filter.sql(now, open);
            let mut statement = connection.prepare_cached(&format!("{SUMMARY}{narrowed}"))?;
            let rows = statement.query_map(params_from_iter(values), |row| summary(row, now))?;
            rows.collect()
        };
        let mut summaries = query().map_err(|error| failed(&error))?;
        self.count(&mut summaries)?;
        self.with_audiences(summaries)
    }

    /// The ids of [`View::proposals`].
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn ids_of(&self, filter: &Filter, now: DateTime<Utc>) -> Result<Vec<ProposalId>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<String>> {
            let open =
                filter.is_open() && !connection.prepare_cached(REVIVED)?.exists([millis(now)])?;
            let (narrowed, values) = filter.sql(now, open);
            let mut statement =
                connection.prepare_cached(&format!("SELECT id FROM proposal{narrowed}"))?;
            let rows = statement.query_map(params_from_iter(values), |row| row.get(0))?;
            rows.collect()
        };
        let ids = query().map_err(|error| failed(&error))?;
        ids.iter().map(|id| ProposalId::parse(id)).collect()
    }

    /// The steps that people's decisions have made of the file at `path`: of many, those of the
    /// newest proposals.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn approved_steps(&self, path: &RepoPath) -> Result<Vec<(ProposalId, Step)>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
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
                    Ok(row.get_ref(at)?.as_str_or_null()?.and_then(update::entry))
                };
                let id: String = row.get(0)?;
                let step = Step { path: path.clone(), before: side(1)?, after: side(2)? };
                steps.extend(ProposalId::parse(&id).ok().map(|id| (id, step)));
            }
            Ok(steps)
        };
        query().map_err(|error| failed(&error))
    }

    /// Whether a person's decision has made `after` of the file at `path`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn has_step_to(&self, path: &RepoPath, after: &Option<Entry>) -> Result<bool> {
        let Some(connection) = &self.connection else { return Ok(false) };
        let values = params![path.display().to_string(), after.as_ref().map(update::side)];
        connection
            .prepare_cached("SELECT 1 FROM approved WHERE path = ?1 AND after IS ?2")
            .and_then(|mut statement| statement.exists(values))
            .map_err(|error| failed(&error))
    }

    /// Proposals that were decided differently in two clones, oldest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn contested(&self, now: DateTime<Utc>) -> Result<Vec<Summary>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<Summary>> {
            let mut statement = connection
                .prepare_cached(&format!("{SUMMARY} WHERE contested = 1 ORDER BY created, id"))?;
            let rows = statement.query_map([], |row| summary(row, now))?;
            rows.collect()
        };
        self.with_audiences(query().map_err(|error| failed(&error))?)
    }

    /// When the last of the `most` newest applied proposals was decided.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn last_applied(&self, most: usize) -> Result<Option<DateTime<Utc>>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        let last: Option<i64> = connection
            .query_row(
                "SELECT max(decided) FROM (SELECT decided FROM proposal WHERE state = 'applied'
                 ORDER BY created DESC, id DESC LIMIT ?1)",
                [most as i64],
                |row| row.get(0),
            )
            .map_err(|error| failed(&error))?;
        Ok(last.and_then(|last| Utc.timestamp_millis_opt(last).single()))
    }

    /// True if anything has ever been recorded.
    pub fn has_events(&self) -> bool {
        self.connection.is_some()
    }

    /// True if a proposal is pending at `now`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn has_pending(&self, now: DateTime<Utc>) -> Result<bool> {
        let Some(connection) = &self.connection else { return Ok(false) };
        let exists = |sql| connection.prepare_cached(sql)?.exists([millis(now)]);
        exists(ANY_PENDING)
            .and_then(|found| if found { Ok(true) } else { exists(REVIVED) })
            .map_err(|error| failed(&error))
    }

    /// How many proposals are pending at `now`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn count_pending(&self, now: DateTime<Utc>) -> Result<usize> {
        let Some(connection) = &self.connection else { return Ok(0) };
        connection
            .query_row(
                "SELECT count(*) FROM proposal WHERE state = 'pending' AND expires > ?1",
                [now.timestamp_millis()],
                |row| row.get::<_, i64>(0),
            )
            .map(|count| count as usize)
            .map_err(|error| failed(&error))
    }

    /// The one proposal that `text` (an id or the beginning of one) names.
    ///
    /// # Errors
    /// `invalid_id`, `proposal_not_found`, `ambiguous_id` with the candidates.
    pub fn resolve(&self, text: &str) -> Result<ProposalId> {
        if is_staging_id(text)
            && let Some(id) = self.staged(text)?
        {
            return Ok(id);
        }
        let prefix = id::normalize(text)?;
        let mut found = Vec::new();
        if let Some(connection) = &self.connection {
            let query = || -> rusqlite::Result<Vec<(String, Option<String>)>> {
                let mut statement = connection.prepare_cached(
                    "SELECT id, description FROM proposal WHERE id >= ?1 AND id < ?2
                     UNION SELECT id, NULL FROM purged WHERE id >= ?1 AND id < ?2
                     ORDER BY id LIMIT 6",
                )?;
                // '{' is the character behind 'z'.
                let rows = statement.query_map(params![prefix, format!("{prefix}{{")], |row| {
                    Ok((row.get(0)?, row.get(1)?))
                })?;
                rows.collect()
            };
            found = query().map_err(|error| failed(&error))?;
        }
        match found.as_slice() {
            [(one, _)] => ProposalId::parse(one),
            [] => Err(Error::new(&codes::PROPOSAL_NOT_FOUND, format!("no proposal '{text}'"))
                .with("proposal_id", text)
                .hint("`aye list` shows the pending ones, `aye list --status all` all")),
            several => {
                let named: Vec<String> = several.iter().map(named).collect();
                let ids: Vec<&str> = several.iter().map(|(id, _)| id.as_str()).collect();
                let message = format!("'{text}' begins several ids: {}", named.join(", "));
                Err(Error::new(&codes::AMBIGUOUS_ID, message)
                    .with("candidates", ids)
                    .hint("type more characters of the one you mean"))
            }
        }
    }

    /// The memory proposal whose staging id is `text`, or the only one whose id begins so.
    fn staged(&self, text: &str) -> Result<Option<ProposalId>> {
        let found = self.staging(text)?;
        if let Some((_, id)) = found.iter().rev().find(|(id, _)| id == text) {
            return Ok(Some(id.clone()));
        }
        match found.as_slice() {
            [] => Ok(None),
            [(_, id)] => Ok(Some(id.clone())),
            several => {
                let ids: Vec<&str> = several.iter().map(|(id, _)| id.as_str()).collect();
                Err(Error::new(
                    &codes::AMBIGUOUS_ID,
                    format!("'{text}' begins several ids: {}", ids.join(", ")),
                )
                .hint("type more characters of the one you mean"))
            }
        }
    }

    /// The memory proposals whose staging id begins with `prefix`, newest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn staging(&self, prefix: &str) -> Result<Vec<(String, ProposalId)>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<(String, String)>> {
            let mut statement = connection.prepare_cached(STAGING)?;
            let end = format!("{prefix}{}", char::MAX);
            let rows = statement.query_map([prefix, &end], |row| Ok((row.get(0)?, row.get(1)?)))?;
            rows.collect()
        };
        let found = query().map_err(|error| failed(&error))?;
        found.into_iter().map(|(staging, id)| Ok((staging, ProposalId::parse(&id)?))).collect()
    }

    /// The memory proposals with a staging id that were decided or ran out last, at most `most`, the
    /// latest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
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
        let mut found = query().map_err(|error| failed(&error))?;
        found.sort_by(|a, b| b.cmp(a));
        found.iter().take(most).map(|(_, _, id)| ProposalId::parse(id)).collect()
    }

    /// A proposal as the cache keeps it, unread. `None` where it is not kept in full.
    pub(in crate::store) fn body(&self, id: &ProposalId) -> Result<Option<Vec<u8>>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        connection
            .prepare_cached("SELECT body FROM folded WHERE id = ?1")
            .and_then(|mut body| body.query_row([id.as_str()], |row| row.get(0)).optional())
            .map_err(|error| failed(&error))
    }

    /// Hands each file that an undecided proposal changes to `each`, by path: with the proposal's id
    /// and both sides as `update::side` writes them.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
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
        query().map_err(|error| failed(&error))
    }

    /// A proposal with everything that happened to it.
    ///
    /// # Errors
    /// `proposal_not_found`.
    pub fn proposal(&self, id: &ProposalId) -> Result<Proposal> {
        let Some(body) = self.body(id)? else {
            if let Some(proposal) = self.folded_away(id).map_err(|error| failed(&error))? {
                return Ok(proposal);
            }
            return Err(match self.purge_of(id)? {
                Some(record) => record.error(),
                None => Error::new(&codes::PROPOSAL_NOT_FOUND, format!("no proposal '{id}'"))
                    .with("proposal_id", id.as_str())
                    .hint("`aye list --status all` shows all"),
            });
        };
        serde_json::from_slice(&body)
            .map_err(|error| Error::bug(format!("{id} cannot be read from the cache: {error}")))
    }

    /// The proposal `id` where only snapshots have it: folded from its events.
    fn folded_away(&self, id: &ProposalId) -> rusqlite::Result<Option<Proposal>> {
        let Some(connection) = &self.connection else { return Ok(None) };
        let is_there = connection
            .prepare_cached("SELECT 1 FROM proposal WHERE id = ?1")?
            .exists([id.as_str()])?;
        if !is_there {
            return Ok(None);
        }
        let (forks, own) = (forks::load(connection)?, lanes::own(connection)?);
        let folded = update::folded(
            &self.repo,
            connection,
            &forks,
            id.as_str(),
            Own(&own),
            None,
            &mut Parsed::default(),
        )?;
        Ok(folded.proposal)
    }

    /// [`View::resolve`] and [`View::proposal`] in one. `ID@REV` also holds the current revision to
    /// the beginning of its event id.
    ///
    /// # Errors
    /// As those; `revised_meanwhile`.
    pub fn find(&self, text: &str) -> Result<Proposal> {
        match text.split_once('@') {
            None => self.proposal(&self.resolve(text)?),
            Some((id, revision)) => {
                let proposal = self.proposal(&self.resolve(id)?)?;
                proposal.require_revision_prefix(revision)?;
                Ok(proposal)
            }
        }
    }

    /// How many characters behind `prop_` suffice to name `proposal`.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn prefix(&self, proposal: &ProposalId) -> Result<usize> {
        let Some(connection) = &self.connection else { return Ok(id::SHORTEST) };
        let found: Option<i64> = connection
            .query_row("SELECT prefix FROM proposal WHERE id = ?1", [proposal.as_str()], |row| {
                row.get(0)
            })
            .optional()
            .map_err(|error| failed(&error))?;
        Ok((found.unwrap_or(1) as usize).max(id::SHORTEST))
    }

    /// A pending proposal with the same digest of changes and of the same subject.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
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
        for id in query().map_err(|error| failed(&error))? {
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
    /// `internal_error` if the cache cannot be read.
    pub fn newly_expired(&self, now: DateTime<Utc>, limit: usize) -> Result<Vec<ProposalId>> {
        self.ids(EXPIRING, now, limit)
    }

    /// Proposals whose expiry is on record though they are pending: the clock was set back.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
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
            .map_err(|error| failed(&error))?
            .into_iter()
            .map(|id| ProposalId::parse(&id))
            .collect()
    }

    /// Events, newest first: of one proposal or of all. Those of other clones are without their
    /// changes, and lanes that say very much are left out behind their newest events.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn log(&self, id: Option<&ProposalId>, limit: Option<usize>) -> Result<Vec<LogEntry>> {
        let mut all = Vec::new();
        for page in self.log_pages(id, limit) {
            all.extend(page?);
        }
        Ok(all)
    }

    /// The same in pages of at most [`PAGE`] events. Between two pages nothing keeps the cache from
    /// being written, however long somebody reads.
    pub fn log_pages(&self, id: Option<&ProposalId>, limit: Option<usize>) -> LogPages<'_> {
        let (id, left) = (id.cloned(), limit.unwrap_or(usize::MAX));
        LogPages { view: self, id, left, last: None, budget: Budget::default() }
    }

    /// The events of direct patches and of what took them back, oldest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn patches(&self) -> Result<Vec<LogEntry>> {
        self.events("WHERE proposal IS NULL AND kind IN ('patch', 'undo') ORDER BY time, seq", [])
    }

    /// The events of one plan, in causal order; with `last`, at least so many of the newest.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn plan_events(&self, key: &Key, last: Option<usize>) -> Result<Vec<Stamped>> {
        // In one lane the newest are known by their numbers; between lanes each event says what
        // it had seen, and all have to be read.
        let entries = match last.and_then(|last| i64::try_from(last).ok()) {
            Some(last) => self.events(
                "WHERE plan = ?1 AND (
                     (SELECT min(lane) <> max(lane) OR max(part) IS NOT NULL
                      FROM event WHERE plan = ?1)
                     OR seq >= ifnull((SELECT seq FROM event WHERE plan = ?1
                                       ORDER BY seq DESC LIMIT 1 OFFSET ?2), 0))",
                params![key.to_text(), last.saturating_sub(1)],
            )?,
            None => self.events("WHERE plan = ?1", [key.to_text()])?,
        };
        let events = self.untangled(entries)?;
        Ok(fold::order(&events).into_iter().cloned().collect())
    }

    /// The last of [`View::plan_events`], without reading the others: however long its history
    /// is, a plan is changed in the same time.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn plan_tip(&self, key: &Key) -> Result<Option<Stamped>> {
        // In each lane the last one counts, and of those the one that had seen the others.
        let entries = self.events(
            "WHERE plan = ?1 AND seq = (SELECT max(seq) FROM event AS other
             WHERE other.plan = ?1 AND other.lane = event.lane AND other.part IS event.part)",
            [key.to_text()],
        )?;
        let tips = self.untangled(entries)?;
        let last =
            |tip: &&Stamped| tips.iter().all(|other| other.id == tip.id || fold::saw(tip, other));
        match tips.iter().find(last) {
            Some(tip) => Ok(Some(tip.clone())),
            None if tips.is_empty() => Ok(None),
            // Two clones changed it without knowing of each other.
            None => Ok(self.plan_events(key, None)?.pop()),
        }
    }

    /// These events with lanes and heads that name chains.
    fn untangled(&self, entries: Vec<LogEntry>) -> Result<Vec<Stamped>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<Stamped>> {
            let forks = forks::load(connection)?;
            let mut events = Vec::with_capacity(entries.len());
            for mut entry in entries {
                let event = &mut entry.stamped.event;
                if forks.is_forked(&event.lane) {
                    let part: Option<String> = connection
                        .prepare_cached("SELECT part FROM event WHERE id = ?1")?
                        .query_row([&entry.stamped.id], |row| row.get(0))?;
                    forks::untangle(connection, &forks, event, part.as_deref(), Own::default());
                } else {
                    forks::untangle(connection, &forks, event, None, Own::default());
                }
                events.push(entry.stamped);
            }
            Ok(events)
        };
        query().map_err(|error| failed(&error))
    }

    /// The plans that were ever set on `branch`, in order of name.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read.
    pub fn plans(&self, branch: &str) -> Result<Vec<Key>> {
        let Some(connection) = &self.connection else { return Ok(Vec::new()) };
        let query = || -> rusqlite::Result<Vec<String>> {
            let mut statement = connection.prepare_cached(
                "SELECT DISTINCT plan FROM event WHERE plan > ?1 AND plan < ?2 ORDER BY plan",
            )?;
            // A vertical tab is the character behind a line feed.
            let rows = statement
                .query_map([format!("{branch}\n"), format!("{branch}\u{b}")], |row| row.get(0))?;
            rows.collect()
        };
        let texts = query().map_err(|error| failed(&error))?;
        Ok(texts.iter().filter_map(|text| Key::from_text(text)).collect())
    }

    /// The events that `narrowed` selects.
    fn events(&self, narrowed: &str, values: impl rusqlite::Params) -> Result<Vec<LogEntry>> {
        let mut found = Vec::new();
        self.each_event(narrowed, values, &mut Budget::default(), false, |entry| {
            found.push(entry)
        })?;
        Ok(found)
    }

    /// Hands the events that `narrowed` selects to `found`, as far as `budget` admits them; `light`
    /// without what they change. Returns how many rows there were.
    fn each_event(
        &self,
        narrowed: &str,
        values: impl rusqlite::Params,
        budget: &mut Budget,
        light: bool,
        mut found: impl FnMut(LogEntry),
    ) -> Result<Rows> {
        let mut seen = Rows::default();
        let Some(connection) = &self.connection else { return Ok(seen) };
        let local = self.lanes.iter().filter(|lane| refs::is_local(&lane.name));
        let local: BTreeSet<&str> = local.map(LaneRef::lane).collect();
        let query = || -> rusqlite::Result<()> {
            let mut statement = connection.prepare_cached(&format!("{EVENTS}{narrowed}"))?;
            let mut rows = statement.query(values)?;
            while let Some(row) = rows.next()? {
                seen.count += 1;
                seen.last = Some((row.get(4)?, row.get(5)?, row.get(0)?));
                let body = row.get_ref(2)?.as_bytes().unwrap_or_default();
                let lane = row.get_ref(3)?.as_str().unwrap_or_default();
                let is_foreign = !local.contains(lane);
                if is_foreign && !light && !budget.admits(lane, body) {
                    continue;
                }
                if let Ok(mut event) = Event::from_bytes(body) {
                    if is_foreign && light && !budget.admits_light(lane, &mut event) {
                        continue;
                    }
                    found(LogEntry {
                        stamped: Stamped { id: row.get(0)?, event },
                        commit: row.get(1)?,
                    });
                }
            }
            Ok(())
        };
        query().map_err(|error| failed(&error))?;
        Ok(seen)
    }
}

/// An event as the other questions want it, with its place in the order of the log.
pub(super) const EVENTS: &str = "SELECT id, commit_id, body, lane, time, seq FROM event ";

/// The place of an event in the order of the log: time, position in its lane, id.
type Place = (i64, i64, String);

/// Rows that were read.
#[derive(Default)]
struct Rows {
    count: usize,
    last: Option<Place>,
}

/// Most events of one page of the log.
pub const PAGE: usize = 500;

/// What selects a page of the log: of all proposals or of one, from the newest or behind a place.
pub(super) fn page_sql(of_one: bool, behind: bool) -> String {
    let mut terms = vec![
        "(kind = 'purge' OR NOT EXISTS (SELECT 1 FROM purged WHERE purged.id = event.proposal))",
    ];
    if of_one {
        terms.push("proposal = ?");
    }
    if behind {
        terms.push("(time, seq, id) < (?, ?, ?)");
    }
    format!("WHERE {} ORDER BY time DESC, seq DESC, id DESC LIMIT ?", terms.join(" AND "))
}

/// The pages of [`View::log_pages`].
pub struct LogPages<'v> {
    view: &'v View,
    id: Option<ProposalId>,
    /// How many rows may still be read.
    left: usize,
    /// Where the page before ended.
    last: Option<Place>,
    budget: Budget,
}

impl Iterator for LogPages<'_> {
    type Item = Result<Vec<LogEntry>>;

    fn next(&mut self) -> Option<Self::Item> {
        let most = self.left.min(PAGE);
        if most == 0 {
            return None;
        }
        let sql = page_sql(self.id.is_some(), self.last.is_some());
        let mut values: Vec<Value> = Vec::new();
        values.extend(self.id.as_ref().map(|id| id.to_string().into()));
        if let Some((time, seq, id)) = self.last.take() {
            values.extend([time.into(), seq.into(), id.into()]);
        }
        values.push((most as i64).into());
        let mut page = Vec::with_capacity(most);
        let values = params_from_iter(values);
        let read = self.view.each_event(&sql, values, &mut self.budget, true, |entry| {
            page.push(entry);
        });
        match read {
            Err(error) => {
                self.left = 0;
                Some(Err(error))
            }
            Ok(rows) => {
                self.left = if rows.count < most { 0 } else { self.left - most };
                self.last = rows.last;
                (rows.count > 0).then_some(Ok(page))
            }
        }
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
        counts: counts::counts(row, 12)?,
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
    })
}

/// Whether a text is (the beginning of) a staging id, which starts with a date and a `T`.
fn is_staging_id(text: &str) -> bool {
    text.len() >= 9
        && text.as_bytes()[8] == b'T'
        && text.bytes().take(8).all(|b| b.is_ascii_digit())
        && text.is_ascii()
}

/// An id with the beginning of its description.
fn named((id, description): &(String, Option<String>)) -> String {
    let line = description.as_deref().and_then(|text| text.lines().next()).unwrap_or_default();
    match line.chars().count() {
        0 => id.clone(),
        count if count <= MOST_NAMED => format!("{id} ({line})"),
        _ => format!("{id} ({}…)", line.chars().take(MOST_NAMED).collect::<String>()),
    }
}

/// Characters of a description beside an id.
const MOST_NAMED: usize = 40;
