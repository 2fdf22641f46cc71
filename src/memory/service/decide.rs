//! What the store's general commands (`apply`, `review`, `undo`, `reject`) need to know of memory
//! proposals: they are planned from their operations, never merged by lines.

use super::apply::{InGit, refused};
use super::{Service, staging};
use crate::changeset::plan::{Planned, Resolution, Resolved};
use crate::changeset::{File, RepoPath, Snapshot};
use crate::error::{Error, Result};
use crate::memory::codes;
use crate::memory::disk::{Disk, repo_path};
use crate::memory::merge::merge;
use crate::memory::plan::{Files, index_page};
use crate::memory::problem::Problem;
use crate::proposal::Proposal;
use crate::proposal::state::Decision;
use crate::store::Store;

/// The files of a snapshot, as planning reads them.
struct Seen<'a> {
    snapshot: &'a dyn Snapshot,
    disk: Disk<'a>,
}

impl Files for Seen<'_> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.snapshot.file(&repo_path(path)?)?.map(|file| file.bytes))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        self.disk.list(dir)
    }
}

/// Plans a memory proposal on the files of `snapshot`: its operations, taken from the event, are
/// validated, scanned and routed again. What comes out other than was shown is `merged`.
///
/// # Errors
/// The reason why it cannot be applied: `target_drift`, `secret_detected` and all the others; `plan_failed` where its
/// operations make something else than it shows.
pub fn preview(store: &Store, proposal: &Proposal, snapshot: &dyn Snapshot) -> Result<Resolution> {
    if let Some(there) = already(store, proposal, snapshot)? {
        return Ok(there);
    }
    let service = Service::open(store, proposal.actor.clone(), proposal.current().at)?;
    let files = Seen { snapshot, disk: service.disk() };
    let changes = store.changeset(&proposal.current().changes)?;
    let plan = service.replan(proposal, &files, service.guard())?;
    if !service.is_as_shown(proposal, changes.changes(), &files) {
        let why = "its operations make something else than it shows";
        return Err(refused(proposal, &Problem::new(&codes::PLAN_FAILED, why)));
    }
    service.resolution(plan, changes.changes(), snapshot, &files)
}

/// The files of a memory proposal as they are, where they have all that it says already: its operations
/// would say it once more. `None` where something of it is missing.
///
/// # Errors
/// `object_missing`; those of the snapshot.
pub fn already(
    store: &Store,
    proposal: &Proposal,
    snapshot: &dyn Snapshot,
) -> Result<Option<Resolution>> {
    let mut files = Vec::new();
    for change in store.changeset(&proposal.current().changes)?.into_changes() {
        let now = snapshot.file(&change.path)?;
        let is_there = now == change.after
            || match (&change.before, &now, &change.after) {
                (Some(before), Some(now), Some(after)) => says(before, now, after),
                _ => false,
            };
        if !is_there {
            return Ok(None);
        }
        let (after, outcome) = (now.clone(), Resolved::Already);
        files.push(Planned { path: change.path, now, after, outcome });
    }
    Ok(Some(Resolution { files }))
}

/// Whether `now` has, section by section, what leads from `before` to `after`.
fn says(before: &File, now: &File, after: &File) -> bool {
    let text = |file| std::str::from_utf8(file).ok();
    let Some(now) = text(&now.bytes) else { return false };
    let (Some(before), Some(after)) = (text(&before.bytes), text(&after.bytes)) else {
        return false;
    };
    merge(before, now, after).is_ok_and(|merged| merged == now)
}

/// The refusal to decide on part of a memory proposal: its operations belong together.
pub fn whole(proposal: &Proposal) -> Error {
    Error::new(
        &codes::PLAN_FAILED,
        format!("{} is about memory, and is decided as a whole", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint("apply it, or reject it with a reason that says what to leave out")
}

/// What the manifest wants of git once a memory proposal was applied.
///
/// # Errors
/// `memory_not_initialized` and its kin.
pub fn in_git(store: &Store, proposal: &Proposal) -> Result<Option<InGit>> {
    let service = Service::open(store, proposal.actor.clone(), proposal.current().at)?;
    let page = repo_path(index_page::PATH)?;
    let changed = proposal.current().changes.iter().map(|change| &change.path);
    let paths: Vec<&RepoPath> = changed.chain([&page]).collect();
    let what = proposal.description.as_deref().unwrap_or("memory");
    Ok(service.in_git(&paths, what))
}

/// How long to wait for another process that writes files, by the manifest.
///
/// # Errors
/// `memory_not_initialized` and its kin.
pub fn patience(store: &Store, proposal: &Proposal) -> Result<std::time::Duration> {
    let service = Service::open(store, proposal.actor.clone(), proposal.current().at)?;
    let seconds = service.settings.manifest.concurrency.wait_timeout_seconds;
    Ok(std::time::Duration::from_secs(seconds))
}

/// Plans taking `decision`, an apply of a memory proposal, back, section by section, with the generated page.
/// Writes nothing.
///
/// # Errors
/// `not_applied`, `conflict`, and those of the store and the work tree.
pub fn preview_undo(store: &Store, proposal: &Proposal, decision: &Decision) -> Result<Resolution> {
    let service = Service::open(store, proposal.actor.clone(), proposal.current().at)?;
    let mut plan = service.plan_undo(proposal, decision)?;
    let page = service.page_after(&plan.files, &service.worktree, &service.disk())?;
    plan.files.extend(page);
    plan.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(plan)
}

/// Writes or removes the staging directory of a memory proposal.
///
/// # Errors
/// Those of the work tree.
pub fn project(store: &Store, proposal: &Proposal, pending: bool) -> Result<()> {
    if store.work_dir().is_none() {
        return Ok(());
    }
    if pending { staging::make(store, proposal) } else { staging::remove(store, proposal) }
}
