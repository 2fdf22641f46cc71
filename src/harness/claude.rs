//! Claude Code, as recorded from 2.1.197 and 2.1.330.
//!
//! A refused edit names the client's own tool that moves the whole session into a work tree, with no
//! question to the person; from then on the client itself refuses to write to the checkout. Unknown fields
//! in what it sends are passed over; in what it gets, `permissionDecision: "allow"` is never said.

use std::path::PathBuf;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Answer, Call, Event};

/// Name of the harness.
pub const NAME: &str = "claude-code";

/// The hooks that are installed: the event, and the tools that it is about.
pub const HOOKS: [(&str, Option<&str>); 5] = [
    ("PreToolUse", Some("Edit|MultiEdit|Write|NotebookEdit|Bash")),
    ("SessionStart", None),
    ("UserPromptSubmit", None),
    ("Stop", None),
    ("WorktreeCreate", None),
];

#[derive(Debug, Deserialize)]
struct Sent {
    session_id: String,
    cwd: PathBuf,
    hook_event_name: String,
    #[serde(default)]
    tool_name: String,
    #[serde(default)]
    tool_input: Value,
    #[serde(default)]
    prompt: Option<String>,
    #[serde(default)]
    stop_hook_active: bool,
    #[serde(default)]
    background_tasks: Vec<Value>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    model: Option<String>,
}

/// Reads what the client sends to the hook of `event`.
///
/// # Errors
/// In words, for what is not understood.
pub fn read(event: &str, bytes: &[u8]) -> Result<Call, String> {
    let sent: Sent = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    if sent.hook_event_name != event {
        let named: String = sent.hook_event_name.chars().take(40).collect();
        return Err(format!("it is about {named:?}, and this is the hook of {event}"));
    }
    if sent.session_id.is_empty() || !sent.cwd.is_absolute() {
        return Err("it names no session, or no directory".to_owned());
    }
    let text = |name: &str| sent.tool_input.get(name).and_then(Value::as_str);
    let event = match event {
        "PreToolUse" => match sent.tool_name.as_str() {
            "Edit" | "MultiEdit" | "Write" | "NotebookEdit" => {
                let path = text("file_path").or_else(|| text("notebook_path"));
                let path = path.filter(|path| !path.is_empty());
                Event::Edit(path.ok_or("the tool's input names no file")?.into())
            }
            "Bash" => Event::Shell {
                command: text("command").ok_or("the tool's input has no command")?.to_owned(),
                input: sent.tool_input.clone(),
            },
            _ => Event::Other,
        },
        "SessionStart" => Event::Begin,
        "UserPromptSubmit" if sent.prompt.is_some_and(|prompt| !prompt.is_empty()) => Event::Prompt,
        "Stop" => {
            Event::Stop { is_busy: sent.stop_hook_active || !sent.background_tasks.is_empty() }
        }
        "WorktreeCreate" => Event::Tree(sent.name.ok_or("it names no work tree")?),
        _ => Event::Other,
    };
    Ok(Call { session: sent.session_id, model: sent.model, directory: sent.cwd, event })
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

/// The entry of one hook in the client's settings: `program` is the absolute path of aye.
pub fn entry(program: &str, event: &str, tools: Option<&str>) -> Value {
    let hook = json!({
        "type": "command",
        "command": program,
        "args": ["agents", "hook", NAME, event],
        "timeout": 60,
        // Closed where the program is missing; versions that do not know it pass it over.
        "onFailure": "block",
    });
    match tools {
        Some(tools) => json!({ "matcher": tools, "hooks": [hook] }),
        None => json!({ "hooks": [hook] }),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sent(event: &str, more: Value) -> Vec<u8> {
        let mut value = json!({
            "session_id": "s", "transcript_path": "/t", "cwd": "/r", "prompt_id": "p",
            "permission_mode": "acceptEdits", "effort": {"level": "medium"},
            "hook_event_name": event,
        });
        let more = more.as_object().cloned().unwrap_or_default();
        value.as_object_mut().unwrap().extend(more);
        serde_json::to_vec(&value).unwrap()
    }

    fn event(name: &str, more: Value) -> Event {
        read(name, &sent(name, more)).unwrap().event
    }

    #[test]
    fn what_was_recorded_is_understood() {
        let edit = json!({"tool_name": "Edit", "tool_use_id": "toolu_1", "tool_input":
            {"file_path": "/r/a.txt", "old_string": "two", "new_string": "TWO", "replace_all": false}});
        assert_eq!(event("PreToolUse", edit), Event::Edit("/r/a.txt".into()));
        let input = json!({"command": "ls", "description": "List"});
        let bash = json!({"tool_name": "Bash", "tool_input": input});
        assert_eq!(event("PreToolUse", bash), Event::Shell { command: "ls".into(), input });
        let stop = json!({"stop_hook_active": false, "last_assistant_message": "Finished.",
            "background_tasks": [], "session_crons": []});
        assert_eq!(event("Stop", stop), Event::Stop { is_busy: false });
        let busy =
            json!({"background_tasks": [{"id": "1", "type": "subagent", "status": "running"}]});
        assert_eq!(event("Stop", busy), Event::Stop { is_busy: true });
        assert_eq!(event("WorktreeCreate", json!({"name": "aye"})), Event::Tree("aye".into()));
        assert_eq!(event("UserPromptSubmit", json!({"prompt": ""})), Event::Other);
        assert_eq!(event("UserPromptSubmit", json!({"prompt": "go"})), Event::Prompt);
        assert_eq!(event("PreToolUse", json!({"tool_name": "Read"})), Event::Other);
    }

    #[test]
    fn what_cannot_be_judged_is_an_error() {
        for (name, more) in [
            ("PreToolUse", json!({"tool_name": "Edit", "tool_input": {}})),
            ("PreToolUse", json!({"tool_name": "Write", "tool_input": {"file_path": 5}})),
            ("PreToolUse", json!({"tool_name": "Bash", "tool_input": "ls"})),
            ("PreToolUse", json!({"cwd": "relative", "tool_name": "Read"})),
            ("WorktreeCreate", json!({})),
        ] {
            assert!(read(name, &sent(name, more.clone())).is_err(), "{more}");
        }
        assert!(read("Stop", &sent("PreToolUse", json!({}))).is_err());
    }

    #[test]
    fn answers_are_what_the_client_honours() {
        let text = |answer| String::from_utf8(write("PreToolUse", &answer)).unwrap();
        assert_eq!(text(Answer::Nothing), "");
        assert_eq!(
            text(Answer::Refuse("no".into())),
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#
        );
        assert_eq!(
            text(Answer::Rewrite(json!({"command": "x"}))),
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"command":"x"}}}"#
        );
        assert_eq!(text(Answer::Say("hi".into())), r#"{"systemMessage":"hi"}"#);
        assert_eq!(text(Answer::Tree("/t/x".into())), "/t/x");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = read("PreToolUse", &bytes);
        }
    }
}
