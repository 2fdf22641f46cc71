//! Copilot CLI, as recorded from 1.0.102.
//!
//! What it sends does not name the event; the reason of an exit status is lost, so a refusal is JSON.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::redirect::Field;
use super::sent::{self, Moment, Names, Said, ToolKind};
use super::{Answer, Call, Client, Hook, Missing, Settings, Way};

/// Name of the harness.
pub const NAME: &str = "copilot";

/// Copilot CLI.
pub static CLIENT: Client = Client {
    name: NAME,
    agent: "copilot-cli",
    hooks: &[
        ("preToolUse", None),
        ("sessionStart", None),
        ("userPromptSubmitted", None),
        ("agentStop", None),
    ],
    before: "preToolUse",
    way: Way::Rewrite,
    when_missing: Missing::Closed,
    read,
    write,
    settings: Settings::File(file),
};

const NAMES: Names = Names {
    moments: &[
        ("preToolUse", Moment::Tool),
        ("sessionStart", Moment::Begin),
        ("userPromptSubmitted", Moment::Prompt),
        ("agentStop", Moment::Stop),
    ],
    tools: &[
        ("edit", ToolKind::Edit(Field::Path("path"))),
        ("create", ToolKind::Edit(Field::Path("path"))),
        ("apply_patch", ToolKind::Edit(Field::Patch("patch"))),
        ("str_replace_editor", ToolKind::Edit(Field::Path("path"))),
        ("bash", ToolKind::Shell(None)),
        ("powershell", ToolKind::ForeignShell),
        ("view", ToolKind::Read(Field::Path("path"))),
        ("grep", ToolKind::Read(PLACES)),
        ("rg", ToolKind::Read(PLACES)),
        ("glob", ToolKind::Read(PLACES)),
    ],
};

/// Its searches take the second where the first is not there.
const PLACES: Field = Field::Places(&["paths", "path"]);

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Sent {
    session_id: String,
    cwd: PathBuf,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_args: Value,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default, rename = "stop_hook_active")]
    stop_hook_active: bool,
    #[serde(default)]
    model: Value,
}

/// Reads what the client sends to the hook of `event`.
///
/// # Errors
/// In words, for what is not understood.
pub fn read(event: &str, bytes: &[u8]) -> Result<Call, String> {
    let sent: Sent = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    // Versions before 1.0 send the arguments as text.
    let input = match sent.tool_args {
        Value::String(text) => serde_json::from_str(&text).map_err(|error| error.to_string())?,
        input => input,
    };
    let said = Said {
        session: sent.session_id,
        directory: sent.cwd,
        model: sent.model.as_str().map(str::to_owned),
        tool: sent.tool_name,
        input,
        prompt: sent.prompt,
        is_busy: sent.stop_hook_active,
        ..Said::default()
    };
    sent::judge(&NAMES, event, said)
}

/// The bytes that the hook of an event prints for `answer`.
pub fn write(_event: &str, answer: &Answer) -> Vec<u8> {
    let value = match answer {
        Answer::Nothing | Answer::Tree(_) => return Vec::new(),
        Answer::Refuse(reason) => {
            json!({ "permissionDecision": "deny", "permissionDecisionReason": reason })
        }
        Answer::Rewrite(input) => json!({ "modifiedArgs": input }),
        Answer::Inform(text) => json!({ "additionalContext": text }),
        Answer::Say(text) => json!({ "systemMessage": text }),
    };
    value.to_string().into_bytes()
}

fn file(program: &str, is_strict: bool) -> String {
    let mut hooks = serde_json::Map::new();
    for &(event, tools) in CLIENT.hooks {
        let command = Hook { program, event, tools, is_strict }.command(NAME);
        let hook = json!([{ "type": "command", "bash": command, "timeoutSec": 60 }]);
        hooks.insert(event.to_owned(), hook);
    }
    format!("{:#}\n", json!({ "version": 1, "hooks": hooks }))
}
