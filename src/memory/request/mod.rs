//! The request of `memory.propose_update`: read strictly, with every problem reported at once.

mod mend;
mod operation;
mod read;
mod read_operation;
mod reader;

use serde::{Deserialize, Serialize};

pub use mend::mended;
pub use operation::{IfExists, IfMissing, Operation, OperationKind};
pub use read::{FIELDS, Reading};

use super::intent::Intent;
use crate::words::words;

// The input schema of `memory.propose_update` is derived from this type and shows its comments to
// models. `Request::read` reads it by hand, to report every problem at once.
/// Structured edits of the project's memory.
#[derive(Clone, Debug, PartialEq, schemars::JsonSchema)]
pub struct Request {
    /// What it is for; says which files it may change.
    pub intent: Intent,
    /// Why, in the proposer's words.
    pub rationale: Option<String>,
    /// The edits, in order.
    #[schemars(length(min = 1, max = 1000))]
    pub operations: Vec<Operation>,
    /// Where the knowledge comes from; some categories (decisions) need one.
    #[schemars(default)]
    pub sources: Vec<Source>,
    /// How sure the proposer is.
    pub confidence: Option<Confidence>,
    /// Who proposes.
    #[schemars(with = "Option<NameOrOwner>")]
    pub owner: Option<Owner>,
}

/// An owner as it may be written.
#[derive(schemars::JsonSchema)]
#[schemars(untagged)]
#[expect(dead_code, reason = "only its schema is used")]
enum NameOrOwner {
    /// A name.
    Name(String),
    /// A name and more.
    Owner(Owner),
}

/// Where knowledge comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Source {
    /// `file`, `test`, `user`, `session`, `inference` or `external`.
    #[serde(rename = "type")]
    pub kind: String,
    /// What exactly: a path (`src/a.rs`, `src/a.rs:12`, `src/a.rs@v1.2`), a test's name, a URL.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

words! {
    /// How sure the proposer is.
    #[allow(missing_docs)]
    pub enum Confidence {
        Confirmed = "confirmed",
        Inferred = "inferred",
        UserProvided = "user-provided",
        Stale = "stale",
        Unknown = "unknown",
    }
}

/// Who proposes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Owner {
    /// Name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What kind of proposer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// The proposer's own id of this operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub op_id: Option<String>,
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::memory::Problem;

    #[test]
    fn all_problems_come_at_once() {
        let problems = Request::parse(&json!({
            "intent": "record_decison",
            "extra": 1,
            "confidence": "sure",
            "sources": [{"type": "gossip"}, {"type": "file", "reff": "x"}],
            "operations": [
                {"operation": "apend_section", "path": "decisions.md"},
                {"operation": "append_section", "path": "decisions.md", "heading_level": 7},
                {"operation": "remove_section", "path": "decisions.md", "content": "x", "archive_path": "archive/x.md"},
            ]
        }))
        .unwrap_err();
        let seen: Vec<String> = problems.iter().map(Problem::located).collect();
        let has = |part: &str| assert!(seen.iter().any(|s| s.contains(part)), "{part}: {seen:#?}");
        has("unknown field 'extra'");
        has("'record_decison' is no intent");
        has("confidence is 'sure'");
        has("'gossip' is no type of source");
        has("unknown field 'reff'");
        has("operation 0, operation: 'apend_section' is no operation");
        has("operation 1, heading: append_section needs heading");
        has("operation 1, heading_level: heading_level is 7");
        has("operation 2, content: remove_section takes no content");
        has("operation 2, section_id: remove_section needs a target");
        assert!(problems.iter().all(|p| p.fix.is_some()), "{problems:#?}");
    }

    #[test]
    fn the_schema_has_the_fields_that_are_read() {
        let schema = schemars::schema_for!(Request).to_value();
        let named = |schema: &Value| -> Vec<String> {
            schema["properties"].as_object().unwrap().keys().cloned().collect()
        };
        let sorted = |fields: &[&str]| {
            let mut fields: Vec<String> = fields.iter().map(|&field| field.to_owned()).collect();
            fields.sort();
            fields
        };
        let mut request = named(&schema);
        request.sort();
        assert_eq!(request, sorted(&FIELDS));
        let operation = &schema["$defs"]["Operation"];
        let mut fields = named(operation);
        fields.sort();
        assert_eq!(fields, sorted(&read_operation::FIELDS));
        assert_eq!(operation["required"], json!(["operation", "path"]));
        assert_eq!(operation["additionalProperties"], json!(false));
    }

    #[test]
    fn an_owner_is_text_or_an_object() {
        let parse = |owner: Value| {
            Request::parse(&json!({
                "intent": "update_current",
                "owner": owner,
                "operations": [{"operation": "create_file", "path": "local/current.x.md", "content": "x"}]
            }))
        };
        assert_eq!(parse(json!("me")).unwrap().owner.unwrap().id.as_deref(), Some("me"));
        assert_eq!(
            parse(json!({"id": "a", "kind": "b", "op_id": "c"}))
                .unwrap()
                .owner
                .unwrap()
                .op_id
                .as_deref(),
            Some("c")
        );
        assert!(parse(json!(3)).is_err());
    }

    #[test]
    fn long_nonsense_is_neither_compared_nor_repeated() {
        let long = "x".repeat(1 << 20);
        let problems = Request::parse(&json!({
            "intent": long, &long: 1, "confidence": long, "sources": [{"type": long}],
            "operations": [{"operation": long, "heading_level": long}, {long.as_str(): 1}],
        }))
        .unwrap_err();
        assert!(problems.iter().all(|p| p.located().len() < 1000), "{}", problems.len());
    }

    #[test]
    fn other_shapes_are_refused_without_panic() {
        for value in
            [json!(null), json!([]), json!("x"), json!({}), json!({"intent": 1, "operations": {}})]
        {
            assert!(Request::parse(&value).is_err());
        }
    }
}
