//! Plans a staged proposal again on the present files.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Service;
use super::locate::{CitedFiles, memory_data};
use crate::changeset::plan::{ApplyPlan, MergeStatus, MergedBy, PlannedFile};
use crate::changeset::{File, FileChange, RepoPath, Snapshot};
use crate::error::{Error, Result};
use crate::memory::disk::{Disk, Overlay, repo_path, store_path};
use crate::memory::guard::{self, Guard};
use crate::memory::plan::{self, MemoryPlan, PlanInputs, Precondition, index_page};
use crate::memory::problem::Problem;
use crate::memory::response::{MemoryOutcome, Response};
use crate::memory::{Request, codes};
use crate::proposal::event::timestamp;
use crate::proposal::{ChangeRecord, Proposal};

/// Generator of `index.md`, as named in manifests of decisions.
pub const INDEX: &str = "memory-index@1";

impl Service<'_> {
    /// True if a precondition of a pending proposal no longer holds. Nothing has drifted while its
    /// files equal its base. Staging has screened the texts.
    pub(super) fn has_drifted(&self, proposal: &Proposal) -> bool {
        let tree = self.store.repository().worktree();
        let is_as_it_was = |change: &ChangeRecord| {
            let Ok(tree) = &tree else { return false };
            let now = tree.file(&change.path);
            let now = now.and_then(|file| file.map(|it| self.store.entry_of(&it)).transpose());
            now.is_ok_and(|now| now == change.before)
        };
        let changes = &proposal.current().changes;
        if !changes.is_empty() && changes.iter().all(is_as_it_was) {
            return false;
        }
        let planned = self.replan(proposal, &self.disk(), &guard::NoGuard);
        planned.is_err_and(|error| error.is(&codes::TARGET_DRIFT))
    }

    /// Plans again on `files`, with the time and branch that the reviewer saw.
    ///
    /// # Errors
    /// `target_drift` if a precondition no longer holds, else the first problem.
    pub(super) fn replan(
        &self,
        proposal: &Proposal,
        files: &dyn plan::Files,
        guard: &dyn Guard,
    ) -> Result<MemoryPlan> {
        let id = &proposal.id;
        let Some(request) = request(proposal) else {
            let message = format!("the current revision of {id} holds no memory request");
            return Err(refused(proposal, &Problem::new(&codes::PLAN_FAILED, message)));
        };
        let (planned, now) = self.probe(proposal, &request, files, guard);
        let problems = planned.as_ref().err().map_or(&[][..], Vec::as_slice);
        let drift = plan::drift(&recorded(proposal), &now, problems);
        match drift.iter().chain(problems).next() {
            Some(problem) => Err(refused(proposal, problem)),
            None => planned.map_err(|_| Error::bug("a plan without a problem is refused")),
        }
    }

    fn probe(
        &self,
        proposal: &Proposal,
        request: &Request,
        files: &dyn plan::Files,
        guard: &dyn Guard,
    ) -> (std::result::Result<MemoryPlan, Vec<Problem>>, Vec<Precondition>) {
        let world = PlanInputs {
            settings: &self.settings,
            files,
            guard,
            sources: &CitedFiles(self.store.repository()),
            at: proposal.current().at,
            branch: memory_data(proposal, "branch").and_then(Value::as_str),
        };
        plan::probe(request, &world)
    }

    /// True if the operations turn the base of `proposal` into `shown`, with the recorded
    /// preconditions: a thread from another clone may claim otherwise. `base` has all other files.
    pub(super) fn is_as_shown(
        &self,
        proposal: &Proposal,
        shown: &[FileChange],
        base: &dyn plan::Files,
    ) -> bool {
        let Some(request) = request(proposal) else { return false };
        let mut over = BTreeMap::new();
        for change in shown {
            let Some(path) = store_path(&change.path) else { return false };
            over.insert(path.to_owned(), change.before.as_ref().map(|file| file.bytes.clone()));
        }
        let files = Overlay { base, over: &over };
        let (Ok(plan), found) = self.probe(proposal, &request, &files, self.guard()) else {
            return false;
        };
        let is_it = |(path, edit): (&String, &plan::FileEdit)| {
            let change = shown.iter().find(|change| store_path(&change.path) == Some(path));
            change.and_then(|it| it.after.as_ref()).is_some_and(|file| file.bytes == edit.after)
        };
        let is_all = plan.files.len() == shown.len() && plan.files.iter().all(is_it);
        is_all && recorded(proposal) == found
    }

    /// Each file with its present content, and the generated page if it changes. A file that
    /// differs from `shown` is `merged`.
    pub(super) fn resolution(
        &self,
        plan: MemoryPlan,
        shown: &[FileChange],
        snapshot: &dyn Snapshot,
        base: &dyn plan::Files,
    ) -> Result<ApplyPlan> {
        let as_shown = |path: &RepoPath, now: &Option<File>, after: &File| {
            shown.iter().any(|change| {
                change.path == *path
                    && change.before == *now
                    && change.after.as_ref() == Some(after)
            })
        };
        let durable =
            |path: &String| self.settings.schema.category(path).is_some_and(|c| c.git_tracked);
        let has_page = plan.files.keys().any(durable);
        let mut files = Vec::new();
        for (path, edit) in plan.files {
            let path = repo_path(&path)?;
            let now = snapshot.file(&path)?;
            let mode = now.as_ref().map(|file| file.mode).unwrap_or_default();
            let after = File { bytes: edit.after, mode };
            let clean = as_shown(&path, &now, &after);
            let outcome =
                if clean { MergeStatus::Clean } else { MergeStatus::Merged(MergedBy::ThreeWay) };
            files.push(PlannedFile { path, now, after: Some(after), outcome });
        }
        let page = if has_page { self.page_after(&files, snapshot, base)? } else { None };
        files.extend(page);
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(ApplyPlan { files })
    }

    /// `None` if the page stays the same.
    pub(super) fn page_after(
        &self,
        files: &[PlannedFile],
        snapshot: &dyn Snapshot,
        base: &dyn plan::Files,
    ) -> Result<Option<PlannedFile>> {
        let mut over = BTreeMap::new();
        for file in files {
            if let Some(path) = store_path(&file.path) {
                over.insert(path.to_owned(), file.after.as_ref().map(|file| file.bytes.clone()));
            }
        }
        let page = index_page::render(&Overlay { base, over: &over }, &self.settings)?;
        let path = repo_path(index_page::PATH)?;
        let now = snapshot.file(&path)?;
        if now.as_ref().is_some_and(|file| file.bytes == page.as_bytes()) {
            return Ok(None);
        }
        let mode = now.as_ref().map(|file| file.mode).unwrap_or_default();
        let after = Some(File { bytes: page.into_bytes(), mode });
        Ok(Some(PlannedFile { path, now, after, outcome: MergeStatus::Derived(INDEX) }))
    }

    /// True if the page was outdated.
    pub fn refresh_index(&self) -> Result<bool> {
        let page = self.page_after(&[], &self.worktree, &Disk(&self.worktree))?;
        let Some(PlannedFile { path, after: Some(after), .. }) = &page else { return Ok(false) };
        let flush = crate::worktree::Flush::No;
        self.worktree.write_file(path, &after.bytes, after.mode, flush)?;
        Ok(true)
    }

    pub fn applied(&self, plan: &MemoryPlan, id: &str) -> Response {
        let mut response = Response::new(MemoryOutcome::Applied);
        response.routing = Some(plan.routing.clone());
        response.proposal_id = Some(id.to_owned());
        response.files = plan.files.keys().cloned().collect();
        response.affected_sections = plan.affected.clone();
        response.warnings = plan.warnings.clone();
        response.applied_at = Some(timestamp(self.now));
        response.index_updated = Some(true);
        response
    }

    /// True if git should have the file at `path`, relative to the store.
    pub(super) fn is_tracked(&self, path: &str) -> bool {
        let git = &self.settings.manifest.git;
        self.settings.schema.category(path).is_some_and(|category| {
            category.git_tracked
                || category.name == "current" && git.track_local
                || category.name == "sessions" && git.track_sessions
        })
    }

    /// Git actions that the manifest wants for `paths`. `what` completes the commit's subject.
    pub(super) fn git_actions(&self, paths: &[&RepoPath], what: &str) -> Option<GitActions> {
        let git = &self.settings.manifest.git;
        if !git.auto_stage_changes && !git.auto_commit {
            return None;
        }
        let is_tracked = |path: &&&RepoPath| store_path(path).is_some_and(|p| self.is_tracked(p));
        let mut paths: Vec<RepoPath> = paths.iter().filter(is_tracked).copied().cloned().collect();
        paths.sort_unstable();
        paths.dedup();
        let subject = what.lines().next().unwrap_or_default();
        let message = format!("{} {subject}", git.commit_message_prefix).trim().to_owned();
        let commit = git.auto_commit.then_some(message);
        (!paths.is_empty()).then_some(GitActions { paths, commit })
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitActions {
    pub paths: Vec<RepoPath>,
    /// The commit's message, if one is wanted.
    pub commit: Option<String>,
}

pub(super) fn refused(proposal: &Proposal, problem: &Problem) -> Error {
    let id = &proposal.id;
    let fix = problem.fix.clone().unwrap_or_else(|| format!("reject it: aye reject {id}"));
    Error::new(problem.code, problem.located()).with("proposal_id", id.as_str()).hint(fix)
}

fn request(proposal: &Proposal) -> Option<Request> {
    let value = proposal.current().memory.as_ref()?.get("request")?;
    Some(Request::read(value)).filter(|request| request.problems.is_empty())
}

fn recorded(proposal: &Proposal) -> Vec<Precondition> {
    let value = memory_data(proposal, "preconditions").cloned();
    value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
}
