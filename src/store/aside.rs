//! Refs that cannot be read, set aside: nothing is deleted, and whatever reads refs goes on without them.

use std::io::ErrorKind;

use gix::ObjectId;

use super::refs::{self, Audience, BROKEN};
use super::{Store, View, lock, place};
use crate::error::{Error, Result};

impl Store {
    /// Files of our refs that hold no object id, as a power cut or an editor may leave them. As
    /// long as there is one, git and gix read no ref beside it.
    pub fn unreadable_refs(&self) -> Vec<String> {
        let mut found = Vec::new();
        let top = self.repository().common_dir.join("refs/aye");
        for entry in walkdir::WalkDir::new(&top).into_iter().flatten() {
            let name = entry
                .path()
                .strip_prefix(&self.repository().common_dir)
                .ok()
                .and_then(|p| p.to_str());
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
        let directory = self.repository().make_private()?.make_inside("broken")?;
        let to = directory.path().join(name.replace('/', "-"));
        match std::fs::rename(self.repository().common_dir.join(name), &to) {
            // Another repair was first.
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(format!("{name} is gone"));
            }
            moved => {
                moved.map_err(|error| Error::io(format_args!("move {name} away"), &error))?;
            }
        }
        if let Some(tip) =
            self.tip_in_cache(name).filter(|tip| self.repository().repo.find_header(*tip).is_ok())
        {
            refs::set(&self.repository().common_dir, name, tip)?;
            return Ok(format!("{name} was unreadable and is back at {tip}"));
        }
        Ok(format!("{name} was unreadable, moved to {}", to.display()))
    }

    /// Moves the ref `name` of a lane that cannot be read below `refs/aye/broken/`: a fetched one goes back to the
    /// last commit that counts in `view`, and this clone begins a new lane in the place of its own. The id of a tip
    /// that is not there goes to a file in `aye/broken/` of the git directory. Returns what was done, in words.
    ///
    /// # Errors
    /// `busy`, and those of the file system.
    pub fn set_lane_aside(&self, view: &View, name: &str) -> Result<String> {
        let private = self.repository().make_private()?;
        let _lock = lock::Lock::acquire(&private, "lock")?;
        let Some(tip) = refs::target(&self.repository().repo, name)? else {
            return Ok(format!("{name} is gone"));
        };
        let lane = refs::lane_of(name);
        let aside = format!("{BROKEN}{lane}.{}", tip.to_hex_with_len(16));
        let kept = if self.repository().repo.find_header(tip).is_ok() {
            refs::set(&self.repository().common_dir, &aside, tip)?;
            aside
        } else {
            let (broken, file) = (private.make_inside("broken")?, name.replace('/', "-"));
            broken.replace(&file, tip.to_string().as_bytes(), true)?;
            broken.path().join(file).display().to_string()
        };
        let reached = view.positions()?.remove(name).and_then(|position| position.reached);
        let reached = reached.and_then(|id| ObjectId::from_hex(id.as_bytes()).ok());
        match reached.filter(|_| !refs::is_local(name)) {
            Some(reached) => refs::set(&self.repository().common_dir, name, reached)?,
            None => refs::remove(&self.repository().repo, &self.repository().common_dir, name)?,
        }
        if let Some(audience) = Audience::of(name) {
            place::forget(&private, &audience, lane)?;
        }
        Ok(format!("{name} set aside as {kept}"))
    }

    /// The refs of lanes that were set aside.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn asides(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        refs::each(&self.repository().repo, BROKEN, |name, _| {
            // Below it are tips of own lanes, and of pending refs.
            if !name[BROKEN.len()..].contains('/') {
                found.push(name);
            }
        })?;
        Ok(found)
    }
}

/// True for what a ref's file may hold: an object id, or the name of another ref.
fn is_ref(bytes: &[u8]) -> bool {
    let text = bytes.trim_ascii();
    text.starts_with(b"ref: ") || ObjectId::from_hex(text).is_ok()
}
