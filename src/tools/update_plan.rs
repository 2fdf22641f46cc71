//! The `update_plan` tool: the whole list of steps replaces the one before.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{Arguments, failure};
use crate::app::Session;
use crate::app::plan::{Updated, update};
use crate::error::Result;
use crate::plan::{Key, Progress, Request, TaskPlan};
use crate::proposal::event::timestamp;

/// The tool's name.
pub const NAME: &str = "update_plan";

/// The contract's response, and ours: `explanation`, `progress`.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Response {
    /// Always `ok`.
    pub status: &'static str,
    /// The list as it is now.
    pub plan: TaskPlan,
    /// When it became that.
    pub updated_at: String,
    /// Why, in the caller's words.
    pub explanation: Option<String>,
    /// How many steps are in which state.
    pub progress: Progress,
}

/// What the tool answers, as the published schema has it.
#[derive(Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Published {
    /// The plan was replaced.
    Done(Response),
    /// Nothing was changed.
    Failed(failure::Plain),
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

/// Calls the tool with `arguments`: `plan`, and optionally `explanation` and `name`.
///
/// # Errors
/// `plan_invalid` with the index; those of the store.
pub fn call(session: &Session<'_>, arguments: &Value) -> Result<Value> {
    let mut known = Request::from_json(arguments)?;
    let ignored = std::mem::take(&mut known.ignored);
    Arguments { known, ignored }.answer(|request, _| {
        let key = Key::new(session.store.branch(), request.name.as_deref())?;
        let updated = update(session, &key, |_| Ok((request.plan, request.explanation)))?;
        Ok(response(&updated))
    })
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
