//! Whether the objects of the lanes are there and whole, whatever the cache says of them.

use std::collections::{HashMap, HashSet};

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

/// How closely objects are looked at. Commits, trees and events are read and hashed either way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// Contents and attachments by their headers: a missing or empty object is found.
    Headers,
    /// Everything is read and hashed.
    Full,
}

/// An object of a lane that is missing or damaged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// Its id.
    pub(super) object: ObjectId,
    /// What it should be.
    pub(super) kind: Kind,
    /// What is wrong with it.
    why: String,
    /// The ref of the lane.
    pub(super) name: String,
    /// The commit that needs it: itself, if it is one.
    pub(super) commit: ObjectId,
    /// The commit whose parent `commit` is; `None` for the lane's tip.
    pub(super) child: Option<ObjectId>,
    /// Where it is in the tree of `commit`; empty for the commit and for its tree.
    pub(super) path: BString,
    /// The proposals that `commit` names.
    pub(super) proposals: Vec<String>,
}

impl Damage {
    /// The ref of the lane.
    pub fn lane_ref(&self) -> &str {
        &self.name
    }

    /// The lane's own name.
    pub fn lane(&self) -> String {
        refs::lane_of(&self.name).to_owned()
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

    /// Whether a decision counts for nothing without it: it is its statement, or the manifest of that.
    pub fn ends_decision(&self) -> bool {
        self.path.starts_with(b"statement-") || self.path.starts_with(b"manifest-")
    }

    /// One sentence without a final period; quotes paths as they are.
    pub fn message(&self) -> String {
        let (name, object, why) = (&self.name, self.object, &self.why);
        let commit = self.commit.to_hex_with_len(12);
        let about = match self.proposals.as_slice() {
            [] => String::new(),
            ids => format!(" ({})", ids.join(", ")),
        };
        match self.kind {
            Kind::Commit => format!("{name}: commit {object} {why}"),
            Kind::Tree => format!("{name}: tree {object} of commit {commit}{about} {why}"),
            _ if self.breaks_lane() => {
                format!("{name}: event {object} of commit {commit}{about} {why}")
            }
            _ => format!("{name}: blob {object}, {} of commit {commit}{about}, {why}", self.path),
        }
    }
}

/// What was found in the lanes.
#[derive(Debug, Default)]
pub struct Inspection {
    /// What is wrong, in the order of the lanes, each object once.
    pub damaged: Vec<Damage>,
    /// Whole events, with the commits that hold them.
    holders: HashMap<ObjectId, Vec<ObjectId>>,
    /// The commits of each lane, by its name.
    commits: HashMap<String, HashSet<ObjectId>>,
}

impl Inspection {
    /// Whether `event` is whole and in `commit`, which is in `lane`.
    pub(super) fn holds(&self, lane: &str, commit: &ObjectId, event: &ObjectId) -> bool {
        self.holders.get(event).is_some_and(|commits| commits.contains(commit))
            && self.commits.get(lane).is_some_and(|commits| commits.contains(commit))
    }
}

impl Store {
    /// Looks at every object of the lanes that are not fetched, from their tips, and of what counts
    /// of fetched lanes in `view`, where one is given. Each object is looked at once.
    ///
    /// # Errors
    /// `lane_broken` if the refs cannot be read.
    pub fn inspect(&self, view: Option<&View>, depth: Depth) -> Result<Inspection> {
        let mut tips = refs::local(&self.repo)?;
        if let Some(view) = view {
            for (name, position) in view.positions()? {
                let reached =
                    position.reached.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
                if let Some(tip) = reached.filter(|_| !refs::is_local(&name)) {
                    tips.push(LaneRef { name, tip });
                }
            }
        }
        Ok(self.walk(&tips, depth))
    }

    /// Looks at the objects that keep the lane of the ref `name` from being read to its end.
    ///
    /// # Errors
    /// `lane_broken` if the ref cannot be read.
    pub fn inspect_ref(&self, name: &str) -> Result<Vec<Damage>> {
        let tip = refs::target(&self.repo, name)?;
        let lane = tip.map(|tip| LaneRef { name: name.to_owned(), tip });
        let mut damaged = self.walk(lane.as_slice(), Depth::Headers).damaged;
        damaged.retain(Damage::breaks_lane);
        Ok(damaged)
    }

    fn walk(&self, lanes: &[LaneRef], depth: Depth) -> Inspection {
        let mut walk = Walk {
            store: self,
            depth,
            is_partial: self.is_partial(),
            shallow: self.shallow(),
            seen: HashSet::new(),
            found: Inspection::default(),
        };
        for lane in lanes {
            walk.lane(lane);
        }
        walk.found
    }

    /// Commits whose parents were not fetched.
    fn shallow(&self) -> HashSet<ObjectId> {
        let commits = self.repo.shallow_commits().ok().flatten();
        commits.map(|commits| commits.iter().copied().collect()).unwrap_or_default()
    }
}

struct Walk<'a> {
    store: &'a Store,
    depth: Depth,
    is_partial: bool,
    shallow: HashSet<ObjectId>,
    seen: HashSet<ObjectId>,
    found: Inspection,
}

impl Walk<'_> {
    fn lane(&mut self, lane: &LaneRef) {
        let lane_name = lane.lane().to_owned();
        let (mut next, mut child) = (Some(lane.tip), None);
        while let Some(id) = next {
            let commits = self.found.commits.entry(lane_name.clone()).or_default();
            if !commits.insert(id) {
                return;
            }
            // Two refs may lead to one history: what it consists of is looked at once.
            let is_new = self.seen.insert(id);
            let mut place = Damage {
                object: id,
                kind: Kind::Commit,
                why: String::new(),
                name: lane.name.clone(),
                commit: id,
                child,
                path: BString::default(),
                proposals: Vec::new(),
            };
            let bytes = match whole(self.store, id, Kind::Commit) {
                Ok(bytes) => bytes,
                Err(why) => {
                    if is_new {
                        self.found.damaged.push(Damage { why, ..place });
                    }
                    return;
                }
            };
            let Ok(commit) = gix::objs::CommitRef::from_bytes(&bytes, id.kind()) else { return };
            if is_new {
                place.proposals = compose::proposals(commit.message).map(BStr::to_string).collect();
                self.tree(commit.tree(), &place);
            }
            child = Some(id);
            next = commit.parents().next().filter(|_| !self.shallow.contains(&id));
        }
    }

    /// Everything below the tree `top` of a commit, whose `place` is given.
    fn tree(&mut self, top: ObjectId, place: &Damage) {
        let mut trees = vec![(top, BString::default())];
        while let Some((id, path)) = trees.pop() {
            let is_events = path.is_empty() || path == "events";
            // The events of a commit are its own, whoever else has the same tree.
            if !self.seen.insert(id) && !is_events {
                continue;
            }
            let bytes = match whole(self.store, id, Kind::Tree) {
                Ok(bytes) => bytes,
                // `--filter=tree:0` leaves trees with the remote, too.
                Err(_) if self.is_partial && self.store.repo.find_header(id).is_err() => continue,
                Err(why) => {
                    self.report(id, Kind::Tree, path, why, place);
                    continue;
                }
            };
            let Ok(tree) = gix::objs::TreeRef::from_bytes(&bytes, id.kind()) else { continue };
            for entry in &tree.entries {
                let path = if path.is_empty() {
                    entry.filename.to_owned()
                } else {
                    BString::from([&path[..], b"/", entry.filename].concat())
                };
                let id = entry.oid.to_owned();
                match entry.mode.kind() {
                    EntryKind::Tree => trees.push((id, path)),
                    EntryKind::Blob | EntryKind::BlobExecutable => self.blob(id, path, place),
                    // Not written by aye, and not needed.
                    EntryKind::Link | EntryKind::Commit => {}
                }
            }
        }
    }

    fn blob(&mut self, id: ObjectId, path: BString, place: &Damage) {
        let is_event = is_event(path.as_bstr());
        let is_new = self.seen.insert(id);
        // An event may be in several commits.
        let is_held = is_event && self.found.holders.contains_key(&id);
        if !(is_new || is_held) {
            return;
        }
        let found = match (is_event, self.depth) {
            _ if !is_new => Ok(()),
            (true, _) => whole(self.store, id, Kind::Blob).map(drop),
            // Of content that nothing here would read, the header has to do.
            (false, Depth::Full) if !is_over(&self.store.repo, id) => {
                whole(self.store, id, Kind::Blob).map(drop)
            }
            (false, _) => header(self.store, id),
        };
        match found {
            Ok(()) if is_event => {
                self.found.holders.entry(id).or_default().push(place.commit);
            }
            Ok(()) => {}
            // A partial clone fetches what it needs when it needs it.
            Err(_) if self.is_partial && self.store.repo.find_header(id).is_err() => {}
            Err(why) => self.report(id, Kind::Blob, path, why, place),
        }
    }

    fn report(&mut self, object: ObjectId, kind: Kind, path: BString, why: String, place: &Damage) {
        self.found.damaged.push(Damage { object, kind, path, why, ..place.clone() });
    }
}

/// Whether a path in the tree of a lane commit is that of an event, or of many: a snapshot.
fn is_event(path: &BStr) -> bool {
    path == "event.json" || path.starts_with(b"events/") || path == SNAPSHOT
}

/// The content of an object that is there, of the right kind, and hashes to its id; or what is
/// wrong with it.
pub(super) fn whole(store: &Store, id: ObjectId, kind: Kind) -> Result<Vec<u8>, String> {
    let mut found = store.repo.find_object(id).map_err(|error| unreadable(store, id, &error))?;
    if found.kind != kind {
        return Err(format!("is damaged: it is a {}", found.kind));
    }
    let bytes = std::mem::take(&mut found.data);
    match hashed(store.repo.object_hash(), kind, &bytes) {
        Ok(hash) if hash == id => Ok(bytes),
        _ => Err("is damaged: its content is another".into()),
    }
}

/// Whether the object `id` is larger than any that is read.
fn is_over(repo: &gix::Repository, id: ObjectId) -> bool {
    crate::repository::header(repo, id).is_ok_and(|(_, size)| size > MOST)
}

fn header(store: &Store, id: ObjectId) -> Result<(), String> {
    match store.repo.find_header(id) {
        Ok(found) if found.kind() == Kind::Blob => Ok(()),
        Ok(found) => Err(format!("is damaged: it is a {}", found.kind())),
        Err(error) => Err(unreadable(store, id, &error)),
    }
}

fn unreadable(store: &Store, id: ObjectId, error: &dyn std::fmt::Display) -> String {
    let path = crate::repository::loose_path(&store.repo, &id);
    match path.metadata() {
        Ok(facts) if facts.len() == 0 => format!("is damaged: {} is empty", path.display()),
        Ok(_) => match std::fs::File::open(&path) {
            Ok(_) => format!("is damaged: {error}"),
            Err(error) => format!("cannot be read: {}: {error}", path.display()),
        },
        Err(_) if store.repo.find_header(id).is_ok() => format!("is damaged: {error}"),
        Err(_) => "is missing".into(),
    }
}
