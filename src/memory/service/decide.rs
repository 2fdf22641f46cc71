//! Decisions on memory proposals, which are planned from operations, never merged by lines.

use super::apply::{GitActions, refused};
use super::{Service, staging};
use crate::changeset::plan::{ApplyPlan, MergeStatus, MergedBy, PlannedFile};
use crate::changeset::{File, RepoPath, Snapshot};
use crate::error::{Error, Result};
use crate::memory::codes;
use crate::memory::disk::{Disk, repo_path, store_path};
use crate::memory::merge::merge;
use crate::memory::plan::{Files, index_page};
use crate::memory::problem::Problem;
use crate::proposal::event::Written;
use crate::proposal::state::Decision;
use crate::proposal::{Entry, Proposal};
use crate::store::Store;

struct SnapshotFiles<'a> {
    snapshot: &'a dyn Snapshot,
    disk: Disk<'a>,
}

impl Files for SnapshotFiles<'_> {
    fn read(&self, path: &str) -> Result<Option<Vec<u8>>> {
        Ok(self.snapshot.file(&repo_path(path)?)?.map(|file| file.bytes))
    }

    fn list(&self, dir: &str) -> Result<Vec<String>> {
        self.disk.list(dir)
    }
}

/// Validates, scans and routes the event's operations again, on the files of `snapshot`. A result
/// that differs from the shown one is `merged`.
///
/// # Errors
/// `target_drift`, `secret_detected` and others; `plan_failed` if the operations do not yield what
/// the proposal shows.
pub fn preview(store: &Store, proposal: &Proposal, snapshot: &dyn Snapshot) -> Result<ApplyPlan> {
    if let Some(there) = present_resolution(store, proposal, snapshot)? {
        return Ok(there);
    }
    let service = Service::open(store, proposal.actor.clone(), proposal.current().at)?;
    let files = SnapshotFiles { snapshot, disk: service.disk() };
    let changes = store.changeset(proposal.current())?;
    let plan = service.replan(proposal, &files, service.guard())?;
    if !service.is_as_shown(proposal, changes.changes(), &files) {
        let why = "its operations make something else than it shows";
        return Err(refused(proposal, &Problem::new(&codes::PLAN_FAILED, why)));
    }
    service.resolution(plan, changes.changes(), snapshot, &files)
}

/// The present files, if they already contain the whole proposal: its operations would repeat it.
///
/// # Errors
/// `object_missing`
pub fn present_resolution(
    store: &Store,
    proposal: &Proposal,
    snapshot: &dyn Snapshot,
) -> Result<Option<ApplyPlan>> {
    let mut files = Vec::new();
    for change in store.changeset(proposal.current())?.into_changes() {
        let now = snapshot.file(&change.path)?;
        let is_there = now == change.after
            || match (&change.before, &now, &change.after) {
                (Some(before), Some(now), Some(after)) => has_change(before, now, after),
                _ => false,
            };
        if !is_there {
            return Ok(None);
        }
        let (after, outcome) = (now.clone(), MergeStatus::Already);
        files.push(PlannedFile { path: change.path, now, after, outcome });
    }
    Ok(Some(ApplyPlan { files }))
}

/// True if `now` contains, by section, the change from `before` to `after`.
fn has_change(before: &File, now: &File, after: &File) -> bool {
    let text = |file| std::str::from_utf8(file).ok();
    let Some(now) = text(&now.bytes) else { return false };
    let (Some(before), Some(after)) = (text(&before.bytes), text(&after.bytes)) else {
        return false;
    };
    merge(before, now, after).is_ok_and(|merged| merged == now)
}

/// Refuses a partial decision: operations belong together.
pub fn refuse_partial(proposal: &Proposal) -> Error {
    Error::new(
        &codes::PLAN_FAILED,
        format!("{} is about memory, and is decided as a whole", proposal.id),
    )
    .with("proposal_id", proposal.id.as_str())
    .hint("apply it, or reject it with a reason that names the unwanted part")
}

/// Git actions after an apply.
pub fn in_git(store: &Store, proposal: &Proposal) -> Result<Option<GitActions>> {
    let service = Service::open(store, proposal.actor.clone(), proposal.current().at)?;
    let page = repo_path(index_page::PATH)?;
    let changed = proposal.current().changes.iter().map(|change| &change.path);
    let paths: Vec<&RepoPath> = changed.chain([&page]).collect();
    let what = proposal.description.as_deref().unwrap_or("memory");
    Ok(service.git_actions(&paths, what))
}

/// Wait for other writers.
pub fn lock_wait(store: &Store, proposal: &Proposal) -> Result<std::time::Duration> {
    let service = Service::open(store, proposal.actor.clone(), proposal.current().at)?;
    let seconds = service.settings.manifest.concurrency.wait_timeout_seconds;
    Ok(std::time::Duration::from_secs(seconds))
}

/// Plans to undo `decision` by section, with the generated page. Writes nothing.
///
/// # Errors
/// `conflict`, naming the sections that changed since.
pub fn preview_undo(store: &Store, proposal: &Proposal, decision: &Decision) -> Result<ApplyPlan> {
    let service = Service::open(store, proposal.actor.clone(), proposal.current().at)?;
    let mut files = Vec::new();
    for written in &decision.written {
        files.extend(service.undo_file(proposal, written)?);
    }
    files.extend(service.page_after(&files, &service.worktree, &service.disk())?);
    files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(ApplyPlan { files })
}

impl Service<'_> {
    /// Later changes by others stay.
    fn undo_file(&self, proposal: &Proposal, written: &Written) -> Result<Option<PlannedFile>> {
        let Some(path) = store_path(&written.path) else { return Ok(None) };
        let conflict = |why: &str| conflict(proposal, path, why);
        let Some(file) = self.disk().file(path)? else {
            return Err(conflict("the file is gone"));
        };
        let now = String::from_utf8(file.bytes.clone())
            .map_err(|_| conflict("the file is no text any more"))?;
        let after = text(self.store, &written.after)?;
        let clean = now == after;
        let back = match &written.before {
            None if clean => None,
            None => return Err(conflict("the new file was changed since")),
            before => {
                let before = text(self.store, before)?;
                let merged = merge(&after, &now, &before).map_err(|sections| {
                    conflict(&format!("changed since: {}", sections.join(", ")))
                })?;
                Some(File { bytes: merged.into_bytes(), mode: file.mode })
            }
        };
        let outcome = if clean {
            MergeStatus::Clean
        } else if back.as_ref() == Some(&file) {
            MergeStatus::Already
        } else {
            MergeStatus::Merged(MergedBy::ThreeWay)
        };
        let path = written.path.clone();
        Ok(Some(PlannedFile { path, now: Some(file), after: back, outcome }))
    }
}

fn text(store: &Store, entry: &Option<Entry>) -> Result<String> {
    let Some(entry) = entry else { return Ok(String::new()) };
    Ok(String::from_utf8_lossy(&store.blob(&entry.id)?).into_owned())
}

fn conflict(proposal: &Proposal, path: &str, why: &str) -> Error {
    Error::new(&crate::changeset::codes::CONFLICT, format!("{path}: {why}"))
        .with("proposal_id", proposal.id.as_str())
        .hint("nothing was written; mend the file by hand, or propose the change back")
}

/// Writes or removes the staging directory.
pub fn project(store: &Store, proposal: &Proposal, pending: bool) -> Result<()> {
    if store.repository().work_dir().is_none() {
        return Ok(());
    }
    if pending {
        staging::write_new(store, proposal)
    } else {
        staging::remove(store.repository(), proposal)
    }
}
