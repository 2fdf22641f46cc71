//! Purging: a lane of this clone goes on in an epoch that has nothing of a proposal but that it was
//! purged, and everything else here that holds it goes too.
//!
//! Each step leaves a state that readers understand: the epoch of each lane is there whole or not at
//! all, and until nothing is left `purged_content` says so. The same command goes on then.

mod compose;
mod content;
mod holders;
mod sessions;
mod subjects;
mod uppers;

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;

use chrono::{DateTime, Utc};
use gix::ObjectId;

pub use content::{Contents, Standing, Where};
pub use holders::Holder;
pub(super) use holders::has;
pub use subjects::{Subjects, Target};

use super::lock::Lock;
use super::objects::Batch;
use super::own::OwnLane;
use super::refs::{self, Audience};
use super::{Store, View, codes, pending, place, projection};
use crate::error::{Error, Result};
use crate::flush::Method;
use crate::proposal::event::Purge;
use crate::proposal::rules::Verb;
use crate::proposal::{Authority, Data, ProposalId};

/// The directory in aye's own in which hunks lie while somebody edits them.
pub const EDITED: &str = "edited";

/// Where answers of reviews are that are not written yet.
pub const ANSWERS: &str = "answers";

/// What is to be purged, and why.
#[derive(Clone, Copy, Debug)]
pub struct Purging<'a> {
    /// The proposals, and the blob that was named.
    pub subjects: &'a Subjects,
    /// What they have made of files.
    pub contents: &'a Contents,
    /// Why.
    pub reason: &'a str,
}

/// A lane of this clone that has begun an epoch.
#[derive(Clone, Debug)]
pub struct Begun {
    /// The lane.
    pub lane: String,
    /// Whom it is for.
    pub audience: Audience,
    /// The epoch.
    pub epoch: u64,
    /// Its ref.
    pub name: String,
    /// The ref of the epoch before, which is gone here.
    pub before: String,
    /// It is private, and came here with a copy of the clone that writes it.
    pub is_copied: bool,
}

/// What a purge has done, or would do.
#[derive(Clone, Debug, Default)]
pub struct Purged {
    /// The lanes that have begun an epoch.
    pub lanes: Vec<Begun>,
    /// Refs that are gone.
    pub removed: Vec<String>,
    /// Archives that were composed again without it.
    pub archives: Vec<String>,
    /// What holds it still: lanes of other clones.
    pub left: Vec<Holder>,
}

/// A lane, and what becomes of it.
struct Step {
    begun: Begun,
    /// Where this clone writes it.
    own: Option<place::Own>,
    old: ObjectId,
    new: ObjectId,
}

impl Store {
    /// Purges proposals that this clone's own lanes have begun or published, or finishes a purge that their owner has
    /// made. The caller holds the journal's lock.
    ///
    /// # Errors
    /// `revised_meanwhile`, `changed_since_shown` where the subjects are not as they were looked at: nothing is done
    /// then. `purge_not_own`, `busy`, `lane_broken`, `ci_has_no_lane`, and those of the file system. It can be
    /// called again then.
    pub fn purge(
        &self,
        authority: &Authority,
        now: DateTime<Utc>,
        purging: &Purging<'_>,
    ) -> Result<Purged> {
        if authority.verb() != Verb::Purge {
            return Err(Error::bug("a purge by another authority"));
        }
        self.require_lane()?;
        let private = self.repository().make_private()?;
        let _lock = Lock::acquire(&private, "lock")?;
        let view = self.view()?;
        let ids = purging.subjects.require_own()?;
        self.require_as_shown(&view, purging.subjects)?;
        self.note_sessions_with(purging.contents)?;
        for id in &ids {
            // As long as it is known what it was about.
            if let (Ok(proposal), Some(projector)) = (view.proposal(id), self.projector) {
                projector(self, &proposal, false)?;
            }
        }
        self.remember_purged(&private, &view, &ids)?;
        crate::failpoint!("purge.remembered");
        let mut purged = Purged::default();
        let data = Data::Purge(Purge {
            reason: purging.reason.to_owned(),
            blob: purging.subjects.blob.clone(),
            asked: false,
            evidence: authority.evidence().clone(),
        });
        let mut batch = Batch::new(&self.repository().repo);
        let mut steps = Vec::new();
        for lane in self.lanes_with(&view, &ids)? {
            steps.extend(self.begin(&mut batch, &view, lane, (authority.actor(), now), &data)?);
        }
        let archives = self.archives_without(&mut batch, &ids)?;
        let durable = self.repository().settings()?.durable;
        batch.write(if durable {
            Method::durable(batch.directory(), &self.repository().common_dir)
        } else {
            Method::No
        })?;
        crate::failpoint!("purge.objects");
        let dir = &self.repository().common_dir;
        for step in steps {
            let Step { begun, own, old, new } = step;
            if let Some(mut own) = own {
                place::claim(&private, &mut own)?;
                place::advance(&private, &own, begun.epoch)?;
            }
            crate::failpoint!("purge.noted");
            if refs::target(&self.repository().repo, &begun.before)? != Some(old) {
                return Err(busy(&begun.before));
            }
            refs::compare_and_swap(&self.repository().repo, dir, &begun.name, None, new, durable)?
                .sure()?;
            crate::failpoint!("purge.moved");
            self.drop_ref(&begun.before)?;
            crate::failpoint!("purge.removed");
            purged.lanes.push(begun);
        }
        for (name, old, new) in archives {
            match new {
                Some(new) => {
                    refs::compare_and_swap(
                        &self.repository().repo,
                        dir,
                        &name,
                        Some(old),
                        new,
                        durable,
                    )?
                    .sure()?;
                    self.drop_reflog(&name)?;
                    purged.archives.push(name);
                }
                None => {
                    self.drop_ref(&name)?;
                    purged.removed.push(name);
                }
            }
            crate::failpoint!("purge.archives");
        }
        // They are missing, which is repaired, rather than left as they are.
        let uppers = self.uppers(&ids)?;
        pending::remove_all(self, &uppers)?;
        for name in self.before_with(purging.contents)? {
            self.drop_ref(&name)?;
            purged.removed.push(name);
        }
        drop(view);
        // With what is in it.
        let view = self.view_with_new_cache()?;
        let (superseded, left) = self.holders(&view, &ids)?;
        for name in superseded {
            self.drop_ref(&name)?;
            purged.removed.push(name);
            crate::failpoint!("purge.refs");
        }
        self.make_missing(&view, now)?;
        crate::failpoint!("purge.pending");
        purged.left = left;
        for id in &ids {
            projection::remove(self, id)?;
        }
        // Edits of hunks, and comments that quote them.
        private.remove(ANSWERS);
        crate::failpoint!("purge.files");
        // Caches and objects that a repair has set aside, hunks that an editor was closed on: any of them
        // may have it.
        for name in ["broken", EDITED] {
            let Some(found) = private.inside(name)? else { continue };
            let path = found.path();
            std::fs::remove_dir_all(path).map_err(|error| Error::file("remove", path, &error))?;
        }
        drop(view);
        self.view_with_new_cache()?;
        Ok(purged)
    }

    /// What [`Store::purge`] would do, as far as can be told before.
    ///
    /// # Errors
    /// `purge_not_own`; those of the store.
    pub fn purge_outlook(
        &self,
        view: &View,
        subjects: &Subjects,
        contents: &Contents,
    ) -> Result<Purged> {
        let ids = subjects.require_own()?;
        let mut purged = Purged::default();
        let mut own = BTreeSet::new();
        for affected in self.lanes_with(view, &ids)? {
            own.insert(affected.lane.lane.clone());
            purged.lanes.push(affected.begun());
        }
        let mut unwritten = Batch::new(&self.repository().repo);
        for (name, _, new) in self.archives_without(&mut unwritten, &ids)? {
            match new {
                Some(_) => purged.archives.push(name),
                None => purged.removed.push(name),
            }
        }
        let (superseded, left) = self.holders(view, &ids)?;
        purged.removed.extend(superseded);
        for holder in left {
            // What is the same lane goes on in the new epoch, too.
            if own.contains(&holder.lane) {
                purged.removed.push(holder.name)
            } else {
                purged.left.push(holder)
            }
        }
        purged.removed.extend(self.before_with(contents)?);
        purged.removed.retain(|name| purged.lanes.iter().all(|begun| begun.before != *name));
        Ok(purged)
    }

    /// The remote that the ref `name` was fetched from, and what follows in it.
    pub fn fetched_from(&self, name: &str) -> Option<(String, String)> {
        let remote = refs::remote_of(name)?;
        let rest = name.strip_prefix(refs::REMOTES)?.strip_prefix(remote)?.strip_prefix('/')?;
        Some((remote.to_owned(), rest.to_owned()))
    }

    /// The archives that hold something of purged proposals. Those that cannot be read are no matter of
    /// this.
    ///
    /// # Errors
    /// If the refs or the cache cannot be read.
    pub fn archives_of_purged(&self, view: &View) -> Result<Vec<String>> {
        let ids: BTreeSet<ProposalId> =
            view.purged()?.into_iter().map(|record| record.id).collect();
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let found = self.archives_with(&ids)?.into_iter();
        Ok(found.filter(|held| held.is_readable).map(|held| held.name).collect())
    }

    /// The lanes whose history has something of `ids` and that go on without it: those that this clone
    /// writes, and in front of them private ones that were copied here. Nobody else reads those, and no
    /// reader here believes a purge that they have no part in, so a purge that was broken off goes on.
    fn lanes_with(&self, view: &View, ids: &BTreeSet<ProposalId>) -> Result<Vec<Affected>> {
        let mut found = Vec::new();
        let written = view.lanes_written(self)?;
        let mut lanes: BTreeMap<String, BTreeSet<ProposalId>> = BTreeMap::new();
        for id in ids {
            for name in self.holding(view, id)? {
                lanes.entry(name).or_default().insert(id.clone());
            }
        }
        let audience = Audience::Private;
        for (name, ids) in &lanes {
            let copied = refs::own_of(name).filter(|_| name.starts_with(refs::PRIVATE));
            let Some(lane) = copied.filter(|lane| !written.iter().any(|own| own == lane)) else {
                continue;
            };
            let names = view.lanes.iter().map(|lane| lane.name.as_str());
            if refs::newest(names, &audience, lane) == Some(name) {
                let (audience, lane) = (audience.clone(), lane.to_owned());
                let lane = OwnLane { audience, lane, name: name.clone() };
                found.push(Affected { lane, ids: ids.clone(), is_copied: true });
            }
        }
        for lane in view.own_lanes(self).iter().filter(|own| written.contains(&own.lane)) {
            if let Some(ids) = lanes.remove(&lane.name) {
                found.push(Affected { lane: lane.clone(), ids, is_copied: false });
            }
        }
        Ok(found)
    }

    /// Removes a ref, and what git remembers of where it was.
    fn drop_ref(&self, name: &str) -> Result<()> {
        refs::remove(&self.repository().repo, &self.repository().common_dir, name)?;
        self.drop_reflog(name)
    }

    /// Removes what git remembers of where a ref was, which would keep what it led to.
    fn drop_reflog(&self, name: &str) -> Result<()> {
        let path = self.repository().common_dir.join("logs").join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                Err(Error::file("remove", &path, &error))
            }
            _ => Ok(()),
        }
    }
}

/// A lane that has something of proposals, and goes on without.
struct Affected {
    lane: OwnLane,
    ids: BTreeSet<ProposalId>,
    /// It is a private one that this clone does not write.
    is_copied: bool,
}

impl Affected {
    /// What it begins.
    fn begun(&self) -> Begun {
        let OwnLane { audience, lane, name } = self.lane.clone();
        let is_copied = self.is_copied;
        let epoch = refs::epoch_of(&name).unwrap_or(1) + 1;
        let before = name;
        Begun { name: audience.lane(&lane, epoch), before, lane, audience, epoch, is_copied }
    }
}

fn busy(name: &str) -> Error {
    Error::new(&codes::STORE_BUSY, format!("{name} was moved by another program"))
        .hint("run the command again")
}
