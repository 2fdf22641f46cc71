//! The `update_plan` tool: the whole list of steps replaces the one before.

use chrono::{DateTime, Utc};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::changeset::{Mode, RepoPath, Snapshot as _};
use crate::error::{Error, Result};
use crate::plan::{Key, Plan, Progress, Record, Request, Version, request};
use crate::proposal::document::timestamp;
use crate::proposal::{Actor, Note};
use crate::store::{Store, View};
use crate::worktree::Flush;

use super::Session;
use super::arguments::name_ignored;

/// The tool's name.
pub const NAME: &str = "update_plan";

/// Where the branch's plans can be read and grepped. A projection: nothing is read back from it.
pub const PROJECTION: &str = ".agent-memory/plan.yaml";

/// The contract's response, and ours: `explanation`, `progress`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Response {
    /// Always `ok`.
    pub status: &'static str,
    /// The list as it is now.
    pub plan: Plan,
    /// When it became that.
    pub updated_at: String,
    /// Why, in the caller's words.
    pub explanation: Option<String>,
    /// How many steps are in which state.
    pub progress: Progress,
}

/// Arguments of the tool, as the published schema has them; [`Request`] reads them, and names the step
/// that breaks a rule.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct Parameters {
    /// The whole list; an empty one clears the plan.
    plan: Vec<crate::plan::Step>,
    /// Why.
    explanation: Option<String>,
    /// Which of the branch's plans.
    name: Option<String>,
}

/// A plan as it is after a change (or without one).
#[derive(Clone, Debug, PartialEq)]
pub struct Updated {
    /// The list.
    pub plan: Plan,
    /// When it became that.
    pub at: DateTime<Utc>,
    /// Why.
    pub explanation: Option<String>,
    /// False if it was that already, so that nothing was recorded.
    pub changed: bool,
}

/// Calls the tool with `arguments`: `plan`, and optionally `explanation` and `name`.
///
/// # Errors
/// `plan_invalid` with the index; those of the store.
pub fn call(session: &Session<'_>, arguments: &Value) -> Result<Value> {
    let request = Request::from_json(arguments)?;
    let key = Key::new(session.store.branch(), request.name.as_deref())?;
    let updated = update(session.store, &session.actor, session.now, &key, |_| {
        Ok((request.plan, request.explanation))
    })?;
    let answer = serde_json::to_value(response(&updated));
    let answer = answer.map_err(|error| Error::bug(error.to_string()))?;
    Ok(name_ignored(answer, request.ignored))
}

/// The contract's response for `updated`.
pub fn response(updated: &Updated) -> Response {
    Response {
        status: "ok",
        plan: updated.plan.clone(),
        updated_at: timestamp(updated.at),
        explanation: updated.explanation.clone(),
        progress: updated.plan.progress(),
    }
}

/// Lets `change` make a new list (and explanation) from the present one, and records it. Under
/// the store's lock, so that nobody's change is lost. A list equal to the present one changes
/// nothing.
///
/// # Errors
/// `change`'s own, and those of the store.
pub fn update(
    store: &Store,
    actor: &Actor,
    now: DateTime<Utc>,
    key: &Key,
    change: impl FnOnce(&Plan) -> Result<(Plan, Option<String>)>,
) -> Result<Updated> {
    let updated = store.write(actor, now, |writer| {
        let current = current(&writer.view, key)?;
        let empty = Plan::default();
        let before = current.as_ref().map_or(&empty, |version| &version.plan);
        let (plan, explanation) = change(before)?;
        let explanation = request::explanation(explanation)?;
        if plan == *before {
            return Ok(Updated {
                at: current.as_ref().map_or(now, |version| version.at),
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
    plan: Plan,
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
    crate::store::exclude::exclude(store, crate::store::exclude::PLAN);
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

/// What [`PROJECTION`] says of `branch`; nothing where it has no plans.
fn projection(view: &View, branch: &str) -> Result<Option<String>> {
    let mut plans = Vec::new();
    for key in view.plans(branch)? {
        let Some(version) = current(view, &key)?.filter(|version| !version.plan.is_empty()) else {
            continue;
        };
        plans.push(ProjectedPlan {
            name: key.name,
            updated_at: timestamp(version.at),
            updated_by: version.by.name,
            progress: version.plan.progress(),
            plan: version.plan,
            explanation: version.explanation,
        });
    }
    if plans.is_empty() {
        return Ok(None);
    }
    let projected = Projected { schema: "aye/plans@1", branch: branch.to_owned(), plans };
    crate::text::yaml::document(&projected).map(Some)
}
