//! The row of a proposal in the cache, and those of its paths and approved steps.

use rusqlite::{CachedStatement, OptionalExtension as _, Transaction, params};

use super::counts::{self, Counted, counted};
use super::{budget, relations};
use crate::changeset::hunks::{Counts, Lines};
use crate::proposal::event::Subject;
use crate::proposal::{ActorKind, Entry, Proposal, ProposalId, State, document, steps};

/// Bytes of a text that a list shows, of whatever lane: it is one line there.
const MOST_LISTED: usize = 64 << 10;

/// Approvals of one proposal that a list has: the newest.
const MOST_APPROVALS: usize = 100;

/// As it is in the cache.
pub(super) fn body(proposal: &Proposal) -> Vec<u8> {
    serde_json::to_vec(proposal).unwrap_or_default()
}

/// The word for a state in the cache.
pub(super) fn word(state: &State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Applied(_) => "applied",
        State::Rejected(_) => "rejected",
    }
}

/// A row of `proposal`.
const INSERT: &str = "INSERT OR REPLACE INTO proposal (id, prefix, subject, state, domain, task,
    proposed_by, created, expires, expiry_recorded, digest, description, path, files,
    added, removed, revisions, comments, changes_requested, contested, checked, marked,
    recorded_by, author, revision, approvals, staging, decided, needs, owners,
    lower, lower_revision, undone, target_ref)
    VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19,
    ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28, ?29, ?30, ?31, ?32, ?33, ?34)";

/// The same of a row that is there, where what no event changes is as it was: SQLite writes the indices
/// of the columns that are set, and no others.
const UPDATE: &str = "UPDATE proposal SET state = ?4, domain = ?5, task = ?6, proposed_by = ?7,
    expires = ?9, expiry_recorded = ?10, digest = ?11, description = ?12, path = ?13, files = ?14,
    added = ?15, removed = ?16, revisions = ?17, comments = ?18, changes_requested = ?19,
    contested = ?20, checked = ?21, marked = ?22, recorded_by = ?23, author = ?24, revision = ?25,
    approvals = ?26, decided = ?28, needs = ?29, owners = ?30, lower = ?31,
    lower_revision = ?32, undone = ?33, target_ref = ?34
    WHERE id = ?1 AND prefix = ?2 AND subject = ?3 AND created = ?8 AND staging IS ?27";

/// A row of `proposal` as it was.
pub(super) struct Stored {
    prefix: i64,
    pub(super) digest: String,
    pub(super) lines: Lines,
    /// It is pending.
    pub(super) is_open: bool,
}

/// The row of the proposal `id`, if there is one.
fn stored(transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<Option<Stored>> {
    transaction
        .prepare_cached("SELECT prefix, digest, added, removed, state FROM proposal WHERE id = ?1")?
        .query_row([id], |row| {
            Ok(Stored {
                prefix: row.get(0)?,
                digest: row.get(1)?,
                lines: counts::lines(row, 2)?,
                is_open: row.get_ref(4)?.as_str()? == word(&State::Pending),
            })
        })
        .optional()
}

/// The row with the highest id, with its prefix: what comes behind it is new, and has no other neighbour.
/// Snapshots are in this order.
pub(super) fn last(transaction: &Transaction<'_>) -> rusqlite::Result<Option<(String, i64)>> {
    transaction
        .prepare_cached("SELECT id, prefix FROM proposal ORDER BY id DESC LIMIT 1")?
        .query_row([], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()
}

/// Statements that add rows: looking each up takes a while, for a hundred thousand proposals.
pub(super) struct Tables<'t> {
    proposal: CachedStatement<'t>,
    path: CachedStatement<'t>,
    approved: CachedStatement<'t>,
}

impl<'t> Tables<'t> {
    pub(super) fn new(transaction: &'t Transaction<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            proposal: transaction.prepare_cached(INSERT)?,
            path: transaction.prepare_cached(
                "INSERT OR IGNORE INTO path (path, proposal, open, before, after, lines)
                 VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
            )?,
            approved: transaction.prepare_cached(
                "INSERT INTO approved (proposal, number, path, before, after)
                 VALUES (?1, ?2, ?3, ?4, ?5)",
            )?,
        })
    }
}

/// What is known of a proposal beside itself.
pub(super) struct Known<'k> {
    /// The digest of its current changes.
    pub(super) digest: String,
    /// What the lane that it begins in counts of these, in a snapshot.
    pub(super) said: Option<Counts>,
    /// Only snapshots have it.
    pub(super) is_archived: bool,
    /// The lanes that hold its first event, or a publication of it.
    pub(super) owners: &'k str,
}

/// What only snapshots have (`is_archived`) is decided, and nobody asks much of it: that is folded
/// whenever somebody does, instead of being kept in full.
pub(super) fn store(
    repo: &gix::Repository,
    (transaction, tables): (&Transaction<'_>, &mut Tables<'_>),
    proposal: &Proposal,
    Known { digest, said, is_archived, owners }: Known<'_>,
    last: &mut Option<(String, i64)>,
) -> rusqlite::Result<()> {
    let changes = &proposal.current().changes;
    let state = word(&proposal.state);
    let id = proposal.id.as_str();
    let is_last = last.as_ref().is_none_or(|(last, _)| last.as_str() < id);
    let known = if is_last { None } else { stored(transaction, id)? };
    let prefix = match &known {
        Some(known) => known.prefix,
        None if is_last => match last.take() {
            None => 1,
            Some(last) => part(transaction, id, last)?,
        },
        None => prefix(transaction, &proposal.id)?,
    };
    if is_last {
        *last = Some((id.to_owned(), prefix));
    }
    let Counted { total, lines } = counted(repo, proposal, &digest, said, known.as_ref());
    let approvals = (!proposal.approvals.is_empty()).then(|| {
        let all = document::approvals(proposal);
        let newest = &all[all.len().saturating_sub(MOST_APPROVALS)..];
        serde_json::to_string(newest).unwrap_or_default()
    });
    let (added, removed) = counts::columns(total);
    let path = changes.first().map(|change| change.path.display().to_string());
    let lower = proposal.current().on.as_ref();
    let target = proposal.current().target.as_ref().and_then(|target| target.name.as_deref());
    let values = params![
        id,
        prefix,
        proposal.subject.as_str(),
        state,
        proposal.domain,
        proposal.related_task_id,
        proposal.proposed_by,
        proposal.created_at.timestamp_millis(),
        proposal.expires_at.timestamp_millis(),
        proposal.expiry_recorded.map(|at| at.timestamp_millis()),
        digest,
        proposal.description.as_deref().map(|text| budget::capped(text, MOST_LISTED)),
        path,
        changes.len() as i64,
        added,
        removed,
        proposal.revisions.len() as i64,
        proposal.comments.len() as i64,
        proposal.changes_requested.is_some(),
        proposal.contested,
        // A check that an agent ran says what the agent wants to have said.
        proposal
            .check()
            .filter(|check| check.kind() != ActorKind::Agent)
            .map(|check| i64::from(check.check.exit_code.unwrap_or(-1))),
        proposal.mark().map(|mark| mark.verdict.as_str()),
        proposal.actor.name,
        proposal.current().actor.name,
        proposal.current().event,
        approvals,
        proposal.staging_id().filter(|_| proposal.subject == Subject::Memory),
        proposal.decision().map(|decision| decision.at.timestamp_millis()),
        proposal.needs,
        owners,
        lower.map(|on| on.proposal.as_str()),
        lower.map(|on| on.revision.as_str()),
        !proposal.undone.is_empty(),
        target.map(|name| budget::capped(name, MOST_LISTED)),
    ];
    // What says the same in the indices stays where it is in them.
    let is_updated = known.is_some() && transaction.prepare_cached(UPDATE)?.execute(values)? > 0;
    if !is_updated {
        tables.proposal.execute(values)?;
    }
    keep(transaction, proposal, known.is_some(), is_archived)?;
    // What has run out is pending again where the clock is set back, so that it is not left out.
    let open = proposal.state == State::Pending;
    let is_known = known.is_some();
    let was_open = known.filter(|known| known.digest == digest).map(|known| known.is_open);
    if was_open == Some(true) && !open {
        // Nobody asks any more which lines it touches; a cache that never had them says the same.
        transaction
            .prepare_cached("UPDATE path SET open = 0, lines = NULL WHERE proposal = ?1")?
            .execute(params![id])?;
    } else if was_open != Some(open) {
        if is_known {
            transaction.prepare_cached("DELETE FROM path WHERE proposal = ?1")?.execute([id])?;
        }
        for (at, change) in changes.iter().enumerate() {
            tables.path.execute(params![
                change.path.display().to_string(),
                id,
                open,
                change.before.as_ref().map(side),
                change.after.as_ref().map(side),
                lines.get(at).and_then(|lines| lines.as_deref().and_then(relations::ranges)),
            ])?;
        }
    }
    approve((transaction, tables), proposal, is_known)
}

/// Keeps the whole of `proposal`, unless it `is_archived`.
fn keep(
    transaction: &Transaction<'_>,
    proposal: &Proposal,
    is_known: bool,
    is_archived: bool,
) -> rusqlite::Result<()> {
    let id = proposal.id.as_str();
    if is_archived {
        if is_known {
            transaction.prepare_cached("DELETE FROM folded WHERE id = ?1")?.execute([id])?;
        }
        return Ok(());
    }
    let body = body(proposal);
    let mut update = transaction.prepare_cached("UPDATE folded SET body = ?2 WHERE id = ?1")?;
    if !is_known || update.execute(params![id, body])? == 0 {
        transaction
            .prepare_cached("INSERT OR REPLACE INTO folded (id, body) VALUES (?1, ?2)")?
            .execute(params![id, body])?;
    }
    Ok(())
}

/// Notes which steps of files a person's decision on `proposal` has made.
fn approve(
    (transaction, tables): (&Transaction<'_>, &mut Tables<'_>),
    proposal: &Proposal,
    is_known: bool,
) -> rusqlite::Result<()> {
    if is_known {
        transaction
            .prepare_cached("DELETE FROM approved WHERE proposal = ?1")?
            .execute([proposal.id.as_str()])?;
    }
    let decided = proposal.applies().filter(|decision| decision.is_by_a_person());
    let steps = decided.flat_map(|decision| steps::of_events(proposal, decision));
    for (number, step) in (0_i64..).zip(steps) {
        tables.approved.execute(params![
            proposal.id.as_str(),
            number,
            step.path.display().to_string(),
            step.before.as_ref().map(side),
            step.after.as_ref().map(side),
        ])?;
    }
    Ok(())
}

/// Mode and id of one side of a step.
pub(super) fn side(entry: &Entry) -> String {
    format!("{} {}", entry.mode, entry.id)
}

/// As [`side`] wrote it.
pub(super) fn entry(side: &str) -> Option<Entry> {
    let (mode, id) = side.split_once(' ')?;
    Some(Entry::new(id, mode))
}

/// Length of the shortest prefix (behind `prop_`) that names only this new proposal; lengthens those
/// of its two neighbours where they share more with it than with each other.
fn prefix(transaction: &Transaction<'_>, id: &ProposalId) -> rusqlite::Result<i64> {
    let mut longest = 1;
    for query in [
        "SELECT id, prefix FROM proposal WHERE id < ?1 ORDER BY id DESC LIMIT 1",
        "SELECT id, prefix FROM proposal WHERE id > ?1 ORDER BY id LIMIT 1",
    ] {
        let neighbour: Option<(String, i64)> = transaction
            .prepare_cached(query)?
            .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some(neighbour) = neighbour {
            longest = longest.max(part(transaction, id.as_str(), neighbour)?);
        }
    }
    Ok(longest)
}

/// Length of the shortest prefix that tells `id` from its `neighbour`, whose own is made as long.
fn part(
    transaction: &Transaction<'_>,
    id: &str,
    (neighbour, length): (String, i64),
) -> rusqlite::Result<i64> {
    let shared = neighbour.bytes().zip(id.bytes()).take_while(|(a, b)| a == b).count();
    let needed = shared as i64 - "prop_".len() as i64 + 1;
    if needed > length {
        transaction
            .prepare_cached("UPDATE proposal SET prefix = ?2 WHERE id = ?1 AND prefix < ?2")?
            .execute(params![neighbour, needed])?;
    }
    Ok(needed.max(1))
}
