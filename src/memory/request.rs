//! The request of `memory.propose_update`: read strictly, with every problem reported at once.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::codes;
use super::intent::Intent;
use super::problem::Problem;
use super::settings::schema::SOURCE_TYPES;

/// A request that has the right form.
#[derive(Clone, Debug, PartialEq)]
pub struct Request {
    /// What it is for.
    pub intent: Intent,
    /// Why, in the proposer's words.
    pub rationale: Option<String>,
    /// The edits, in order.
    pub operations: Vec<Operation>,
    /// Where the knowledge comes from.
    pub sources: Vec<Source>,
    /// How sure the proposer is.
    pub confidence: Option<Confidence>,
    /// Who proposes.
    pub owner: Option<Owner>,
}

/// Where knowledge comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
pub struct Source {
    /// One of [`SOURCE_TYPES`].
    #[serde(rename = "type")]
    pub kind: String,
    /// What exactly: a path (`src/a.rs`, `src/a.rs:12`, `src/a.rs@v1.2`), a test's name, a URL.
    #[serde(default, rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// How sure the proposer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Confidence {
    Confirmed,
    Inferred,
    UserProvided,
    Stale,
    Unknown,
}

impl Confidence {
    /// As in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Confirmed => "confirmed",
            Self::Inferred => "inferred",
            Self::UserProvided => "user-provided",
            Self::Stale => "stale",
            Self::Unknown => "unknown",
        }
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

/// The eight operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)]
pub enum Kind {
    CreateFile,
    ReplaceSection,
    AppendSection,
    AppendToSection,
    ReplaceSectionContent,
    ArchiveSection,
    RemoveSection,
    RenameHeading,
}

impl Kind {
    /// Every operation.
    pub const ALL: [Self; 8] = [
        Self::CreateFile,
        Self::ReplaceSection,
        Self::AppendSection,
        Self::AppendToSection,
        Self::ReplaceSectionContent,
        Self::ArchiveSection,
        Self::RemoveSection,
        Self::RenameHeading,
    ];

    /// As in requests.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::CreateFile => "create_file",
            Self::ReplaceSection => "replace_section",
            Self::AppendSection => "append_section",
            Self::AppendToSection => "append_to_section",
            Self::ReplaceSectionContent => "replace_section_content",
            Self::ArchiveSection => "archive_section",
            Self::RemoveSection => "remove_section",
            Self::RenameHeading => "rename_heading",
        }
    }

    /// True for the two operations that move a section into the archive.
    pub fn archives(self) -> bool {
        matches!(self, Self::ArchiveSection | Self::RemoveSection)
    }

    /// Fields besides `operation` and `path`, the required ones first.
    fn fields(self) -> (&'static [&'static str], &'static [&'static str]) {
        const TARGET: [&str; 4] = ["section_id", "heading", "heading_level", "occurrence"];
        match self {
            Self::CreateFile => (&["content"], &["if_exists"]),
            Self::ReplaceSection => {
                (&["content"], &[TARGET[0], TARGET[1], TARGET[2], TARGET[3], "if_missing"])
            }
            Self::AppendSection => {
                (&["heading", "heading_level", "content"], &["parent_section_id"])
            }
            Self::AppendToSection | Self::ReplaceSectionContent => (&["content"], &TARGET),
            Self::ArchiveSection => (&["archive_path", "replacement"], &TARGET),
            Self::RemoveSection => {
                (&["archive_path"], &[TARGET[0], TARGET[1], TARGET[2], TARGET[3], "reason"])
            }
            Self::RenameHeading => (
                &["new_heading"],
                &[TARGET[0], TARGET[1], TARGET[2], TARGET[3], "new_heading_level"],
            ),
        }
    }

    /// True where `section_id` or `heading` says which section is meant.
    pub fn has_target(self) -> bool {
        !matches!(self, Self::CreateFile | Self::AppendSection)
    }
}

/// One edit. Which fields count depends on [`Operation::kind`].
#[derive(Clone, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Operation {
    pub kind: Kind,
    pub path: String,
    pub section_id: Option<String>,
    pub heading: Option<String>,
    pub heading_level: Option<u8>,
    pub occurrence: Option<u32>,
    pub parent_section_id: Option<String>,
    pub content: String,
    pub if_exists: IfExists,
    pub if_missing: IfMissing,
    pub archive_path: String,
    pub replacement: String,
    pub reason: Option<String>,
    pub new_heading: String,
    pub new_heading_level: u8,
}

/// What `create_file` does where there is a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IfExists {
    #[default]
    Reject,
    Append,
    Replace,
}

/// What `replace_section` does where there is no such section.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum IfMissing {
    #[default]
    Reject,
    Append,
    CreateFile,
}

const REQUEST_FIELDS: [&str; 6] =
    ["intent", "rationale", "operations", "sources", "confidence", "owner"];
const OPERATION_FIELDS: [&str; 15] = [
    "operation",
    "path",
    "section_id",
    "heading",
    "heading_level",
    "occurrence",
    "parent_section_id",
    "content",
    "if_exists",
    "if_missing",
    "archive_path",
    "replacement",
    "reason",
    "new_heading",
    "new_heading_level",
];

impl Request {
    /// Reads `value`.
    ///
    /// # Errors
    /// Every problem of form there is: unknown fields, missing ones, wrong types and values.
    pub fn parse(value: &Value) -> Result<Self, Vec<Problem>> {
        let mut problems = Vec::new();
        let Value::Object(map) = value else {
            return Err(vec![
                Problem::new(&codes::INVALID_OPERATION, "the request has to be a JSON object")
                    .fix("send {\"intent\": …, \"operations\": […]}"),
            ]);
        };
        unknown_fields(map, &REQUEST_FIELDS, None, &mut problems);
        let intent = parse_intent(map, &mut problems);
        let mut reader = Reader { map, operation: None, problems: &mut problems };
        let rationale = reader.text("rationale");
        let confidence = reader.text("confidence").and_then(|text| {
            let known = serde_json::from_value(Value::String(text.clone())).ok();
            if known.is_none() {
                reader.wrong(
                    "confidence",
                    format!("'{text}' is no confidence"),
                    "one of: confirmed, inferred, user-provided, stale, unknown",
                );
            }
            known
        });
        let sources = parse_sources(map.get("sources"), &mut problems);
        let owner = parse_owner(map.get("owner"), &mut problems);
        let operations = parse_operations(map.get("operations"), &mut problems);
        match (intent, problems.is_empty()) {
            (Some(intent), true) => {
                Ok(Self { intent, rationale, operations, sources, confidence, owner })
            }
            _ => Err(problems),
        }
    }
}

fn unknown_fields(
    map: &Map<String, Value>,
    known: &[&str],
    operation: Option<usize>,
    problems: &mut Vec<Problem>,
) {
    for key in map.keys().filter(|key| !known.contains(&key.as_str())) {
        let mut problem =
            Problem::new(&codes::INVALID_OPERATION, format!("unknown field '{key}'")).field(key);
        problem.operation = operation;
        problem.fix = Some(match super::settings::nearest(key, known.iter().copied()) {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("leave it out; known fields: {}", known.join(", ")),
        });
        problems.push(problem);
    }
}

fn parse_intent(map: &Map<String, Value>, problems: &mut Vec<Problem>) -> Option<Intent> {
    let words = || Intent::ALL.map(Intent::as_str);
    let all = format!("one of: {}", words().join(", "));
    let problem = match map.get("intent") {
        Some(Value::String(text)) => match Intent::parse(text) {
            Some(intent) => return Some(intent),
            None => {
                let near = super::settings::nearest(text, words().into_iter());
                let fix = near.map_or(all, |near| format!("did you mean '{near}'?"));
                Problem::new(&codes::INVALID_INTENT, format!("'{text}' is no intent")).fix(fix)
            }
        },
        None | Some(Value::Null) => {
            Problem::new(&codes::INVALID_INTENT, "the intent is missing").fix(all)
        }
        Some(_) => Problem::new(&codes::INVALID_INTENT, "the intent has to be text").fix(all),
    };
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
                Problem::new(&codes::VALIDATION_FAILED, format!("'{kind}' is no type of source"))
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

fn parse_operations(value: Option<&Value>, problems: &mut Vec<Problem>) -> Vec<Operation> {
    let items = match value {
        Some(Value::Array(items)) if !items.is_empty() => items,
        Some(Value::Array(_)) | None | Some(Value::Null) => {
            problems.push(
                Problem::new(&codes::NO_OPERATIONS, "there are no operations")
                    .field("operations")
                    .fix("give at least one operation"),
            );
            return Vec::new();
        }
        Some(_) => {
            problems.push(
                Problem::new(&codes::INVALID_OPERATION, "operations has to be a list")
                    .field("operations"),
            );
            return Vec::new();
        }
    };
    if items.len() > 1000 {
        problems.push(
            Problem::new(&crate::error::codes::SIZE_LIMIT, "more than 1000 operations")
                .field("operations")
                .fix("split the request"),
        );
        return Vec::new();
    }
    items.iter().enumerate().filter_map(|(i, item)| parse_operation(i, item, problems)).collect()
}

fn parse_operation(i: usize, value: &Value, problems: &mut Vec<Problem>) -> Option<Operation> {
    let Value::Object(map) = value else {
        problems.push(
            Problem::new(&codes::INVALID_OPERATION, "an operation has to be an object").at(i),
        );
        return None;
    };
    let names = || Kind::ALL.map(Kind::as_str);
    unknown_fields(map, &OPERATION_FIELDS, Some(i), problems);
    let mut reader = Reader { map, operation: Some(i), problems };
    let name = reader.text("operation");
    let Some(kind) =
        name.as_deref().and_then(|name| Kind::ALL.into_iter().find(|kind| kind.as_str() == name))
    else {
        let (message, near) = match &name {
            Some(name) => (
                format!("'{name}' is no operation"),
                super::settings::nearest(name, names().into_iter()),
            ),
            None => ("the operation is not named".to_owned(), None),
        };
        let fix = near.map_or(format!("one of: {}", names().join(", ")), |near| {
            format!("did you mean '{near}'?")
        });
        reader.wrong("operation", message, &fix);
        return None;
    };
    let (required, optional) = kind.fields();
    for field in OPERATION_FIELDS.iter().skip(2) {
        let given = map.get(*field).is_some_and(|v| !is_empty(v));
        if given && !required.contains(field) && !optional.contains(field) {
            let fix =
                format!("leave it out; it takes: {}", [required, optional].concat().join(", "));
            reader.wrong(field, format!("{} takes no {field}", kind.as_str()), &fix);
        }
        if !given && required.contains(field) {
            reader.wrong(field, format!("{} needs {field}", kind.as_str()), "add it");
        }
    }
    let operation = Operation {
        kind,
        path: reader.text("path").unwrap_or_default(),
        section_id: reader.text("section_id"),
        heading: reader.text("heading"),
        heading_level: reader.level("heading_level", 1),
        occurrence: reader.number("occurrence", 1, u32::MAX.into()).and_then(|n| n.try_into().ok()),
        parent_section_id: reader.text("parent_section_id"),
        content: reader.text("content").unwrap_or_default(),
        if_exists: reader.choice(
            "if_exists",
            &[
                ("reject", IfExists::Reject),
                ("append", IfExists::Append),
                ("replace", IfExists::Replace),
            ],
        ),
        if_missing: reader.choice(
            "if_missing",
            &[
                ("reject", IfMissing::Reject),
                ("append", IfMissing::Append),
                ("create_file", IfMissing::CreateFile),
            ],
        ),
        archive_path: reader.text("archive_path").unwrap_or_default(),
        replacement: reader.text("replacement").unwrap_or_default(),
        reason: reader.text("reason"),
        new_heading: reader.text("new_heading").unwrap_or_default(),
        new_heading_level: reader.level("new_heading_level", 0).unwrap_or(0),
    };
    // session_log names its own file, so the path may be left to it.
    if kind.has_target() && operation.section_id.is_none() && operation.heading.is_none() {
        reader.wrong(
            "section_id",
            format!("{} needs a target", kind.as_str()),
            "add section_id, or heading with heading_level and occurrence",
        );
    }
    Some(operation)
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Number(number) => number.as_u64() == Some(0),
        _ => false,
    }
}

struct Reader<'a> {
    map: &'a Map<String, Value>,
    operation: Option<usize>,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, field: &str, message: impl Into<String>, fix: &str) {
        let code = match self.operation {
            Some(_) => &codes::INVALID_OPERATION,
            None => &codes::VALIDATION_FAILED,
        };
        let mut problem = Problem::new(code, message).field(field).fix(fix);
        problem.operation = self.operation;
        self.problems.push(problem);
    }

    /// Text that is not empty.
    fn text(&mut self, field: &str) -> Option<String> {
        match self.map.get(field) {
            None | Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()).filter(|text| !text.is_empty()),
            Some(_) => {
                self.wrong(field, format!("{field} has to be text"), "put it in quotes");
                None
            }
        }
    }

    fn number(&mut self, field: &str, least: u64, most: u64) -> Option<u64> {
        match self.map.get(field) {
            None | Some(Value::Null) => None,
            Some(value) => match value.as_u64() {
                Some(0) => None,
                Some(n) if (least..=most).contains(&n) => Some(n),
                _ => {
                    let range = format!("a whole number from {least} to {most}");
                    self.wrong(field, format!("{field} is {value}"), &range);
                    None
                }
            },
        }
    }

    fn level(&mut self, field: &str, least: u64) -> Option<u8> {
        self.number(field, least, 6).and_then(|n| n.try_into().ok())
    }

    fn choice<T: Copy + Default>(&mut self, field: &str, known: &[(&str, T)]) -> T {
        let Some(text) = self.text(field) else { return T::default() };
        match known.iter().find(|(name, _)| *name == text) {
            Some((_, value)) => *value,
            None => {
                let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                self.wrong(
                    field,
                    format!("{field} is '{text}'"),
                    &format!("one of: {}", names.join(", ")),
                );
                T::default()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
        has("'sure' is no confidence");
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
    fn other_shapes_are_refused_without_panic() {
        for value in
            [json!(null), json!([]), json!("x"), json!({}), json!({"intent": 1, "operations": {}})]
        {
            assert!(Request::parse(&value).is_err());
        }
    }
}
