//! Lanes of this clone's own whose refs something else than aye has removed, where no cache knows any more how
//! far they had come. What is left of them is in the object database, as long as git prunes none of it.

use gix::ObjectId;

use crate::error::Result;
use crate::store::refs::{self, ARCHIVES, BROKEN, LaneRef};
use crate::store::{Store, lock, rewound};

impl Store {
    /// The refs that this clone's own lanes should have, by what is noted, and do not have.
    ///
    /// # Errors
    /// `private_dir_unsafe`, `io_error`, `lane_broken`.
    pub(in crate::store) fn noted_without_ref(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        if self.named_lane().is_none() {
            for (_, lane) in self.noted_lanes() {
                if let Some((name, None)) = self.own_ref(&lane)? {
                    found.push(name);
                }
            }
        }
        Ok(found)
    }

    /// Those of them of which there are commits that no ref leads to.
    ///
    /// # Errors
    /// As [`Store::rewound`].
    pub fn lanes_gone(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for name in self.noted_without_ref()? {
            if !self.tops_of_gone(&name)?.is_empty() {
                found.push(name);
            }
        }
        Ok(found)
    }

    /// Puts back what something that is left names of them, and keeps the rest for a person to say whether it
    /// was said here. Returns what was done, in words.
    ///
    /// # Errors
    /// `busy`, and those of the file system.
    pub fn find_lanes_gone(&self) -> Result<Vec<String>> {
        if self.noted_without_ref()?.is_empty() {
            return Ok(Vec::new());
        }
        // A cache that knows better says so.
        drop(self.readable_view()?);
        let private = self.make_private()?;
        let _lock = lock::Lock::acquire(&private, "lock")?;
        let mut done = Vec::new();
        for name in self.noted_without_ref()? {
            let tops = self.tops_of_gone(&name)?;
            let Some(first) = tops.first() else { continue };
            let lane = LaneRef { name: name.clone(), tip: ObjectId::null(first.kind()) };
            let aside = format!("{BROKEN}{}", lane.lane());
            for top in &tops {
                self.keep_top(&aside, *top)?;
            }
            // Git knows of no way from one epoch to the next, and a remote's copy is more than what is named.
            let is_whole = refs::epoch_of(&name).is_none() && self.tips_of(lane.lane())?.is_empty();
            let named = if is_whole { self.before_gap(&lane, &[], &aside)? } else { Vec::new() };
            if let Some(tip) = self.chain(&named)? {
                refs::set(&self.common_dir, &name, tip)?;
            }
            done.push(format!(
                "{name} was gone; what was found of it is kept as {aside}.…, commits of that put back: {}",
                named.len()
            ));
        }
        Ok(done)
    }

    /// Keeps the commits of `lane`, which was this clone's own and has no ref.
    ///
    /// # Errors
    /// As [`Store::rewound`]; `io_error`.
    pub(in crate::store) fn keep_gone(&self, lane: &str) -> Result<()> {
        let aside = format!("{BROKEN}{lane}");
        self.tops_of_gone(lane)?.into_iter().try_for_each(|top| self.keep_top(&aside, top))
    }

    /// The last commits of the histories of the lane that the ref `name` was of, as far as nothing leads to them.
    fn tops_of_gone(&self, name: &str) -> Result<Vec<ObjectId>> {
        let lane = refs::lane_of(name);
        let mut is_kept = self.is_set_aside(lane);
        refs::each(&self.repo, rewound::KEPT, |name, _| is_kept |= refs::lane_of(&name) == lane)?;
        if is_kept {
            return Ok(Vec::new());
        }
        let tip = ObjectId::null(self.repo.object_hash());
        let gone = LaneRef { name: name.to_owned(), tip };
        let mut tops = self.tops_behind_gap(&gone).unwrap_or_default();
        if tops.is_empty() {
            return Ok(tops);
        }
        let held = self.tips_of(lane)?;
        tops.retain(|top| !held.iter().any(|tip| self.is_behind(*top, *tip)));
        Ok(tops)
    }

    /// Where refs are that have `lane`, or earlier epochs of it.
    fn tips_of(&self, lane: &str) -> Result<Vec<ObjectId>> {
        let mut found = refs::lanes(&self.repo)?;
        found.extend(refs::kept(&self.repo));
        let of_lane = found.into_iter().filter(|found| found.lane() == lane);
        let mut held: Vec<ObjectId> = of_lane.map(|found| found.tip).collect();
        for directory in ARCHIVES {
            refs::each(&self.repo, directory, |name, tip| {
                let last = name.rsplit('/').next().unwrap_or_default();
                held.extend((last.split('.').next() == Some(lane)).then_some(tip));
            })?;
        }
        Ok(held)
    }
}
