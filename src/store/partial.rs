//! Partial clones: events are blobs, and `git clone --filter=blob:none` leaves them with the remote.
//!
//! Git would fetch them one by one, a process and a connection each. What new commits of lanes name
//! is asked for at once instead, as git itself asks (`fetch_objects` in its `promisor-remote.c`).
//! That is tried once for each new tip: without the network the lane ends there, which is reported,
//! and no later command waits for the network again.

use std::collections::{BTreeSet, HashSet};

use gix::ObjectId;
use gix::objs::Exists as _;

use super::Store;
use super::lane::SNAPSHOT;
use super::refs::LaneRef;
use crate::repository::promisor;

/// How many commits are looked at, of all lanes together.
const MOST: usize = 100_000;

/// Fetches the events that `lanes` bring behind the commits of `known`, in one go, where this is a
/// partial clone that lacks some. What cannot be had is missing when the lanes are read.
pub(super) fn fetch_events(store: &Store, lanes: &[&LaneRef], known: &HashSet<ObjectId>) {
    if lanes.is_empty() {
        return;
    }
    let Some(remote) = promisor(&store.repo) else { return };
    let missing = missing_events(&store.repo, lanes, known);
    let Ok(git) = store.git() else { return };
    if missing.is_empty() {
        return;
    }
    let ids: String = missing.iter().map(|id| format!("{id}\n")).collect();
    let _ = git
        .config("fetch.negotiationAlgorithm", "noop")
        .args(["fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--no-auto-maintenance"])
        .args(["--recurse-submodules=no", "--filter=blob:none", "--stdin"])
        .arg(remote)
        .stdin(ids)
        .answer();
}

/// Blobs of events that are not in the object database. Nothing here asks a remote.
fn missing_events(
    repo: &gix::Repository,
    lanes: &[&LaneRef],
    known: &HashSet<ObjectId>,
) -> BTreeSet<ObjectId> {
    let mut present = repo.objects.clone();
    present.refresh_never();
    let (mut found, mut seen) = (BTreeSet::new(), HashSet::new());
    for lane in lanes {
        let mut next = Some(lane.tip);
        while let Some(id) = next.filter(|id| !known.contains(id)) {
            if !seen.insert(id) || seen.len() > MOST {
                break;
            }
            let Ok(commit) = repo.find_commit(id) else { break };
            next = commit.parent_ids().next().map(gix::Id::detach);
            let Ok(tree) = commit.tree() else { continue };
            for entry in tree.iter().filter_map(Result::ok) {
                if entry.filename() == "event.json" || entry.filename() == SNAPSHOT {
                    found.insert(entry.object_id());
                } else if entry.filename() == "events" && entry.mode().is_tree() {
                    let Ok(events) = repo.find_tree(entry.object_id()) else { continue };
                    let events = events.iter().filter_map(Result::ok);
                    found.extend(events.map(|entry| entry.object_id()));
                }
            }
        }
    }
    found.retain(|id| !present.exists(id));
    found
}
