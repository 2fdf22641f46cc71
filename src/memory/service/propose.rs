//! `memory.propose_update`: request, plan, staged proposal.

use chrono::{Duration, SubsecRound as _};
use serde_json::{Value, json};

use super::Service;
use super::locate::CitedFiles;
use super::staging;
use crate::changeset::plan::ApplyPlan;
use crate::changeset::{Changeset, File, FileChange};
use crate::error::Result;
use crate::memory::Request;
use crate::memory::disk::{repo_path, store_path};
use crate::memory::intent::Intent;
use crate::memory::plan::{self, MemoryPlan, PlanInputs};
use crate::memory::problem::Problem;
use crate::memory::response::{MemoryOutcome, Response};
use crate::proposal::event::{InputForm, Subject, timestamp};
use crate::store::NewProposal;

impl Service<'_> {
    /// Redacts secrets in the messages of `problems`.
    pub fn rejected(&self, problems: &[Problem]) -> Response {
        let response = Response::rejected(problems);
        let mut value = serde_json::to_value(&response).unwrap_or_default();
        self.guard().redact(&mut value);
        serde_json::from_value(value).unwrap_or_else(|_| Response::new(MemoryOutcome::Rejected))
    }

    /// With every file's present content.
    pub fn writing(
        &self,
        value: &Value,
        request: &Request,
        plan: &MemoryPlan,
    ) -> Result<(NewProposal, ApplyPlan)> {
        let new = self.new_proposal(value, request, plan, None)?;
        let shown = new.changeset.changes().to_vec();
        let resolution = self.resolution(plan.clone(), &shown, &self.worktree, &self.disk())?;
        Ok((new, resolution))
    }

    /// # Errors
    /// Every problem found.
    pub fn plan(&self, request: &Request) -> Result<MemoryPlan, Vec<Problem>> {
        let world = PlanInputs {
            settings: &self.settings,
            files: &self.disk(),
            guard: self.guard(),
            sources: &CitedFiles(self.store.repository()),
            at: self.now,
            branch: self.branch.as_deref(),
        };
        plan::plan(request, &world)
    }

    fn changeset(&self, plan: &MemoryPlan) -> Result<Changeset> {
        let disk = self.disk();
        let mut changes = Vec::new();
        for (path, edit) in &plan.files {
            let mode = disk.file(path)?.map(|file| file.mode).unwrap_or_default();
            changes.push(FileChange {
                path: repo_path(path)?,
                before: edit.before.clone().map(|bytes| File { bytes, mode }),
                after: Some(File { bytes: edit.after.clone(), mode }),
                origin: None,
                snippets: Vec::new(),
            });
        }
        Changeset::new(changes)
    }

    fn new_proposal(
        &self,
        value: &Value,
        request: &Request,
        plan: &MemoryPlan,
        staging_id: Option<&str>,
    ) -> Result<NewProposal> {
        let changeset = self.changeset(plan)?;
        // Recorded so that the proposal can be planned again.
        let memory = json!({
            "request": value,
            "staging_id": staging_id,
            "planned_at": timestamp(self.now),
            "branch": self.branch,
            "routing": plan.routing,
            "preconditions": plan.preconditions,
            "affected_sections": plan.affected,
            "warnings": plan.warnings,
        });
        // Notes that git does not track stay in this clone.
        let is_shared =
            |change: &FileChange| store_path(&change.path).is_none_or(|path| self.is_tracked(path));
        let private = !changeset.changes().iter().any(is_shared);
        Ok(NewProposal {
            changeset,
            description: Some(request.rationale.clone().unwrap_or_else(|| title(request, plan))),
            domain: Some("memory".to_owned()),
            related_task_id: None,
            proposed_by: request.owner.clone().unwrap_or_else(|| self.actor.name.clone()),
            expires_in: Duration::seconds(
                i64::try_from(self.settings.manifest.staging.ttl_seconds)
                    .unwrap_or(i64::MAX / 4000),
            ),
            subject: Subject::Memory,
            form: InputForm::Memory,
            instead_of: None,
            on: None,
            target: None,
            incomplete: Vec::new(),
            memory: Some(memory),
            private,
        })
    }

    pub fn stage(&self, value: &Value, request: &Request, plan: &MemoryPlan) -> Result<Response> {
        let id = staging::new_id(self.now, intent(request), request.rationale.as_deref());
        let new = self.new_proposal(value, request, plan, Some(&id))?;
        let outcome = self.store.write(&self.actor, self.now, |writer| writer.propose(new))?;
        let proposal = self.store.view()?.proposal(&outcome.id)?;
        let mut response = Response::new(MemoryOutcome::Staged);
        response.routing = Some(plan.routing.clone());
        response.proposal_id = Some(outcome.id.to_string());
        response.staging_id = proposal.staging_id().map(str::to_owned);
        response.files = plan.files.keys().cloned().collect();
        response.affected_sections = plan.affected.clone();
        response.warnings = plan.warnings.clone();
        let left = proposal.expires_at - self.now.trunc_subsecs(3);
        response.staging_ttl_seconds = u64::try_from(left.num_seconds()).ok();
        response.human_approval_required = Some(true);
        response.review_command = Some(format!("aye show {}", outcome.id));
        response.duplicate = outcome.duplicate;
        response.message = Some(if outcome.duplicate {
            "The same change is staged already.".to_owned()
        } else {
            "Staged for a person to review.".to_owned()
        });
        Ok(response)
    }
}

fn intent(request: &Request) -> &'static str {
    request.intent.map_or("", Intent::as_str)
}

/// Intent and first section, without a rationale.
fn title(request: &Request, plan: &MemoryPlan) -> String {
    let first = plan.affected.first();
    let what = first.map(|section| section.heading.as_deref().unwrap_or(&section.section_id));
    let file = plan.files.keys().next().map(String::as_str);
    format!("{}: {}", intent(request), what.or(file).unwrap_or_default())
}
