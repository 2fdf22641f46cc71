//! The `update_plan` tool.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Arguments;
use super::arguments::{shorten, with_ignored};
use crate::app::Session;
use crate::app::plan::update;
use crate::error::Result;
use crate::plan::PlanUpdate;
use crate::proposal::event::timestamp;

// `Request` reads the steps, so that errors name the invalid one.
/// Arguments of the tool.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct Parameters {
    /// The whole list; an empty one clears the plan.
    #[schemars(with = "Vec<crate::plan::PlanStep>")]
    plan: Vec<Value>,
    /// Why.
    explanation: Option<String>,
}

pub fn call(session: &Session<'_>, arguments: Value) -> Result<Value> {
    read(arguments)?.answer(|request| {
        let updated = update(session, request)?;
        Ok(json!({
            "status": "ok",
            "plan": updated.plan,
            "updated_at": timestamp(updated.at),
            "explanation": updated.explanation,
            "progress": updated.plan.progress(),
        }))
    })
}

/// # Errors
/// `plan_invalid` with the index of the step.
pub fn read(arguments: Value) -> Result<Arguments<PlanUpdate>> {
    let Arguments { known, mut ignored } = Arguments::<Parameters>::read(arguments)?;
    let request = PlanUpdate::new(&known.plan, known.explanation, &mut ignored);
    let ignored = ignored.iter().map(|name| shorten(name)).collect();
    match request {
        Ok(known) => Ok(Arguments { known, ignored }),
        Err(error) => Err(with_ignored(error, ignored)),
    }
}
