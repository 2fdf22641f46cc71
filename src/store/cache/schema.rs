//! Tables of the cache, and how the file is opened.

use std::path::Path;

use rusqlite::Connection;

use crate::database;

/// Raised with every change of the tables or of what is computed into them.
const VERSION: i64 = 36;

/// `lane` has every ref with the tip it was read at and the last commit of it that could be read,
/// `step` every lane commit that counts, and `amount` what was read of a lane in all.
/// `fetched` names the proposals that other clones' lanes have brought news of, until a writer has
/// made their projections follow.
///
/// `part` has the parts of lanes that are forked, and what they go on from, an empty text for nothing and
/// a row each for several; a step or an event that names none is in the chain that keeps the lane's name.
///
/// `path` has the files of each proposal with both sides and the lines of the first that the current
/// revision touches ([`super::relations`]), where these could be told.
///
/// `own` are this clone's lanes as they were when the rest was made, `witness` has the tips of other lanes
/// that it has put on record, and `forked` has the lanes that say
/// which one they go on from.
///
/// `epoch` has the first commit of each epoch with the last position before it and the last commits
/// before it that are here, of several histories one behind the other, which are found from the tips in
/// `bound`. An event that is a line of a
/// snapshot has its `statement` and the `manifest` of that with it, and the first of a proposal the
/// `figures` that lists show of the content that it names.
///
/// `purged` has the proposals that their owners have purged, with the event that says so; of these
/// nothing is folded. `stub` has the proposals of which a lane keeps stubs.
///
/// `added` and `removed` are only there where all the content that is counted was, and below 0 where a file
/// is binary or too large to be counted.
///
/// `approved` has the steps of files that people's decisions have made, each side as mode and id.
/// `staging` is the staging id of a proposal about memory, `decided` when a decision was made, in
/// milliseconds. `owners` are the lanes that hold its first event, or a publication of it. `lower` is
/// the proposal, and `lower_revision` its revision, that the current revision was made on, and `target_ref`
/// the branch. `open` are
/// the paths of those that no event has decided.
///
/// Every question about the newest or the pending ones has an index of its own, so that it costs the
/// same however much has been decided; `plans` in the tests holds the questions to that. Some are made when
/// they are needed first ([`Index`]).
///
/// A list reads many rows of `proposal`, so the proposals themselves, which are large and read one
/// at a time, have a table of their own. Those that only snapshots have are not in it: they are folded
/// from their events when somebody asks.
const TABLES: &str = "
BEGIN IMMEDIATE;
CREATE TABLE lane (
    name TEXT PRIMARY KEY, tip TEXT NOT NULL, seq INTEGER NOT NULL, reached TEXT
) WITHOUT ROWID;
CREATE TABLE step (
    id BLOB PRIMARY KEY, lane TEXT NOT NULL, seq INTEGER NOT NULL, part TEXT
) WITHOUT ROWID;
CREATE TABLE part (
    name TEXT NOT NULL, lane TEXT NOT NULL, onto TEXT NOT NULL, seq INTEGER NOT NULL,
    PRIMARY KEY (name, onto)
) WITHOUT ROWID;
CREATE TABLE amount (
    lane TEXT PRIMARY KEY, commits INTEGER NOT NULL, bytes INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE trouble (
    kind TEXT NOT NULL, name TEXT NOT NULL, lane TEXT NOT NULL, object TEXT NOT NULL,
    proposal TEXT, why TEXT NOT NULL, missing TEXT, awaits INTEGER
);
CREATE INDEX trouble_proposal ON trouble (proposal);
CREATE INDEX trouble_awaits ON trouble (awaits) WHERE awaits IS NOT NULL;
CREATE TABLE event (
    id TEXT NOT NULL, proposal TEXT, lane TEXT NOT NULL, seq INTEGER NOT NULL,
    commit_id TEXT NOT NULL, kind TEXT NOT NULL, time INTEGER NOT NULL, plan TEXT,
    part TEXT, body BLOB NOT NULL, is_line INTEGER NOT NULL DEFAULT 0,
    statement BLOB, manifest BLOB, figures TEXT
);
CREATE INDEX event_purge ON event (proposal) WHERE kind = 'purge';
CREATE INDEX event_plan ON event (plan, lane, seq) WHERE plan IS NOT NULL;
CREATE TABLE proposal (
    id TEXT PRIMARY KEY, prefix INTEGER NOT NULL, subject TEXT NOT NULL, state TEXT NOT NULL,
    domain TEXT, task TEXT, proposed_by TEXT NOT NULL, created INTEGER NOT NULL,
    expires INTEGER NOT NULL, expiry_recorded INTEGER, digest TEXT NOT NULL, description TEXT,
    path TEXT, files INTEGER NOT NULL, added INTEGER, removed INTEGER,
    revisions INTEGER NOT NULL, comments INTEGER NOT NULL, changes_requested INTEGER NOT NULL,
    contested INTEGER NOT NULL, checked INTEGER, marked TEXT, recorded_by TEXT NOT NULL,
    author TEXT NOT NULL, revision TEXT NOT NULL, approvals TEXT, staging TEXT, decided INTEGER,
    needs TEXT, owners TEXT NOT NULL DEFAULT '', lower TEXT, lower_revision TEXT,
    undone INTEGER NOT NULL DEFAULT 0, target_ref TEXT
) WITHOUT ROWID;
CREATE TABLE folded (id TEXT PRIMARY KEY, body BLOB NOT NULL);
CREATE INDEX proposal_open ON proposal (created, id) WHERE state = 'pending'
    AND (expiry_recorded IS NULL OR expiry_recorded <> expires);
CREATE INDEX proposal_revived ON proposal (expires) WHERE state = 'pending'
    AND expiry_recorded = expires;
CREATE INDEX proposal_staging ON proposal (staging) WHERE staging IS NOT NULL;
CREATE INDEX proposal_outcome ON proposal (decided, created, id)
    WHERE staging IS NOT NULL AND decided IS NOT NULL;
CREATE INDEX proposal_lapsed ON proposal (expires, created, id)
    WHERE staging IS NOT NULL AND decided IS NULL;
CREATE INDEX proposal_expiring ON proposal (expires) WHERE state = 'pending'
    AND (expiry_recorded IS NULL OR expiry_recorded <> expires);
CREATE INDEX proposal_digest ON proposal (digest) WHERE state = 'pending';
CREATE INDEX proposal_lower ON proposal (id) WHERE lower IS NOT NULL AND state = 'pending';
CREATE INDEX proposal_contested ON proposal (created) WHERE contested = 1;
CREATE TABLE path (
    path TEXT NOT NULL, proposal TEXT NOT NULL, open INTEGER NOT NULL, before TEXT, after TEXT,
    lines TEXT, PRIMARY KEY (proposal, path)
) WITHOUT ROWID;
CREATE TABLE approved (
    proposal TEXT NOT NULL, number INTEGER NOT NULL, path TEXT NOT NULL, before TEXT, after TEXT,
    PRIMARY KEY (proposal, number)
) WITHOUT ROWID;
CREATE INDEX path_open ON path (path, after, proposal) WHERE open = 1;
CREATE TABLE purged (id TEXT PRIMARY KEY, event TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE stub (
    proposal TEXT NOT NULL, lane TEXT NOT NULL, PRIMARY KEY (proposal, lane)
) WITHOUT ROWID;
CREATE TABLE fetched (proposal TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE own (lane TEXT NOT NULL);
CREATE TABLE witness (tip TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE forked (
    lane TEXT PRIMARY KEY, parent TEXT NOT NULL, seq INTEGER NOT NULL, tip TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE epoch (
    root BLOB PRIMARY KEY, lane TEXT NOT NULL, seq INTEGER NOT NULL, onto BLOB
) WITHOUT ROWID;
CREATE INDEX epoch_lane ON epoch (lane);
CREATE TABLE bound (
    root BLOB NOT NULL, tip BLOB NOT NULL, is_inside INTEGER NOT NULL, PRIMARY KEY (root, tip)
) WITHOUT ROWID;
CREATE TABLE marks (
    revision TEXT PRIMARY KEY, basis TEXT NOT NULL, found TEXT NOT NULL
) WITHOUT ROWID;
PRAGMA user_version = 36;
COMMIT;
";

/// [`Index::Event`]. Not made before the first rows are there, and somebody asks or writes
/// ([`Filling`](super::filling::Filling)): sorted at once, they cost less than one by one, which are in the
/// order of ids and go anywhere.
const OF_EVENTS: &str = "
CREATE UNIQUE INDEX IF NOT EXISTS event_id ON event (id);
CREATE INDEX IF NOT EXISTS event_proposal ON event (proposal);
";

/// An index by which one question is answered. It is made when that is asked first: a clone that has just
/// been made has to be read before anything can be asked, and most questions are about what is pending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    /// Single events, by id, proposal and plan.
    Event,
    /// Events by time.
    Time,
    /// Proposals by time.
    Created,
    /// Proposals by state and time.
    State,
    /// Files by the decisions that made them.
    Approved,
    /// Files by the proposals that change them.
    Path,
}

impl Index {
    /// Every one.
    #[cfg(test)]
    pub(super) const ALL: [Self; 6] =
        [Self::Event, Self::Time, Self::Created, Self::State, Self::Approved, Self::Path];

    fn sql(self) -> &'static str {
        match self {
            Self::Event => OF_EVENTS,
            Self::Time => "CREATE INDEX IF NOT EXISTS event_time ON event (time, seq, id)",
            Self::Created => {
                "CREATE INDEX IF NOT EXISTS proposal_created ON proposal (created, id)"
            }
            Self::State => {
                "CREATE INDEX IF NOT EXISTS proposal_state ON proposal (state, created, id)"
            }
            Self::Approved => "CREATE INDEX IF NOT EXISTS approved_path ON approved (path)",
            Self::Path => "CREATE INDEX IF NOT EXISTS path_path ON path (path, proposal)",
        }
    }
}

/// Opens the cache at `path` and makes its tables if it is new.
///
/// # Errors
/// Whatever is wrong with the file, an older version included.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    database::open(path, VERSION, TABLES)
}

/// Opens the cache at `path` with nothing in it, for this process alone until it is
/// [shared](database::share).
///
/// # Errors
/// As [`open`].
pub(super) fn open_empty(path: &Path) -> rusqlite::Result<Connection> {
    database::open_empty(path, VERSION, TABLES)
}

/// Makes the indices by which single events are found, unless they are there.
///
/// # Errors
/// Those of SQLite.
pub(super) fn index_events(connection: &Connection) -> rusqlite::Result<()> {
    make(connection, Index::Event.sql())
}

/// Sees to it that `index` is there, if it can be: without it answers are the same, and take longer.
pub(super) fn want(connection: &Connection, index: Index) {
    let _ = make(connection, index.sql());
}

fn make(connection: &Connection, sql: &str) -> rusqlite::Result<()> {
    connection.execute_batch(sql).or_else(|error| {
        // What is sorted goes to a temporary file, for which there may be no place.
        if connection.execute_batch("PRAGMA temp_store = MEMORY").is_err() {
            return Err(error);
        }
        connection.execute_batch(sql)
    })
}
