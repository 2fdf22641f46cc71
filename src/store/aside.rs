//! Refs that cannot be read, set aside: nothing is deleted, and whatever reads refs goes on without them.

use std::io::ErrorKind;

use gix::ObjectId;
use gix::objs::Exists as _;

use super::Store;
use super::refs::{self, BROKEN};
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

    /// Moves the file of an unreadable ref to `aye/broken/` in the git directory. Returns a sentence about it.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn set_ref_aside(&self, name: &str) -> Result<String> {
        let directory = self.repository().make_private()?.make_inside("broken")?;
        let to = directory.path().join(name.replace('/', "-"));
        match std::fs::rename(self.repository().common_dir().join(name), &to) {
            // Another repair was first.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(format!("{name} is gone")),
            Err(error) => Err(Error::io(format_args!("move {name} away"), &error)),
            Ok(()) => Ok(format!("{name} was unreadable, moved to {}", to.display())),
        }
    }

    /// Moves the ref `name` of a thread or a chunk that cannot be read below `refs/aye/broken/`. The id of a
    /// tip that is not here goes to a file in `aye/broken/` of the git directory: a ref to it would stop `git
    /// gc`. Returns a sentence about it.
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

    /// The refs of threads that were set aside.
    ///
    /// # Errors
    /// If the refs cannot be read.
    pub fn asides(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        refs::each(self.repository(), BROKEN, |name, _| {
            // Below it are pending refs.
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
