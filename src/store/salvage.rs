//! What can be read of a broken lane, put together anew.
//!
//! A lane is a chain, so one damaged object would take everything behind it along. The commits
//! that can be read get new parents here; their trees stay, and with them the events and the ids
//! of proposals.

use gix::ObjectId;
use gix::objs::{Kind, WriteTo as _};

use super::flush::Flush;
use super::lane::{self, Broken};
use super::objects::Batch;
use super::refs::{self, LaneRef};
use super::{Store, lock};
use crate::error::{Error, Result};

impl Store {
    /// Moves a lane that cannot be read to `refs/aye/broken/`, and puts what can be read of it in
    /// its place. Where that is nothing this clone begins a new lane, if it was its own. Returns
    /// what was done, in words.
    ///
    /// # Errors
    /// `busy`, and those of the file system.
    pub fn set_lane_aside(&self, broken: &Broken) -> Result<String> {
        let _lock = lock::Lock::acquire(&self.private_dir().join("lock"))?;
        let name = &broken.name;
        let Some(tip) = refs::target(&self.repo, name)? else {
            return Ok(format!("{name} is gone"));
        };
        let lane = LaneRef { name: name.clone(), tip };
        let aside = format!("refs/aye/broken/{}", lane.lane());
        refs::set(&self.common_dir, &aside, tip)?;
        let kept = lane::readable(&self.repo, &lane);
        match self.chain(&kept)? {
            Some(tip) => refs::set(&self.common_dir, name, tip)?,
            None => {
                refs::remove(&self.repo, &self.common_dir, name)?;
                let own = self.private_dir().join("lane");
                if std::fs::read_to_string(&own).is_ok_and(|text| text.trim() == lane.lane()) {
                    let _ = std::fs::remove_file(own);
                }
            }
        }
        Ok(format!("{name} set aside as {aside}, {} of its commits kept", kept.len()))
    }

    /// Commits with the trees and messages of `commits`, each the parent of the next. Returns the
    /// last.
    fn chain(&self, commits: &[ObjectId]) -> Result<Option<ObjectId>> {
        let unreadable = |error: &dyn std::fmt::Display| {
            Error::bug(format!("a commit that could be read cannot be read: {error}"))
        };
        let mut batch = Batch::new(&self.repo);
        let mut parent = None;
        for id in commits {
            let found = self.repo.find_commit(*id).map_err(|error| unreadable(&error))?;
            let mut commit = found
                .decode()
                .and_then(|commit| commit.into_owned())
                .map_err(|error| unreadable(&error))?;
            commit.parents = parent.into_iter().collect();
            let mut bytes = Vec::new();
            commit.write_to(&mut bytes).map_err(|error| unreadable(&error))?;
            parent = Some(batch.add(Kind::Commit, &bytes)?);
        }
        batch.write(Flush::durable(batch.folder(), &self.common_dir))?;
        Ok(parent)
    }
}
