//! Recorded messages of all clients; nothing opens the gate.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::redirect::Field;
use super::*;

/// In session `s` from `/r`.
fn before(client: &Client, tool: &str, input: &Value) -> Vec<u8> {
    let value = match client.dialect {
        Dialect::Copilot => {
            json!({"sessionId": "s", "timestamp": 1795420730178_u64, "cwd": "/r", "toolName": tool, "toolArgs": input})
        }
        Dialect::Own => json!({"session": "s", "directory": "/r", "tool": tool, "args": input}),
        _ => {
            json!({"session_id": "s", "transcript_path": "/t", "cwd": "/r", "turn_id": "t", "model": "m",
            "permission_mode": "acceptEdits", "hook_event_name": client.tool_hook(), "tool_name": tool,
            "tool_input": input, "tool_use_id": "toolu_1"})
        }
    };
    serde_json::to_vec(&value).unwrap()
}

fn event(name: &str, tool: &str, input: &Value) -> Result<Event, String> {
    let client = client(name).unwrap();
    client.read(client.tool_hook(), &before(client, tool, input)).map(|call| call.event)
}

#[test]
fn tools_that_were_recorded_are_understood() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch\n";
    let file = Field::Path("file_path");
    for (name, tool, input, field) in [
        (
            "claude-code",
            "Edit",
            json!({"file_path": "a.txt", "old_string": "x", "replace_all": false}),
            file,
        ),
        (
            "claude-code",
            "NotebookEdit",
            json!({"notebook_path": "a.txt"}),
            Field::Path("notebook_path"),
        ),
        ("codex", "apply_patch", json!({ "command": patch }), Field::Patch("command")),
        (
            "gemini",
            "replace",
            json!({"file_path": "a.txt", "old_string": "x", "instruction": "x"}),
            file,
        ),
        ("gemini", "write_file", json!({"file_path": "a.txt", "content": ""}), file),
        (
            "qwen",
            "notebook_edit",
            json!({"notebook_path": "a.txt", "cell_id": "c"}),
            Field::Path("notebook_path"),
        ),
        ("qwen", "edit", json!({"file_path": "a.txt", "old_string": "two"}), file),
        ("copilot", "edit", json!({"path": "a.txt", "old_str": "two"}), Field::Path("path")),
        ("copilot", "create", json!({"path": "a.txt", "file_text": "x"}), Field::Path("path")),
        (
            "opencode",
            "write",
            json!({"filePath": "a.txt", "content": "x"}),
            Field::Path("filePath"),
        ),
    ] {
        let files = vec![PathBuf::from("a.txt")];
        let expected = Event::Edit(Edit { files, input: input.clone(), field });
        assert_eq!(event(name, tool, &input), Ok(expected.clone()), "{name} {tool}");
        // As Copilot CLI may send it.
        assert_eq!(event(name, tool, &json!(input.to_string())), Ok(expected), "{name} {tool}");
    }
    for (name, tool, is_foreign) in [
        ("claude-code", "Bash", false),
        ("claude-code", "Monitor", false),
        ("claude-code", "PowerShell", true),
        ("codex", "Bash", false),
        ("gemini", "run_shell_command", false),
        ("qwen", "run_shell_command", false),
        ("qwen", "monitor", false),
        ("copilot", "bash", false),
        ("copilot", "powershell", true),
        ("opencode", "bash", false),
    ] {
        let input = json!({ "command": "ls", "description": "x" });
        let (text, directory) = ("ls".to_owned(), None);
        let expected = Event::Shell(Command { text, is_foreign, directory, input: input.clone() });
        assert_eq!(event(name, tool, &input), Ok(expected), "{name}");
        for input in [json!({ "command": ["ls"] }), json!("ls"), json!({ "ws": {}, "command": 5 })]
        {
            assert!(event(name, tool, &input).is_err(), "{name} {input}");
        }
    }
    let socket = json!({ "ws": { "url": "ws://localhost" }, "timeout_ms": 1000 });
    assert_eq!(event("claude-code", "Monitor", &socket), Ok(Event::Other));
}

#[test]
fn the_other_moments_that_were_recorded_are_understood() {
    let stop = |is_busy| Event::Stop { is_busy, message: None };
    let busy = json!([{"id": "1", "type": "subagent", "status": "running"}]);
    for (name, event, more, expected) in [
        (
            "claude-code",
            "Stop",
            json!({"stop_hook_active": false, "background_tasks": []}),
            stop(false),
        ),
        ("claude-code", "Stop", json!({ "background_tasks": busy }), stop(true)),
        ("claude-code", "SessionEnd", json!({ "background_tasks": busy }), stop(false)),
        ("claude-code", "SubagentStop", json!({}), Event::PartStop),
        ("claude-code", "WorktreeCreate", json!({"name": "aye"}), Event::Tree("aye".into())),
        ("codex", "Stop", json!({"stop_hook_active": false}), stop(false)),
        (
            "gemini",
            "AfterAgent",
            json!({"prompt_response": "done", "stop_hook_active": true}),
            Event::Stop { is_busy: true, message: Some("done".into()) },
        ),
        ("qwen", "UserPromptSubmit", json!({"prompt": ""}), Event::Other),
        ("qwen", "UserPromptSubmit", json!({"prompt": "go"}), Event::Prompt),
        ("copilot", "agentStop", json!({"stopReason": "end_turn"}), stop(false)),
        ("opencode", "idle", json!({}), stop(false)),
    ] {
        let mut sent = json!({"session_id": "s", "sessionId": "s", "session": "s", "cwd": "/r", "directory": "/r",
            "hook_event_name": event});
        sent.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap());
        let read = client(name).unwrap().read(event, sent.to_string().as_bytes());
        assert_eq!(read.map(|call| call.event), Ok(expected), "{name} {event} {more}");
    }
}

#[test]
fn answers_are_the_bytes_that_each_client_honours() {
    let specific = |event: &str, more: &str| {
        format!(r#"{{"hookSpecificOutput":{{"hookEventName":"{event}",{more}}}}}"#)
    };
    let no = r#""permissionDecision":"deny","permissionDecisionReason":"no""#;
    let refused = specific("PreToolUse", no);
    for (name, refuse, rewrite) in [
        ("claude-code", &refused, specific("PreToolUse", r#""updatedInput":{"a":1}"#)),
        (
            "codex",
            &refused,
            specific("PreToolUse", r#""permissionDecision":"allow","updatedInput":{"a":1}"#),
        ),
        (
            "gemini",
            &r#"{"decision":"deny","reason":"no"}"#.to_owned(),
            specific("BeforeTool", r#""tool_input":{"a":1}"#),
        ),
        ("qwen", &refused, refused.replace("\"no\"", "\"aye: cannot rewrite\"")),
        ("copilot", &format!("{{{no}}}"), r#"{"modifiedArgs":{"a":1}}"#.to_owned()),
        ("opencode", &r#"{"refuse":"no"}"#.to_owned(), r#"{"args":{"a":1}}"#.to_owned()),
    ] {
        let client = client(name).unwrap();
        let text = |answer| String::from_utf8(client.write(client.tool_hook(), &answer)).unwrap();
        assert_eq!(text(HookReply::Refuse("no".into())), *refuse);
        assert_eq!(text(HookReply::Rewrite(json!({"a": 1}))), rewrite);
        let nothing = if name == "opencode" { "{}" } else { "" };
        assert_eq!(text(HookReply::Proceed), nothing);
    }
    let write = |name, event, answer| client(name).unwrap().write(event, &answer);
    assert_eq!(write("codex", "Stop", HookReply::ShowPerson("x".into())), b"{}");
    assert_eq!(write("claude-code", "WorktreeCreate", HookReply::Tree("/t/x".into())), b"/t/x");
}

#[test]
fn what_cannot_be_judged_is_an_error_for_every_client() {
    for client in &CLIENTS {
        for bytes in [&b""[..], b"{", b"[]", b"null", b"\xff\xfe", br#"{"session_id":"s"}"#, b"{}"]
        {
            for (event, _) in client.events {
                assert!(client.read(event, bytes).is_err(), "{} {event}", client.name);
            }
        }
        assert!(client.read("nothing", &before(client, "x", &json!({}))).is_err());
        assert!(event(client.name, "", &json!({})).is_err(), "{}", client.name);
        let sent = String::from_utf8(before(client, "x", &json!({}))).unwrap();
        for (from, to) in [("\"/r\"", "\"r\""), ("\"s\"", "\"\""), ("\"s\"", "5")] {
            assert!(
                client.read(client.tool_hook(), sent.replacen(from, to, 1).as_bytes()).is_err()
            );
        }
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for client in &CLIENTS {
            let _ = client.read(client.tool_hook(), &bytes);
        }
    }
}
