//! The `update_plan` tool: the whole list of steps replaces the one before.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::arguments::{beside, required, shorten};
use super::{Arguments, failure};
use crate::app::Session;
use crate::app::plan::{Updated, update};
use crate::error::Result;
use crate::plan::{Progress, Request, TaskPlan};
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

// `Request` reads the steps: an error names the one that breaks a rule.
/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The whole list; an empty one clears the plan.
    #[schemars(with = "Vec<crate::plan::Step>")]
    plan: Option<Vec<Value>>,
    /// Why.
    explanation: Option<String>,
}

/// Calls the tool with `arguments`: `plan`, and optionally `explanation`.
///
/// # Errors
/// Those of [`read`], and of the store.
pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    read(arguments)?.answer(|request, _| Ok(response(&update(session, request)?)))
}

/// Reads the arguments of a call.
///
/// # Errors
/// `missing_parameter`, `invalid_parameter`; `plan_invalid` with the index of the step.
pub fn read(arguments: Value) -> Result<Arguments<Request>> {
    let example = "{\"plan\": [{\"step\": \"Fix bug\", \"status\": \"pending\"}]}";
    let Arguments { known, mut ignored } = Arguments::<Parameters>::read(arguments, example)?;
    let request = required("plan", known.plan, &ignored)
        .and_then(|steps| Request::new(&steps, known.explanation, &mut ignored));
    let ignored = ignored.iter().map(|name| shorten(name)).collect();
    match request {
        Ok(known) => Ok(Arguments { known, ignored }),
        Err(error) => Err(beside(error, ignored)),
    }
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
