//! Reading the operations of a request.

use serde_json::{Map, Value};

use super::operation::{IfExists, IfMissing, Operation, OperationKind};
use super::reader::{Reader, is_empty, unknown_fields};
use crate::memory::codes;
use crate::memory::problem::{Problem, brief};
use crate::spelling::{did_you_mean, one_of};

/// The fields of an operation.
pub(super) const FIELDS: [&str; 15] = [
    "operation", "path", "section_id", "heading", "heading_level", "occurrence",
    "parent_section_id", "content", "if_exists", "if_missing", "archive_path", "replacement",
    "reason", "new_heading", "new_heading_level",
];

/// Most operations in one request.
const MOST: usize = 1000;

/// Reads the list of operations. The second part names those, by index, that could not be read;
/// empty ones stand in for them.
pub(super) fn parse_operations(
    value: Option<&Value>,
    problems: &mut Vec<Problem>,
) -> (Vec<Operation>, Vec<usize>) {
    let items = match value {
        Some(Value::Array(items)) if !items.is_empty() => items,
        Some(Value::Array(_)) | None | Some(Value::Null) => {
            problems.push(
                Problem::new(&codes::NO_OPERATIONS, "there are no operations")
                    .field("operations")
                    .fix("give at least one operation"),
            );
            return (Vec::new(), Vec::new());
        }
        Some(_) => {
            problems.push(
                Problem::new(&codes::INVALID_OPERATION, "operations has to be a list")
                    .field("operations")
                    .fix("[{\"operation\": …, \"path\": …}]"),
            );
            return (Vec::new(), Vec::new());
        }
    };
    if items.len() > MOST {
        problems.push(
            Problem::new(&crate::error::codes::SIZE_LIMIT, format!("more than {MOST} operations"))
                .field("operations")
                .fix("split the request"),
        );
        return (Vec::new(), Vec::new());
    }
    let mut broken = Vec::new();
    let mut operations = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let before = problems.len();
        operations.push(parse_operation(i, item, problems));
        if problems.len() > before {
            broken.push(i);
        }
    }
    (operations, broken)
}

fn parse_operation(i: usize, value: &Value, problems: &mut Vec<Problem>) -> Operation {
    let nothing = Map::new();
    let map = value.as_object().unwrap_or(&nothing);
    unknown_fields(map, &FIELDS, Some(i), problems);
    let mut reader = Reader { map, operation: Some(i), problems };
    if !value.is_object() {
        reader.wrong("", "an operation has to be an object", "{\"operation\": …, \"path\": …}");
    }
    let kind = if value.is_object() { parse_kind(&mut reader) } else { None };
    if let Some(kind) = kind {
        check_fields(kind, &mut reader);
    }
    let operation = Operation {
        kind: kind.unwrap_or(OperationKind::CreateFile),
        path: reader.text("path").unwrap_or_default(),
        section_id: reader.text("section_id"),
        heading: reader.text("heading"),
        heading_level: reader.level("heading_level", 1),
        occurrence: reader.number("occurrence", 1, u32::MAX.into()).and_then(|n| n.try_into().ok()),
        parent_section_id: reader.text("parent_section_id"),
        content: reader.text("content").unwrap_or_default(),
        if_exists: reader.choice("if_exists", IfExists::parse, IfExists::words()),
        if_missing: reader.choice("if_missing", IfMissing::parse, IfMissing::words()),
        archive_path: reader.text("archive_path").unwrap_or_default(),
        replacement: reader.text("replacement").unwrap_or_default(),
        reason: reader.text("reason"),
        new_heading: reader.text("new_heading").unwrap_or_default(),
        new_heading_level: reader.level("new_heading_level", 0).unwrap_or(0),
    };
    if kind.is_some_and(OperationKind::has_target)
        && operation.section_id.is_none()
        && operation.heading.is_none()
    {
        reader.wrong(
            "section_id",
            format!("{} needs a target", operation.kind.as_str()),
            "add section_id, or heading with heading_level and occurrence",
        );
    }
    operation
}

fn parse_kind(reader: &mut Reader<'_>) -> Option<OperationKind> {
    let (message, fix) = match reader.text("operation") {
        Some(name) => match OperationKind::parse(&name) {
            Some(kind) => return Some(kind),
            None => (
                format!("'{}' is no operation", brief(&name)),
                did_you_mean(&name, OperationKind::words()),
            ),
        },
        None => ("the operation is not named".to_owned(), one_of(OperationKind::words())),
    };
    reader.wrong("operation", message, &fix);
    None
}

/// Every field that the operation needs is there, and none that it does not take.
fn check_fields(kind: OperationKind, reader: &mut Reader<'_>) {
    let takes = kind.fields();
    // The path is not among them: a session log names its own file.
    for field in &FIELDS[2..] {
        let given = reader.map.get(*field).is_some_and(|value| !is_empty(value));
        if given && !takes.contains(field) {
            let fix = format!("leave it out; it takes: {}", takes.join(", "));
            reader.wrong(field, format!("{} takes no {field}", kind.as_str()), &fix);
        }
        if !given && kind.required().contains(field) {
            reader.wrong(field, format!("{} needs {field}", kind.as_str()), "add it");
        }
    }
}
