//! The service of memory: settings, plans, searches and decisions.

mod apply;
mod code_violations;
pub mod decide;
mod effective_settings;
mod lint;
pub(crate) mod locate;
mod propose;
mod read;
pub mod staging;
mod status;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use chrono::{DateTime, Utc};

pub use apply::INDEX;
pub use code_violations::outside_violations;
pub use effective_settings::settings_problems;
pub use lint::RULES;
pub use read::forget_index;
pub use staging::remove_by_proposal as forget_staging;
pub use status::{MemoryStatus, RecentOutcome, StagedUpdate};

use super::DIR;
use super::disk::Disk;
use super::guard::ScanGuard;
use super::lock;
use super::settings::{Settings, manifest};
use crate::error::Result;
use crate::proposal::Actor;
use crate::repository::Repository;
use crate::store::Store;
use crate::worktree::Worktree;

/// A memory store, opened for one command.
pub struct Service<'a> {
    pub store: &'a Store,
    pub actor: Actor,
    pub now: DateTime<Utc>,
    pub worktree: Worktree,
    pub settings: Settings,
    /// The current branch, if any.
    pub branch: Option<String>,
    guard: OnceCell<ScanGuard>,
    settings_key: String,
    pending_loosening: Vec<String>,
    uncommitted: bool,
}

impl<'a> Service<'a> {
    /// # Errors
    /// `memory_not_initialized`, `memory_config_invalid`, `unsupported_store_format`,
    /// `bare_repository`.
    pub fn open(store: &'a Store, actor: Actor, now: DateTime<Utc>) -> Result<Self> {
        let worktree = store.repository().worktree()?;
        let in_force = effective_settings::read(store.repository(), &Disk(&worktree))?;
        let branch = branch(store.repository());
        Ok(Self {
            store,
            actor,
            now,
            worktree,
            settings: in_force.settings,
            branch,
            guard: OnceCell::new(),
            settings_key: in_force.key,
            pending_loosening: in_force.loosened,
            uncommitted: in_force.uncommitted,
        })
    }

    pub fn disk(&self) -> Disk<'_> {
        Disk(&self.worktree)
    }

    /// Created on demand: readers screen nothing.
    fn guard(&self) -> &ScanGuard {
        self.guard.get_or_init(|| {
            // A list that cannot be read allows nothing.
            let allowed = allowed_fingerprints(self.store.repository()).unwrap_or_default();
            ScanGuard::new(&self.settings, allowed)
        })
    }
}

/// See [`lock::take`]. `None` without a memory store.
///
/// # Errors
/// `lock_held`, `lock_unusable`.
pub fn lock(
    repository: &Repository,
    actor: &Actor,
    now: DateTime<Utc>,
) -> Result<Option<lock::Lock>> {
    let worktree = repository.worktree()?;
    let disk = Disk(&worktree);
    if disk.file(manifest::PATH).ok().flatten().is_none() {
        return Ok(None);
    }
    let seconds = effective_settings::read(repository, &disk)
        .map_or(MOST_WAIT, |held| held.settings.manifest.concurrency.wait_timeout_seconds);
    let wait = std::time::Duration::from_secs(seconds);
    lock::take(worktree.root(), wait, actor, now).map(Some)
}

/// Seconds, if the manifest is unreadable.
const MOST_WAIT: u64 = 10;

/// `None` for a detached or broken HEAD.
fn branch(repository: &Repository) -> Option<String> {
    let name = repository.repo().head_name().ok()??;
    Some(name.shorten().to_string())
}

/// Only a commit changes it.
fn head_directory(repository: &Repository) -> Option<gix::Tree<'_>> {
    let tree = repository.repo().head_commit().ok()?.tree().ok()?;
    tree.lookup_entry_by_path(DIR).ok()??.object().ok()?.try_into_tree().ok()
}

/// The blob at `path`, relative to the store.
fn blob_in<'s>(directory: &gix::Tree<'s>, path: &str) -> Option<gix::Id<'s>> {
    let entry = directory.lookup_entry_by_path(path).ok()??;
    entry.mode().is_blob().then(|| entry.id())
}

/// Read from HEAD: a proposal cannot allow its own secret.
///
/// # Errors
/// `allowlist_parse_error`.
pub fn allowed_fingerprints(repository: &Repository) -> Result<BTreeSet<String>> {
    let bytes = |directory: gix::Tree<'_>| {
        Some(blob_in(&directory, "scan-allow")?.object().ok()?.detach().data)
    };
    let bytes = head_directory(repository).and_then(bytes).unwrap_or_default();
    crate::secrets::allow::list(&bytes)
}
