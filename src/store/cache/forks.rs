//! Where the histories of one lane part: found from its commits, kept in the cache.
//!
//! What is found depends on the refs alone: the tips that can be read, and for this clone's own lane
//! its own tip. The rules are those of [`crate::proposal::forks`].

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use gix::ObjectId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::lanes::number;
use crate::proposal::Event;
use crate::proposal::audit::Own;
use crate::proposal::forks::{self, Forks};

/// The forked lanes.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<Forks> {
    let mut forks = Forks::default();
    let mut statement = connection.prepare_cached("SELECT name, onto, seq FROM part")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let onto: Option<String> = row.get(1)?;
        let seq: i64 = row.get(2)?;
        forks.add(row.get(0)?, onto.map(|onto| (onto, seq as u64)));
    }
    Ok(forks)
}

/// Rewrites lane and heads of an event, which is in `part` of its lane, to chains.
pub(super) fn untangle(
    connection: &Connection,
    forks: &Forks,
    event: &mut Event,
    part: Option<&str>,
    own: Own<'_>,
) {
    if forks.is_empty() {
        return;
    }
    forks.untangle(event, part, own, |head| {
        let tip = ObjectId::from_hex(head.tip.as_bytes()).ok()?;
        let (lane, _, part) = step(connection, &tip).ok()??;
        (lane == head.lane).then(|| part.unwrap_or(lane))
    });
}

/// The lane of a commit that counts, the last position up to it, and its part of the lane.
pub(super) fn step(
    connection: &Connection,
    id: &ObjectId,
) -> rusqlite::Result<Option<(String, u64, Option<String>)>> {
    connection
        .prepare_cached("SELECT lane, seq, part FROM step WHERE id = ?1")?
        .query_row([id.as_bytes()], |row| {
            Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get(2)?))
        })
        .optional()
}

/// The commit that git has as the parent of `id`.
pub(super) fn git_parent(repo: &gix::Repository, id: &ObjectId) -> Option<ObjectId> {
    let commit = repo.find_commit(*id).ok()?;
    commit.parent_ids().next().map(gix::Id::detach)
}

/// The commit before `id` in its lane: its parent, or what the epoch that begins with it goes on
/// from, if that is here.
///
/// # Errors
/// Those of SQLite.
pub(super) fn parent(
    repo: &gix::Repository,
    connection: &Connection,
    id: &ObjectId,
) -> rusqlite::Result<Option<ObjectId>> {
    if let Some(parent) = git_parent(repo, id) {
        return Ok(Some(parent));
    }
    let onto: Option<Option<Vec<u8>>> = connection
        .prepare_cached("SELECT onto FROM epoch WHERE root = ?1")?
        .query_row([id.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(onto.flatten().and_then(|onto| ObjectId::try_from(onto.as_slice()).ok()))
}

/// The last position of `lane` whose event an epoch of it may have restated, 0 where it has none.
///
/// # Errors
/// Those of SQLite.
pub(super) fn restated(connection: &Connection, lane: &str) -> rusqlite::Result<u64> {
    let seq: Option<i64> = connection
        .prepare_cached("SELECT MAX(seq) FROM epoch WHERE lane = ?1")?
        .query_row([lane], |row| row.get(0))?;
    Ok(seq.unwrap_or(0) as u64)
}

/// A commit near the tips of a lane.
struct Node {
    parent: Option<ObjectId>,
    seq: u64,
}

/// Takes `lane`, of which `tips` can be read, apart. `own` is the tip of this clone's own lane, if
/// this is it: whatever is not behind it is a part. Of other lanes those are, and all of them, that
/// have two events at one position. Returns whether anything had to be written.
///
/// # Errors
/// Those of SQLite.
pub(super) fn divide(
    repo: &gix::Repository,
    connection: &Connection,
    lane: &str,
    own: Option<ObjectId>,
    tips: &BTreeSet<ObjectId>,
) -> rusqlite::Result<bool> {
    let cleared = connection.prepare_cached("DELETE FROM part WHERE lane = ?1")?.execute([lane])?;
    if cleared > 0 {
        for sql in [
            "UPDATE event SET part = NULL WHERE lane = ?1 AND part IS NOT NULL",
            "UPDATE step SET part = NULL WHERE lane = ?1 AND part IS NOT NULL",
        ] {
            connection.prepare_cached(sql)?.execute([lane])?;
        }
    }
    if tips.len() < 2 {
        return Ok(cleared > 0);
    }
    let nodes = behind(repo, connection, lane, tips)?;
    let parts = parts(lane, &nodes, own);
    if parts.is_empty() {
        return Ok(cleared > 0);
    }
    let found = events(connection, lane)?;
    let of_commit: HashMap<String, &Named> =
        parts.iter().map(|(id, part)| (id.to_string(), part)).collect();
    if own.is_none() {
        let mut positions = BTreeSet::new();
        if found.iter().all(|(_, seq, _)| positions.insert(*seq)) {
            // Rewritten, or only known in pieces: nothing contradicts.
            return Ok(cleared > 0);
        }
    }
    for (id, part) in &parts {
        connection
            .prepare_cached("UPDATE step SET part = ?2 WHERE id = ?1")?
            .execute(params![id.as_bytes(), part.name])?;
        let (onto, seq) = part.onto.clone().unzip();
        connection
            .prepare_cached(
                "INSERT OR IGNORE INTO part (name, lane, onto, seq) VALUES (?1, ?2, ?3, ?4)",
            )?
            .execute(params![part.name, lane, onto, number(seq.unwrap_or_default())])?;
    }
    let by_name: HashMap<&str, &Named> =
        parts.values().map(|part| (part.name.as_str(), part)).collect();
    for (id, seq, commit) in found {
        let part = of_commit.get(&commit).and_then(|part| first_said(part, &by_name, seq));
        if let Some(part) = part {
            connection
                .prepare_cached("UPDATE event SET part = ?2 WHERE id = ?1")?
                .execute(params![id, part.name])?;
        }
    }
    Ok(true)
}

/// The part in which the event at `seq` was said that a commit of `part` holds; `None`: in the chain
/// that keeps the lane's name. An epoch restates what the chain that it goes on from has said, and
/// which of the two a reader comes to first must not matter.
fn first_said<'p>(
    part: &'p Named,
    by_name: &HashMap<&str, &'p Named>,
    seq: u64,
) -> Option<&'p Named> {
    let mut part = part;
    // A part lies before those that go on from it.
    while let Some((chain, _)) = part.onto.as_ref().filter(|(_, last)| seq <= *last) {
        part = by_name.get(chain.as_str())?;
    }
    Some(part)
}

/// The commits behind `tips`, back to the one that they all have in common.
fn behind(
    repo: &gix::Repository,
    connection: &Connection,
    lane: &str,
    tips: &BTreeSet<ObjectId>,
) -> rusqlite::Result<HashMap<ObjectId, Node>> {
    let mut nodes: HashMap<ObjectId, Node> = HashMap::new();
    let mut heap = BinaryHeap::new();
    for tip in tips {
        if let Some((of, seq, _)) = step(connection, tip)?
            && of == lane
        {
            nodes.insert(*tip, Node { parent: None, seq });
            heap.push((seq, *tip));
        }
    }
    // Positions never fall along a lane, so that the one in front is behind no other.
    while heap.len() > 1 {
        let Some((_, id)) = heap.pop() else { break };
        let Some(parent) = parent(repo, connection, &id)? else { continue };
        let Some((_, seq, _)) = step(connection, &parent)? else { continue };
        if let Some(node) = nodes.get_mut(&id) {
            node.parent = Some(parent);
        }
        if let Entry::Vacant(free) = nodes.entry(parent) {
            free.insert(Node { parent: None, seq });
            heap.push((seq, parent));
        }
    }
    Ok(nodes)
}

/// A part, as a commit of it is in it.
#[derive(Clone)]
struct Named {
    name: String,
    onto: forks::Onto,
}

/// The part of every commit that is not in the chain that keeps the lane's name.
fn parts(
    lane: &str,
    nodes: &HashMap<ObjectId, Node>,
    own: Option<ObjectId>,
) -> BTreeMap<ObjectId, Named> {
    let mut children: HashMap<Option<ObjectId>, Vec<ObjectId>> = HashMap::new();
    for (id, node) in nodes {
        children.entry(node.parent).or_default().push(*id);
    }
    let mut is_own = BTreeSet::new();
    let mut next = own;
    while let Some(id) = next {
        is_own.insert(id);
        next = nodes.get(&id).and_then(|node| node.parent);
    }
    let mut parts: BTreeMap<ObjectId, Named> = BTreeMap::new();
    let mut todo = vec![None];
    while let Some(parent) = todo.pop() {
        let found = children.get(&parent).map(Vec::as_slice).unwrap_or_default();
        for id in found {
            todo.push(Some(*id));
            if is_own.contains(id) {
                continue;
            }
            let before = parent.and_then(|parent| parts.get(&parent)).cloned();
            let leaves_own = parent.is_some_and(|parent| is_own.contains(&parent));
            if found.len() < 2 && !leaves_own {
                if let Some(before) = before {
                    parts.insert(*id, before);
                }
                continue;
            }
            let onto = parent.map(|parent| {
                let chain = before.map_or_else(|| lane.to_owned(), |before| before.name);
                (chain, nodes.get(&parent).map_or(0, |node| node.seq))
            });
            let name = forks::name(lane, &id.to_string());
            parts.insert(*id, Named { name, onto });
        }
    }
    parts
}

/// Id, position and commit of the events of `lane`. All of them: forged ones may have any position.
fn events(connection: &Connection, lane: &str) -> rusqlite::Result<Vec<(String, u64, String)>> {
    let mut statement =
        connection.prepare_cached("SELECT id, seq, commit_id FROM event WHERE lane = ?1")?;
    let rows = statement
        .query_map([lane], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get(2)?)))?;
    rows.collect()
}
