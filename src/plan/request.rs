//! Reads a new plan from JSON. Unknown fields are reported and ignored.

use serde_json::Value;

use super::{MAX_EXPLANATION_CHARS, PlanStep, StepStatus, TaskPlan, codes, invalid, trim};
use crate::error::{Error, Result};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlanUpdate {
    /// Empty clears the plan.
    pub plan: TaskPlan,
    /// Never empty.
    pub explanation: Option<String>,
}

impl PlanUpdate {
    /// Reads `steps`, each `{"step", "status"}`. Unknown fields, such as `plan[0].id`, are added to
    /// `ignored`, even on failure.
    ///
    /// # Errors
    /// `plan_invalid`, with the field or the index of the step.
    pub fn new(steps: &[Value], why: Option<String>, ignored: &mut Vec<String>) -> Result<Self> {
        let read = |(index, item)| step(index, item, ignored);
        let steps = steps.iter().enumerate().map(read).collect::<Result<_>>();
        Ok(Self { plan: TaskPlan::new(steps?)?, explanation: explanation(why)? })
    }
}

/// Trims; an empty text becomes `None`.
///
/// # Errors
/// `plan_invalid` if too long.
pub fn explanation(text: Option<String>) -> Result<Option<String>> {
    let Some(mut text) = text else { return Ok(None) };
    trim(&mut text);
    let chars = text.chars().count();
    if chars > MAX_EXPLANATION_CHARS {
        let message =
            format!("'explanation' has {chars} characters, more than {MAX_EXPLANATION_CHARS}");
        return Err(Error::new(&codes::PLAN_INVALID, message).with("field", "explanation"));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn step(index: usize, item: &Value, ignored: &mut Vec<String>) -> Result<PlanStep> {
    let at = |message: String| invalid(index, format!("step {}: {message}", index + 1));
    let Value::Object(fields) = item else {
        return Err(at(format!("expected an object, got {}", kind(item)))
            .hint(r#"{"step": "Fix bug", "status": "pending"}"#));
    };
    let unknown = fields.keys().filter(|key| !["step", "status"].contains(&key.as_str()));
    ignored.extend(unknown.map(|key| format!("plan[{index}].{key}")));
    let word = |field: &'static str| match fields.get(field) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(other) => {
            let got = kind(other);
            Err(at(format!("'{field}' must be a string, got {got}")).with("field", field))
        }
        None => Err(at(format!("'{field}' is missing")).with("field", field)),
    };
    let (text, status) = (word("step")?, word("status")?);
    let status = StepStatus::parse(&status).ok_or_else(|| {
        let shown: String = status.chars().take(60).collect();
        at(format!("'{shown}' is not a status"))
            .with("field", "status")
            .hint("use pending, in_progress or completed")
    })?;
    Ok(PlanStep { step: text, status })
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "an array",
        Value::Object(_) => "an object",
    }
}
