//! Damaged objects of lanes, written again.
//!
//! Everything that is written here is named by its hash: by the lane's ref, by a later commit, or
//! by a tree or event that one of these leads to. Where the bytes come from does not matter then,
//! and neither does who could have edited that place.

use std::collections::{BTreeSet, HashMap};
use std::path::Path;

use gix::ObjectId;
use gix::objs::Kind;

use super::content::Contents;
use super::known::{self, Knowledge};
use crate::error::{Error, Result};
use crate::flush::Method;
use crate::proposal::Stamped;
use crate::repository::loose_path;
use crate::store::inspect::{self, Damage, Depth};
use crate::store::objects::{Batch, Composed};
use crate::store::trees::Leaf;
use crate::store::{Store, View, compose, lock, refs};

/// How many events a commit is tried with where nothing says how many it has.
const MOST_TRIED: u64 = 64;

/// How many commits before a gap are tried as what comes before it.
const MOST_BASES: usize = 8;

/// How often the lanes are looked at again: behind a commit that was missing others may be.
const MOST_ROUNDS: usize = 1_000;

/// What became of damaged objects.
#[derive(Debug, Default)]
pub struct Restored {
    /// What was done, in words.
    pub lines: Vec<String>,
    /// What could not be written again.
    pub left: Vec<Damage>,
}

impl Store {
    /// Writes damaged objects of lanes again, as far as the cache (a copy of it, at `cache`), the
    /// object database, the projections and the work trees have their bytes. The files of damaged
    /// loose objects are moved to `aye/broken/objects/` in the git directory. Packs that have some of them are
    /// written again by git.
    ///
    /// # Errors
    /// `busy`, `lane_broken` where git cannot write a pack again, and those of the file system.
    pub fn restore(
        &mut self,
        view: Option<&View>,
        found: Vec<Damage>,
        cache: Option<&Path>,
    ) -> Result<Restored> {
        let _lock = lock::Lock::acquire(&self.make_private()?, "lock")?;
        let mut known = cache.map(|path| Knowledge::of_cache(&self.repo, path)).unwrap_or_default();
        let (mut left, mut lines, mut is_scanned) = (found, Vec::new(), false);
        let mut written = BTreeSet::new();
        for _ in 0..MOST_ROUNDS {
            let mut ready = HashMap::new();
            let mut contents = Contents::new(self);
            for damage in &left {
                self.recover(damage, &known, &mut contents, &mut ready);
            }
            drop(contents);
            if ready.is_empty() {
                if is_scanned || left.is_empty() {
                    break;
                }
                known.scan(&self.repo);
                is_scanned = true;
                continue;
            }
            for damage in &left {
                if ready.contains_key(&damage.object) && !written.contains(&damage.object) {
                    lines.push(format!("{}; written again", damage.message()));
                }
            }
            let again: BTreeSet<ObjectId> = ready.keys().copied().collect();
            self.write_again(ready)?;
            self.reread();
            // Whether gix finds these or the damaged ones in packs depends on what it has looked for before.
            lines.extend(self.pack_again(&again)?);
            written.extend(again);
            let before = std::mem::take(&mut left);
            left = self.inspect(view, Depth::Full)?.damaged;
            if left == before {
                break;
            }
        }
        for damage in left.iter().filter(|damage| !written.contains(&damage.object)) {
            self.move_aside(&damage.object)?;
        }
        Ok(Restored { lines, left })
    }

    fn write_again(&self, objects: HashMap<ObjectId, (Kind, Vec<u8>)>) -> Result<()> {
        let mut batch = Batch::new(&self.repo);
        for (id, (kind, bytes)) in objects {
            self.move_aside(&id)?;
            batch.replace(kind, &bytes)?;
        }
        batch.write(Method::durable(batch.directory(), &self.common_dir))
    }

    /// Moves the file of a loose object out of the way: as long as it is there git takes it for the
    /// object, and writes it never again.
    fn move_aside(&self, id: &ObjectId) -> Result<()> {
        let path = loose_path(&self.repo, id);
        // One that cannot be read, for want of permission or because the disk fails, may be whole.
        if std::fs::read(&path).is_err() {
            return Ok(());
        }
        let aside = self.make_private()?.make_inside("broken")?.make_inside("objects")?;
        let free = (0..).map(|n| match n {
            0 => aside.path().join(id.to_string()),
            n => aside.path().join(format!("{id}.{n}")),
        });
        let to = free.into_iter().find(|to| to.symlink_metadata().is_err()).unwrap_or_default();
        std::fs::rename(&path, &to)
            .map_err(|error| Error::io(format_args!("move {} aside", path.display()), &error))
    }

    /// Puts what `damage` needs into `ready`, if something has it.
    fn recover(
        &self,
        damage: &Damage,
        known: &Knowledge,
        contents: &mut Contents<'_>,
        ready: &mut HashMap<ObjectId, (Kind, Vec<u8>)>,
    ) {
        let lane = refs::lane_of(&damage.name);
        let path = loose_path(&self.repo, &damage.object);
        let is_barred = path.symlink_metadata().is_ok() && std::fs::read(&path).is_err();
        if is_barred || ready.contains_key(&damage.object) {
            return;
        }
        match damage.kind {
            Kind::Commit => {
                let composed = self.commit(damage, lane, known);
                for (id, (kind, bytes)) in composed.into_iter().flat_map(|found| found.objects) {
                    // All of them are part of the history that the one found leads to.
                    if inspect::whole(self, id, kind).is_err() {
                        ready.insert(id, (kind, bytes));
                    }
                }
            }
            Kind::Tree => {
                if let Some(object) = self.tree(damage, lane, known) {
                    ready.insert(damage.object, object);
                }
            }
            _ => {
                let event = known.events.get(&damage.object).map(|known| known.body.clone());
                let bytes = event
                    .or_else(|| self.part_again(damage))
                    .or_else(|| contents.find(damage, known));
                ready.extend(bytes.map(|bytes| (damage.object, (Kind::Blob, bytes))));
            }
        }
    }

    /// The damaged commit, and what comes before it as far as that had to be composed as well.
    fn commit(&self, damage: &Damage, lane: &str, known: &Knowledge) -> Option<Composed> {
        // As the cache has it: its events, on the commit of the event before them.
        let events = known.of_commit(lane, damage.object);
        let first = events.first().and_then(|id| known.events.get(id));
        if let Some(first) = first.map(|known| known.stamped.event.seq) {
            let before = known.between(lane, first.saturating_sub(1), first.saturating_sub(1));
            let before = before.first().and_then(|id| known.events.get(id)?.commit);
            let ends = known.ends.get(lane);
            let near = ends.into_iter().flat_map(|ends| ends.range(..first).rev());
            let near = near.flat_map(|(_, commits)| commits).take(MOST_BASES).copied().map(Some);
            // What an epoch restates comes behind its snapshot, whatever its numbers.
            let folds = known.folds(lane).map(Some);
            for parent in [before, None].into_iter().chain(near).chain(folds) {
                let mut composed = Composed::new(&self.repo);
                if self.compose(&mut composed, &events, known, parent) == Some(damage.object) {
                    return Some(composed);
                }
            }
        }
        let last = match damage.child {
            Some(child) => known::span(&self.repo, child)?.1.checked_sub(1)?,
            None => *known.positions.get(lane)?.last_key_value()?.0,
        };
        // A ref that was reset leaves events behind that come after its tip.
        let lasts = (0..if damage.child.is_none() { MOST_BASES as u64 } else { 1 })
            .filter_map(|back| last.checked_sub(back))
            .filter(|last| *last > 0);
        lasts.into_iter().find_map(|last| self.bridge(damage.object, lane, last, known))
    }

    /// A chain of commits with the events up to `last` that ends in `target`, on a commit that is
    /// known or on nothing.
    fn bridge(
        &self,
        target: ObjectId,
        lane: &str,
        last: u64,
        known: &Knowledge,
    ) -> Option<Composed> {
        let ends = known.ends.get(lane);
        let commits = ends.into_iter().flat_map(|ends| ends.range(..last).rev());
        let bases = commits
            .flat_map(|(seq, commits)| commits.iter().map(|commit| (*seq, Some(*commit))))
            .take(MOST_BASES)
            .chain([(0, None)]);
        for (end, base) in bases {
            let events = known.between(lane, end + 1, last);
            if events.is_empty() {
                continue;
            }
            for steps in steps(&events, known) {
                let mut composed = Composed::new(&self.repo);
                let mut tip = base;
                for step in steps {
                    tip = self.compose(&mut composed, &step, known, tip);
                    if tip.is_none() {
                        break;
                    }
                }
                if tip == Some(target) {
                    return Some(composed);
                }
            }
        }
        None
    }

    /// A damaged tree of a whole commit.
    fn tree(&self, damage: &Damage, lane: &str, known: &Knowledge) -> Option<(Kind, Vec<u8>)> {
        let composed = |events: &[ObjectId]| {
            let mut composed = Composed::new(&self.repo);
            self.compose(&mut composed, events, known, None)?;
            composed.objects.remove(&damage.object)
        };
        if let Some(found) = composed(&known.of_commit(lane, damage.commit)) {
            return Some(found);
        }
        let commit = self.repo.find_commit(damage.commit).ok()?;
        let parent = commit.parent_ids().next().map(gix::Id::detach);
        let before = match parent {
            Some(parent) => known::span(&self.repo, parent).map(|(_, _, last)| last),
            None => Some(0),
        };
        if let Some(before) = before {
            let ranges =
                (1..=MOST_TRIED).map(|count| known.between(lane, before + 1, before + count));
            return ranges.take_while(|events| !events.is_empty()).find_map(|e| composed(&e));
        }
        let (_, next, _) = known::span(&self.repo, damage.child?)?;
        let last = next.checked_sub(1)?;
        let firsts = (0..MOST_TRIED).filter_map(|back| last.checked_sub(back));
        firsts.take_while(|first| *first > 0).find_map(|first| {
            let events = known.between(lane, first, last);
            (!events.is_empty()).then(|| composed(&events)).flatten()
        })
    }

    /// The commit of `events`; `None` where that cannot be told.
    fn compose(
        &self,
        composed: &mut Composed,
        events: &[ObjectId],
        known: &Knowledge,
        parent: Option<ObjectId>,
    ) -> Option<ObjectId> {
        let mut stamped = Vec::new();
        let mut attached: Vec<Leaf> = Vec::new();
        for (index, id) in events.iter().enumerate() {
            let mut found: Stamped = known.events.get(id)?.stamped.clone();
            attached.extend(compose::attachments(&self.repo, &mut found, index).ok()?);
            stamped.push(found);
        }
        compose::commit(&self.repo, composed, &stamped, attached, parent).ok()
    }
}

/// Whether an event goes into the commit that is open.
type Rule<'a> = &'a dyn Fn(&[ObjectId], &ObjectId) -> bool;

/// The ways in which commands may have put `events` into commits: those of one command, which has
/// one time, together; each alone; as the cache has them.
fn steps(events: &[ObjectId], known: &Knowledge) -> Vec<Vec<Vec<ObjectId>>> {
    let find = |id: &ObjectId| known.events.get(id);
    let mut ways = Vec::new();
    let together = |open: &[ObjectId], next: &ObjectId| {
        let (Some(last), Some(next)) = (open.last().and_then(find), find(next)) else {
            return false;
        };
        let (last, new) = (&last.stamped.event, &next.stamped.event);
        let known = || open.iter().filter_map(find);
        let bytes = known().map(|known| known.body.len()).sum();
        let open: Vec<Stamped> = known().map(|known| known.stamped.clone()).collect();
        last.time == new.time
            && last.actor == new.actor
            && !compose::begins_commit(&open, bytes, &new.data)
    };
    let as_cached = |open: &[ObjectId], next: &ObjectId| {
        let commit = |id: &ObjectId| find(id).and_then(|known| known.commit);
        open.last().and_then(commit).is_some_and(|commit_of| commit(next) == Some(commit_of))
    };
    let rules: [Rule<'_>; 3] = [&together, &|_, _| false, &as_cached];
    for rule in rules {
        let mut way: Vec<Vec<ObjectId>> = Vec::new();
        for id in events {
            match way.last_mut() {
                Some(open) if rule(open, id) => open.push(*id),
                _ => way.push(vec![*id]),
            }
        }
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    ways
}
