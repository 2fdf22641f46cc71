//! An error as tools give it.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value};

use crate::changeset::{self, patch};
use crate::error::{Code, Error, IGNORED};

/// What went wrong.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Body {
    /// One of aye's codes; the three of the contract are in capitals.
    pub code: String,
    /// In words.
    pub message: String,
    /// What to do next.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Particulars: the file, line numbers, the index of a step, what was expected and found.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// What went wrong with a call; the tool's own fields stand before it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Failure {
    /// What went wrong.
    #[serde(flatten)]
    pub body: Body,
    /// Parameters that were not understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub ignored_parameters: Option<Value>,
}

impl Failure {
    /// `error` in this shape.
    pub fn new(error: &Error) -> Self {
        let body = Body::new(error, spelling(error.code()));
        Self { ignored_parameters: ignored(error).cloned(), body }
    }
}

impl Body {
    fn new(error: &Error, code: String) -> Self {
        let details = error.details().iter().filter(|(key, _)| *key != IGNORED);
        Self {
            code,
            message: error.message().to_owned(),
            hint: error.hint_text().map(str::to_owned),
            details: details.map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
        }
    }
}

fn ignored(error: &Error) -> Option<&Value> {
    error.details().iter().find(|(key, _)| *key == IGNORED).map(|(_, names)| names)
}

/// A failed call of a tool that has no fields of its own to keep.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Plain {
    /// Always `error`.
    pub status: &'static str,
    /// What went wrong.
    #[serde(flatten)]
    pub failure: Failure,
}

/// `error` as the answer of a tool that has no fields of its own to keep.
pub fn plain(error: &Error) -> Value {
    let plain = Plain { status: "error", failure: Failure::new(error) };
    serde_json::to_value(plain).unwrap_or_else(|_| serde_json::json!({ "status": "error" }))
}

/// A failed call of a tool that answers in JSON, and a failed command.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Common {
    /// Always false.
    pub success: bool,
    /// What went wrong.
    pub error: Body,
    /// Parameters that were not understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub ignored_parameters: Option<Value>,
}

/// `error` as tools that answer in JSON give it, and all commands: `{"success": false, "error": {…}}`.
pub fn common(error: &Error) -> Value {
    let common = Common {
        success: false,
        error: Body::new(error, error.code().id.to_owned()),
        ignored_parameters: ignored(error).cloned(),
    };
    serde_json::to_value(common).unwrap_or_else(|_| serde_json::json!({ "success": false }))
}

/// How the contract spells a code: it prints three of them, in capitals. The third one,
/// `COMMAND_NOT_ALLOWED`, has none but this spelling.
pub fn spelling(code: &Code) -> String {
    let printed = [&patch::codes::PATCH_INVALID, &changeset::codes::FILE_NOT_FOUND];
    match printed.iter().any(|printed| printed.id == code.id) {
        true => code.id.to_ascii_uppercase(),
        false => code.id.to_owned(),
    }
}
