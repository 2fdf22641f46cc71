//! The settings in force: those of the work tree, held to those of HEAD.

use crate::error::{Error, Result};
use crate::memory::disk::{Disk, repo_path};
use crate::memory::plan::{Files as _, text_hash};
use crate::memory::settings::{DEFAULT_SCHEMA, Settings, manifest, schema};
use crate::memory::{DIR, codes};
use crate::store::Store;

/// Settings in force.
pub(super) struct InForce {
    pub settings: Settings,
    /// Changes whenever files may fall into other categories.
    pub key: String,
    /// What the work tree would loosen, in words; nothing of it holds before it is committed.
    pub loosened: Vec<String>,
    /// No commit has the manifest yet, so the work tree's own settings hold.
    pub uncommitted: bool,
}

/// Reads them.
///
/// # Errors
/// `memory_not_initialized`, `memory_config_invalid`, `unsupported_store_format`.
pub(super) fn read(store: &Store, disk: &Disk<'_>) -> Result<InForce> {
    let Some(manifest) = disk.read(manifest::PATH)? else {
        let code = &codes::NOT_INITIALIZED;
        let lacking = store.lacking(code, &repo_path(manifest::PATH)?, DIR);
        return Err(lacking.unwrap_or_else(|| {
            Error::new(code, format!("there is no {DIR}/{} here", manifest::PATH))
                .hint("start a memory store with `aye memory init`")
        }));
    };
    let schema = disk.read(schema::PATH)?;
    let settings = Settings::read(Some(&manifest), schema.as_deref())?;
    let mut key = match schema.as_deref() {
        None => "default".to_owned(),
        Some(bytes) if bytes == DEFAULT_SCHEMA.as_bytes() => "default".to_owned(),
        Some(bytes) => text_hash(&String::from_utf8_lossy(bytes)),
    };
    let directory = super::head_directory(store);
    let committed = |path: &str| super::blob_in(directory.as_ref()?, path);
    let Some(head_manifest) = committed(manifest::PATH) else {
        return Ok(InForce { settings, key, loosened: Vec::new(), uncommitted: true });
    };
    let head_schema = committed(schema::PATH);
    let is = |entry: &gix::Id<'_>, bytes: &[u8]| {
        gix::objs::compute_hash(entry.kind(), gix::objs::Kind::Blob, bytes)
            .is_ok_and(|id| id == entry.detach())
    };
    let same_schema = match (&head_schema, &schema) {
        (Some(entry), Some(bytes)) => is(entry, bytes),
        (None, None) => true,
        _ => false,
    };
    if same_schema && is(&head_manifest, &manifest) {
        return Ok(InForce { settings, key, loosened: Vec::new(), uncommitted: false });
    }
    if !same_schema {
        key += &head_schema.as_ref().map(ToString::to_string).unwrap_or_default();
    }
    let bytes = |entry: gix::Id<'_>| entry.object().ok().map(|object| object.detach().data);
    let agreed =
        Settings::read(bytes(head_manifest).as_deref(), head_schema.and_then(bytes).as_deref());
    // Nobody can agree on settings that do not read, so nothing is let in without a person.
    let (settings, loosened) = settings.held_to(&agreed.unwrap_or_else(|_| Settings::closed()));
    Ok(InForce { settings, key, loosened, uncommitted: false })
}

/// The settings that were committed; `None` where HEAD has no manifest.
///
/// # Errors
/// `memory_config_invalid`, `unsupported_store_format`.
pub(super) fn committed(store: &Store) -> Result<Option<Settings>> {
    let directory = super::head_directory(store);
    let bytes = |path: &str| {
        let entry = super::blob_in(directory.as_ref()?, path)?;
        entry.object().ok().map(|object| object.detach().data)
    };
    let Some(manifest) = bytes(manifest::PATH) else { return Ok(None) };
    Settings::read(Some(&manifest), bytes(schema::PATH).as_deref()).map(Some)
}

/// What is wrong with the settings in HEAD and in the work tree; nothing where there are none.
pub fn settings_problems(store: &Store) -> Vec<Error> {
    let in_head = committed(store).err().map(|error| {
        let message = format!("{DIR}/{} (in HEAD)", error.message());
        let hint = error.hint_text().unwrap_or("commit a corrected one").to_owned();
        Error::new(error.code(), message).hint(hint)
    });
    let mine = || {
        let worktree = store.worktree().ok()?;
        let disk = Disk(&worktree);
        let manifest = disk.read(manifest::PATH).ok()??;
        let schema = disk.read(schema::PATH).ok()?;
        Settings::read(Some(&manifest), schema.as_deref()).err()
    };
    let is_same =
        |mine: &Error| in_head.as_ref().is_some_and(|head| head.message().contains(mine.message()));
    let mine = mine().filter(|mine| !is_same(mine));
    in_head.into_iter().chain(mine).collect()
}
