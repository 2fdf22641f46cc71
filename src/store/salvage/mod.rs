//! What can be saved of a damaged lane.
//!
//! First by writing the damaged objects again, bit for bit ([`Store::restore`]): a lane commit is a
//! function of its events, and the cache has these. Only where that cannot be done is the lane put
//! together from what can be read of it: the commits get new parents; their trees stay, and with
//! them the events and the ids of proposals. Nothing is removed: the cache, the files of damaged
//! objects and every commit that was found are kept.

mod aside;
mod content;
mod gone;
mod known;
mod packs;
mod restore;
mod snapshot;

pub use aside::Aside;
pub use restore::Restored;

use std::collections::BTreeSet;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use gix::ObjectId;

use super::lane::{self, Broken};
use super::objects::Batch;
use super::refs::{self, LaneRef};
use super::trouble::Trouble;
use super::{Store, View, compose, lock, pending};
use crate::beneath::{Access, FileKind};
use crate::error::{Error, Result};
use crate::flush::Method;
use crate::proposal::ProposalId;
use crate::proposal::statement::Statement;

impl Store {
    /// Copies the cache to `aye/broken/cache-<time>.sqlite` in the git directory, because a repair
    /// takes events from it and then deletes it. `None` if there is none.
    ///
    /// # Errors
    /// `private_dir_unsafe`, and those of the file system.
    pub fn save_cache(&self, now: DateTime<Utc>) -> Result<Option<PathBuf>> {
        let Some(private) = self.private()? else { return Ok(None) };
        let broken = private.make_inside("broken")?;
        let stamp = now.format("%Y%m%dT%H%M%SZ");
        let taken = |name: &String| broken.dir().stat(name.as_str().into()).is_ok();
        let mut names = (0..).map(|n: u32| match n {
            0 => format!("cache-{stamp}.sqlite"),
            n => format!("cache-{stamp}.{n}.sqlite"),
        });
        let name = names.find(|name| !taken(name)).unwrap_or_default();
        let mut is_there = false;
        for suffix in ["", "-journal"] {
            let from = format!("cache.sqlite{suffix}");
            let to = format!("{name}{suffix}");
            match private.dir().stat(from.as_str().into()) {
                Ok(found) if found.kind == FileKind::File => {}
                _ => continue,
            }
            let mut from = private.file(from.as_str().into(), Access::Read)?;
            let mut copy = broken.file(to.as_str().into(), Access::New)?;
            std::io::copy(&mut from, &mut copy).map_err(|error| {
                let to = broken.path().join(&to);
                Error::io(format_args!("copy the cache to {}", to.display()), &error)
            })?;
            is_there |= suffix.is_empty();
        }
        Ok(is_there.then(|| broken.path().join(name)))
    }

    /// Moves a lane that cannot be read to `refs/aye/broken/`, and puts what can be read of it in
    /// its place. Where that is nothing this clone begins a new lane, if it was its own. Returns
    /// what was done, in words.
    ///
    /// # Errors
    /// `busy`, and those of the file system.
    pub fn set_lane_aside(&self, broken: &Broken) -> Result<String> {
        let private = self.make_private()?;
        let _lock = lock::Lock::acquire(&private, "lock")?;
        let name = &broken.name;
        let Some(tip) = refs::target(&self.repo, name)? else {
            return Ok(format!("{name} is gone"));
        };
        let lane = LaneRef { name: name.clone(), tip };
        let aside = format!("refs/aye/broken/{}", lane.lane());
        // A ref to what is not there would only be the next thing that is broken.
        let is_there = self.repo.find_header(tip).is_ok();
        if is_there {
            refs::set(&self.common_dir, &aside, tip)?;
        }
        let mut kept = lane::readable(&self.repo, &lane);
        let before = self.before_gap(&lane, &kept, &aside)?;
        let older = before.len();
        kept.splice(0..0, before);
        match self.chain(&kept)? {
            Some(tip) => refs::set(&self.common_dir, name, tip)?,
            None => {
                refs::remove(&self.repo, &self.common_dir, name)?;
                // Of what a person may have put back it is known then whom it is for.
                if let Some(audience) = refs::Audience::of(name)
                    && !self.is_set_aside(lane.lane())
                {
                    super::place::forget(&private, &audience, lane.lane())?;
                }
            }
        }
        let older = match older {
            0 => String::new(),
            count => format!(", {count} of them from before a gap"),
        };
        Ok(match (is_there, kept.len()) {
            (true, count) => {
                format!("{name} set aside as {aside}, {count} of its commits kept{older}")
            }
            (false, 0) => format!("{name} removed, {tip} is not there"),
            (false, count) => {
                format!("{name}: {tip} is not there, {count} of its commits kept{older}")
            }
        })
    }

    /// The commits of `lane` that lie behind a missing commit, oldest first; `kept` are those that
    /// its ref leads to. Every history of the lane that the object database has gets a ref that
    /// begins with `aside`.
    ///
    /// Nothing that the lane's ref leads to names them any more, and whoever can push a branch here
    /// can put commits into the object database that claim to be of this lane. They count only from
    /// where something in this repository names them by hash: an event that was kept, which names
    /// the tips its writer saw, as the statement of a decision does, or a pending ref, whose name is
    /// the hash of a proposal's first event. The cache is not among these, because anybody may have
    /// written it; nor are fetched lanes, which count beside this one. For the rest see [`Aside`].
    fn before_gap(&self, lane: &LaneRef, kept: &[ObjectId], aside: &str) -> Result<Vec<ObjectId>> {
        let Some(tops) = self.tops_behind_gap(lane) else { return Ok(Vec::new()) };
        for top in &tops {
            self.keep_top(aside, *top)?;
        }
        let pending: BTreeSet<ProposalId> = pending::targets(self)?.into_keys().collect();
        let rows = |id: ObjectId| {
            lane::events(&self.repo, lane, id, lane::Limits::LOCAL).unwrap_or_default()
        };
        let mut named = BTreeSet::new();
        for row in kept.iter().flat_map(|id| rows(*id)) {
            let statement = row.event.data.statement().and_then(|named| {
                let blob = self.blob(&named.id).ok()?;
                Statement::from_bytes(&blob).ok()
            });
            named.extend(statement.and_then(|statement| statement.seen));
            let heads = row.event.heads;
            named.extend(heads.into_iter().map(|head| head.tip));
        }
        let is_named = |id: &ObjectId| {
            named.contains(&id.to_string())
                || rows(*id).iter().any(|row| {
                    row.kind() == "propose"
                        && pending.contains(&ProposalId::from_event(&row.id.to_string()))
                })
        };
        let first = kept.first().and_then(|id| known::span(&self.repo, *id));
        let before = first.map_or(u64::MAX, |(_, first, _)| first);
        let mut best: Option<(u64, ObjectId)> = None;
        for top in tops {
            let mut next = Some(top);
            while let Some(id) = next.filter(|id| !is_named(id)) {
                next = self.parent(id);
            }
            if let Some(id) = next
                && let Some((_, _, last)) = known::span(&self.repo, id)
                && last < before
                && best.is_none_or(|(known, _)| known < last)
            {
                best = Some((last, id));
            }
        }
        let from = best.map(|(_, tip)| LaneRef { name: lane.name.clone(), tip });
        Ok(from.map(|from| lane::readable(&self.repo, &from)).unwrap_or_default())
    }

    /// The last commits of the histories of `lane` that the object database has and its ref does not lead to,
    /// if the way to its first commit is blocked.
    fn tops_behind_gap(&self, lane: &LaneRef) -> Option<Vec<ObjectId>> {
        let reachable = self.gap(lane)?;
        let mut known = known::Knowledge::default();
        known.scan(&self.repo);
        let ends = known.ends.get(lane.lane());
        let found: BTreeSet<ObjectId> =
            ends.into_iter().flatten().flat_map(|(_, ids)| ids).copied().collect();
        let inner: BTreeSet<ObjectId> = found.iter().filter_map(|id| self.parent(*id)).collect();
        let tops = found.iter().filter(|id| !inner.contains(*id) && !reachable.contains(*id));
        Some(tops.copied().collect())
    }

    /// Gives a history that ends in `top` a ref that begins with `aside`.
    fn keep_top(&self, aside: &str, top: ObjectId) -> Result<()> {
        // By so much of the id that nobody makes another commit which begins alike.
        refs::set(&self.common_dir, &format!("{aside}.{}", top.to_hex_with_len(16)), top)
    }

    /// The commits that the ref of `lane` leads to, if the way to its first commit is blocked.
    fn gap(&self, lane: &LaneRef) -> Option<BTreeSet<ObjectId>> {
        let mut reached = BTreeSet::new();
        let mut next = Some(lane.tip);
        while let Some(id) = next {
            let Ok(commit) = self.repo.find_commit(id) else { return Some(reached) };
            if !reached.insert(id) {
                break;
            }
            next = commit.parent_ids().next().map(gix::Id::detach);
        }
        None
    }

    /// The events of `lanes` that the cache at `saved` has, and neither `view` nor `aside`; each once, with
    /// the id of the proposal in front where it is about one.
    pub fn lost(
        &self,
        view: &View,
        saved: &Path,
        lanes: &BTreeSet<String>,
        aside: &[Aside],
    ) -> Vec<String> {
        let aside: BTreeSet<&String> =
            aside.iter().flat_map(|aside| &aside.events).map(|(id, _)| id).collect();
        let known = known::Knowledge::of_cache(&self.repo, saved);
        let mut lost = BTreeSet::new();
        for (id, known) in &known.events {
            let (stamped, id) = (&known.stamped, id.to_string());
            let lane = &stamped.event.lane;
            if lanes.contains(lane) && !view.has_event(&id) && !aside.contains(&id) {
                let (about, kind) = (stamped.proposal(), stamped.event.data.kind());
                let event = aside::words(about.as_ref(), kind, &id, lane);
                lost.insert(format!("{event}, from the cache,"));
            }
        }
        lost.into_iter().collect()
    }

    /// Moves a fetched lane that cannot be read to its end to `refs/aye/broken/`, and its ref back
    /// to the last commit that counts. Returns what was done, in words.
    ///
    /// # Errors
    /// `busy`, and those of the file system.
    pub fn set_fetched_lane_aside(&self, view: &View, trouble: &Trouble) -> Result<String> {
        let name = &trouble.name;
        if refs::is_local(name) {
            let (commit, why) = (trouble.object.clone(), trouble.why.clone());
            return self.set_lane_aside(&Broken {
                name: name.clone(),
                commit,
                why,
                is_absent: false,
            });
        }
        let _lock = lock::Lock::acquire(&self.make_private()?, "lock")?;
        let Some(tip) = refs::target(&self.repo, name)? else {
            return Ok(format!("{name} is gone"));
        };
        let aside = format!("refs/aye/broken/{}", refs::lane_of(name));
        let is_there = self.repo.find_header(tip).is_ok();
        if is_there {
            refs::set(&self.common_dir, &aside, tip)?;
        }
        let lane = LaneRef { name: refs::lane_of(name).to_owned(), tip };
        for top in self.tops_behind_gap(&lane).unwrap_or_default() {
            let history = LaneRef { name: lane.name.clone(), tip: top };
            // Another remote may have it still.
            if !self.only_in(view, &history, usize::MAX).is_empty() {
                self.keep_top(&aside, top)?;
            }
        }
        let positions = view.positions()?;
        let reached = positions.get(name).and_then(|position| position.reached.as_ref());
        match reached.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok()) {
            Some(reached) => refs::set(&self.common_dir, name, reached)?,
            None => refs::remove(&self.repo, &self.common_dir, name)?,
        }
        Ok(if is_there {
            format!("{name} set aside as {aside} until it is fetched again")
        } else {
            format!("{name} removed, {tip} is not there")
        })
    }

    /// Files of our refs that hold no object id, as a power cut or an editor may leave them. As
    /// long as there is one, git and gix read no ref beside it.
    pub fn unreadable_refs(&self) -> Vec<String> {
        let mut found = Vec::new();
        let top = self.common_dir.join("refs/aye");
        for entry in walkdir::WalkDir::new(&top).into_iter().flatten() {
            let name = entry.path().strip_prefix(&self.common_dir).ok().and_then(|p| p.to_str());
            let locked = entry.path().extension().is_some_and(|extension| extension == "lock");
            let holds_none = || match std::fs::read(entry.path()) {
                Ok(bytes) => !is_ref(&bytes),
                // Removed, or packed, by another process since the directory was read.
                Err(error) => error.kind() != ErrorKind::NotFound,
            };
            if let Some(name) = name.filter(|_| entry.file_type().is_file() && !locked)
                && holds_none()
            {
                found.push(name.to_owned());
            }
        }
        found
    }

    /// Moves the file of an unreadable ref to `aye/broken/` in the git directory. A lane goes
    /// back to where the cache has last seen it. Returns what was done, in words.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn set_ref_aside(&self, name: &str) -> Result<String> {
        let directory = self.make_private()?.make_inside("broken")?;
        let failed = |error: std::io::Error| Error::io(format_args!("move {name} away"), &error);
        let to = directory.path().join(name.replace('/', "-"));
        match std::fs::rename(self.common_dir.join(name), &to) {
            // Another repair was first.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(format!("{name} is gone"));
            }
            moved => moved.map_err(failed)?,
        }
        if let Some(tip) = self.tip_in_cache(name).filter(|tip| self.repo.find_header(*tip).is_ok())
        {
            refs::set(&self.common_dir, name, tip)?;
            return Ok(format!("{name} was unreadable and is back at {tip}"));
        }
        Ok(format!("{name} was unreadable, moved to {}", to.display()))
    }

    /// Commits with the trees and messages of `commits`, each the parent of the next. Returns the
    /// last.
    fn chain(&self, commits: &[ObjectId]) -> Result<Option<ObjectId>> {
        let mut batch = Batch::new(&self.repo);
        let mut parent = None;
        for id in commits {
            parent = Some(compose::on(&self.repo, &mut batch, *id, parent)?);
        }
        batch.write(Method::durable(batch.directory(), &self.common_dir))?;
        Ok(parent)
    }
}

/// True for what a ref's file may hold: an object id, or the name of another ref.
fn is_ref(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    text.starts_with(b"ref: ") || ObjectId::from_hex(text).is_ok()
}
