//! The request of `memory.propose_update`, read strictly; all malformed fields are reported at
//! once.

mod operation;
mod reader;

use serde_json::{Map, Value};

pub use operation::{Edit, Heading, IfExists, IfMissing, OPERATIONS, Operation, Target};
pub use reader::RequestText;

use self::reader::{Reader, texts};
use super::intent::Intent;
use super::problem::{Problem, brief};
use super::settings::schema::SOURCE_TYPES;
use super::{MAX_REQUEST_BYTES, codes};
use crate::error::codes::SIZE_LIMIT;
use crate::spelling::{did_you_mean, one_of};
use crate::words::words;

pub const FIELDS: [&str; 6] =
    ["intent", "rationale", "operations", "sources", "confidence", "owner"];

/// Maximum operations per request.
const MOST: usize = 1000;

/// Structured edits of memory, as far as readable.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// `None` if unreadable.
    pub intent: Option<Intent>,
    pub rationale: Option<String>,
    pub operations: Vec<Operation>,
    pub sources: Vec<CitedSource>,
    pub confidence: Option<Confidence>,
    pub owner: Option<String>,
    /// Texts outside operations, all to be screened.
    pub texts: Vec<RequestText>,
    /// Malformed fields; with any there is no plan.
    pub problems: Vec<Problem>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CitedSource {
    /// `file`, `test`, `user`, `session`, `inference` or `external`.
    pub kind: String,
    /// A path (`src/a.rs`, `src/a.rs:12`, `src/a.rs@v1.2`), a test's name, a URL.
    pub reference: Option<String>,
}

words! {
    /// How sure the proposer is.
    pub enum Confidence {
        Confirmed = "confirmed",
        Inferred = "inferred",
        UserProvided = "user-provided",
        Stale = "stale",
        Unknown = "unknown",
    }
}

// The schema is data that models read; a test compares it with this reader.
impl schemars::JsonSchema for Request {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Request".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let mut schema: Value =
            serde_json::from_str(include_str!("schema.json")).unwrap_or_default();
        if let Some(operation) =
            schema.pointer_mut("/properties/operations/items/properties/operation")
        {
            operation["enum"] = OPERATIONS.into();
        }
        schema.try_into().unwrap_or_default()
    }
}

impl Request {
    /// Reads the readable parts of `value`.
    pub fn read(value: &Value) -> Self {
        let mut problems = Vec::new();
        let nothing = Value::Null;
        let value = if value.to_string().len() > MAX_REQUEST_BYTES {
            let message = format!("the request is larger than {MAX_REQUEST_BYTES} bytes");
            problems.push(Problem::new(&SIZE_LIMIT, message).fix("split it"));
            &nothing
        } else {
            value
        };
        let nothing = Map::new();
        let map = value.as_object().unwrap_or(&nothing);
        if !value.is_object() {
            problems.push(
                Problem::new(&codes::INVALID_OPERATION, "the request has to be a JSON object")
                    .fix("send {\"intent\": …, \"operations\": […]}"),
            );
        }
        let mut fields = Reader::new(map, None, &mut problems);
        let rationale = fields.text("rationale");
        let confidence = fields.word("confidence");
        for field in ["intent", "operations", "sources", "owner"] {
            fields.value(field);
        }
        fields.refuse_others("a request");
        let intent = intent(map.get("intent"), &mut problems);
        let mut texts = texts(map, "");
        let sources = items(map.get("sources"), &mut problems);
        for (i, map) in sources.iter().map(Value::as_object).enumerate() {
            texts.extend(
                map.into_iter().flat_map(|map| self::texts(map, &format!("sources[{i}]."))),
            );
        }
        let sources = sources.iter().enumerate();
        let sources = sources.filter_map(|(i, item)| CitedSource::read(i, item, &mut problems));
        let sources = sources.collect();
        let owner = map.get("owner").and_then(|value| owner(value, &mut problems));
        let operations = operations(map.get("operations"), &mut problems);
        Self { intent, rationale, operations, sources, confidence, owner, texts, problems }
    }
}

fn intent(value: Option<&Value>, problems: &mut Vec<Problem>) -> Option<Intent> {
    let text = value.and_then(Value::as_str).unwrap_or_default();
    let intent = Intent::parse(text);
    if intent.is_none() {
        let (message, fix) = match text {
            "" => ("the intent is missing".to_owned(), one_of(Intent::words())),
            _ => {
                (format!("'{}' is not an intent", brief(text)), did_you_mean(text, Intent::words()))
            }
        };
        let problem = Problem::new(&codes::INVALID_INTENT, message);
        problems.push(problem.field("intent").fix(fix));
    }
    intent
}

fn items<'v>(value: Option<&'v Value>, problems: &mut Vec<Problem>) -> &'v [Value] {
    match value {
        None | Some(Value::Null) => &[],
        Some(Value::Array(items)) => items,
        Some(_) => {
            let message = "sources has to be a list";
            let problem = Problem::new(&codes::VALIDATION_FAILED, message).field("sources");
            problems.push(problem.fix(A_SOURCE));
            &[]
        }
    }
}

/// Example for hints.
const A_SOURCE: &str = "[{\"type\": \"file\", \"ref\": \"src/main.rs\"}]";

impl CitedSource {
    fn read(i: usize, value: &Value, problems: &mut Vec<Problem>) -> Option<Self> {
        let before = problems.len();
        let nothing = Map::new();
        let mut fields = Reader::new(value.as_object().unwrap_or(&nothing), None, problems);
        if !value.is_object() {
            fields.wrong("", "a source has to be an object", A_SOURCE);
        }
        let (kind, reference) = (fields.text("type").unwrap_or_default(), fields.text("ref"));
        if !SOURCE_TYPES.contains(&kind.as_str()) {
            let message = format!("'{}' is not a type of source", brief(&kind));
            fields.wrong("type", message, &one_of(SOURCE_TYPES.into_iter()));
        }
        fields.refuse_others("a source");
        for problem in &mut problems[before..] {
            problem.field = Some(format!("sources[{i}]"));
        }
        (problems.len() == before).then_some(Self { kind, reference })
    }
}

/// An owner is text or an object with further facts.
fn owner(value: &Value, problems: &mut Vec<Problem>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(id) => Some(id.clone()).filter(|id| !id.is_empty()),
        Value::Object(map) => {
            let mut fields = Reader::new(map, None, problems);
            let [id, ..] = ["id", "kind", "op_id"].map(|field| fields.text(field));
            fields.refuse_others("an owner");
            id
        }
        _ => {
            let message = "the owner has to be text or an object";
            let problem = Problem::new(&codes::VALIDATION_FAILED, message).field("owner");
            problems.push(problem.fix("{\"id\": \"name\", \"kind\": \"agent\"}"));
            None
        }
    }
}

fn operations(value: Option<&Value>, problems: &mut Vec<Problem>) -> Vec<Operation> {
    let (code, message, fix) = match value {
        Some(Value::Array(items)) if items.len() > MOST => {
            (&SIZE_LIMIT, format!("more than {MOST} operations"), "split the request")
        }
        Some(Value::Array(items)) if !items.is_empty() => {
            let items = items.iter().enumerate();
            return items.map(|(i, item)| Operation::read(i, item, problems)).collect();
        }
        None | Some(Value::Null | Value::Array(_)) => (
            &codes::NO_OPERATIONS,
            "there are no operations".to_owned(),
            "give at least one operation",
        ),
        Some(_) => (
            &codes::INVALID_OPERATION,
            "operations has to be a list".to_owned(),
            "[{\"operation\": …, \"path\": …}]",
        ),
    };
    problems.push(Problem::new(code, message).field("operations").fix(fix));
    Vec::new()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn all_problems_come_at_once() {
        let request = Request::read(&json!({
            "intent": "record_decison",
            "extra": 1,
            "confidence": "sure",
            "sources": [{"type": "gossip"}, {"type": "file", "reff": "x"}],
            "operations": [
                {"operation": "apend_section", "path": "decisions.md"},
                {"operation": "append_section", "path": "decisions.md", "heading_level": 7},
                {"operation": "remove_section", "path": "decisions.md", "content": "x", "archive_path": "archive/x.md"},
            ]
        }));
        let found: Vec<(Option<usize>, &str)> = request
            .problems
            .iter()
            .map(|p| (p.operation, p.field.as_deref().unwrap_or_default()))
            .collect();
        for place in [
            (None, "extra"),
            (None, "intent"),
            (None, "confidence"),
            (None, "sources[0]"),
            (None, "sources[1]"),
            (Some(0), "operation"),
            (Some(1), "heading_level"),
            (Some(1), "content"),
            (Some(2), "content"),
            (Some(2), "section_id"),
        ] {
            assert!(found.contains(&place), "{place:?}: {found:#?}");
        }
        assert!(request.problems.iter().all(|p| p.fix.is_some()), "{:#?}", request.problems);
        assert!(request.operations.iter().all(|operation| operation.edit.is_none()));
    }

    #[test]
    fn the_schema_has_the_fields_and_words_that_are_read() {
        let schema: Value = serde_json::from_str(include_str!("schema.json")).unwrap();
        let names = |value: &Value| -> Vec<String> {
            let mut names: Vec<String> = value.as_object().unwrap().keys().cloned().collect();
            names.sort();
            names
        };
        let mut fields = FIELDS.map(str::to_owned);
        fields.sort();
        assert_eq!(names(&schema["properties"]), fields);
        let of_operation = &schema["properties"]["operations"]["items"]["properties"];
        let mut taken = std::collections::BTreeSet::new();
        for name in OPERATIONS {
            let mut operation = json!({ "operation": name });
            for field in names(of_operation) {
                if field != "operation" {
                    operation[&field] = json!([]);
                }
            }
            let mut problems = Vec::new();
            Operation::read(0, &operation, &mut problems);
            let refused = |field: &String| {
                let of_it = problems.iter().filter(|p| p.field.as_ref() == Some(field));
                of_it.clone().count() == 1 && of_it.clone().all(|p| p.message.contains("takes no"))
            };
            let fields = operation.as_object().unwrap().keys();
            taken.extend(fields.filter(|field| !refused(field)).cloned());
        }
        assert_eq!(Vec::from_iter(taken), names(of_operation));
        let intents: Vec<&str> = schema["properties"]["intent"]["oneOf"]
            .as_array()
            .unwrap()
            .iter()
            .filter_map(|intent| intent["const"].as_str())
            .collect();
        assert_eq!(intents, Vec::from_iter(Intent::words()));
    }

    #[test]
    fn an_owner_is_text_or_an_object() {
        let read = |owner: Value| {
            Request::read(&json!({
                "intent": "update_current",
                "owner": owner,
                "operations": [{"operation": "create_file", "path": "local/current.x.md", "content": "x"}]
            }))
        };
        assert_eq!(read(json!("me")).owner.as_deref(), Some("me"));
        let owner = read(json!({"id": "a", "kind": "b", "op_id": "c"})).owner;
        assert_eq!(owner.as_deref(), Some("a"));
        assert_eq!(read(json!(3)).problems.len(), 1);
    }

    #[test]
    fn long_nonsense_is_neither_compared_nor_repeated() {
        let long = "x".repeat(1 << 20);
        let request = Request::read(&json!({
            "intent": long, &long: 1, "confidence": long, "sources": [{"type": long}],
            "operations": [{"operation": long, "heading_level": long}, {long.as_str(): 1}],
        }));
        assert!(request.problems.iter().all(|p| p.located().len() < 1000));
        assert!(request.texts.iter().all(|text| text.field.len() < 1000));
    }

    #[test]
    fn other_shapes_are_refused_without_panic() {
        for value in
            [json!(null), json!([]), json!("x"), json!({}), json!({"intent": 1, "operations": {}})]
        {
            assert!(!Request::read(&value).problems.is_empty());
        }
    }
}
