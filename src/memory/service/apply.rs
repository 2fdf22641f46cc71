//! Planning a staged proposal again on the files as they are.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Service;
use super::held::Held;
use super::locate::{Repository, note};
use crate::changeset::plan::{MergedBy, Planned, Resolution, Resolved};
use crate::changeset::{File, FileChange, RepoPath, Snapshot};
use crate::error::Result;
use crate::memory::disk::{Disk, Overlay, repo_path, store_path};
use crate::memory::plan::{self, Drift, MemoryPlan, Precondition, World, index_page};
use crate::memory::problem::Problem;
use crate::memory::provenance::Sources;
use crate::memory::response::{MemoryOutcome, Response};
use crate::memory::{Request, codes, guard};
use crate::proposal::Proposal;
use crate::proposal::event::timestamp;

/// A plan made again with what has drifted, or the answer why there is none.
type Replanned = std::result::Result<(MemoryPlan, Vec<Drift>), Response>;

/// The generator of `index.md`, as manifests of decisions name it.
pub const INDEX: &str = "memory-index@1";

impl Service<'_> {
    /// Whether anything that a pending proposal was written for is not so any more. While its files are
    /// what it started from, nothing is; else its targets are looked for again, without looking over
    /// texts and sources, as staging has done.
    ///
    /// # Errors
    /// Those of the work tree.
    pub(super) fn has_drifted(&self, proposal: &Proposal, held: &Held<'_>) -> Result<bool> {
        let current = proposal.current();
        let mut is_same = !current.changes.is_empty();
        for change in &current.changes {
            let before = change.before.as_ref().map(|entry| entry.id.as_str());
            let now = match store_path(&change.path) {
                Some(path) => held.id(self.store, path).ok(),
                None => None,
            };
            is_same &= now.is_some_and(|now| now.as_deref() == before);
        }
        if is_same {
            return Ok(false);
        }
        let Some(Ok(request)) = note(proposal, "request").map(Request::parse) else {
            return Ok(false);
        };
        let branch = note(proposal, "branch").and_then(Value::as_str);
        let world = World {
            settings: &self.settings,
            files: held,
            guard: &guard::Open,
            sources: &Unasked,
            at: current.at,
            branch,
        };
        let (planned, now) = plan::probe(&request, &world);
        let problems = planned.as_ref().err().map_or(&[][..], Vec::as_slice);
        Ok(!plan::drift(&recorded(proposal), &now, problems).is_empty())
    }

    /// Plans the proposal's operations again, on `files`. The outer error is the machine's, the inner one an
    /// answer.
    pub(super) fn replan_on(
        &self,
        proposal: &Proposal,
        files: &dyn plan::Files,
    ) -> Result<Replanned> {
        let memory = proposal.current().memory.as_ref();
        let Some(value) = memory.and_then(|memory| memory.get("request")) else {
            let problem = Problem::new(
                &codes::PLAN_FAILED,
                format!("the current revision of {} holds no memory request", proposal.id),
            )
            .fix("a memory proposal is decided as a whole: reject it with a reason");
            return Ok(Err(Response::rejected(&[problem])));
        };
        let request = match Request::parse(value) {
            Ok(request) => request,
            Err(problems) => return Ok(Err(Response::rejected(&problems))),
        };
        let recorded = recorded(proposal);
        let branch = note(proposal, "branch").and_then(Value::as_str);
        let sources = Repository(self.store);
        // Dates and paths that come from the clock are those the reviewer saw.
        let world = self.world(files, &sources, proposal.current().at, branch);
        let (planned, now) = plan::probe(&request, &world);
        let drift = plan::drift(&recorded, &now, planned.as_ref().err().map_or(&[], Vec::as_slice));
        match planned {
            Ok(plan) if plan.routing.mode == crate::memory::settings::Approval::ServerOnly => {
                let problem = Problem::new(&codes::SERVER_ONLY, plan.routing.reason);
                Ok(Err(Response::rejected(&[problem])))
            }
            Ok(plan) => Ok(Ok((plan, drift))),
            Err(problems) if drift.is_empty() => Ok(Err(Response::rejected(&problems))),
            Err(problems) => {
                let mut all = drift_problems(&drift);
                all.extend(problems);
                let mut refused = Response::rejected(&all);
                refused.reason = Some(codes::TARGET_DRIFT.id.to_owned());
                Ok(Err(refused))
            }
        }
    }

    /// Whether the operations of `proposal` make what it shows, `shown`, of the files that it starts from, and these are
    /// what they were written for. `base` has all other files. The lane of somebody else may say otherwise.
    ///
    /// # Errors
    /// Those of `base`.
    pub(super) fn is_as_shown(
        &self,
        proposal: &Proposal,
        shown: &[FileChange],
        base: &dyn plan::Files,
    ) -> Result<bool> {
        let Some(Ok(request)) = note(proposal, "request").map(Request::parse) else {
            return Ok(false);
        };
        let mut over = BTreeMap::new();
        for change in shown {
            let Some(path) = store_path(&change.path) else { return Ok(false) };
            over.insert(path.to_owned(), change.before.as_ref().map(|file| file.bytes.clone()));
        }
        let (files, sources) = (Overlay { base, over: &over }, Repository(self.store));
        let branch = note(proposal, "branch").and_then(Value::as_str);
        let world = self.world(&files, &sources, proposal.current().at, branch);
        let (Ok(plan), found) = plan::probe(&request, &world) else { return Ok(false) };
        let recorded = recorded(proposal);
        let is_it = |(path, edit): (&String, &plan::FileEdit)| {
            let change = shown.iter().find(|change| store_path(&change.path) == Some(path));
            change.and_then(|it| it.after.as_ref()).is_some_and(|file| file.bytes == edit.after)
        };
        Ok(plan.files.len() == shown.len()
            && plan.files.iter().all(is_it)
            && plan::drift(&recorded, &found, &[]).is_empty()
            && plan::drift(&found, &recorded, &[]).is_empty())
    }

    /// `plan` as the changeset engine writes it, on the files of `snapshot`: each file with what is
    /// there, and the generated page where it comes out different. A file that comes out other than
    /// in `shown` is `merged`.
    ///
    /// # Errors
    /// Those of the snapshot and the work tree.
    pub(super) fn resolution(
        &self,
        plan: MemoryPlan,
        shown: &[FileChange],
        snapshot: &dyn Snapshot,
        base: &dyn plan::Files,
    ) -> Result<Resolution> {
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
                if clean { Resolved::Clean } else { Resolved::Merged(MergedBy::ThreeWay) };
            files.push(Planned { path, now, after: Some(after), outcome });
        }
        let page = if has_page { self.page_after(&files, snapshot, base)? } else { None };
        files.extend(page);
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        Ok(Resolution { files })
    }

    /// The generated page as it has to be once `files` are written, where that is another one.
    pub(super) fn page_after(
        &self,
        files: &[Planned],
        snapshot: &dyn Snapshot,
        base: &dyn plan::Files,
    ) -> Result<Option<Planned>> {
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
        Ok(Some(Planned { path, now, after, outcome: Resolved::Derived(INDEX) }))
    }

    /// Writes `index.md` where the files have outrun it.
    ///
    /// # Errors
    /// Those of the work tree.
    pub fn refresh_index(&self) -> Result<bool> {
        let page = self.page_after(&[], &self.worktree, &Disk(&self.worktree))?;
        let Some(Planned { path, after: Some(after), .. }) = &page else { return Ok(false) };
        let flush = crate::worktree::Flush::No;
        self.worktree.write_file(path, &after.bytes, after.mode, flush)?;
        Ok(true)
    }

    /// The response to a request that was applied as `plan` says.
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

    /// Whether git is to have the file at `path`, relative to the store.
    pub(super) fn is_tracked(&self, path: &str) -> bool {
        let git = &self.settings.manifest.git;
        self.settings.schema.category(path).is_some_and(|category| {
            category.git_tracked
                || category.name == "current" && git.track_local
                || category.name == "sessions" && git.track_sessions
        })
    }

    /// What the manifest wants of git once `paths` are written; `None` where that is nothing. `what`
    /// is the rest of the commit's subject.
    pub(super) fn in_git(&self, paths: &[&RepoPath], what: &str) -> Option<InGit> {
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
        (!paths.is_empty()).then_some(InGit { paths, commit })
    }
}

/// What the manifest wants of git once memory was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InGit {
    /// The files that are to be staged.
    pub paths: Vec<RepoPath>,
    /// They are to be committed as well, with this message.
    pub commit: Option<String>,
}

/// What the operations of `proposal` were written for.
fn recorded(proposal: &Proposal) -> Vec<Precondition> {
    let value = note(proposal, "preconditions").cloned();
    value.and_then(|value| serde_json::from_value(value).ok()).unwrap_or_default()
}

/// Sources that nobody asks for.
struct Unasked;

impl Sources for Unasked {
    fn check_file(&self, _reference: &str) -> std::result::Result<(), String> {
        Ok(())
    }
}

fn drift_problems(drift: &[Drift]) -> Vec<Problem> {
    drift
        .iter()
        .map(|drift| {
            let what = match &drift.section_id {
                Some(id) => format!("{}#{id}: {}", drift.path, drift.message),
                None => format!("{}: {}", drift.path, drift.message),
            };
            let mut problem = Problem::new(&codes::TARGET_DRIFT, what)
                .at(drift.operation_index)
                .field("path")
                .fix("look at the file; reject it, and have it proposed again");
            problem.section_id = drift.section_id.clone();
            problem
        })
        .collect()
}
