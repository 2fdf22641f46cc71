//! Claude Code, as recorded from 2.1.197 and 2.1.330.
//!
//! A refused edit names the client's own tool that moves the whole session into a work tree, with no
//! question to the person; from then on the client itself refuses to write to the checkout. Unknown fields
//! in what it sends are passed over; in what it gets, `permissionDecision: "allow"` is never said.

use serde_json::{Value, json};

use super::redirect::Field;
use super::sent::{self, Moment, Names, ToolKind};
use super::{Answer, Call, Client, Hook, Missing, Settings, Way};

/// Name of the harness.
pub const NAME: &str = "claude-code";

/// Claude Code.
pub static CLIENT: Client = Client {
    name: NAME,
    agent: NAME,
    hooks: &[
        ("PreToolUse", Some("Edit|MultiEdit|Write|NotebookEdit|Bash|Monitor|PowerShell")),
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("Stop", None),
        ("SubagentStop", None),
        ("SessionEnd", None),
        ("WorktreeCreate", None),
    ],
    before: "PreToolUse",
    way: Way::Enter,
    // By `onFailure`, which 2.1.197 does not know.
    when_missing: Missing::ClosedFrom("2.1.330"),
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
        ("SubagentStop", Moment::PartStop),
        ("SessionEnd", Moment::End),
        ("WorktreeCreate", Moment::Tree),
    ],
    tools: &[
        ("Edit", ToolKind::Edit(Field::Path("file_path"))),
        ("MultiEdit", ToolKind::Edit(Field::Path("file_path"))),
        ("Write", ToolKind::Edit(Field::Path("file_path"))),
        ("NotebookEdit", ToolKind::Edit(Field::Path("notebook_path"))),
        ("Bash", ToolKind::Shell(None)),
        ("Monitor", ToolKind::Shell(None)),
        ("PowerShell", ToolKind::ForeignShell),
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
    let specific = |fields: Value| {
        let mut output = json!({ "hookEventName": event });
        if let (Some(output), Value::Object(fields)) = (output.as_object_mut(), fields) {
            output.extend(fields);
        }
        json!({ "hookSpecificOutput": output })
    };
    let value = match answer {
        Answer::Nothing => return Vec::new(),
        Answer::Refuse(reason) => {
            specific(json!({ "permissionDecision": "deny", "permissionDecisionReason": reason }))
        }
        Answer::Rewrite(input) => specific(json!({ "updatedInput": input })),
        Answer::Inform(text) => specific(json!({ "additionalContext": text })),
        Answer::Say(text) => json!({ "systemMessage": text }),
        Answer::Tree(path) => return path.as_os_str().as_encoded_bytes().to_vec(),
    };
    value.to_string().into_bytes()
}

/// The entry of one hook in the client's settings.
fn entry(hook: &Hook<'_>) -> Value {
    let Hook { program, tools, .. } = hook;
    let hook = json!({
        "type": "command",
        "command": program,
        "args": hook.args(NAME),
        "timeout": 60,
        // Closed where the program is missing; versions that do not know it pass it over.
        "onFailure": "block",
    });
    match tools {
        Some(tools) => json!({ "matcher": tools, "hooks": [hook] }),
        None => json!({ "hooks": [hook] }),
    }
}
