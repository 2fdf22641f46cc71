//! Qwen Code, as recorded from 0.24.4.
//!
//! A rewritten input is not honoured: a refusal names the path in the session's tree, and the model uses
//! that. `UserPromptSubmit` comes again with an empty prompt for every round of tools.

use serde_json::{Value, json};

use super::redirect::Field;
use super::sent::{self, Moment, Names, ToolKind};
use super::{Answer, Call, Client, Hook, Missing, Settings, Way};

/// Name of the harness.
pub const NAME: &str = "qwen";

/// Qwen Code.
pub static CLIENT: Client = Client {
    name: NAME,
    agent: "qwen-code",
    hooks: &[
        ("PreToolUse", Some("edit|write_file|notebook_edit|run_shell_command|monitor")),
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("Stop", None),
    ],
    before: "PreToolUse",
    way: Way::Name,
    when_missing: Missing::Open,
    read,
    write,
    settings: Settings::Entries(entry),
};

pub(super) const NAMES: Names = Names {
    moments: &[
        ("PreToolUse", Moment::Tool),
        ("SessionStart", Moment::Begin),
        ("UserPromptSubmit", Moment::Prompt),
        ("Stop", Moment::Stop),
    ],
    tools: &[
        ("edit", ToolKind::Edit(Field::Path("file_path"))),
        ("write_file", ToolKind::Edit(Field::Path("file_path"))),
        ("notebook_edit", ToolKind::Edit(Field::Path("notebook_path"))),
        ("run_shell_command", ToolKind::Shell(Some("directory"))),
        ("monitor", ToolKind::Shell(Some("directory"))),
    ],
};

/// Reads what the client sends to the hook of `event`.
///
/// # Errors
/// In words, for what is not understood.
pub fn read(event: &str, bytes: &[u8]) -> Result<Call, String> {
    sent::read(&NAMES, event, bytes)
}

/// The bytes that the hook of `event` prints for `answer`.
pub fn write(event: &str, answer: &Answer) -> Vec<u8> {
    let value = match answer {
        Answer::Nothing | Answer::Tree(_) => return Vec::new(),
        // Never reached: nothing is rewritten for it. Closed, if it were.
        Answer::Rewrite(_) => {
            return write(event, &Answer::Refuse("aye: cannot rewrite".to_owned()));
        }
        Answer::Refuse(reason) => json!({ "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }}),
        Answer::Inform(text) => {
            json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
        }
        Answer::Say(text) => json!({ "systemMessage": text }),
    };
    value.to_string().into_bytes()
}

fn entry(hook: &Hook<'_>) -> Value {
    hook.entry(NAME, 60)
}
