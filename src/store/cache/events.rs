//! Events as the cache keeps them: the audit log, direct patches, plans.

use std::collections::BTreeSet;

use rusqlite::types::Value;
use rusqlite::{OptionalExtension as _, params_from_iter};

use super::budget::Budget;
use super::schema::Index;
use super::{View, forks, lanes};
use crate::error::Result;
use crate::proposal::audit::Own;
use crate::proposal::{Event, ProposalId, Stamped, fold};
use crate::store::Store;
use crate::store::refs::{self, LaneRef};

/// One line of the audit log.
#[derive(Clone, Debug)]
pub struct LogEntry {
    /// The event.
    pub stamped: Stamped,
    /// The lane commit that holds it, hex.
    pub commit: String,
}

impl View {
    /// Events, newest first: of one proposal or of all. Those of other clones are without their
    /// changes, and lanes that say very much are left out behind their newest events.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
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
        let _ = self.by(if id.is_some() { Index::Event } else { Index::Time });
        let (id, left) = (id.cloned(), limit.unwrap_or(usize::MAX));
        LogPages { view: self, id, left, last: None, budget: Budget::default() }
    }

    /// Whether this clone itself has recorded the event `id` (hex): it is in a lane of `store`'s own, at a
    /// position that this has come to. What others add to a lane of the same name is not.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn is_from_here(&self, store: &Store, id: &str) -> Result<bool> {
        let Some(connection) = self.by(Index::Event) else { return Ok(false) };
        let found = connection
            .prepare_cached("SELECT lane, seq FROM event WHERE id = ?1 AND part IS NULL")
            .and_then(|mut statement| {
                let place = |row: &rusqlite::Row<'_>| Ok((row.get::<_, String>(0)?, row.get(1)?));
                statement.query_row([id], place).optional()
            })
            .map_err(|error| self.failed(&error))?;
        let Some((lane, seq)) = found else { return Ok(false) };
        let tips = self.own_tips(store)?;
        Ok(tips.iter().any(|tip| tip.lane == lane && lanes::number(tip.seq) >= seq))
    }

    /// The commit (hex) and the bytes of the event `id` (hex), if it is known.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub(in crate::store) fn body_of_event(&self, id: &str) -> Result<Option<(String, Vec<u8>)>> {
        let Some(connection) = self.by(Index::Event) else { return Ok(None) };
        connection
            .prepare_cached("SELECT commit_id, body FROM event WHERE id = ?1")
            .and_then(|mut statement| {
                statement.query_row([id], |row| Ok((row.get(0)?, row.get(1)?))).optional()
            })
            .map_err(|error| self.failed(&error))
    }

    /// The events of direct patches and of what took them back, oldest first.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn patches(&self) -> Result<Vec<LogEntry>> {
        let _ = self.by(Index::Event);
        self.events("WHERE proposal IS NULL AND kind IN ('patch', 'undo') ORDER BY time, seq", [])
    }

    /// Those of the events `ids` (hex) that are known, in the order in which they are folded: a lane's own, then what
    /// each had seen, then time; see [`fold::order`].
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn in_order(&self, ids: &[&str]) -> Result<Vec<String>> {
        let _ = self.by(Index::Event);
        let mut entries = Vec::with_capacity(ids.len());
        for id in ids {
            entries.extend(self.events("WHERE id = ?1", [id])?);
        }
        let events = self.untangled(entries)?;
        Ok(fold::order(&events).into_iter().map(|event| event.id.clone()).collect())
    }

    /// The last event of the plan of `branch`, in causal order. The others are not read: however
    /// long its history is, a plan is changed in the same time.
    ///
    /// # Errors
    /// `internal_error` if the cache cannot be read; `cache_tampered` if it does not fit the lanes.
    pub fn plan_tip(&self, branch: &str) -> Result<Option<Stamped>> {
        let _ = self.by(Index::Event);
        // In each lane the last one counts, and of those the one that had seen the others.
        let entries = self.events(
            "WHERE plan = ?1 AND seq = (SELECT max(seq) FROM event AS other
             WHERE other.plan = ?1 AND other.lane = event.lane AND other.part IS event.part)",
            [branch],
        )?;
        let tips = self.untangled(entries)?;
        let last =
            |tip: &&Stamped| tips.iter().all(|other| other.id == tip.id || fold::saw(tip, other));
        match tips.iter().find(last) {
            Some(tip) => Ok(Some(tip.clone())),
            None if tips.is_empty() => Ok(None),
            // Two clones changed it without knowing of each other.
            None => {
                let all = self.untangled(self.events("WHERE plan = ?1", [branch])?)?;
                Ok(fold::order(&all).pop().cloned())
            }
        }
    }

    /// These events with lanes and heads that name chains.
    fn untangled(&self, entries: Vec<LogEntry>) -> Result<Vec<Stamped>> {
        let Some(connection) = self.by(Index::Event) else { return Ok(Vec::new()) };
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
        query().map_err(|error| self.failed(&error))
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
        query().map_err(|error| self.failed(&error))?;
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
