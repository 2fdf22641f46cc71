//! Settings in force: the work tree's, limited by those in HEAD.

use crate::error::{Error, Result};
use crate::memory::disk::{Disk, repo_path};
use crate::memory::plan::{Files as _, text_hash};
use crate::memory::settings::{Settings, manifest, schema};
use crate::memory::{DIR, codes};
use crate::repository::Repository;

pub(super) struct EffectiveSettings {
    pub settings: Settings,
    /// Changes whenever categories of files may change.
    pub key: String,
    /// Need a commit; in words.
    pub loosened: Vec<String>,
    /// No commit has the manifest yet: the work tree's settings hold.
    pub uncommitted: bool,
}

#[derive(PartialEq)]
struct MetaFiles {
    manifest: Vec<u8>,
    schema: Option<Vec<u8>>,
}

impl MetaFiles {
    fn on(disk: &Disk<'_>) -> Result<Option<Self>> {
        let Some(manifest) = disk.read(manifest::PATH)? else { return Ok(None) };
        Ok(Some(Self { manifest, schema: disk.read(schema::PATH)? }))
    }

    fn in_head(repository: &Repository) -> Option<Self> {
        let directory = super::head_directory(repository)?;
        let bytes = |path: &str| {
            let blob = super::blob_in(&directory, path)?.object().ok()?;
            Some(blob.detach().data)
        };
        Some(Self { manifest: bytes(manifest::PATH)?, schema: bytes(schema::PATH) })
    }

    fn read(&self) -> Result<Settings> {
        Settings::read(Some(&self.manifest), self.schema.as_deref())
    }

    fn key(&self) -> String {
        text_hash(&String::from_utf8_lossy(self.schema.as_deref().unwrap_or_default()))
    }
}

/// # Errors
/// `memory_not_initialized`, `memory_config_invalid`, `unsupported_store_format`.
pub(super) fn read(repository: &Repository, disk: &Disk<'_>) -> Result<EffectiveSettings> {
    let Some(written) = MetaFiles::on(disk)? else {
        let code = &codes::NOT_INITIALIZED;
        let lacking = repository.missing_error(code, &repo_path(manifest::PATH)?, DIR);
        return Err(lacking.unwrap_or_else(|| {
            Error::new(code, format!("there is no {DIR}/{} here", manifest::PATH))
                .hint("start a memory store with `aye memory init`")
        }));
    };
    let settings = written.read()?;
    let agreed = MetaFiles::in_head(repository);
    let (mut key, uncommitted) = (written.key(), agreed.is_none());
    let mut in_force = (settings, Vec::new());
    if let Some(agreed) = agreed.filter(|agreed| *agreed != written) {
        key += &agreed.key();
        // Unreadable settings in HEAD agree to nothing: every change needs a person.
        in_force = in_force.0.limit_to(&agreed.read().unwrap_or_else(|_| Settings::closed()));
    }
    let (settings, loosened) = in_force;
    Ok(EffectiveSettings { settings, key, loosened, uncommitted })
}

/// `None` if HEAD has no manifest.
///
/// # Errors
/// `memory_config_invalid`, `unsupported_store_format`.
pub(super) fn committed(repository: &Repository) -> Result<Option<Settings>> {
    MetaFiles::in_head(repository).map(|written| written.read()).transpose()
}

/// Errors of the settings in HEAD and in the work tree.
pub fn settings_problems(repository: &Repository) -> Vec<Error> {
    let in_head = committed(repository).err().map(|error| {
        let message = format!("{DIR}/{} (in HEAD)", error.message());
        let hint = error.hint_text().unwrap_or("commit a corrected one").to_owned();
        Error::new(error.code(), message).hint(hint)
    });
    let mine = || {
        let worktree = repository.worktree().ok()?;
        MetaFiles::on(&Disk(&worktree)).ok()??.read().err()
    };
    let is_same =
        |mine: &Error| in_head.as_ref().is_some_and(|head| head.message().contains(mine.message()));
    let mine = mine().filter(|mine| !is_same(mine));
    in_head.into_iter().chain(mine).collect()
}
