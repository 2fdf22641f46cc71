//! Bringing the cache up to the lane tips.

use std::collections::{BTreeMap, BTreeSet};

use gix::ObjectId;
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::Position;
use crate::changeset::hunks;
use crate::plan::Record;
use crate::proposal::{
    ActorKind, ChangeRecord, Data, Event, Proposal, ProposalId, Stamped, State, event, fold,
};
use crate::store::lane::{self, Broken, LaneCommit};
use crate::store::refs::{self, LaneRef};

/// Files larger than this are counted as one change of no lines: a list must not cost a diff.
const MOST_COUNTED: usize = 1 << 20;

/// Where every lane has been read to.
pub(super) fn positions(connection: &Connection) -> rusqlite::Result<BTreeMap<String, Position>> {
    let mut statement = connection.prepare_cached("SELECT name, tip, seq FROM lane")?;
    let rows = statement.query_map([], |row| {
        let seq: i64 = row.get(2)?;
        Ok((row.get(0)?, Position { tip: row.get(1)?, seq: seq as u64 }))
    })?;
    rows.collect()
}

/// Reads what is new in `lanes`, of which `own` is this clone's, if it has one already. Returns the
/// lanes that could not be read to their end.
pub(super) fn catch_up(
    repo: &gix::Repository,
    connection: &mut Connection,
    lanes: &[LaneRef],
    own: impl FnOnce() -> Option<String>,
) -> rusqlite::Result<Vec<Broken>> {
    let known = positions(connection)?;
    let current = |lane: &LaneRef| {
        let tip = lane.tip.to_string();
        known.get(&lane.name).is_some_and(|position| position.tip == tip)
    };
    if lanes.iter().all(current) {
        return Ok(Vec::new());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut broken = Vec::new();
    let (mut touched, mut fetched) = (BTreeSet::new(), BTreeSet::new());
    let own = own();
    let known = positions(&transaction)?;
    for lane in lanes {
        // What the cache has came from this ref, so read under the cache's own lock it is the
        // same or newer.
        let Ok(Some(tip)) = refs::target(repo, &lane.name) else { continue };
        let lane = &LaneRef { name: lane.name.clone(), tip };
        let known_tip = known.get(&lane.name).map(|position| position.tip.as_str());
        if known_tip == Some(&lane.tip.to_string()) {
            continue;
        }
        let known_tip = known_tip.and_then(|tip| ObjectId::from_hex(tip.as_bytes()).ok());
        match lane::walk(repo, lane, known_tip) {
            Ok(Some(commits)) => {
                let is_own = own.as_deref() == Some(lane.name.as_str());
                let touched = if is_own { &mut touched } else { &mut fetched };
                take(&transaction, lane, &commits, touched)?;
            }
            // Rewritten: nothing of the old lane may stay, so begin anew.
            Ok(None) => return Err(rusqlite::Error::InvalidQuery),
            Err(error) => broken.push(error),
        }
    }
    for id in &fetched {
        transaction
            .prepare_cached("INSERT OR IGNORE INTO fetched (proposal) VALUES (?1)")?
            .execute([id])?;
    }
    for id in touched.union(&fetched) {
        refold(repo, &transaction, id)?;
    }
    transaction.commit()?;
    Ok(broken)
}

/// At most `most` proposals that other clones' lanes have brought news of and that were not
/// [`followed`] since.
pub(super) fn fetched(
    connection: &Connection,
    most: usize,
) -> rusqlite::Result<BTreeSet<ProposalId>> {
    let mut statement = connection.prepare_cached("SELECT proposal FROM fetched LIMIT ?1")?;
    let rows = statement
        .query_map([i64::try_from(most).unwrap_or(i64::MAX)], |row| row.get::<_, String>(0))?;
    let ids = rows.map(|row| row.map(|id| ProposalId::parse(&id).ok()));
    ids.filter_map(Result::transpose).collect()
}

/// The projections of these proposals have followed.
pub(super) fn followed(
    connection: &Connection,
    ids: &BTreeSet<ProposalId>,
) -> rusqlite::Result<()> {
    let transaction = connection.unchecked_transaction()?;
    for id in ids {
        transaction
            .prepare_cached("DELETE FROM fetched WHERE proposal = ?1")?
            .execute([id.as_str()])?;
    }
    transaction.commit()
}

fn take(
    transaction: &Transaction<'_>,
    lane: &LaneRef,
    commits: &[LaneCommit],
    touched: &mut BTreeSet<String>,
) -> rusqlite::Result<()> {
    let mut insert = transaction.prepare_cached(
        "INSERT OR IGNORE INTO event (id, proposal, lane, seq, commit_id, kind, time, plan, body)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)",
    )?;
    let mut seq = 0;
    for commit in commits {
        let commit_id = commit.id.to_string();
        for (stamped, body) in &commit.events {
            let proposal = stamped.proposal().map(String::from);
            seq = seq.max(stamped.event.seq);
            insert.execute(params![
                stamped.id,
                proposal,
                lane.lane(),
                stamped.event.seq as i64,
                commit_id,
                stamped.event.data.kind(),
                stamped.event.time.timestamp_millis(),
                plan(stamped),
                body
            ])?;
            touched.extend(proposal);
        }
    }
    transaction
        .prepare_cached("INSERT OR REPLACE INTO lane (name, tip, seq) VALUES (?1, ?2, ?3)")?
        .execute(params![lane.name, lane.tip.to_string(), seq as i64])?;
    Ok(())
}

/// Which plan an event is about, if it is a valid version of one.
fn plan(stamped: &Stamped) -> Option<String> {
    let Data::Plan(value) = &stamped.event.data else { return None };
    Record::from_value(value).map(|record| record.key.to_text())
}

fn refold(repo: &gix::Repository, transaction: &Transaction<'_>, id: &str) -> rusqlite::Result<()> {
    let mut events = Vec::new();
    let mut commits = BTreeMap::new();
    let mut select =
        transaction.prepare_cached("SELECT id, commit_id, body FROM event WHERE proposal = ?1")?;
    let mut rows = select.query([id])?;
    while let Some(row) = rows.next()? {
        let event_id: String = row.get(0)?;
        let body: Vec<u8> = row.get(2)?;
        if let Ok(event) = Event::from_bytes(&body) {
            commits.insert(event_id.clone(), row.get::<_, String>(1)?);
            events.push(Stamped { id: event_id, event });
        }
    }
    drop(rows);
    let Some(mut proposal) = fold(&events) else { return Ok(()) };
    for revision in &mut proposal.revisions {
        revision.commit = commits.get(&revision.event).cloned().unwrap_or_default();
    }
    store(repo, transaction, &proposal)
}

fn store(
    repo: &gix::Repository,
    transaction: &Transaction<'_>,
    proposal: &Proposal,
) -> rusqlite::Result<()> {
    let changes = &proposal.current().changes;
    let state = match proposal.state {
        State::Pending => "pending",
        State::Applied(_) => "applied",
        State::Rejected(_) => "rejected",
    };
    let prefix = prefix(transaction, &proposal.id)?;
    let (added, removed) = count(repo, changes);
    let path = changes.first().map(|change| change.path.display().to_string());
    transaction
        .prepare_cached(
            "INSERT OR REPLACE INTO proposal (id, prefix, subject, state, domain, task,
             proposed_by, created, expires, expiry_recorded, digest, description, path, files,
             added, removed, revisions, comments, changes_requested, contested, checked, marked,
             recorded_by, author, revision)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17,
             ?18, ?19, ?20, ?21, ?22, ?23, ?24, ?25)",
        )?
        .execute(params![
            proposal.id.as_str(),
            prefix,
            proposal.subject.as_str(),
            state,
            proposal.domain,
            proposal.related_task_id,
            proposal.proposed_by,
            proposal.created_at.timestamp_millis(),
            proposal.expires_at.timestamp_millis(),
            proposal.expiry_recorded.map(|at| at.timestamp_millis()),
            event::digest(changes),
            proposal.description,
            path,
            changes.len() as i64,
            added as i64,
            removed as i64,
            proposal.revisions.len() as i64,
            proposal.comments.len() as i64,
            proposal.changes_requested.is_some(),
            proposal.contested,
            // A check that an agent ran says what the agent wants to have said.
            proposal
                .check()
                .filter(|check| check.by.kind != ActorKind::Agent)
                .map(|check| i64::from(check.check.exit_code.unwrap_or(-1))),
            proposal.mark().map(|mark| mark.verdict.as_str()),
            proposal.actor.name,
            proposal.current().actor.name,
            proposal.current().event,
        ])?;
    let body = serde_json::to_vec(proposal).unwrap_or_default();
    transaction
        .prepare_cached("INSERT OR REPLACE INTO folded (id, body) VALUES (?1, ?2)")?
        .execute(params![proposal.id.as_str(), body])?;
    transaction
        .prepare_cached("DELETE FROM path WHERE proposal = ?1")?
        .execute([proposal.id.as_str()])?;
    let mut insert = transaction
        .prepare_cached("INSERT OR IGNORE INTO path (path, proposal) VALUES (?1, ?2)")?;
    for change in changes {
        insert.execute(params![change.path.display().to_string(), proposal.id.as_str()])?;
    }
    Ok(())
}

/// Length of the shortest prefix (behind `prop_`) that names only this proposal; lengthens those
/// of its two neighbours where they share more with it than with each other.
fn prefix(transaction: &Transaction<'_>, id: &ProposalId) -> rusqlite::Result<i64> {
    let known: Option<i64> = transaction
        .prepare_cached("SELECT prefix FROM proposal WHERE id = ?1")?
        .query_row([id.as_str()], |row| row.get(0))
        .optional()?;
    if let Some(length) = known {
        return Ok(length);
    }
    let mut longest = 1;
    for query in [
        "SELECT id, prefix FROM proposal WHERE id < ?1 ORDER BY id DESC LIMIT 1",
        "SELECT id, prefix FROM proposal WHERE id > ?1 ORDER BY id LIMIT 1",
    ] {
        let neighbour: Option<(String, i64)> = transaction
            .prepare_cached(query)?
            .query_row([id.as_str()], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        let Some((neighbour, length)) = neighbour else { continue };
        let shared = neighbour.bytes().zip(id.as_str().bytes()).take_while(|(a, b)| a == b).count();
        let needed = shared as i64 - "prop_".len() as i64 + 1;
        longest = longest.max(needed);
        if needed > length {
            transaction
                .prepare_cached("UPDATE proposal SET prefix = ?2 WHERE id = ?1")?
                .execute(params![neighbour, needed])?;
        }
    }
    Ok(longest)
}

/// Lines added and removed by `changes`; files that are binary or very large count nothing.
fn count(repo: &gix::Repository, changes: &[ChangeRecord]) -> (usize, usize) {
    let bytes = |entry: &Option<crate::proposal::Entry>| -> Option<Vec<u8>> {
        let id = ObjectId::from_hex(entry.as_ref()?.id.as_bytes()).ok()?;
        let mut blob = repo.find_blob(id).ok()?;
        Some(std::mem::take(&mut blob.data))
    };
    let mut total = (0, 0);
    for change in changes {
        let (before, after) = (bytes(&change.before), bytes(&change.after));
        let heavy = |bytes: &Option<Vec<u8>>| {
            bytes.as_ref().is_some_and(|bytes| {
                bytes.len() > MOST_COUNTED || crate::changeset::file::is_binary(bytes)
            })
        };
        if heavy(&before) || heavy(&after) {
            continue;
        }
        let counts = hunks::count(before.as_deref(), after.as_deref());
        total.0 += counts.added;
        total.1 += counts.removed;
    }
    total
}
