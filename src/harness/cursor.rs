//! Cursor, by its documentation (<https://cursor.com/docs/hooks>); not tried with the client itself.
//!
//! Nothing is rewritten: the documentation lets a hook do that, and nobody has seen it here. What it sends names
//! the file of an edit under one of several keys; where there is none of them, the edit is refused.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::redirect::Field;
use super::sent::{self, Moment, Names, Said, ToolKind};
use super::{Answer, Call, Client, Hook, Missing, Settings, Way};

/// Name of the harness.
pub const NAME: &str = "cursor";

/// Cursor.
pub static CLIENT: Client = Client {
    name: NAME,
    agent: NAME,
    is_tried: false,
    // A prompt's hook cannot report to the model: verdicts come with the start of a session.
    hooks: &[("preToolUse", None), ("sessionStart", None), ("stop", None)],
    after: &[("postToolUse", Some("Shell"))],
    before: "preToolUse",
    way: Way::Name,
    when_missing: Missing::Closed,
    read,
    write,
    settings: Settings::Entries(entry),
};

const FILE: Field = Field::AnyOf(&["file_path", "path", "target_file", "target_notebook"]);

const NAMES: Names = Names {
    moments: &[
        ("preToolUse", Moment::Tool),
        ("postToolUse", Moment::After),
        ("sessionStart", Moment::Begin),
        ("stop", Moment::Stop),
    ],
    tools: &[
        ("Write", ToolKind::Edit(FILE)),
        ("Edit", ToolKind::Edit(FILE)),
        ("MultiEdit", ToolKind::Edit(FILE)),
        ("StrReplace", ToolKind::Edit(FILE)),
        ("Delete", ToolKind::Edit(FILE)),
        ("EditNotebook", ToolKind::Edit(FILE)),
        ("TabWrite", ToolKind::Edit(FILE)),
        ("ApplyPatch", ToolKind::Edit(Field::Patch("patch"))),
        ("Shell", ToolKind::Shell(Some("working_directory"))),
    ],
};

#[derive(Debug, Deserialize)]
struct Sent {
    conversation_id: String,
    hook_event_name: String,
    #[serde(default)]
    cwd: Option<PathBuf>,
    #[serde(default)]
    workspace_roots: Vec<PathBuf>,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    model: Value,
}

/// Reads what the client sends to the hook of `event`.
///
/// # Errors
/// In words, for what is not understood.
pub fn read(event: &str, bytes: &[u8]) -> Result<Call, String> {
    let sent: Sent = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if sent.hook_event_name != event {
        return Err(sent::other_event(&sent.hook_event_name, event));
    }
    let root = || sent.workspace_roots.first().cloned();
    let directory = sent.cwd.filter(|cwd| !cwd.as_os_str().is_empty()).or_else(root);
    let said = Said {
        session: sent.conversation_id,
        directory: directory.unwrap_or_default(),
        model: sent.model.as_str().map(str::to_owned),
        tool: sent.tool_name,
        input: sent.tool_input,
        ..Said::default()
    };
    sent::judge(&NAMES, event, said)
}

/// The bytes that the hook of an event prints for an answer. There is no place for a line to the person.
pub fn write(_event: &str, answer: &Answer) -> Vec<u8> {
    let value = match answer {
        Answer::Nothing | Answer::Tree(_) | Answer::Say(_) => json!({}),
        Answer::Refuse(reason) => {
            json!({ "permission": "deny", "user_message": reason, "agent_message": reason })
        }
        Answer::Rewrite(input) => json!({ "permission": "allow", "updated_input": input }),
        Answer::Inform(text) => json!({ "additional_context": text }),
    };
    value.to_string().into_bytes()
}

/// The entry of one hook in the client's settings.
fn entry(hook: &Hook<'_>) -> Value {
    let mut entry = json!({
        "command": hook.command(NAME),
        "timeout": 60,
        // Closed where the program is missing.
        "failClosed": true,
    });
    if let Some(tools) = hook.tools {
        entry["matcher"] = tools.into();
    }
    entry
}
