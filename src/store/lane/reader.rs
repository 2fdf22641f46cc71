//! Reads the commits of one lane: from its tip back to what is known, and what each of them says.

use std::collections::HashSet;

use gix::ObjectId;
use gix::objs::Kind;

use super::broken::{gone, other_lane, over, text};
use super::{Bad, End, Limits, Line, Link, Named, Part, Row, SNAPSHOT, Said, row};
use crate::proposal::event::Fold;
use crate::proposal::snapshot;
use crate::proposal::{Data, Event};
use crate::repository::header;
use crate::store::objects::hashed;
use crate::store::refs::LaneRef;

/// Reads one lane, within its limits.
pub(in crate::store) struct Reader<'repo> {
    repo: &'repo gix::Repository,
    lane: String,
    limits: Limits,
    progress: Progress,
}

/// What has been read of a lane.
#[derive(Default)]
pub(in crate::store) struct Progress {
    bytes: u64,
    commits: usize,
    /// Trees of several events: a lane may name one of them any number of times.
    trees: HashSet<ObjectId>,
    before: Option<ObjectId>,
}

impl Progress {
    /// So many commits and bytes.
    pub(in crate::store) fn new((commits, bytes): (usize, u64)) -> Self {
        Self { bytes, commits, trees: HashSet::new(), before: None }
    }

    /// The commit that is not here where a walk has come to the end of a shallow history.
    pub(in crate::store) fn before(&self) -> Option<ObjectId> {
        self.before
    }

    /// How many commits and bytes have been read.
    pub(in crate::store) fn amount(&self) -> (usize, u64) {
        (self.commits, self.bytes)
    }
}

impl<'repo> Reader<'repo> {
    /// A reader of `lane` that has come to `progress` before.
    pub(in crate::store) fn new(
        repo: &'repo gix::Repository,
        lane: &LaneRef,
        limits: Limits,
        progress: Progress,
    ) -> Self {
        Self { repo, lane: lane.lane().to_owned(), limits, progress }
    }

    /// What has been read by now.
    pub(in crate::store) fn into_progress(self) -> Progress {
        self.progress
    }

    /// Adds to `links` the commits from `next` back to the first that `is_known`, to the root, or to
    /// where a shallow history ends ([`Progress::before`]), but at most `most`: `None` if there are
    /// more, and `next` is where to go on. Only their ids are kept, so that a lane of any length can be
    /// read oldest first.
    ///
    /// # Errors
    /// [`Bad`] with the commit, if the way to the known part or the root is blocked: then nothing
    /// is known of what lies in front of it.
    pub(in crate::store) fn walk(
        &mut self,
        links: &mut Vec<Link>,
        next: &mut Option<ObjectId>,
        most: usize,
        mut is_known: impl FnMut(&ObjectId) -> bool,
    ) -> Result<Option<End>, (ObjectId, Bad)> {
        let end = links.len().saturating_add(most);
        while let Some(id) = *next {
            if is_known(&id) {
                return Ok(Some(Some(id)));
            }
            if self.progress.commits.saturating_add(links.len()) >= self.limits.commits {
                let why = format!("it has more than {} commits", self.limits.commits);
                return Err((id, why.into()));
            }
            if links.len() >= end {
                return Ok(None);
            }
            match self.link(id) {
                Ok((link, parent)) => {
                    links.push(link);
                    *next = parent;
                }
                Err(bad) if bad.missing == Some(id) && self.is_cut_off(links.last()) => {
                    self.progress.before = Some(id);
                    return Ok(Some(None));
                }
                Err(bad) => return Err((id, bad)),
            }
        }
        Ok(Some(None))
    }

    /// Whether git has noted that the parent of `link` was not fetched.
    fn is_cut_off(&self, link: Option<&Link>) -> bool {
        let commits = self.repo.shallow_commits().ok().flatten();
        link.zip(commits).is_some_and(|(link, commits)| commits.contains(&link.id))
    }

    pub(super) fn link(&mut self, id: ObjectId) -> Result<(Link, Option<ObjectId>), Bad> {
        self.admit(id, Kind::Commit, self.limits.object)?;
        let commit = self.repo.find_commit(id).map_err(|error| gone(self.repo, id, &error))?;
        let tree = commit.tree_id().map_err(|error| text(&error))?.detach();
        let mut parents = commit.parent_ids();
        let parent = parents.next().map(gix::Id::detach);
        let is_merge = parents.next().is_some();
        Ok((Link { id, tree, is_merge, is_root: parent.is_none() }, parent))
    }

    /// The events of a commit, in order; all of them, or the commit is bad.
    ///
    /// # Errors
    /// [`Bad`].
    pub(in crate::store) fn read(&mut self, link: &Link) -> Result<Said, Bad> {
        let mut said = self.read_new(link, |_| None)?;
        let Some(part) = said.part.take() else { return Ok(said) };
        let mut rows = Vec::new();
        for line in part.lines()? {
            match line? {
                Line::Event(row) => rows.push(row),
                Line::Stub(id, stub) => said.stubs.push((id, stub)),
            }
        }
        rows.append(&mut said.rows);
        Ok(Said { rows, ..said })
    }

    /// As [`Reader::read`], without those that have been read before, and with its part of a snapshot still to
    /// be read. `known` has lane and position of an event that is in the cache already.
    ///
    /// # Errors
    /// [`Bad`].
    pub(in crate::store) fn read_new(
        &mut self,
        link: &Link,
        mut known: impl FnMut(&ObjectId) -> Option<(String, u64)>,
    ) -> Result<Said, Bad> {
        if link.is_merge {
            return Err("it is a merge, and lanes have none".into());
        }
        self.progress.commits += 1;
        if self.progress.trees.contains(&link.tree) {
            return Ok(Said::default());
        }
        let mut said = Said::default();
        let mut bytes = 0;
        let Held { events, snapshot } = self.contents(link.tree)?;
        let are_several = events.len() > 1;
        for id in events {
            match known(&id) {
                Some((lane, seq)) if lane == self.lane => said.last = said.last.max(seq),
                Some((lane, _)) => return Err(other_lane(&lane)),
                None => {
                    let row = self.event(id)?;
                    bytes += row.body.len() as u64;
                    if bytes > self.limits.commit_events {
                        return Err(over("its events have", self.limits.commit_events));
                    }
                    if let Data::Fold(fold) = &row.event.data {
                        let snapshot = snapshot.filter(|_| !are_several);
                        said.part = Some(self.part(fold, row.seq, snapshot)?);
                        said.epoch = (link.is_root && fold.part == 1).then(|| fold.clone());
                    }
                    said.rows.push(row);
                }
            }
        }
        if snapshot.is_some()
            && said.rows.first().is_some_and(|row| row.beside.is_none() && row.kind() != "fold")
        {
            return Err("it has a snapshot that no event of it names".into());
        }
        let last = said.rows.iter().map(|row| row.seq).max();
        said.last = said.last.max(last.unwrap_or(0));
        if are_several {
            self.progress.trees.insert(link.tree);
        }
        Ok(said)
    }

    /// The part of a snapshot with which the event `fold` came.
    fn part(&mut self, fold: &Fold, seq: u64, snapshot: Option<ObjectId>) -> Result<Part, Bad> {
        let named = ObjectId::from_hex(fold.snapshot.id.as_bytes()).ok();
        let Some(id) = snapshot.filter(|id| Some(*id) == named) else {
            return Err("it does not have the snapshot that its event names".into());
        };
        let last = match fold.from() {
            Some(from) if from.lane == self.lane && fold.epoch > 1 => from.seq,
            _ => return Err("it does not say which epoch of its lane it goes on from".into()),
        };
        if !(1..=fold.parts).contains(&fold.part) || last.checked_add(fold.part) != Some(seq) {
            return Err("its part of a snapshot is at a wrong position".into());
        }
        let bytes = self.snapshot(id)?;
        if crate::sha256::hex(&bytes) != fold.snapshot.sha256 {
            return Err("its snapshot is not the one that its event names".into());
        }
        Ok(Part { bytes, lane: self.lane.clone(), last, hash: self.repo.object_hash() })
    }

    fn snapshot(&mut self, id: ObjectId) -> Result<Vec<u8>, Bad> {
        self.admit(id, Kind::Blob, snapshot::MAX_PART as u64)?;
        let mut blob = self.repo.find_blob(id).map_err(|error| gone(self.repo, id, &error))?;
        Ok(std::mem::take(&mut blob.data))
    }

    /// The ids of the events that `commit` holds, those of its snapshot included and that of the
    /// snapshot itself not, where one is only a stub with its proposal; and the commit's parent.
    ///
    /// # Errors
    /// [`Bad`].
    pub(in crate::store) fn ids(
        &mut self,
        commit: ObjectId,
    ) -> Result<(Vec<Named>, Option<ObjectId>), Bad> {
        let (link, parent) = self.link(commit)?;
        let Held { events, snapshot } = self.contents(link.tree)?;
        let whole = || events.into_iter().map(|id| (id, None)).collect();
        let Some(id) = snapshot else { return Ok((whole(), parent)) };
        Ok((self.lines(id)?, parent))
    }

    /// The ids of the events in the part `snapshot`, where one is only a stub with its proposal.
    fn lines(&mut self, snapshot: ObjectId) -> Result<Vec<Named>, Bad> {
        let bytes = self.snapshot(snapshot)?;
        let kind = self.repo.object_hash();
        let hash = |bytes: &[u8]| Some(hashed(kind, Kind::Blob, bytes).ok()?.to_string());
        let ids = snapshot::ids(&bytes, hash)?.into_iter();
        Ok(ids.filter_map(|(id, of)| Some((ObjectId::from_hex(id.as_bytes()).ok()?, of))).collect())
    }

    /// The events that `commit` of `lane` holds, whose tree may be known already.
    ///
    /// # Errors
    /// [`Bad`].
    pub(in crate::store) fn held(
        repo: &'repo gix::Repository,
        lane: &LaneRef,
        commit: ObjectId,
        tree: Option<ObjectId>,
    ) -> Result<Vec<ObjectId>, Bad> {
        let mut reader = Self::new(repo, lane, Limits::LOCAL, Progress::default());
        let tree = match tree {
            Some(tree) => tree,
            None => reader.link(commit)?.0.tree,
        };
        let Held { mut events, snapshot } = reader.contents(tree)?;
        if let Some(id) = snapshot {
            let lines = reader.lines(id)?.into_iter();
            events.extend(lines.filter(|(_, of)| of.is_none()).map(|(id, _)| id));
        }
        Ok(events)
    }

    /// Whether `commit` has a part of a snapshot, so that its events need not be objects.
    pub(in crate::store) fn has_snapshot(repo: &gix::Repository, commit: ObjectId) -> bool {
        let tree = repo.find_commit(commit).ok().and_then(|commit| commit.tree().ok());
        tree.is_some_and(|tree| tree.iter().flatten().any(|entry| entry.filename() == SNAPSHOT))
    }

    fn event(&mut self, id: ObjectId) -> Result<Row, Bad> {
        self.admit(id, Kind::Blob, self.limits.event)?;
        let mut blob = self.repo.find_blob(id).map_err(|error| gone(self.repo, id, &error))?;
        let event = Event::from_bytes(&blob.data).map_err(|error| text(&error))?;
        if event.lane != self.lane {
            return Err(other_lane(&event.lane));
        }
        Ok(row(id, id.to_string(), Box::new(event), std::mem::take(&mut blob.data)))
    }

    /// What the tree of a commit names: its events, each once, and its snapshot.
    fn contents(&mut self, tree: ObjectId) -> Result<Held, Bad> {
        let mut ids = Vec::new();
        let mut snapshot = None;
        let mut seen = HashSet::new();
        let mut entries = 0;
        let most = self.limits.events;
        let mut add = |id: ObjectId| {
            entries += 1;
            if seen.insert(id) {
                ids.push(id);
            }
            if entries > most { Err(format!("it has more than {most} events")) } else { Ok(()) }
        };
        self.admit(tree, Kind::Tree, self.limits.object)?;
        let top = self.repo.find_tree(tree).map_err(|error| gone(self.repo, tree, &error))?;
        for entry in top.iter() {
            let entry = entry.map_err(|error| text(&error))?;
            if entry.filename() == "event.json" {
                add(entry.object_id())?;
            } else if entry.filename() == SNAPSHOT {
                snapshot = Some(entry.object_id());
            } else if entry.filename() == "events" && entry.mode().is_tree() {
                let id = entry.object_id();
                self.admit(id, Kind::Tree, self.limits.object)?;
                let directory =
                    self.repo.find_tree(id).map_err(|error| gone(self.repo, id, &error))?;
                for entry in directory.iter() {
                    add(entry.map_err(|error| text(&error))?.object_id())?;
                }
            }
        }
        if ids.is_empty() {
            return Err("it has no events".into());
        }
        Ok(Held { events: ids, snapshot })
    }

    /// Refuses an object of another kind or larger than `limit`, by its header alone: what it
    /// claims to be is not worth loading.
    fn admit(&mut self, id: ObjectId, kind: Kind, limit: u64) -> Result<(), Bad> {
        if !self.limits.distrust {
            return Ok(());
        }
        let (found, size) = header(self.repo, id).map_err(|error| gone(self.repo, id, &error))?;
        if found != kind {
            return Err(format!("{id} is a {found}, not a {kind}").into());
        }
        if size > limit {
            return Err(over(&format!("the {kind} {id} has"), limit));
        }
        let bytes = &mut self.progress.bytes;
        *bytes = bytes.saturating_add(size);
        if *bytes > self.limits.total {
            return Err(over("its lane has", self.limits.total));
        }
        Ok(())
    }
}

/// What the tree of a lane commit names.
struct Held {
    events: Vec<ObjectId>,
    snapshot: Option<ObjectId>,
}
