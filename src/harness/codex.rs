//! Codex, as recorded from 0.169.0.
//!
//! Its hooks are Claude Code's in form. An answer with a key that it does not know counts for nothing, and
//! an input is rewritten only with `permissionDecision: "allow"`; what is rewritten so is aye's own tree.

use serde_json::{Value, json};

use super::redirect::Field;
use super::sent::{self, Moment, Names, ToolKind};
use super::{Answer, Call, Client, Hook, Missing, Settings, Way};

/// Name of the harness.
pub const NAME: &str = "codex";

/// Codex.
pub static CLIENT: Client = Client {
    name: NAME,
    agent: NAME,
    hooks: &[
        ("PreToolUse", None),
        ("SessionStart", None),
        ("UserPromptSubmit", None),
        ("Stop", None),
    ],
    before: "PreToolUse",
    way: Way::Rewrite,
    when_missing: Missing::Open,
    read,
    write,
    settings: Settings::Entries(entry),
};

const NAMES: Names = Names {
    moments: &[
        ("PreToolUse", Moment::Tool),
        ("SessionStart", Moment::Begin),
        ("UserPromptSubmit", Moment::Prompt),
        ("Stop", Moment::Stop),
    ],
    tools: &[
        ("apply_patch", ToolKind::Edit(Field::Patch("command"))),
        ("Bash", ToolKind::Shell(None)),
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
        // At the end a line for the person is shown by no one.
        Answer::Say(_) if event == "Stop" => json!({}),
        Answer::Nothing | Answer::Tree(_) => return Vec::new(),
        Answer::Refuse(reason) => json!({ "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "deny",
            "permissionDecisionReason": reason,
        }}),
        Answer::Rewrite(input) => json!({ "hookSpecificOutput": {
            "hookEventName": event,
            "permissionDecision": "allow",
            "updatedInput": input,
        }}),
        Answer::Inform(text) => json!({ "hookSpecificOutput": {
            "hookEventName": event,
            "additionalContext": text,
        }}),
        Answer::Say(text) => json!({ "systemMessage": text }),
    };
    value.to_string().into_bytes()
}

fn entry(hook: &Hook<'_>) -> Value {
    hook.entry(NAME, 60)
}

/// Whether `config` (`config.toml`) has a person's trust in aye's hook of edits in `hooks` (the text of the file at
/// `path`). What the hook was when it was trusted is not looked at: Codex itself asks again once it is another one.
pub fn is_trusted(config: &str, path: &str, hooks: &str) -> bool {
    let Ok(config) = config.parse::<toml_edit::DocumentMut>() else { return false };
    let Ok(hooks) = serde_json::from_str::<serde_json::Value>(hooks) else { return false };
    let list = hooks["hooks"]["PreToolUse"].as_array();
    let at = list.and_then(|list| list.iter().position(|entry| super::is_entry_of(NAME, entry)));
    let Some(at) = at else { return false };
    let state = config.get("hooks").and_then(|hooks| hooks.get("state"));
    let state = state.and_then(|state| state.get(format!("{path}:pre_tool_use:{at}:0")));
    state.is_some_and(|state| {
        let is_on = state.get("enabled").and_then(toml_edit::Item::as_bool) != Some(false);
        is_on && state.get("trusted_hash").is_some()
    })
}
