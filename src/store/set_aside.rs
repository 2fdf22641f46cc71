//! Refs of threads and chunks that cannot be read, set aside below `refs/aye/broken/`. Nothing is
//! deleted, and readers of refs go on without them.

use gix::objs::Exists as _;

use super::Store;
use super::refs::{self, BROKEN};
use crate::error::Result;

impl Store {
    /// Moves the ref `name` of a thread or a chunk that cannot be read below `refs/aye/broken/`.
    /// The id of a tip that is not in this clone goes to a file in `.git/aye/broken/`: a ref to it
    /// would stop `git gc`. Returns a sentence about it.
    ///
    /// # Errors
    /// `busy`, and those of the file system.
    pub fn set_thread_aside(&self, name: &str) -> Result<String> {
        let repository = self.repository();
        let private = repository.make_private()?;
        let _lock = self.lock()?;
        let Some(tip) = refs::target(repository, name)? else {
            return Ok(format!("{name} is gone"));
        };
        let id = name.rsplit('/').next().unwrap_or_default();
        let mut aside = format!("{BROKEN}{id}.{}", tip.to_hex_with_len(16));
        if repository.repo().objects.exists(&tip) {
            refs::set(repository, &aside, tip)?;
        } else {
            let (broken, file) = (private.make_inside("broken")?, name.replace('/', "-"));
            broken.replace(&file, tip.to_string().as_bytes(), true)?;
            aside = broken.path().join(file).display().to_string();
        }
        refs::delete(repository, &[(name.to_owned(), Some(tip))], true)?;
        Ok(format!("{name} set aside as {aside}"))
    }

    pub fn asides(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        refs::each(self.repository(), BROKEN, |name, _| {
            // Directories below hold pending refs.
            if !name[BROKEN.len()..].contains('/') {
                found.push(name);
            }
        })?;
        Ok(found)
    }
}
