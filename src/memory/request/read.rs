//! Reading a request strictly, with every problem of form at once.

use serde_json::{Map, Value};

use super::read_operation::parse_operations;
use super::reader::{Reader, unknown_fields};
use super::{Confidence, Owner, Request, Source};
use crate::memory::codes;
use crate::memory::intent::Intent;
use crate::memory::problem::{Problem, brief};
use crate::memory::settings::schema::SOURCE_TYPES;
use crate::spelling::{did_you_mean, one_of};

/// The fields of a request.
pub const FIELDS: [&str; 6] =
    ["intent", "rationale", "operations", "sources", "confidence", "owner"];

/// What could be read of a request.
#[derive(Clone, Debug)]
pub struct Reading {
    /// The request; what could not be read is left out, so it is good for further checks only
    /// where there are problems. `None` where there is not even an object.
    pub request: Option<Request>,
    /// The intent could not be read; another one stands in for it.
    pub intent_is_guessed: bool,
    /// Operations, by index, that could not be read; empty ones stand in for them.
    pub broken: Vec<usize>,
    /// Every problem of form.
    pub problems: Vec<Problem>,
}

impl Request {
    /// Reads `value`.
    ///
    /// # Errors
    /// Every problem of form there is: unknown fields, missing ones, wrong types and values.
    pub fn parse(value: &Value) -> Result<Self, Vec<Problem>> {
        let reading = Self::read(value);
        match reading.request {
            Some(request) if reading.problems.is_empty() => Ok(request),
            _ => Err(reading.problems),
        }
    }

    /// Reads as much of `value` as can be read.
    pub fn read(value: &Value) -> Reading {
        let mut problems = Vec::new();
        let Value::Object(map) = value else {
            problems.push(
                Problem::new(&codes::INVALID_OPERATION, "the request has to be a JSON object")
                    .fix("send {\"intent\": …, \"operations\": […]}"),
            );
            let (request, broken) = (None, Vec::new());
            return Reading { request, intent_is_guessed: true, broken, problems };
        };
        unknown_fields(map, &FIELDS, None, &mut problems);
        let intent = parse_intent(map, &mut problems);
        let mut reader = Reader { map, operation: None, problems: &mut problems };
        let rationale = reader.text("rationale");
        let confidence = reader.word("confidence", Confidence::parse, Confidence::words());
        let sources = parse_sources(map.get("sources"), &mut problems);
        let owner = parse_owner(map.get("owner"), &mut problems);
        let (operations, broken) = parse_operations(map.get("operations"), &mut problems);
        let intent_is_guessed = intent.is_none();
        let intent = intent.unwrap_or(Intent::RefreshModule);
        let request = Self { intent, rationale, operations, sources, confidence, owner };
        Reading { request: Some(request), intent_is_guessed, broken, problems }
    }
}

fn parse_intent(map: &Map<String, Value>, problems: &mut Vec<Problem>) -> Option<Intent> {
    let (message, fix) = match map.get("intent") {
        Some(Value::String(text)) => match Intent::parse(text) {
            Some(intent) => return Some(intent),
            None => {
                (format!("'{}' is no intent", brief(text)), did_you_mean(text, Intent::words()))
            }
        },
        None | Some(Value::Null) => ("the intent is missing".to_owned(), one_of(Intent::words())),
        Some(_) => ("the intent has to be text".to_owned(), one_of(Intent::words())),
    };
    let problem = Problem::new(&codes::INVALID_INTENT, message).fix(fix);
    problems.push(problem.field("intent"));
    None
}

fn parse_sources(value: Option<&Value>, problems: &mut Vec<Problem>) -> Vec<Source> {
    let items = match value {
        None | Some(Value::Null) => return Vec::new(),
        Some(Value::Array(items)) => items,
        Some(_) => {
            problems.push(
                Problem::new(&codes::VALIDATION_FAILED, "sources has to be a list")
                    .field("sources")
                    .fix("[{\"type\": \"file\", \"ref\": \"src/main.rs\"}]"),
            );
            return Vec::new();
        }
    };
    let mut sources = Vec::new();
    for (i, item) in items.iter().enumerate() {
        let field = format!("sources[{i}]");
        let Value::Object(map) = item else {
            problems.push(
                Problem::new(&codes::VALIDATION_FAILED, "a source has to be an object")
                    .field(field)
                    .fix("{\"type\": \"file\", \"ref\": \"src/main.rs\"}"),
            );
            continue;
        };
        let before = problems.len();
        unknown_fields(map, &["type", "ref"], None, problems);
        for problem in &mut problems[before..] {
            problem.field = Some(field.clone());
        }
        let mut reader = Reader { map, operation: None, problems };
        let kind = reader.text("type").unwrap_or_default();
        let reference = reader.text("ref");
        if !SOURCE_TYPES.contains(&kind.as_str()) {
            problems.push(
                Problem::new(
                    &codes::VALIDATION_FAILED,
                    format!("'{}' is no type of source", brief(&kind)),
                )
                .field(field)
                .fix(format!("one of: {}", SOURCE_TYPES.join(", "))),
            );
            continue;
        }
        sources.push(Source { kind, reference });
    }
    sources
}

fn parse_owner(value: Option<&Value>, problems: &mut Vec<Problem>) -> Option<Owner> {
    match value? {
        Value::Null => None,
        Value::String(id) if id.is_empty() => None,
        Value::String(id) => Some(Owner { id: Some(id.clone()), ..Owner::default() }),
        Value::Object(map) => {
            unknown_fields(map, &["id", "kind", "op_id"], None, problems);
            let mut reader = Reader { map, operation: None, problems };
            Some(Owner {
                id: reader.text("id"),
                kind: reader.text("kind"),
                op_id: reader.text("op_id"),
            })
        }
        _ => {
            problems.push(
                Problem::new(&codes::VALIDATION_FAILED, "the owner has to be text or an object")
                    .field("owner")
                    .fix("{\"id\": \"name\", \"kind\": \"agent\"}"),
            );
            None
        }
    }
}
