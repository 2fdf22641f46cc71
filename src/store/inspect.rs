//! Whether the objects of the lanes are there and whole, whatever the cache says of them.

use std::collections::HashSet;

use bstr::{BStr, BString, ByteSlice as _};
use gix::ObjectId;
use gix::objs::Kind;
use gix::objs::tree::EntryKind;

use super::lane::SNAPSHOT;
use super::objects::hashed;
use super::refs::{self, LaneRef};
use super::{Store, View, compose};
use crate::error::Result;
use crate::repository::MOST;

/// An object of a lane that is missing or damaged.
#[derive(Clone, Debug)]
pub struct Damage {
    object: ObjectId,
    /// What it should be.
    kind: Kind,
    /// What is wrong with it.
    why: String,
    /// The ref of the lane.
    name: String,
    /// The commit that needs it: itself, if it is one.
    commit: ObjectId,
    /// Where it is in the tree of `commit`; empty for the commit and for its tree.
    path: BString,
    /// The proposals that `commit` names.
    proposals: Vec<String>,
}

impl Damage {
    /// The ref of the lane.
    pub fn lane_ref(&self) -> &str {
        &self.name
    }

    /// The proposals that it belongs to, as far as that can be found out.
    pub fn proposals(&self) -> &[String] {
        &self.proposals
    }

    /// Whether the lane cannot be read without it: a commit, a tree or an event. Contents and
    /// attachments are needed for their proposal alone.
    pub fn breaks_lane(&self) -> bool {
        self.kind != Kind::Blob || is_event(self.path.as_bstr())
    }

    /// One sentence without a final period; quotes paths as they are.
    pub fn message(&self) -> String {
        let Self { object, kind, why, name, path, .. } = self;
        let commit = self.commit.to_hex_with_len(12);
        let about = match self.proposals.as_slice() {
            [] => String::new(),
            ids => format!(" ({})", ids.join(", ")),
        };
        match kind {
            Kind::Commit => format!("{name}: commit {object} {why}"),
            kind if path.is_empty() => format!("{name}: {kind} {object} of commit {commit} {why}"),
            kind => format!("{name}: {kind} {object}, {path} of commit {commit}{about}, {why}"),
        }
    }
}

impl Store {
    /// Looks at every object of the lanes that are not fetched, from their tips, and of what counts of fetched lanes
    /// in `view`; each once. Commits, trees and events are read and hashed; contents and attachments only where it
    /// `is_full`: of others a missing or empty object is found.
    ///
    /// # Errors
    /// `lane_broken` if the refs cannot be read.
    pub fn inspect(&self, view: &View, is_full: bool) -> Result<Vec<Damage>> {
        let mut tips = refs::local(&self.repository().repo)?;
        for (name, position) in view.positions()? {
            let reached = position.reached.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
            if let Some(tip) = reached.filter(|_| !refs::is_local(&name)) {
                tips.push(LaneRef { name, tip });
            }
        }
        let shallow = self.repository().repo.shallow_commits().ok().flatten();
        let shallow = shallow.map(|commits| commits.iter().copied().collect()).unwrap_or_default();
        let (seen, damaged) = (HashSet::new(), Vec::new());
        let mut walk = Walk { store: self, is_full, shallow, seen, damaged };
        for lane in &tips {
            walk.lane(lane);
        }
        Ok(walk.damaged)
    }
}

struct Walk<'a> {
    store: &'a Store,
    is_full: bool,
    /// Commits whose parents were not fetched.
    shallow: HashSet<ObjectId>,
    seen: HashSet<ObjectId>,
    damaged: Vec<Damage>,
}

impl Walk<'_> {
    fn lane(&mut self, lane: &LaneRef) {
        let mut next = Some(lane.tip);
        while let Some(id) = next {
            let mut place = Damage {
                object: id,
                kind: Kind::Commit,
                why: String::new(),
                name: lane.name.clone(),
                commit: id,
                path: BString::default(),
                proposals: Vec::new(),
            };
            let Some(bytes) = self.look(&place, true) else { return };
            let Ok(commit) = gix::objs::CommitRef::from_bytes(&bytes, id.kind()) else { return };
            place.proposals = compose::proposals(commit.message).map(BStr::to_string).collect();
            self.tree(Damage { object: commit.tree(), kind: Kind::Tree, ..place });
            next = commit.parents().next().filter(|_| !self.shallow.contains(&id));
        }
    }

    /// The tree at the place `top`, and everything below it.
    fn tree(&mut self, top: Damage) {
        let mut trees = vec![top];
        while let Some(place) = trees.pop() {
            let Some(bytes) = self.look(&place, true) else { continue };
            let Ok(tree) = gix::objs::TreeRef::from_bytes(&bytes, place.object.kind()) else {
                continue;
            };
            for entry in &tree.entries {
                let above = if place.path.is_empty() { &b""[..] } else { &b"/"[..] };
                let path = BString::from([&place.path[..], above, entry.filename].concat());
                let place = Damage { object: entry.oid.to_owned(), path, ..place.clone() };
                match entry.mode.kind() {
                    EntryKind::Tree => trees.push(place),
                    EntryKind::Blob | EntryKind::BlobExecutable => {
                        // Of content that nothing here would read, the header has to do.
                        let is_over = || is_over(&self.store.repository().repo, place.object);
                        let is_read = is_event(place.path.as_bstr()) || self.is_full && !is_over();
                        self.look(&Damage { kind: Kind::Blob, ..place }, is_read);
                    }
                    // Not written by aye, and not needed.
                    EntryKind::Link | EntryKind::Commit => {}
                }
            }
        }
    }

    /// The bytes of the object at `place`, none of it unless `is_read`; `None` where it was looked at before, or is
    /// damaged, which is noted.
    fn look(&mut self, place: &Damage, is_read: bool) -> Option<Vec<u8>> {
        let (id, kind) = (place.object, place.kind);
        if !self.seen.insert(id) {
            return None;
        }
        match if is_read { whole(self.store, id, kind) } else { header(self.store, id) } {
            Ok(bytes) => return Some(bytes),
            // A partial clone fetches what it needs when it needs it.
            Err(_)
                if kind != Kind::Commit
                    && self.store.repository().is_partial()
                    && self.store.repository().repo.find_header(id).is_err() => {}
            Err(why) => self.damaged.push(Damage { why, ..place.clone() }),
        }
        None
    }
}

/// Whether a path in the tree of a lane commit is that of an event, or of many: a snapshot.
fn is_event(path: &BStr) -> bool {
    path == "event.json" || path.starts_with(b"events/") || path == SNAPSHOT
}

/// The content of an object that is there, of the right kind, and hashes to its id; or what is
/// wrong with it.
fn whole(store: &Store, id: ObjectId, kind: Kind) -> Result<Vec<u8>, String> {
    let mut found =
        store.repository().repo.find_object(id).map_err(|error| unreadable(store, id, &error))?;
    if found.kind != kind {
        return Err(format!("is damaged: it is a {}", found.kind));
    }
    let bytes = std::mem::take(&mut found.data);
    match hashed(store.repository().repo.object_hash(), kind, &bytes) {
        Ok(hash) if hash == id => Ok(bytes),
        _ => Err("is damaged: its content is another".into()),
    }
}

/// Whether the object `id` is larger than any that is read.
fn is_over(repo: &gix::Repository, id: ObjectId) -> bool {
    crate::repository::header(repo, id).is_ok_and(|(_, size)| size > MOST)
}

fn header(store: &Store, id: ObjectId) -> Result<Vec<u8>, String> {
    match store.repository().repo.find_header(id) {
        Ok(found) if found.kind() == Kind::Blob => Ok(Vec::new()),
        Ok(found) => Err(format!("is damaged: it is a {}", found.kind())),
        Err(error) => Err(unreadable(store, id, &error)),
    }
}

fn unreadable(store: &Store, id: ObjectId, error: &dyn std::fmt::Display) -> String {
    let path = crate::repository::loose_path(&store.repository().repo, &id);
    match std::fs::File::open(&path).and_then(|file| file.metadata()) {
        Ok(facts) if facts.len() == 0 => format!("is damaged: {} is empty", path.display()),
        Ok(_) => format!("is damaged: {error}"),
        Err(denied) if path.exists() => format!("cannot be read: {}: {denied}", path.display()),
        Err(_) if store.repository().repo.find_header(id).is_ok() => format!("is damaged: {error}"),
        Err(_) => "is missing".into(),
    }
}
