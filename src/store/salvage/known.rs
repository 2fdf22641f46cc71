//! What is known of the events of damaged lanes, from the cache and from the object database.
//!
//! None of it is believed. The cache is a file that anybody with write access to the git directory
//! can edit, and whoever can push a branch can put objects into the database. So these are sources
//! of bytes alone: what is taken from them has to hash to an id that a lane ref, or an object that
//! a lane ref leads to, names already.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use bstr::ByteSlice as _;
use gix::ObjectId;
use gix::objs::Kind;
use rusqlite::{Connection, OpenFlags};

use crate::proposal::event::MAX_BYTES;
use crate::proposal::{Data, Event, Proposal, Stamped};
use crate::repository::blob_within;
use crate::store::lane::{self, Limits};
use crate::store::objects::hashed;
use crate::store::refs::LaneRef;

/// How an event begins as it is stored: canonical JSON, keys in order.
const BEGINNING: &[u8] = b"{\"actor\":";

/// An event whose bytes hash to its id.
pub(super) struct Known {
    /// The event.
    pub(super) stamped: Stamped,
    /// Its bytes.
    pub(super) body: Vec<u8>,
    /// The commit that the cache says it is in.
    pub(super) commit: Option<ObjectId>,
}

impl Known {
    fn is_fold(&self) -> bool {
        matches!(self.stamped.event.data, Data::Fold(_))
    }
}

/// Events and commits that may be parts of a lane.
#[derive(Default)]
pub(super) struct Knowledge {
    /// By blob id.
    pub(super) events: HashMap<ObjectId, Known>,
    /// By lane and position.
    pub(super) positions: BTreeMap<String, BTreeMap<u64, Vec<ObjectId>>>,
    /// Commits by lane and the position of their last event.
    pub(super) ends: BTreeMap<String, BTreeMap<u64, Vec<ObjectId>>>,
    /// Proposals as the cache has them, for the lists in them.
    pub(super) proposals: Vec<Proposal>,
}

impl Knowledge {
    /// Everything that the cache at `path` has.
    pub(super) fn of_cache(repo: &gix::Repository, path: &Path) -> Self {
        let mut known = Self::default();
        // Whatever cannot be read of it is not known.
        let _ = known.add_cache(repo, path);
        known
    }

    fn add_cache(&mut self, repo: &gix::Repository, path: &Path) -> rusqlite::Result<()> {
        let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_WRITE)?;
        let mut statement = connection.prepare("SELECT commit_id, body FROM event")?;
        let mut rows = statement.query([])?;
        let mut ends: HashMap<ObjectId, (String, u64)> = HashMap::new();
        while let Ok(Some(row)) = rows.next() {
            let Ok(body) = row.get_ref(1).and_then(|body| Ok(body.as_bytes()?.to_owned())) else {
                continue;
            };
            let commit: Option<String> = row.get(0).ok();
            let commit = commit.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
            if let Some((lane, seq)) = self.add(repo, body, commit)
                && let Some(commit) = commit
            {
                let end = ends.entry(commit).or_insert((lane, seq));
                end.1 = end.1.max(seq);
            }
        }
        for (commit, (lane, seq)) in ends {
            self.end(lane, seq, commit);
        }
        let mut statement = connection.prepare("SELECT body FROM folded")?;
        let mut rows = statement.query([])?;
        while let Ok(Some(row)) = rows.next() {
            let body = row.get_ref(0).ok().and_then(|body| body.as_bytes().ok());
            self.proposals.extend(body.and_then(|body| serde_json::from_slice(body).ok()));
        }
        Ok(())
    }

    fn add(
        &mut self,
        repo: &gix::Repository,
        body: Vec<u8>,
        commit: Option<ObjectId>,
    ) -> Option<(String, u64)> {
        let event = Event::from_bytes(&body).ok()?;
        let id = hashed(repo.object_hash(), Kind::Blob, &body).ok()?;
        let (lane, seq) = (event.lane.clone(), event.seq);
        if !self.events.contains_key(&id) {
            let at = self.positions.entry(lane.clone()).or_default().entry(seq).or_default();
            at.push(id);
            let stamped = Stamped { id: id.to_string(), event };
            self.events.insert(id, Known { stamped, body, commit });
        }
        Some((lane, seq))
    }

    fn end(&mut self, lane: String, seq: u64, commit: ObjectId) {
        let at = self.ends.entry(lane).or_default().entry(seq).or_default();
        if !at.contains(&commit) {
            at.push(commit);
        }
    }

    /// Adds what lies in the object database, whether something names it or not.
    pub(super) fn scan(&mut self, repo: &gix::Repository) {
        let Ok(objects) = repo.objects.iter() else { return };
        for id in objects.flatten() {
            let Ok(header) = repo.find_header(id) else { continue };
            match header.kind() {
                Kind::Blob
                    if header.size() <= MAX_BYTES as u64 && !self.events.contains_key(&id) =>
                {
                    if let Ok(mut blob) = repo.find_blob(id)
                        && blob.data.starts_with(BEGINNING)
                    {
                        self.add(repo, std::mem::take(&mut blob.data), None);
                    }
                }
                Kind::Commit => self.add_commit(repo, id),
                _ => {}
            }
        }
    }

    fn add_commit(&mut self, repo: &gix::Repository, id: ObjectId) {
        let Ok(commit) = repo.find_commit(id) else { return };
        if !commit.message_raw().is_ok_and(|message| message.contains_str("\nActor-Kind: ")) {
            return;
        }
        if let Some((lane, _, last)) = span(repo, id) {
            self.end(lane, last, id);
        }
    }

    /// The events that the cache has of `commit`, in order; not those of its snapshot.
    pub(super) fn of_commit(&self, lane: &str, commit: ObjectId) -> Vec<ObjectId> {
        let positions = self.positions.get(lane).into_iter().flatten();
        let found: Vec<ObjectId> = positions
            .flat_map(|(_, ids)| ids)
            .filter(|id| self.events.get(*id).is_some_and(|known| known.commit == Some(commit)))
            .copied()
            .collect();
        match found.iter().find(|id| self.events.get(*id).is_some_and(Known::is_fold)) {
            Some(fold) => vec![*fold],
            None => found,
        }
    }

    /// The commits that an epoch of `lane` begins with.
    pub(super) fn folds(&self, lane: &str) -> impl Iterator<Item = ObjectId> {
        let folds = self
            .events
            .values()
            .filter(move |known| known.is_fold() && known.stamped.event.lane == lane);
        folds.filter_map(|known| known.commit)
    }

    /// One event for each position from `first` to `last`, or nothing where one is not known.
    pub(super) fn between(&self, lane: &str, first: u64, last: u64) -> Vec<ObjectId> {
        let Some(positions) = self.positions.get(lane) else { return Vec::new() };
        let found: Vec<ObjectId> =
            positions.range(first..=last).filter_map(|(_, ids)| ids.first().copied()).collect();
        if found.len() as u64 == last.saturating_sub(first).saturating_add(1) {
            found
        } else {
            Vec::new()
        }
    }
}

/// The lane of a commit that can be read, and the first and last position of its events.
pub(super) fn span(repo: &gix::Repository, commit: ObjectId) -> Option<(String, u64, u64)> {
    let tree = repo.find_commit(commit).ok()?.tree().ok()?;
    let entry = tree.iter().flatten().find_map(|entry| match entry.filename() == "event.json" {
        true => Some(entry.object_id()),
        false if entry.filename() == "events" => {
            let events = repo.find_tree(entry.object_id()).ok()?;
            events.iter().flatten().next().map(|entry| entry.object_id())
        }
        false => None,
    })?;
    let first = Event::from_bytes(&blob_within(repo, entry, MAX_BYTES as u64).ok()??).ok()?;
    let name = LaneRef { name: first.lane.clone(), tip: commit };
    let rows = lane::events(repo, &name, commit, Limits::LOCAL)?;
    let first_seq = rows.iter().map(|row| row.seq).min()?;
    let last = rows.iter().map(|row| row.seq).max()?;
    Some((first.lane, first_seq, last))
}
