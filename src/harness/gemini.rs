//! Gemini CLI, as recorded from 0.61.0.
//!
//! Claude Code's form of a refusal leaves the gate open here: it honours `decision` at the top.

use serde_json::{Value, json};

use super::redirect::Field;
use super::sent::{self, Moment, Names, ToolKind};
use super::{Answer, Call, Client, Hook, Missing, Settings, Way};

/// Name of the harness.
pub const NAME: &str = "gemini";

/// Gemini CLI.
pub static CLIENT: Client = Client {
    name: NAME,
    agent: "gemini-cli",
    hooks: &[
        (
            "BeforeTool",
            Some(
                "replace|write_file|run_shell_command|read_file|list_directory|grep_search|search_file_content|glob",
            ),
        ),
        ("SessionStart", None),
        ("BeforeAgent", None),
        ("AfterAgent", None),
    ],
    before: "BeforeTool",
    way: Way::Rewrite,
    when_missing: Missing::Closed,
    read,
    write,
    settings: Settings::Entries(entry),
};

pub(super) const NAMES: Names = Names {
    moments: &[
        ("BeforeTool", Moment::Tool),
        ("SessionStart", Moment::Begin),
        ("BeforeAgent", Moment::Prompt),
        ("AfterAgent", Moment::Stop),
    ],
    tools: &[
        ("replace", ToolKind::Edit(Field::Path("file_path"))),
        ("write_file", ToolKind::Edit(Field::Path("file_path"))),
        ("run_shell_command", ToolKind::Shell(Some("dir_path"))),
        ("read_file", ToolKind::Read(Field::Path("file_path"))),
        ("list_directory", ToolKind::Read(Field::Search("dir_path"))),
        ("grep_search", ToolKind::Read(Field::Search("dir_path"))),
        ("search_file_content", ToolKind::Read(Field::Search("dir_path"))),
        ("glob", ToolKind::Read(Field::Search("dir_path"))),
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
        Answer::Refuse(reason) => json!({ "decision": "deny", "reason": reason }),
        Answer::Rewrite(input) => {
            json!({ "hookSpecificOutput": { "hookEventName": event, "tool_input": input } })
        }
        Answer::Inform(text) => {
            json!({ "hookSpecificOutput": { "hookEventName": event, "additionalContext": text } })
        }
        Answer::Say(text) => json!({ "systemMessage": text }),
    };
    value.to_string().into_bytes()
}

/// Its time limit is in milliseconds.
fn entry(hook: &Hook<'_>) -> Value {
    hook.entry(NAME, 60_000)
}
