//! Reading lanes: commits back to events.

use gix::ObjectId;

use super::codes;
use super::refs::LaneRef;
use crate::error::{Error, Result};
use crate::proposal::{Event, Stamped};

/// Most events one commit may carry.
const MOST_EVENTS: usize = 100_000;

/// One commit of a lane.
pub(super) struct LaneCommit {
    /// Its id.
    pub(super) id: ObjectId,
    /// Its events, in order, each with the bytes it is stored as.
    pub(super) events: Stored,
}

type Stored = Vec<(Stamped, Vec<u8>)>;

/// Where a lane cannot be read.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The ref.
    pub name: String,
    /// The commit at which reading stopped, hex.
    pub commit: String,
    /// What is wrong.
    pub why: String,
}

impl Broken {
    /// As an error.
    pub(super) fn error(&self) -> Error {
        Error::new(
            &codes::LANE_BROKEN,
            format!("{} cannot be read at commit {}: {}", self.name, self.commit, self.why),
        )
        .with("ref", self.name.clone())
        .with("commit", self.commit.clone())
        .hint("`git fsck` tells what is damaged; `aye doctor --repair` keeps what can be read")
    }
}

/// The commits of `lane` behind `known` (all of them for `None`), oldest first. `Ok(None)` if
/// `known` is not in the lane's history: it was rewritten.
///
/// # Errors
/// [`Broken`] at the first commit, tree or event that cannot be read.
pub(super) fn walk(
    repo: &gix::Repository,
    lane: &LaneRef,
    known: Option<ObjectId>,
) -> Result<Option<Vec<LaneCommit>>, Broken> {
    let mut commits = Vec::new();
    let mut next = Some(lane.tip);
    while let Some(id) = next {
        if Some(id) == known {
            commits.reverse();
            return Ok(Some(commits));
        }
        let (events, parent) = read(repo, lane, id).map_err(|why| Broken {
            name: lane.name.clone(),
            commit: id.to_string(),
            why,
        })?;
        commits.push(LaneCommit { id, events });
        next = parent;
    }
    commits.reverse();
    Ok(known.is_none().then_some(commits))
}

/// The commits of `lane` that can be read, oldest first, whatever lies between them. Where a
/// commit itself is gone, so is what came before it.
pub(super) fn readable(repo: &gix::Repository, lane: &LaneRef) -> Vec<ObjectId> {
    let mut found = Vec::new();
    let mut next = Some(lane.tip);
    while let Some(id) = next {
        let Ok(commit) = repo.find_commit(id) else { break };
        if events(repo, lane, &commit).is_ok() {
            found.push(id);
        }
        next = commit.parent_ids().next().map(gix::Id::detach);
    }
    found.reverse();
    found
}

fn read(
    repo: &gix::Repository,
    lane: &LaneRef,
    id: ObjectId,
) -> Result<(Stored, Option<ObjectId>), String> {
    let commit = repo.find_commit(id).map_err(|error| error.to_string())?;
    let mut parents = commit.parent_ids();
    let parent = parents.next().map(gix::Id::detach);
    if parents.next().is_some() {
        return Err("it is a merge, and lanes have none".into());
    }
    Ok((events(repo, lane, &commit)?, parent))
}

fn events(
    repo: &gix::Repository,
    lane: &LaneRef,
    commit: &gix::Commit<'_>,
) -> Result<Stored, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let tree = commit.tree().map_err(|error| text(&error))?;
    let mut ids = Vec::new();
    for entry in tree.iter() {
        let entry = entry.map_err(|error| text(&error))?;
        if entry.filename() == "event.json" {
            ids.push(entry.object_id());
        } else if entry.filename() == "events" && entry.mode().is_tree() {
            let folder = repo.find_tree(entry.object_id()).map_err(|error| text(&error))?;
            for entry in folder.iter() {
                ids.push(entry.map_err(|error| text(&error))?.object_id());
            }
        }
    }
    if ids.is_empty() || ids.len() > MOST_EVENTS {
        return Err(format!("it has {} events", ids.len()));
    }
    let mut events = Vec::with_capacity(ids.len());
    for id in ids {
        let mut blob = repo.find_blob(id).map_err(|error| text(&error))?;
        let event = Event::from_bytes(&blob.data).map_err(|error| error.to_string())?;
        if event.lane != lane.lane() {
            return Err(format!("an event claims to be of lane '{}'", event.lane));
        }
        events.push((Stamped { id: id.to_string(), event }, std::mem::take(&mut blob.data)));
    }
    Ok(events)
}
