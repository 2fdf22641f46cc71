//! What can be read of a broken lane, put together anew.
//!
//! A lane is a chain, so one damaged object would take everything behind it along. The commits
//! that can be read get new parents here; their trees stay, and with them the events and the ids
//! of proposals.

use gix::ObjectId;
use gix::objs::{Kind, WriteTo as _};

use super::lane::{self, Broken};
use super::objects::Batch;
use super::refs::{self, LaneRef};
use super::trouble::Trouble;
use super::{Store, View, lock};
use crate::error::{Error, Result};
use crate::flush::Method;

impl Store {
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
        let kept = lane::readable(&self.repo, &lane);
        match self.chain(&kept)? {
            Some(tip) => refs::set(&self.common_dir, name, tip)?,
            None => {
                refs::remove(&self.repo, &self.common_dir, name)?;
                let own = super::place::noted(&private)?;
                if own.is_some_and(|own| own == lane.lane()) {
                    private.remove("lane");
                }
            }
        }
        Ok(match is_there {
            true => format!("{name} set aside as {aside}, {} of its commits kept", kept.len()),
            false => format!("{name} removed, {tip} is not there"),
        })
    }

    /// Moves a fetched lane that cannot be read to its end to `refs/aye/broken/`, and its ref back
    /// to the last commit that counts. Returns what was done, in words.
    ///
    /// # Errors
    /// `busy`, and those of the file system.
    pub fn set_fetched_lane_aside(&self, view: &View, trouble: &Trouble) -> Result<String> {
        let name = &trouble.name;
        if name.starts_with(refs::LOG) {
            let (commit, why) = (trouble.object.clone(), trouble.why.clone());
            return self.set_lane_aside(&Broken { name: name.clone(), commit, why });
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
        let positions = view.positions()?;
        let reached = positions.get(name).and_then(|position| position.reached.as_ref());
        match reached.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok()) {
            Some(reached) => refs::set(&self.common_dir, name, reached)?,
            None => refs::remove(&self.repo, &self.common_dir, name)?,
        }
        Ok(match is_there {
            true => format!("{name} set aside as {aside} until it is fetched again"),
            false => format!("{name} removed, {tip} is not there"),
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
            if let Some(name) = name.filter(|_| entry.file_type().is_file() && !locked)
                && !is_ref(&std::fs::read(entry.path()).unwrap_or_default())
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
        let folder = self.make_private()?.make_inside("broken")?;
        let failed = |error: std::io::Error| Error::io(format_args!("move {name} away"), &error);
        let to = folder.path().join(name.replace('/', "-"));
        std::fs::rename(self.common_dir.join(name), &to).map_err(failed)?;
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
        batch.write(Method::durable(batch.folder(), &self.common_dir))?;
        Ok(parent)
    }
}

/// True for what a ref's file may hold: an object id, or the name of another ref.
fn is_ref(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    text.starts_with(b"ref: ") || ObjectId::from_hex(text).is_ok()
}
