//! Errors of tools and commands.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::{Map, Value, json};

use crate::changeset::{self, patch};
use crate::error::{Error, IGNORED};

/// The error.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ErrorBody {
    /// One of aye's codes; the three of the contract are in capitals.
    pub code: String,
    /// In words.
    pub message: String,
    /// The next step.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
    /// Particulars: the file, line numbers, the index of a step, what was expected and found.
    #[serde(skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

impl ErrorBody {
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

/// A failed call of a tool that answers in JSON, and a failed command.
#[derive(Debug, Serialize, JsonSchema)]
pub struct FailureResponse {
    /// Always false.
    pub success: bool,
    /// The error.
    pub error: ErrorBody,
    /// Parameters that were not understood.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    pub ignored_parameters: Option<Value>,
}

/// JSON, for tools and commands: `{"success": false, "error": {…}}`.
pub fn json_failure(error: &Error) -> Value {
    let body = ErrorBody::new(error, error.code().id.to_owned());
    json!(FailureResponse { success: false, error: body, ignored_parameters: ignored(error) })
}

/// YAML: appends the error to `own`, the contract's fields. The contract capitalises two codes.
pub fn yaml_failure(mut own: Value, error: &Error) -> Value {
    let printed = [&patch::codes::PATCH_INVALID, &changeset::codes::FILE_NOT_FOUND];
    let code = error.code().id;
    let is_printed = printed.iter().any(|printed| printed.id == code);
    let code = if is_printed { code.to_ascii_uppercase() } else { code.to_owned() };
    if let (Some(own), Value::Object(body)) =
        (own.as_object_mut(), json!(ErrorBody::new(error, code)))
    {
        own.extend(body);
        own.extend(ignored(error).map(|names| (IGNORED.to_owned(), names)));
    }
    own
}

fn ignored(error: &Error) -> Option<Value> {
    error.details().iter().find(|(key, _)| *key == IGNORED).map(|(_, names)| names.clone())
}
