//! The task plan: changes, projection, and proposals of its steps.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Session;
use crate::changeset::{Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::plan::{PlanRecord, PlanUpdate, PlanVersion, Progress, TaskPlan, step_of};
use crate::proposal::Note;
use crate::proposal::event::timestamp;
use crate::repository::{Repository, exclude};
use crate::store::{Filter, Summary, View};
use crate::worktree::Flush;

/// Readable plan of the branch. A projection, never read back.
pub const PROJECTION: &str = ".agent-memory/plan.yaml";

#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    pub plan: TaskPlan,
    /// Time of the last change.
    pub at: DateTime<Utc>,
    pub explanation: Option<String>,
    /// False if the plan was equal, so nothing was recorded.
    pub changed: bool,
}

/// Replaces the branch's plan unless it is equal.
///
/// # Errors
/// `in_trial`.
pub fn update(session: &Session<'_>, request: PlanUpdate) -> Result<Updated> {
    let Session { store, caller, now } = session;
    // A trial must not replace the plan of people and agents outside.
    store.require_no_trial()?;
    let PlanUpdate { plan, explanation } = request;
    let branch = store.repository().branch();
    let updated = store.write(&caller.actor, *now, |writer| {
        let current = current(&writer.view, &branch)?;
        let is_same = current.as_ref().map_or(plan.is_empty(), |version| version.plan == plan);
        if is_same {
            let at = current.as_ref().map_or(*now, |version| version.at);
            let explanation = current.and_then(|version| version.explanation);
            return Ok(Updated { plan, at, explanation, changed: false });
        }
        let record = PlanRecord { branch: branch.clone(), plan, explanation };
        writer.note(None, Note::Plan(record.to_value()?))?;
        let PlanRecord { plan, explanation, .. } = record;
        Ok(Updated { plan, explanation, at: writer.now(), changed: true })
    })?;
    if updated.changed {
        // A stale projection can be rebuilt and must not fail the recorded update.
        let _ = store.view().and_then(|view| project(store.repository(), &view, &branch));
    }
    Ok(updated)
}

pub fn current(view: &View, branch: &str) -> Result<Option<PlanVersion>> {
    let is_valid = |stamped: &_| PlanVersion::new(stamped).is_some();
    Ok(view.plan_tip(branch, is_valid)?.as_ref().and_then(|(_, tip)| PlanVersion::new(tip)))
}

#[derive(Serialize)]
struct Projected<'a> {
    schema: &'static str,
    branch: &'a str,
    plan: TaskPlan,
    explanation: Option<String>,
    updated_at: String,
    updated_by: String,
    progress: Progress,
}

/// Writes `PROJECTION` if it differs, or removes it without a plan.
pub fn project(repository: &Repository, view: &View, branch: &str) -> Result<()> {
    if repository.work_dir().is_none() {
        return Ok(());
    }
    let tree = repository.worktree()?.without_conversion();
    let path = RepoPath::new(PROJECTION)?;
    let Some(version) = current(view, branch)?.filter(|version| !version.plan.is_empty()) else {
        return tree.remove_file(&path).map(drop);
    };
    let text = crate::text::yaml::document(&Projected {
        schema: "aye/plan@1",
        branch,
        progress: version.plan.progress(),
        plan: version.plan,
        explanation: version.explanation,
        updated_at: timestamp(version.at),
        updated_by: version.by,
    })?;
    exclude::exclude(repository, exclude::PLAN);
    let there = tree.file(&path).ok().flatten();
    if there.is_some_and(|file| file.bytes == text.as_bytes()) {
        return Ok(());
    }
    tree.write_file(&path, text.as_bytes(), Mode::Regular, Flush::No)
}

/// Proposals made on `branch` that name a step's number.
pub fn attached(
    view: &View,
    now: DateTime<Utc>,
    branch: &str,
    plan: &TaskPlan,
) -> Result<Vec<Vec<Summary>>> {
    let mut steps: Vec<Vec<Summary>> = plan.steps().iter().map(|_| Vec::new()).collect();
    for summary in view.proposals(&Filter { of_plans: true, ..Filter::default() }, now)? {
        let number = summary.task.as_deref().and_then(step_of);
        let Some(step) = number.and_then(|number| steps.get_mut(number - 1)) else { continue };
        let proposal = view.proposal(&summary.id);
        if proposal.is_ok_and(|proposal| proposal.branch.as_deref() == Some(branch)) {
            step.push(summary);
        }
    }
    Ok(steps)
}
