//! Where the histories of one lane part: found from its commits, kept in the cache.
//!
//! What is found depends on the refs alone: the tips that can be read, and for this clone's own lane
//! its own tip. The rules are those of [`crate::proposal::forks`].

use std::cell::RefCell;
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap, HashSet};

use gix::ObjectId;
use rusqlite::{Connection, OptionalExtension as _, params};

use super::filling::{self, Steps};
use super::lanes::number;
use crate::proposal::Event;
use crate::proposal::audit::Own;
use crate::proposal::forks::{self, Forks};

/// What folding asks of lanes, of proposal after proposal.
pub(super) struct Chains {
    /// The forked lanes.
    pub(super) forks: Forks,
    /// The lane that was asked about last, with its answer.
    restated: RefCell<Option<(String, u64)>>,
    /// The commits that [`step`] may have.
    steps: Option<Steps>,
}

impl Chains {
    /// As the cache has them, with the `steps` that it may have, where these are known.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn load(connection: &Connection, steps: Option<Steps>) -> rusqlite::Result<Self> {
        Ok(Self { forks: load(connection)?, restated: RefCell::default(), steps })
    }

    /// As [`step`].
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn step(
        &self,
        connection: &Connection,
        id: &ObjectId,
    ) -> rusqlite::Result<Option<Step>> {
        match &self.steps {
            Some(steps) if !steps.contains(&filling::beginning(id)) => Ok(None),
            _ => step(connection, id),
        }
    }

    /// The last position of `lane` whose event an epoch of it may have restated, 0 where it has none.
    ///
    /// # Errors
    /// Those of SQLite.
    pub(super) fn restated(&self, connection: &Connection, lane: &str) -> rusqlite::Result<u64> {
        let mut known = self.restated.borrow_mut();
        if let Some((_, seq)) = known.as_ref().filter(|(of, _)| of == lane) {
            return Ok(*seq);
        }
        let seq: Option<i64> = connection
            .prepare_cached("SELECT MAX(seq) FROM epoch WHERE lane = ?1")?
            .query_row([lane], |row| row.get(0))?;
        let seq = seq.unwrap_or(0) as u64;
        *known = Some((lane.to_owned(), seq));
        Ok(seq)
    }
}

/// The forked lanes.
pub(super) fn load(connection: &Connection) -> rusqlite::Result<Forks> {
    let mut forks = Forks::default();
    let mut statement = connection.prepare_cached("SELECT name, onto, seq FROM part")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let onto: String = row.get(1)?;
        let seq: i64 = row.get(2)?;
        forks.add(row.get(0)?, (!onto.is_empty()).then_some((onto, seq as u64)));
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
pub(super) type Step = (String, u64, Option<String>);

/// That of the commit `id`, if it counts.
///
/// # Errors
/// Those of SQLite.
pub(super) fn step(connection: &Connection, id: &ObjectId) -> rusqlite::Result<Option<Step>> {
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

/// The commits before `id` in its lane: its parent, or what the epoch that begins with it goes on
/// from, as far as that is here; of several histories the furthest comes first.
///
/// # Errors
/// Those of SQLite.
pub(super) fn parents(
    repo: &gix::Repository,
    connection: &Connection,
    id: &ObjectId,
) -> rusqlite::Result<Vec<ObjectId>> {
    if let Some(parent) = git_parent(repo, id) {
        return Ok(vec![parent]);
    }
    let onto: Option<Option<Vec<u8>>> = connection
        .prepare_cached("SELECT onto FROM epoch WHERE root = ?1")?
        .query_row([id.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(ids(repo, &onto.flatten().unwrap_or_default()))
}

/// The ids that `epoch.onto` has, one behind the other.
pub(super) fn ids(repo: &gix::Repository, bytes: &[u8]) -> Vec<ObjectId> {
    let each = bytes.chunks(repo.object_hash().len_in_bytes());
    each.filter_map(|id| ObjectId::try_from(id).ok()).collect()
}

/// A commit near the tips of a lane.
struct Node {
    parents: Vec<ObjectId>,
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
    let Parts { of_commit, by_name } = parts(connection, lane, &nodes, own)?;
    if by_name.is_empty() {
        return Ok(cleared > 0);
    }
    let found = events(connection, lane)?;
    if own.is_none() {
        let mut positions = BTreeSet::new();
        if found.iter().all(|(_, seq, _)| positions.insert(*seq)) {
            // Rewritten, or only known in pieces: nothing contradicts.
            return Ok(cleared > 0);
        }
    }
    for (id, name) in &of_commit {
        connection
            .prepare_cached("UPDATE step SET part = ?2 WHERE id = ?1")?
            .execute(params![id.as_bytes(), name])?;
    }
    let mut insert = connection
        .prepare_cached("INSERT INTO part (name, lane, onto, seq) VALUES (?1, ?2, ?3, ?4)")?;
    for (name, part) in &by_name {
        if part.onto.is_empty() {
            insert.execute(params![name, lane, "", 0])?;
        }
        for (onto, seq) in &part.onto {
            insert.execute(params![name, lane, onto, number(*seq)])?;
        }
    }
    let of_commit: HashMap<String, &String> =
        of_commit.iter().map(|(id, name)| (id.to_string(), name)).collect();
    for (id, seq, commit) in found {
        let name = of_commit.get(&commit).and_then(|name| first_said(name, &by_name, seq));
        if let Some(name) = name {
            connection
                .prepare_cached("UPDATE event SET part = ?2 WHERE id = ?1")?
                .execute(params![id, name])?;
        }
    }
    Ok(true)
}

/// The part in which the event at `seq` was said that a commit of the part `name` holds; `None`: in the
/// chain that keeps the lane's name. An epoch restates what the chains that it goes on from have said, and
/// which of them a reader comes to first must not matter.
fn first_said<'p>(name: &'p str, by_name: &'p BTreeMap<String, Part>, seq: u64) -> Option<&'p str> {
    let (mut restates, mut met) = (None, BTreeSet::new());
    let mut todo = vec![name];
    while let Some(name) = todo.pop() {
        let part = by_name.get(name)?;
        if !met.insert(name) {
            continue;
        }
        let mut before = part.onto.iter().filter(|(_, last)| seq <= **last).peekable();
        if before.peek().is_none() {
            if seq > part.restated {
                return Some(name);
            }
            restates = restates.or(Some(name));
        }
        todo.extend(before.map(|(chain, _)| chain.as_str()));
    }
    restates
}

/// The commits behind `tips`, back to the one that they all have in common, or to where they begin.
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
            nodes.insert(*tip, Node { parents: Vec::new(), seq });
            heap.push((seq, *tip));
        }
    }
    // Positions never fall along a lane, so that the one in front is behind no other, unless both are at
    // the same.
    let (mut lowest, mut begins) = (u64::MAX, false);
    while let Some((seq, id)) = heap.pop() {
        if heap.is_empty() && seq < lowest && !begins {
            break;
        }
        lowest = seq.min(lowest);
        let mut is_first = true;
        for parent in parents(repo, connection, &id)? {
            let Some((_, seq, _)) = step(connection, &parent)? else { continue };
            is_first = false;
            if let Some(node) = nodes.get_mut(&id) {
                node.parents.push(parent);
            }
            if let Entry::Vacant(free) = nodes.entry(parent) {
                free.insert(Node { parents: Vec::new(), seq });
                heap.push((seq, parent));
            }
        }
        begins |= is_first;
    }
    Ok(nodes)
}

/// What is not in the chain that keeps the lane's name.
#[derive(Default)]
struct Parts {
    of_commit: BTreeMap<ObjectId, String>,
    by_name: BTreeMap<String, Part>,
}

struct Part {
    /// The chains that it goes on from, each with the last position of it.
    onto: BTreeMap<String, u64>,
    /// Up to this position it repeats what was said before it.
    restated: u64,
}

/// The part of every commit that is not in the chain that keeps the lane's name.
fn parts(
    connection: &Connection,
    lane: &str,
    nodes: &HashMap<ObjectId, Node>,
    own: Option<ObjectId>,
) -> rusqlite::Result<Parts> {
    let mut children: HashMap<Option<ObjectId>, Vec<ObjectId>> = HashMap::new();
    for (id, node) in nodes {
        if node.parents.is_empty() {
            children.entry(None).or_default().push(*id);
        }
        for parent in &node.parents {
            children.entry(Some(*parent)).or_default().push(*id);
        }
    }
    let children_of = |id: Option<ObjectId>| children.get(&id).map_or(&[][..], Vec::as_slice);
    let mut is_own = HashSet::new();
    let mut todo = Vec::from_iter(own);
    while let Some(id) = todo.pop() {
        if is_own.insert(id) {
            todo.extend(nodes.get(&id).into_iter().flat_map(|node| &node.parents));
        }
    }
    let mut parts = Parts::default();
    // How many of its parents are to come.
    let mut after: HashMap<ObjectId, usize> = HashMap::new();
    let mut todo = children_of(None).to_vec();
    while let Some(id) = todo.pop() {
        for child in children_of(Some(id)) {
            let all = nodes.get(child).map_or(0, |node| node.parents.len());
            let left = after.entry(*child).or_insert(all);
            *left -= 1;
            if *left == 0 {
                todo.push(*child);
            }
        }
        let Some(node) = nodes.get(&id).filter(|_| !is_own.contains(&id)) else { continue };
        let goes_on = match &node.parents[..] {
            [] => children_of(None).len() < 2,
            [parent] => children_of(Some(*parent)).len() < 2 && !is_own.contains(parent),
            _ => false,
        };
        if goes_on {
            let name = node.parents.first().and_then(|parent| parts.of_commit.get(parent)).cloned();
            parts.of_commit.extend(name.map(|name| (id, name)));
            continue;
        }
        let mut onto: BTreeMap<String, u64> = BTreeMap::new();
        for parent in &node.parents {
            let chain = parts.of_commit.get(parent).cloned().unwrap_or_else(|| lane.to_owned());
            let last = onto.entry(chain).or_default();
            *last = nodes.get(parent).map_or(0, |node| node.seq).max(*last);
        }
        let name = forks::name(lane, &id.to_string());
        parts.of_commit.insert(id, name.clone());
        let restated = restated_by(connection, &id)?;
        parts.by_name.insert(name, Part { onto, restated });
    }
    Ok(parts)
}

/// The last position before the epoch that begins with `id`, 0 where none does.
fn restated_by(connection: &Connection, id: &ObjectId) -> rusqlite::Result<u64> {
    let seq: Option<i64> = connection
        .prepare_cached("SELECT seq FROM epoch WHERE root = ?1")?
        .query_row([id.as_bytes()], |row| row.get(0))
        .optional()?;
    Ok(seq.unwrap_or(0) as u64)
}

/// Id, position and commit of the events of `lane`. All of them: forged ones may have any position.
fn events(connection: &Connection, lane: &str) -> rusqlite::Result<Vec<(String, u64, String)>> {
    let mut statement =
        connection.prepare_cached("SELECT id, seq, commit_id FROM event WHERE lane = ?1")?;
    let rows = statement
        .query_map([lane], |row| Ok((row.get(0)?, row.get::<_, i64>(1)? as u64, row.get(2)?)))?;
    rows.collect()
}
