//! The arguments of `update_plan`. What breaks a rule is refused with the index of the step; what is not
//! in the contract is named, and otherwise passed over.

use serde_json::{Map, Value};

use super::{MAX_EXPLANATION_CHARS, Step, StepStatus, TaskPlan, codes, invalid, trim};
use crate::error::{Error, IGNORED, Result};

/// A whole list that replaces the plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// The new list; empty clears the plan.
    pub plan: TaskPlan,
    /// Why, in the caller's words; never empty.
    pub explanation: Option<String>,
    /// Which of the branch's plans; ours, not the contract's.
    pub name: Option<String>,
    /// Fields that nobody asked for, such as `plan[0].id`.
    pub ignored: Vec<String>,
}

impl Request {
    /// Reads `{"plan": [{"step", "status"}], "explanation"?, "name"?}`.
    ///
    /// # Errors
    /// `plan_invalid`, naming the field or the index of the step, and the fields that nobody asked for.
    pub fn from_json(value: &Value) -> Result<Self> {
        let mut ignored = Vec::new();
        match Self::read(value, &mut ignored) {
            Ok(request) => Ok(Self { ignored, ..request }),
            Err(error) if ignored.is_empty() => Err(error),
            Err(error) => Err(error.with(IGNORED, ignored)),
        }
    }

    fn read(value: &Value, ignored: &mut Vec<String>) -> Result<Self> {
        let Value::Object(fields) = value else {
            return Err(wrong(format!("expected an object, got {}", kind(value)))
                .hint(r#"{"plan": [{"step": "Fix bug", "status": "pending"}]}"#));
        };
        ignored.extend(unknown(fields, &["plan", "explanation", "name"], ""));
        let steps = match fields.get("plan") {
            Some(Value::Array(items)) => items,
            Some(other) => {
                return Err(wrong(format!("'plan' must be an array, got {}", kind(other)))
                    .with("field", "plan"));
            }
            None => {
                return Err(wrong("'plan' is missing".into())
                    .with("field", "plan")
                    .hint("give the whole list; an empty one clears the plan"));
            }
        };
        let read = |(i, item)| step(i, item, ignored);
        let steps = steps.iter().enumerate().map(read).collect::<Result<_>>();
        Ok(Self {
            plan: TaskPlan::new(steps?)?,
            explanation: explanation(text(fields, "explanation")?)?,
            name: text(fields, "name")?,
            ignored: Vec::new(),
        })
    }
}

/// Trims an explanation; an empty one is none.
///
/// # Errors
/// `plan_invalid` if it is too long.
pub fn explanation(text: Option<String>) -> Result<Option<String>> {
    let Some(mut text) = text else { return Ok(None) };
    trim(&mut text);
    let chars = text.chars().count();
    if chars > MAX_EXPLANATION_CHARS {
        return Err(wrong(format!(
            "'explanation' has {chars} characters, more than {MAX_EXPLANATION_CHARS}"
        ))
        .with("field", "explanation"));
    }
    Ok(Some(text).filter(|text| !text.is_empty()))
}

fn step(index: usize, item: &Value, ignored: &mut Vec<String>) -> Result<Step> {
    let at = |message: String| invalid(index, format!("step {}: {message}", index + 1));
    let Value::Object(fields) = item else {
        return Err(at(format!("expected an object, got {}", kind(item)))
            .hint(r#"{"step": "Fix bug", "status": "pending"}"#));
    };
    ignored.extend(unknown(fields, &["step", "status"], &format!("plan[{index}].")));
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
    Ok(Step { step: text, status })
}

fn text(fields: &Map<String, Value>, name: &'static str) -> Result<Option<String>> {
    match fields.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => {
            Err(wrong(format!("'{name}' must be a string, got {}", kind(other)))
                .with("field", name))
        }
    }
}

/// The names of the fields that are not `allowed`, behind `place`.
fn unknown(fields: &Map<String, Value>, allowed: &[&str], place: &str) -> Vec<String> {
    let others = fields.keys().filter(|key| !allowed.contains(&key.as_str()));
    others.map(|key| format!("{place}{key}")).collect()
}

fn wrong(message: String) -> Error {
    Error::new(&codes::PLAN_INVALID, message)
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
