//! A request with stand-ins for what it lacks, to find what else is wrong with it. Never written.

use serde_json::{Value, json};

use crate::memory::codes;
use crate::memory::problem::Problem;

/// The level that stands in for one that is not given.
const LEVEL: u64 = 2;

/// `value` with a heading, or its level, where `problems` say that it is missing and nothing else of the
/// operation can be judged without; `None` where there is nothing to put in.
pub fn mended(value: &Value, problems: &[Problem]) -> Option<Value> {
    let mut value = value.clone();
    let operations = value.get_mut("operations")?.as_array_mut()?;
    let mut is_mended = false;
    for problem in problems {
        let operation = problem.operation.and_then(|i| operations.get_mut(i));
        let Some(Value::Object(operation)) = operation else { continue };
        let is_absent = |field: &str| operation.get(field).is_none_or(Value::is_null);
        match problem.field.as_deref() {
            Some("heading_level") if is_absent("heading_level") => {
                operation.insert("heading_level".to_owned(), LEVEL.into());
                is_mended = true;
            }
            Some("content") if problem.code.id == codes::INVALID_MARKDOWN.id => {
                let text = |field: &str| operation.get(field).and_then(Value::as_str);
                let (Some(heading), Some(content)) = (text("heading"), text("content")) else {
                    continue;
                };
                if content.lines().any(|line| line.starts_with('#')) {
                    continue;
                }
                let level = operation.get("heading_level").and_then(Value::as_u64);
                let sharps = "#".repeat(level.unwrap_or(LEVEL).clamp(1, 6) as usize);
                let content = json!(format!("{sharps} {heading}\n\n{content}"));
                operation.insert("content".to_owned(), content);
                is_mended = true;
            }
            _ => {}
        }
    }
    is_mended.then_some(value)
}
