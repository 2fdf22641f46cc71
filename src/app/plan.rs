//! The task plan: changing it, its projection, and the proposals that belong to its steps.

use chrono::{DateTime, Utc};
use serde::Serialize;

use super::Session;
use crate::changeset::{File, Mode, RepoPath, Snapshot as _};
use crate::error::Result;
use crate::plan::{History, Key, Progress, Record, Step, StepStatus, TaskPlan, Version, request};
use crate::proposal::event::timestamp;
use crate::proposal::{Note, Proposal, Status};
use crate::repository::exclude;
use crate::store::{Filter, Store, Summary, View};
use crate::worktree::Flush;

/// Where the branch's plans can be read and grepped. A projection: nothing is read back from it.
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

/// Lets `change` make a new list (and explanation) from the present one, and records it. Under
/// the store's lock, so that nobody's change is lost. A list equal to the present one changes
/// nothing.
///
/// # Errors
/// `change`'s own, `in_trial`, and those of the store.
pub fn update(
    session: &Session<'_>,
    key: &Key,
    change: impl FnOnce(&TaskPlan) -> Result<(TaskPlan, Option<String>)>,
) -> Result<Updated> {
    let Session { store, caller, now } = session;
    // It replaces what the person and the agents have there, whoever asks.
    store.require_no_trial()?;
    let updated = store.write(&caller.actor, *now, |writer| {
        let current = current(&writer.view, key)?;
        let empty = TaskPlan::default();
        let before = current.as_ref().map_or(&empty, |version| &version.plan);
        let (plan, explanation) = change(before)?;
        let explanation = request::explanation(explanation)?;
        if plan == *before {
            return Ok(Updated {
                at: current.as_ref().map_or(*now, |version| version.at),
                explanation: current.and_then(|version| version.explanation),
                plan,
                changed: false,
            });
        }
        let record = Record { key: key.clone(), plan, explanation };
        writer.note(None, Note::Plan(record.to_value()?))?;
        let (plan, explanation) = (record.plan, record.explanation);
        Ok(Updated { plan, explanation, at: writer.now(), changed: true })
    })?;
    if updated.changed {
        // What can be rebuilt must not fail what is recorded.
        let _ = store.view().and_then(|view| project(store, &view, &key.branch));
    }
    Ok(updated)
}

/// The present version of a plan, if it was ever set.
///
/// # Errors
/// If the store cannot be read.
pub fn current(view: &View, key: &Key) -> Result<Option<Version>> {
    Ok(view.plan_tip(key)?.as_ref().and_then(Version::new))
}

#[derive(Serialize)]
struct Projected {
    schema: &'static str,
    branch: String,
    plans: Vec<ProjectedPlan>,
}

#[derive(Serialize)]
struct ProjectedPlan {
    name: String,
    plan: TaskPlan,
    explanation: Option<String>,
    updated_at: String,
    updated_by: String,
    progress: Progress,
}

/// Writes the plans of `branch` to [`PROJECTION`], or removes it where there are none.
///
/// # Errors
/// If the file cannot be written.
pub fn project(store: &Store, view: &View, branch: &str) -> Result<()> {
    if store.work_dir().is_none() {
        return Ok(());
    }
    let tree = store.worktree()?;
    let path = RepoPath::new(PROJECTION)?;
    let Some(text) = projection(view, branch)? else {
        return tree.remove_file(&path).map(drop);
    };
    exclude::exclude(store, exclude::PLAN);
    tree.write_file(&path, text.as_bytes(), Mode::Regular, Flush::No)
}

/// What is wrong with [`PROJECTION`] where `branch` is checked out: `changed`, `missing` or
/// `unreadable`. The plan of the branch that it says it is of may still stand there.
///
/// # Errors
/// If the store cannot be read.
pub fn tampering(store: &Store, view: &View, branch: &str) -> Result<Option<&'static str>> {
    if store.work_dir().is_none() {
        return Ok(None);
    }
    let tree = store.worktree()?.without_conversion();
    let expected = projection(view, branch)?;
    let bytes = match tree.file(&RepoPath::new(PROJECTION)?) {
        Ok(Some(file)) => file.bytes,
        Ok(None) => return Ok(expected.map(|_| "missing")),
        Err(_) => return Ok(Some("unreadable")),
    };
    if expected.is_some_and(|text| text.as_bytes() == bytes) {
        return Ok(None);
    }
    #[derive(serde::Deserialize)]
    struct Said {
        branch: String,
    }
    let shallow = Some(&bytes).filter(|bytes| !crate::text::yaml::is_too_deep(bytes));
    let said = shallow.and_then(|bytes| serde_yaml::from_slice::<Said>(bytes).ok());
    let said = said.filter(|said| said.branch != branch);
    let other = said.map(|said| projection(view, &said.branch)).transpose()?.flatten();
    Ok((other.is_none_or(|text| text.as_bytes() != bytes)).then_some("changed"))
}

/// Writes the plans of `branch` to [`PROJECTION`] where lanes of other clones have changed them since this one
/// wrote there, and nobody else has.
///
/// # Errors
/// If the store cannot be read, or the file cannot be written.
pub fn follow(store: &Store, view: &View, branch: &str) -> Result<()> {
    let what = tampering(store, view, branch)?;
    let is_due = match what {
        // What this clone has changed was written here, and removed.
        Some("missing") => !is_own(store, view, branch)?,
        Some("changed") => is_earlier(store, view)?,
        _ => false,
    };
    if is_due { project(store, view, branch) } else { Ok(()) }
}

/// Whether one of the plans of `branch` is as this clone left it.
fn is_own(store: &Store, view: &View, branch: &str) -> Result<bool> {
    let own = store.own_lanes();
    for key in view.plans(branch)? {
        if view.plan_tip(&key)?.is_some_and(|tip| own.contains(&tip.event.lane)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether [`PROJECTION`] is, to the byte, what plans of the branch that it names were before.
fn is_earlier(store: &Store, view: &View) -> Result<bool> {
    #[derive(serde::Deserialize)]
    struct Said {
        branch: String,
        plans: Vec<SaidPlan>,
    }
    #[derive(serde::Deserialize)]
    struct SaidPlan {
        name: String,
        updated_at: String,
    }
    let tree = store.worktree()?.without_conversion();
    let Some(File { bytes, .. }) = tree.file(&RepoPath::new(PROJECTION)?)? else {
        return Ok(false);
    };
    if crate::text::yaml::is_too_deep(&bytes) {
        return Ok(false);
    }
    let Ok(said) = serde_yaml::from_slice::<Said>(&bytes) else { return Ok(false) };
    let mut plans = Vec::new();
    for one in said.plans {
        let Ok(key) = Key::new(said.branch.clone(), Some(&one.name)) else { return Ok(false) };
        let events = view.plan_events(&key, None)?;
        let mut versions = events.iter().rev().filter_map(Version::new);
        let Some(version) = versions.find(|found| timestamp(found.at) == one.updated_at) else {
            return Ok(false);
        };
        plans.push((key.name, version));
    }
    Ok(document(&said.branch, plans)?.is_some_and(|text| text.as_bytes() == bytes))
}

/// What [`PROJECTION`] says of `branch`; nothing where it has no plans.
fn projection(view: &View, branch: &str) -> Result<Option<String>> {
    let mut plans = Vec::new();
    for key in view.plans(branch)? {
        if let Some(version) = current(view, &key)?.filter(|version| !version.plan.is_empty()) {
            plans.push((key.name, version));
        }
    }
    document(branch, plans)
}

/// The text of a projection of these plans, by name.
fn document(branch: &str, plans: Vec<(String, Version)>) -> Result<Option<String>> {
    if plans.is_empty() {
        return Ok(None);
    }
    let plans = plans.into_iter().map(|(name, version)| ProjectedPlan {
        name,
        updated_at: timestamp(version.at),
        updated_by: version.by.name,
        progress: version.plan.progress(),
        plan: version.plan,
        explanation: version.explanation,
    });
    let (branch, plans) = (branch.to_owned(), plans.collect());
    crate::text::yaml::document(&Projected { schema: "aye/plans@1", branch, plans }).map(Some)
}

/// The proposals of each step of `plan`, which is the present one of `key`. A proposal belongs to
/// the step that had the number it names when it was made, wherever that stands now.
///
/// # Errors
/// If the store cannot be read.
pub fn attached(
    view: &View,
    now: DateTime<Utc>,
    key: &Key,
    plan: &TaskPlan,
) -> Result<Vec<Vec<Summary>>> {
    let mut steps: Vec<Vec<Summary>> = plan.steps().iter().map(|_| Vec::new()).collect();
    let all = view.proposals(&Filter { of_plans: true, ..Filter::default() }, now)?;
    let number = |summary: &Summary| key.step_of(summary.task.as_deref()?);
    let named: Vec<_> = all.into_iter().filter_map(|one| Some((number(&one)?, one))).collect();
    if named.is_empty() {
        return Ok(steps);
    }
    let history = History::new(&view.plan_events(key, None)?);
    for (number, summary) in named {
        let branch = view.proposal(&summary.id)?.branch;
        if branch.as_ref().is_some_and(|branch| *branch != key.branch) {
            continue;
        }
        let place = history.follow(number, summary.created_at, branch.is_some());
        if let Some(step) = place.and_then(|place| steps.get_mut(place)) {
            step.push(summary);
        }
    }
    Ok(steps)
}

/// A step whose last open proposal was decided.
#[derive(Clone, Debug)]
pub struct Finished {
    /// The plan's name, if it has one.
    pub name: Option<String>,
    /// Number of the step, from 1.
    pub number: usize,
    /// The step as it is.
    pub step: Step,
}

/// The step that is not completed although `proposal`, just applied, was its last open one.
pub fn finished(
    view: &View,
    now: DateTime<Utc>,
    branch: &str,
    proposal: &Proposal,
) -> Option<Finished> {
    let task = proposal.related_task_id.as_deref().filter(|task| task.starts_with("plan:"))?;
    let name = task.split(':').nth(1).filter(|_| task.matches(':').count() == 2);
    let key = Key::new(branch.to_owned(), name).ok()?;
    key.step_of(task)?;
    let plan = current(view, &key).ok()??.plan;
    let attached = attached(view, now, &key, &plan).ok()?;
    let place = attached.iter().position(|step| step.iter().any(|s| s.id == proposal.id))?;
    let step = &plan.steps()[place];
    let pending = |s: &Summary| s.status == Status::Pending && s.id != proposal.id;
    let last = !attached[place].iter().any(pending);
    (last && step.status != StepStatus::Completed).then(|| Finished {
        name: name.map(str::to_owned),
        number: place + 1,
        step: step.clone(),
    })
}
