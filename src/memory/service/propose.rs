//! `memory.propose_update`: plan, then apply or stage.

use chrono::{Duration, SubsecRound as _};
use serde_json::{Value, json};

use super::Service;
use super::locate::{Repository, staging_id};
use super::staging;
use crate::changeset::plan::Resolution;
use crate::changeset::{Changeset, File, FileChange};
use crate::error::Result;
use crate::memory::disk::{repo_path, store_path};
use crate::memory::plan::{self, MemoryPlan};
use crate::memory::problem::Problem;
use crate::memory::request;
use crate::memory::response::{MemoryOutcome, Response};
use crate::memory::settings::Approval;
use crate::memory::{MAX_REQUEST_BYTES, Request};
use crate::proposal::event::{InputForm, Subject};
use crate::store::NewProposal;

/// How often a request is judged again with stand-ins for what it lacks.
const MOST_ROUNDS: usize = 3;

/// What to do with what a request's routing says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As it says.
    Routed,
    /// Stage it in any case.
    Stage,
}

/// What a request came to.
#[derive(Debug)]
pub enum Routed {
    /// It is answered: staged or rejected.
    Answered(Box<Response>),
    /// It may be written: by the manifest, or because a person said so.
    Writes(Box<Ready>),
}

/// A request that may be written.
#[derive(Debug)]
pub struct Ready {
    /// The request as it came.
    pub value: Value,
    /// The request, read.
    pub request: Request,
    /// Its plan on the files as they were.
    pub plan: MemoryPlan,
}

impl Service<'_> {
    /// Answers a request, unless it is to be written. A rejection is an answer, not an error. With
    /// `at_once` a person has decided that what would be staged is written.
    ///
    /// # Errors
    /// Those of the store and the work tree; nothing is written then.
    pub fn route(&self, value: &Value, mode: Mode, at_once: bool) -> Result<Routed> {
        let routed = self.routed(value, mode, at_once)?;
        Ok(match routed {
            Routed::Answered(mut response) => {
                if response.status == MemoryOutcome::Rejected {
                    self.guard().redact(&mut response);
                }
                Routed::Answered(response)
            }
            ready => ready,
        })
    }

    fn routed(&self, value: &Value, mode: Mode, at_once: bool) -> Result<Routed> {
        let rejected =
            |problems: &[Problem]| Ok(Routed::Answered(Box::new(Response::rejected(problems))));
        if value.to_string().len() > MAX_REQUEST_BYTES {
            let problem = Problem::new(
                &crate::error::codes::SIZE_LIMIT,
                format!("the request is larger than {MAX_REQUEST_BYTES} bytes"),
            )
            .fix("split it");
            return rejected(&[problem]);
        }
        let request = match self.read(value) {
            Ok(request) => request,
            Err(problems) => return rejected(&self.all_problems(value, problems)),
        };
        let plan = match self.plan(&request) {
            Ok(planned) => planned,
            Err(problems) => return rejected(&self.all_problems(value, problems)),
        };
        if at_once || plan.routing.mode == Approval::Apply && mode == Mode::Routed {
            let value = value.clone();
            return Ok(Routed::Writes(Box::new(Ready { value, request, plan })));
        }
        self.stage(value, &request, &plan).map(|response| Routed::Answered(Box::new(response)))
    }

    /// The plan of `ready` on the files as they are, or the answer why there is none any more.
    ///
    /// # Errors
    /// The answer.
    pub fn again(&self, ready: &Ready) -> Result<MemoryPlan, Box<Response>> {
        let disk = self.disk();
        let same = ready.plan.files.iter().all(|(path, edit)| {
            disk.file(path).is_ok_and(|now| now.map(|file| file.bytes) == edit.before)
        });
        match same {
            true => Ok(ready.plan.clone()),
            false => self
                .plan(&ready.request)
                .map_err(|problems| Box::new(Response::rejected(&problems))),
        }
    }

    /// What is to be proposed and written for `plan`, and how: with every file as it is now.
    ///
    /// # Errors
    /// Those of the work tree.
    pub fn writing(&self, ready: &Ready, plan: &MemoryPlan) -> Result<(NewProposal, Resolution)> {
        let changeset = self.changeset(plan)?;
        let memory = self.memory_note(&ready.value, plan, None);
        let shown = changeset.changes().to_vec();
        let resolution = self.resolution(plan.clone(), &shown, &self.worktree, &self.disk())?;
        Ok((self.new_proposal(&ready.request, changeset, memory), resolution))
    }

    /// Stages a request that was to be written.
    ///
    /// # Errors
    /// Those of the store.
    pub fn stage_instead(&self, ready: &Ready, plan: &MemoryPlan) -> Result<Response> {
        self.stage(&ready.value, &ready.request, plan)
    }

    /// Reads a request.
    ///
    /// # Errors
    /// Every problem of form, and every other one that can be told in spite of them.
    pub fn read(&self, value: &Value) -> Result<Request, Vec<Problem>> {
        let mut reading = Request::read(value);
        if reading.problems.is_empty()
            && let Some(request) = reading.request
        {
            return Ok(request);
        }
        let (disk, sources) = (self.disk(), Repository(self.store));
        let world = self.world(&disk, &sources, self.now, self.branch.as_deref());
        let further = plan::survey(&reading, &world);
        reading.problems.extend(further);
        Err(reading.problems)
    }

    /// `problems` of the request `value`, and those that are found only once they are mended: an agent
    /// shall hear of all in one answer.
    fn all_problems(&self, value: &Value, mut problems: Vec<Problem>) -> Vec<Problem> {
        let mut mended = request::mended(value, &problems);
        for _ in 0..MOST_ROUNDS {
            let Some(value) = mended else { break };
            let found = match self.read(&value) {
                Ok(request) => self.plan(&request).err().unwrap_or_default(),
                Err(found) => found,
            };
            mended = request::mended(&value, &found);
            for mut problem in found {
                let is_it = |known: &Problem| {
                    (known.operation, &known.field, &known.message)
                        == (problem.operation, &problem.field, &problem.message)
                };
                if !problems.iter().any(is_it) {
                    // A line of the stand-in is none of the request's.
                    problem.line = None;
                    problems.push(problem);
                }
            }
        }
        problems
    }

    /// Plans `request` on the files as they are.
    ///
    /// # Errors
    /// Every problem found.
    pub fn plan(&self, request: &Request) -> Result<MemoryPlan, Vec<Problem>> {
        let disk = self.disk();
        let sources = Repository(self.store);
        plan::plan(request, &self.world(&disk, &sources, self.now, self.branch.as_deref()))
    }

    /// What is kept with the proposal, so that it can be planned again.
    pub(super) fn memory_note(
        &self,
        value: &Value,
        plan: &MemoryPlan,
        staging_id: Option<&str>,
    ) -> Value {
        json!({
            "request": value,
            "staging_id": staging_id,
            "planned_at": crate::proposal::event::timestamp(self.now),
            "branch": self.branch,
            "routing": plan.routing,
            "preconditions": plan.preconditions,
            "affected_sections": plan.affected,
            "warnings": plan.warnings,
        })
    }

    /// The plan's files as a changeset of the repository, modes kept.
    pub(super) fn changeset(&self, plan: &MemoryPlan) -> Result<Changeset> {
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

    pub(super) fn new_proposal(
        &self,
        request: &Request,
        changeset: Changeset,
        memory: Value,
    ) -> NewProposal {
        let owner = request.owner.as_ref().and_then(|owner| owner.id.clone());
        // Notes that git is not to have stay in this clone.
        let is_shared =
            |change: &FileChange| store_path(&change.path).is_none_or(|path| self.is_tracked(path));
        let private = !changeset.changes().iter().any(is_shared);
        NewProposal {
            changeset,
            description: Some(
                request.rationale.clone().unwrap_or_else(|| {
                    format!("{}: {}", request.intent.as_str(), headline(request))
                }),
            ),
            domain: Some("memory".to_owned()),
            related_task_id: None,
            proposed_by: owner.unwrap_or_else(|| self.actor.name.clone()),
            expires_in: Duration::seconds(
                i64::try_from(self.settings.manifest.staging.ttl_seconds)
                    .unwrap_or(i64::MAX / 4000),
            ),
            subject: Subject::Memory,
            form: InputForm::Memory,
            instead_of: None,
            on: None,
            target: None,
            memory: Some(memory),
            private,
        }
    }

    fn stage(&self, value: &Value, request: &Request, plan: &MemoryPlan) -> Result<Response> {
        let id = staging::new_id(self.now, request.intent.as_str(), request.rationale.as_deref());
        let changeset = self.changeset(plan)?;
        let memory = self.memory_note(value, plan, Some(&id));
        let new = self.new_proposal(request, changeset, memory);
        let outcome = self.store.write(&self.actor, self.now, |writer| writer.propose(new))?;
        let proposal = self.store.view()?.proposal(&outcome.id)?;
        let mut response = Response::new(MemoryOutcome::Staged);
        response.routing = Some(plan.routing.clone());
        response.proposal_id = Some(outcome.id.to_string());
        response.staging_id = staging_id(&proposal).map(str::to_owned);
        response.files = plan.files.keys().cloned().collect();
        response.affected_sections = plan.affected.clone();
        response.warnings = plan.warnings.clone();
        let left = proposal.expires_at - self.now.trunc_subsecs(3);
        response.staging_ttl_seconds = u64::try_from(left.num_seconds()).ok();
        response.human_approval_required = Some(true);
        response.review_command = Some(format!(
            "aye show {}",
            response.staging_id.as_deref().unwrap_or(outcome.id.as_str())
        ));
        response.duplicate = outcome.duplicate;
        response.message = Some(if outcome.duplicate {
            "The same change is staged already.".to_owned()
        } else {
            "Staged for a person to review.".to_owned()
        });
        Ok(response)
    }
}

fn headline(request: &Request) -> String {
    let operation = &request.operations[0];
    let what = operation
        .heading
        .as_deref()
        .or(operation.section_id.as_deref())
        .unwrap_or(operation.path.as_str());
    format!("{} {what}", operation.kind.as_str())
}
