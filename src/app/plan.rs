//! The task plan: changing it, its projection, and the proposals that belong to its steps.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Session;
use crate::changeset::{Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::plan::{Progress, Record, Request, TaskPlan, Version, step_of};
use crate::proposal::Note;
use crate::proposal::event::timestamp;
use crate::repository::{Repository, exclude};
use crate::store::{Filter, Summary, View};
use crate::worktree::Flush;

/// Where the branch's plan can be read and grepped. A projection: nothing is read back from it.
pub const PROJECTION: &str = ".agent-memory/plan.yaml";

/// A plan as it is after a change (or without one).
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    /// The list.
    pub plan: TaskPlan,
    /// When it became that.
    pub at: DateTime<Utc>,
    /// Why.
    pub explanation: Option<String>,
    /// False if it was that already, so that nothing was recorded.
    pub changed: bool,
}

/// Replaces the plan of the branch. A list equal to the present one changes nothing.
///
/// # Errors
/// `in_trial`, and those of the store.
pub fn update(session: &Session<'_>, request: Request) -> Result<Updated> {
    let Session { store, caller, now } = session;
    // It replaces what the person and the agents have there, whoever asks.
    store.require_no_trial()?;
    let Request { plan, explanation } = request;
    let branch = store.repository().branch();
    let updated = store.write(&caller.actor, *now, |writer| {
        let current = current(&writer.view, &branch)?;
        let is_same = current.as_ref().map_or(plan.is_empty(), |version| version.plan == plan);
        if is_same {
            let at = current.as_ref().map_or(*now, |version| version.at);
            let explanation = current.and_then(|version| version.explanation);
            return Ok(Updated { plan, at, explanation, changed: false });
        }
        let record = Record { branch: branch.clone(), plan, explanation };
        writer.note(None, Note::Plan(record.to_value()?))?;
        let Record { plan, explanation, .. } = record;
        Ok(Updated { plan, explanation, at: writer.now(), changed: true })
    })?;
    if updated.changed {
        // What can be rebuilt must not fail what is recorded.
        let _ = store.view().and_then(|view| project(store.repository(), &view, &branch));
    }
    Ok(updated)
}

/// The present version of the plan of `branch`, if it was ever set.
///
/// # Errors
/// If the store cannot be read.
pub fn current(view: &View, branch: &str) -> Result<Option<Version>> {
    let is_valid = |stamped: &_| Version::new(stamped).is_some();
    Ok(view.plan_tip(branch, is_valid)?.as_ref().and_then(Version::new))
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

/// Writes the plan of `branch` to [`PROJECTION`] where that is not what stands there, or removes
/// the file where there is no plan.
///
/// # Errors
/// If the store cannot be read, or the file cannot be written.
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

/// The proposals of each step of `plan`, the present one of `branch`: those that were made on that
/// branch and name the step's number.
///
/// # Errors
/// If the store cannot be read.
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
