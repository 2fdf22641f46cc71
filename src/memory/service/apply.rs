//! Decisions: applying what was planned, anew, on the files as they are; rejecting; rebasing.
//!
//! Order: the journal's lock, then the plan on the present bytes, then (under the store's lock)
//! objects, journal, files, event. Two appends by two agents both survive, whatever the order.

use std::collections::BTreeMap;
use std::time::Duration;

use chrono::SubsecRound as _;
use serde_json::Value;

use super::Service;
use super::locate::{Repository, note, staging_id};
use crate::changeset::{File, RepoPath};
use crate::error::{Error, Result};
use crate::git::Git;
use crate::memory::disk::{Disk, Overlay, repo_path, store_path};
use crate::memory::plan::{self, Drift, FileEdit, Plan, Precondition, index_page};
use crate::memory::problem::Problem;
use crate::memory::response::{Outcome, Response};
use crate::memory::{Request, codes};
use crate::proposal::document::timestamp;
use crate::proposal::event::{Apply, Effect, How, Propose, Reject, Written, digest};
use crate::proposal::{Data, Proposal, ProposalId, Status};
use crate::worktree::journal::{self, Journal, Step};

/// What applying or rebasing a staged proposal came to.
#[derive(Clone, Debug)]
pub struct Applied {
    /// The contract's response.
    pub response: Response,
    /// What changed since it was staged, where that stands in the way.
    pub drift: Vec<Drift>,
}

/// What rebasing came to.
pub type Rebased = Applied;

/// A plan made again with what has drifted, or the answer why there is none.
pub(super) type Replanned = std::result::Result<(Request, Plan, Vec<Drift>), Applied>;

/// One file to write.
pub(super) struct Target {
    path: RepoPath,
    before: Option<File>,
    after: File,
    /// Generated pages are written along, but are nobody's change.
    generated: bool,
}

impl Target {
    pub(super) fn step(&self) -> Step<'_> {
        Step { path: &self.path, now: self.before.as_ref(), after: Some(&self.after) }
    }
}

impl Service<'_> {
    /// Applies a new request at once; its proposal and the decision are one lane commit.
    pub(super) fn propose_and_apply(
        &self,
        value: &Value,
        request: &Request,
        planned: Plan,
        how: How,
    ) -> Result<Response> {
        let journal = match self.lock()? {
            Ok(journal) => journal,
            Err(response) => return Ok(response),
        };
        // The files may have changed since the request was routed.
        let plan = match self.still_holds(&planned)? {
            true => planned,
            false => match self.plan(request) {
                Ok(plan) => plan,
                Err(problems) => return Ok(Response::rejected(&problems)),
            },
        };
        if plan.routing.mode != crate::memory::settings::Approval::Apply && how == How::Tool {
            drop(journal);
            return self.propose(value, super::Mode::Stage);
        }
        let changeset = self.changeset(&plan)?;
        let memory = self.memory_note(value, &plan, None);
        let new = self.new_proposal(request, changeset, memory);
        let targets = self.targets(&plan)?;
        let id = self.store.write(&self.actor, self.now, |writer| {
            let changes = writer.record(&new.changeset)?;
            let written = written(writer, &targets, None)?;
            let now = writer.now();
            let shown = digest(&changes);
            let propose = Propose {
                description: new.description,
                domain: new.domain,
                related_task_id: None,
                branch: None,
                proposed_by: new.proposed_by,
                expires_at: (now + new.expires_in).trunc_subsecs(3),
                subject: new.subject,
                form: new.form,
                base: self.store.repo().head_id().ok().map(|id| id.to_string()),
                changes,
                memory: new.memory,
            };
            let stamped = writer.append(None, Data::Propose(propose))?;
            let id = ProposalId::from_event(&stamped.id);
            writer.flush_objects()?;
            self.write_files(&journal, &targets, &id, |_| {
                let apply = Apply {
                    revision: stamped.id.clone(),
                    digest: shown,
                    how,
                    effect: Effect::Files,
                    commit: None,
                    written,
                };
                writer.append(Some(&id), Data::Apply(apply))?;
                crate::failpoint!("apply.event");
                writer.commit()
            })?;
            Ok(id)
        })?;
        drop(journal);
        let mut response = self.applied(&plan, id.as_str());
        self.after_apply(&targets, request, &mut response);
        Ok(response)
    }

    /// Applies a staged proposal: its operations, taken from the event, are planned on the files
    /// as they are, validated, scanned and routed again. `force` goes on where a target changed.
    ///
    /// # Errors
    /// `not_pending`, and those of the store and the work tree.
    pub fn apply(&self, proposal: &Proposal, how: How, force: bool) -> Result<Applied> {
        if proposal.status(self.now) == Status::Expired {
            let problem = Problem::new(
                &codes::EXPIRED,
                format!("{} expired at {}", proposal.id, timestamp(proposal.expires_at)),
            )
            .fix("propose it again");
            return Ok(rejected(&[problem], Vec::new()));
        }
        proposal.require_pending(self.now)?;
        let journal = match self.lock()? {
            Ok(journal) => journal,
            Err(response) => return Ok(Applied { response, drift: Vec::new() }),
        };
        let (request, plan, drift) = match self.replan(proposal)? {
            Ok(planned) => planned,
            Err(refused) => return Ok(refused),
        };
        if !drift.is_empty() && !force {
            return Ok(rejected(&drift_problems(&drift), drift));
        }
        let tampering = self.tampering_of(proposal)?;
        let targets = self.targets(&plan)?;
        self.store.write(&self.actor, self.now, |writer| {
            let current = writer.view.proposal(&proposal.id)?;
            current.require_pending(writer.now())?;
            if current.current().event != proposal.current().event {
                return Err(Error::new(
                    &crate::proposal::codes::NOT_PENDING,
                    format!("{} has a new revision that was not shown", proposal.id),
                )
                .hint("look at it again, then decide"));
            }
            let written = written(writer, &targets, Some(current.current()))?;
            writer.flush_objects()?;
            self.write_files(&journal, &targets, &proposal.id, |_| {
                let apply = Apply {
                    revision: current.current().event.clone(),
                    digest: digest(&current.current().changes),
                    how,
                    effect: Effect::Files,
                    commit: None,
                    written,
                };
                writer.append(Some(&proposal.id), Data::Apply(apply))?;
                crate::failpoint!("apply.event");
                writer.commit()
            })
        })?;
        drop(journal);
        let mut response = self.applied(&plan, proposal.id.as_str());
        response.staging_id = staging_id(proposal).map(str::to_owned);
        for found in tampering {
            let file = if found.file.is_empty() { "the folder" } else { found.file.as_str() };
            response.warnings.push(format!(
                "staging/{}: {file} was {}; what is applied is what the store recorded",
                found.staging_id, found.what
            ));
        }
        self.after_apply(&targets, &request, &mut response);
        Ok(Applied { response, drift: Vec::new() })
    }

    /// What a pending proposal was written for and is not so any more.
    ///
    /// # Errors
    /// Those of the work tree.
    pub fn drift(&self, proposal: &Proposal) -> Result<Vec<Drift>> {
        Ok(match self.replan(proposal)? {
            Ok((_, _, drift)) => drift,
            Err(refused) => refused.drift,
        })
    }

    /// Plans the proposal's operations again. The outer error is the machine's, the inner one an
    /// answer.
    pub(super) fn replan(&self, proposal: &Proposal) -> Result<Replanned> {
        self.replan_on(proposal, &self.disk())
    }

    /// As [`Service::replan`], on other files.
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
            return Ok(Err(rejected(&[problem], Vec::new())));
        };
        let request = match Request::parse(value) {
            Ok(request) => request,
            Err(problems) => return Ok(Err(rejected(&problems, Vec::new()))),
        };
        let recorded: Vec<Precondition> = note(proposal, "preconditions")
            .cloned()
            .and_then(|value| serde_json::from_value(value).ok())
            .unwrap_or_default();
        let branch = note(proposal, "branch").and_then(Value::as_str);
        let sources = Repository(self.store);
        // Dates and paths that come from the clock are those the reviewer saw.
        let world = self.world(files, &sources, proposal.current().at, branch);
        let (planned, now) = plan::probe(&request, &world);
        let drift = plan::drift(&recorded, &now, planned.as_ref().err().map_or(&[], Vec::as_slice));
        match planned {
            Ok(plan) if plan.routing.mode == crate::memory::settings::Approval::ServerOnly => {
                let problem = Problem::new(&codes::SERVER_ONLY, plan.routing.reason);
                Ok(Err(rejected(&[problem], drift)))
            }
            Ok(plan) => Ok(Ok((request, plan, drift))),
            Err(problems) if drift.is_empty() => Ok(Err(rejected(&problems, drift))),
            Err(problems) => {
                let mut all = drift_problems(&drift);
                all.extend(problems);
                let mut refused = rejected(&all, drift);
                refused.response.reason = Some(codes::TARGET_DRIFT.id.to_owned());
                Ok(Err(refused))
            }
        }
    }

    /// Plans a staged proposal anew and records the result as its new revision. A target that
    /// changed needs `force`; one that is gone cannot be rebased.
    ///
    /// # Errors
    /// `not_pending`, and those of the store.
    pub fn rebase(&self, proposal: &Proposal, force: bool) -> Result<Rebased> {
        proposal.require_pending(self.now)?;
        let (_, plan, drift) = match self.replan(proposal)? {
            Ok(planned) => planned,
            Err(mut refused) => {
                if !refused.drift.is_empty() {
                    refused.response.reason = Some(codes::UNRESOLVABLE_DRIFT.id.to_owned());
                }
                return Ok(refused);
            }
        };
        if !drift.is_empty() && !force {
            let mut refused = rejected(&drift_problems(&drift), drift);
            refused.response.reason = Some(codes::FORCE_REQUIRED.id.to_owned());
            refused.response.message =
                Some("the target changed since; look at it, then rebase with --force".to_owned());
            return Ok(refused);
        }
        let changeset = self.changeset(&plan)?;
        let value = note(proposal, "request").cloned().unwrap_or_default();
        let memory = self.memory_note(&value, &plan, staging_id(proposal));
        self.store.write(&self.actor, self.now, |writer| {
            writer.revise(&proposal.id, &changeset, "rebase", None, None, Some(memory)).map(|_| ())
        })?;
        let mut response = Response::new(Outcome::Staged);
        response.proposal_id = Some(proposal.id.to_string());
        response.staging_id = staging_id(proposal).map(str::to_owned);
        response.routing = Some(plan.routing.clone());
        response.files = plan.files.keys().cloned().collect();
        response.affected_sections = plan.affected.clone();
        response.warnings = plan.warnings.clone();
        response.human_approval_required = Some(true);
        response.review_command =
            response.staging_id.as_ref().map(|id| format!("aye memory show {id}"));
        Ok(Applied { response, drift })
    }

    /// Rejects a staged proposal; the reason is for the one who proposed it.
    ///
    /// # Errors
    /// `not_pending`, and those of the store.
    pub fn reject(&self, proposal: &Proposal, reason: Option<String>, how: How) -> Result<()> {
        self.store.write(&self.actor, self.now, |writer| {
            let current = writer.view.proposal(&proposal.id)?;
            current.require_pending(writer.now())?;
            let reject = Reject {
                reason,
                revision: current.current().event.clone(),
                digest: digest(&current.current().changes),
                how,
            };
            writer.append(Some(&proposal.id), Data::Reject(reject)).map(|_| ())
        })?;
        Ok(())
    }

    /// The right to write files, or the answer that somebody else holds it.
    pub(super) fn lock(&self) -> Result<std::result::Result<Journal, Response>> {
        let wait = Duration::from_secs(self.settings.manifest.concurrency.wait_timeout_seconds);
        match crate::apply::lock_within(self.store, wait) {
            Ok(journal) => Ok(Ok(journal)),
            Err(error) if error.is(&crate::worktree::codes::APPLY_BUSY) => {
                let problem =
                    Problem::new(&codes::LOCK_HELD, "another process is writing the memory store")
                        .fix("call again in a moment");
                Ok(Err(Response::rejected(&[problem])))
            }
            Err(error) => Err(error),
        }
    }

    /// Whether the files are what `plan` was made on.
    fn still_holds(&self, plan: &Plan) -> Result<bool> {
        let disk = self.disk();
        for (path, edit) in &plan.files {
            if disk.file(path)?.map(|file| file.bytes) != edit.before {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The files to write: the plan's, and the generated page where it comes out different.
    pub(super) fn targets(&self, plan: &Plan) -> Result<Vec<Target>> {
        let disk = self.disk();
        let mut targets = Vec::new();
        for (path, FileEdit { before, after }) in &plan.files {
            let mode = disk.file(path)?.map(|file| file.mode).unwrap_or_default();
            targets.push(Target {
                path: repo_path(path)?,
                before: before.clone().map(|bytes| File { bytes, mode }),
                after: File { bytes: after.clone(), mode },
                generated: false,
            });
        }
        let durable =
            |path: &String| self.settings.schema.category(path).is_some_and(|c| c.git_tracked);
        if plan.files.keys().any(durable) {
            let over: BTreeMap<String, Option<Vec<u8>>> = plan
                .files
                .iter()
                .map(|(path, edit)| (path.clone(), Some(edit.after.clone())))
                .collect();
            targets.extend(self.index_target(&Overlay { base: &disk, over: &over })?);
        }
        targets.sort_by(|a, b| a.path.cmp(&b.path));
        Ok(targets)
    }

    /// The generated page as it has to be once `plan` is carried out, where that is another one.
    pub(super) fn index_after(
        &self,
        plan: &crate::changeset::plan::Plan,
    ) -> Result<Option<Target>> {
        let mut over = BTreeMap::new();
        for file in &plan.files {
            if let Some(path) = store_path(&file.path) {
                over.insert(path.to_owned(), file.after.as_ref().map(|file| file.bytes.clone()));
            }
        }
        self.index_target(&Overlay { base: &self.disk(), over: &over })
    }

    fn index_target(&self, files: &dyn plan::Files) -> Result<Option<Target>> {
        let page = index_page::render(files, &self.settings)?;
        let before = self.disk().file(index_page::PATH)?;
        if before.as_ref().is_some_and(|file| file.bytes == page.as_bytes()) {
            return Ok(None);
        }
        Ok(Some(Target {
            path: repo_path(index_page::PATH)?,
            after: File {
                bytes: page.into_bytes(),
                mode: before.as_ref().map(|f| f.mode).unwrap_or_default(),
            },
            before,
            generated: true,
        }))
    }

    /// Writes `index.md` where the files have outrun it.
    ///
    /// # Errors
    /// Those of the work tree.
    pub fn refresh_index(&self) -> Result<bool> {
        let target = self.index_target(&Disk(&self.worktree))?;
        if let Some(target) = &target {
            self.worktree.write_file(
                &target.path,
                &target.after.bytes,
                target.after.mode,
                crate::worktree::Flush::No,
            )?;
        }
        Ok(target.is_some())
    }

    fn write_files(
        &self,
        journal: &Journal,
        targets: &[Target],
        id: &ProposalId,
        commit: impl FnOnce(&str) -> Result<()>,
    ) -> Result<()> {
        let steps: Vec<Step<'_>> = targets.iter().map(Target::step).collect();
        let subject = crate::apply::subject(crate::apply::APPLY, id, self.now.trunc_subsecs(3));
        journal.apply(&self.worktree.reader(), &steps, Some(&subject), commit)
    }

    fn applied(&self, plan: &Plan, id: &str) -> Response {
        let mut response = Response::new(Outcome::Applied);
        response.routing = Some(plan.routing.clone());
        response.proposal_id = Some(id.to_owned());
        response.files = plan.files.keys().cloned().collect();
        response.affected_sections = plan.affected.clone();
        response.warnings = plan.warnings.clone();
        response.applied_at = Some(timestamp(self.now));
        response.index_updated = Some(true);
        response
    }

    /// What the manifest wants of git once files are written: to stage or to commit them. `what`
    /// is the rest of the commit's subject. Says what did not go as asked.
    pub(super) fn follow_in_git(&self, paths: &[&RepoPath], what: &str) -> Option<String> {
        let git = &self.settings.manifest.git;
        if !git.auto_stage_changes && !git.auto_commit {
            return None;
        }
        let tracked: Vec<String> = paths
            .iter()
            .filter(|path| {
                let category = store_path(path).and_then(|p| self.settings.schema.category(p));
                category.is_some_and(|category| {
                    category.git_tracked
                        || category.name == "current" && git.track_local
                        || category.name == "sessions" && git.track_sessions
                })
            })
            .map(|path| path.display().to_string())
            .collect();
        if tracked.is_empty() {
            return None;
        }
        let run = |git: Git| {
            git.config("core.quotePath", "false").config("core.literalPathspecs", "true").run()
        };
        let top = self.worktree.root();
        let added = run(Git::new(top).args(["add", "--all", "--"]).args(&tracked));
        let done = added.and_then(|_| {
            if !git.auto_commit {
                return Ok(Vec::new());
            }
            let subject = what.lines().next().unwrap_or_default();
            let message = format!("{} {subject}", git.commit_message_prefix);
            run(Git::new(top).args(["commit", "-q", "-m", message.trim(), "--"]).args(&tracked))
        });
        let error = done.err()?;
        Some(format!("the files are written, but git refused: {}", error.message()))
    }

    fn after_apply(&self, targets: &[Target], request: &Request, response: &mut Response) {
        let paths: Vec<&RepoPath> = targets.iter().map(|target| &target.path).collect();
        let what = request.rationale.as_deref().unwrap_or(request.intent.as_str());
        response.warnings.extend(self.follow_in_git(&paths, what));
    }
}

/// The records of what is written; generated pages are nobody's change.
pub(super) fn written(
    writer: &mut crate::store::Writer<'_>,
    targets: &[Target],
    revision: Option<&crate::proposal::Revision>,
) -> Result<Vec<Written>> {
    let mut all = Vec::new();
    for target in targets {
        let before = target.before.as_ref().map(|file| writer.blob(file)).transpose()?;
        let after = writer.blob(&target.after)?;
        if target.generated {
            continue;
        }
        let shown = revision.is_none_or(|revision| {
            revision
                .changes
                .iter()
                .any(|c| c.path == target.path && c.after.as_ref() == Some(&after))
        });
        all.push(Written {
            path: target.path.clone(),
            before,
            after: Some(after),
            outcome: if shown { "clean".to_owned() } else { "merged".to_owned() },
        });
    }
    Ok(all)
}

fn rejected(problems: &[Problem], drift: Vec<Drift>) -> Applied {
    Applied { response: Response::rejected(problems), drift }
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
                .fix("look at the file, then `aye memory rebase --force`, or reject");
            problem.section_id = drift.section_id.clone();
            problem
        })
        .collect()
}

/// The journal's folder must be settled before the files are trusted; used by readers.
pub(super) fn has_leftovers(store: &crate::store::Store) -> bool {
    journal::pending(&store.private_dir().join("journal"))
}
