//! All adapters: what was recorded from each client, and that nothing opens the gate.

use std::path::PathBuf;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::redirect::Field;
use super::*;

/// What the client `name` sends before a tool, in session `s` from `/r`.
fn before(name: &str, tool: &str, input: &Value) -> Vec<u8> {
    let client = client(name).unwrap();
    let value = match name {
        "copilot" => {
            json!({"sessionId": "s", "timestamp": 1795420730178_u64, "cwd": "/r", "toolName": tool, "toolArgs": input})
        }
        "opencode" => json!({"session": "s", "directory": "/r", "tool": tool, "args": input}),
        _ => {
            json!({"session_id": "s", "transcript_path": "/t", "cwd": "/r", "turn_id": "t", "model": "m",
            "permission_mode": "acceptEdits", "hook_event_name": client.before, "tool_name": tool,
            "tool_input": input, "tool_use_id": "toolu_1"})
        }
    };
    serde_json::to_vec(&value).unwrap()
}

fn event(name: &str, tool: &str, input: &Value) -> Result<Event, String> {
    let client = client(name).unwrap();
    (client.read)(client.before, &before(name, tool, input)).map(|call| call.event)
}

/// A tool that writes and that the installed hooks are not asked about is not gated, whatever is read of it.
#[test]
fn hooks_are_asked_about_the_tools_that_are_read_and_no_others() {
    for client in CLIENTS {
        let matcher = |wanted: &str| {
            let hook = client.hooks.iter().find(|(event, _)| *event == wanted);
            hook.and_then(|(_, tools)| *tools).map(|tools| tools.split('|').collect::<Vec<_>>())
        };
        let Some(tools) = matcher(client.before) else { continue };
        for tool in &tools {
            let input = json!({"command": "ls", "file_path": "a", "notebook_path": "a"});
            let event = event(client.name, tool, &input).unwrap();
            assert_ne!(event, Event::Other, "{} {tool}", client.name);
        }
        let known = match client.name {
            claude::NAME => claude::NAMES.tools,
            gemini::NAME => gemini::NAMES.tools,
            qwen::NAME => qwen::NAMES.tools,
            name => panic!("{name}"),
        };
        assert_eq!(known.iter().map(|(tool, _)| *tool).collect::<Vec<_>>(), tools);
    }
}

/// Copilot before 1.0, and its documentation.
#[test]
fn arguments_as_text_are_read() {
    let args = json!({"path": "/r/a.txt", "old_str": "x", "new_str": "y"});
    let as_text = event("copilot", "edit", &json!(args.to_string())).unwrap();
    assert_eq!(format!("{as_text:?}"), format!("{:?}", event("copilot", "edit", &args).unwrap()));
    assert!(event("copilot", "edit", &json!("{not-json")).is_err());
}

#[test]
fn edits_and_commands_that_were_recorded_are_understood() {
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch\n";
    for (name, tool, input, field) in [
        (
            "claude-code",
            "Edit",
            json!({"file_path": "/r/a.txt", "old_string": "two", "new_string": "TWO", "replace_all": false}),
            Field::Path("file_path"),
        ),
        (
            "claude-code",
            "NotebookEdit",
            json!({"notebook_path": "/r/a.txt"}),
            Field::Path("notebook_path"),
        ),
        ("codex", "apply_patch", json!({ "command": patch }), Field::Patch("command")),
        (
            "gemini",
            "replace",
            json!({"file_path": "/r/a.txt", "old_string": "two", "new_string": "TWO", "instruction": "x"}),
            Field::Path("file_path"),
        ),
        (
            "gemini",
            "write_file",
            json!({"file_path": "/r/a.txt", "content": ""}),
            Field::Path("file_path"),
        ),
        (
            "qwen",
            "notebook_edit",
            json!({"notebook_path": "/r/a.txt", "cell_id": "c", "new_source": "x"}),
            Field::Path("notebook_path"),
        ),
        (
            "qwen",
            "edit",
            json!({"file_path": "/r/a.txt", "old_string": "two"}),
            Field::Path("file_path"),
        ),
        (
            "copilot",
            "edit",
            json!({"path": "/r/a.txt", "old_str": "two", "new_str": "TWO"}),
            Field::Path("path"),
        ),
        ("copilot", "create", json!({"path": "/r/a.txt", "file_text": "x"}), Field::Path("path")),
        (
            "opencode",
            "write",
            json!({"filePath": "/r/a.txt", "content": "x"}),
            Field::Path("filePath"),
        ),
    ] {
        let path = if name == "codex" { "a.txt" } else { "/r/a.txt" };
        let expected =
            Event::Edit { files: vec![PathBuf::from(path)], input: input.clone(), field };
        assert_eq!(event(name, tool, &input), Ok(expected), "{name} {tool}");
    }
    for (name, tool, shell) in [
        ("claude-code", "Bash", Shell::Posix),
        ("claude-code", "Monitor", Shell::Posix),
        ("claude-code", "PowerShell", Shell::Foreign),
        ("codex", "Bash", Shell::Posix),
        ("gemini", "run_shell_command", Shell::Posix),
        ("qwen", "run_shell_command", Shell::Posix),
        ("qwen", "monitor", Shell::Posix),
        ("copilot", "bash", Shell::Posix),
        ("copilot", "powershell", Shell::Foreign),
        ("opencode", "bash", Shell::Posix),
    ] {
        let input = json!({ "command": "ls", "description": "x" });
        let (command, directory) = ("ls".to_owned(), None);
        let expected = Event::Shell { command, shell, directory, input: input.clone() };
        assert_eq!(event(name, tool, &input), Ok(expected), "{name}");
        assert!(event(name, tool, &json!({ "command": ["ls"] })).is_err(), "{name}");
        assert!(event(name, tool, &json!("ls")).is_err(), "{name}");
    }
    let socket = json!({ "ws": { "url": "ws://localhost" }, "timeout_ms": 1000 });
    assert_eq!(event("claude-code", "Monitor", &socket), Ok(Event::Other));
    assert!(event("claude-code", "Monitor", &json!({ "ws": {}, "command": 5 })).is_err());
}

#[test]
fn the_other_moments_that_were_recorded_are_understood() {
    let read = |name: &str, event: &str, value: Value| {
        (client(name).unwrap().read)(event, &serde_json::to_vec(&value).unwrap()).unwrap().event
    };
    let sent = |event: &str, more: Value| {
        let mut value = json!({"session_id": "s", "cwd": "/r", "hook_event_name": event});
        value.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
        value
    };
    let stop = |event| sent(event, json!({"stop_hook_active": false, "background_tasks": []}));
    assert_eq!(read("claude-code", "Stop", stop("Stop")), Event::Stop { is_busy: false });
    let busy = json!({"background_tasks": [{"id": "1", "type": "subagent", "status": "running"}]});
    assert_eq!(read("claude-code", "Stop", sent("Stop", busy)), Event::Stop { is_busy: true });
    let tree = sent("WorktreeCreate", json!({"name": "aye"}));
    assert_eq!(read("claude-code", "WorktreeCreate", tree), Event::Tree("aye".into()));
    assert_eq!(read("codex", "Stop", stop("Stop")), Event::Stop { is_busy: false });
    let after = json!({"prompt": "go", "prompt_response": "done", "stop_hook_active": true});
    assert_eq!(
        read("gemini", "AfterAgent", sent("AfterAgent", after)),
        Event::Stop { is_busy: true }
    );
    let prompt = |text| sent("UserPromptSubmit", json!({ "prompt": text }));
    // Qwen Code repeats the event with an empty prompt.
    assert_eq!(read("qwen", "UserPromptSubmit", prompt("")), Event::Other);
    assert_eq!(read("qwen", "UserPromptSubmit", prompt("go")), Event::Prompt);
    let stop = json!({"sessionId": "s", "timestamp": 1, "cwd": "/r", "transcriptPath": "/t",
        "stopReason": "end_turn", "stop_hook_active": false});
    assert_eq!(read("copilot", "agentStop", stop), Event::Stop { is_busy: false });
    let idle = json!({"session": "s", "directory": "/r"});
    assert_eq!(read("opencode", "idle", idle), Event::Stop { is_busy: false });
}

#[test]
fn answers_are_the_bytes_that_each_client_honours() {
    let refused = r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}"#;
    for (name, refuse, rewrite) in [
        (
            "claude-code",
            refused,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","updatedInput":{"a":1}}}"#,
        ),
        (
            "codex",
            refused,
            r#"{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"allow","updatedInput":{"a":1}}}"#,
        ),
        (
            "gemini",
            r#"{"decision":"deny","reason":"no"}"#,
            r#"{"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"a":1}}}"#,
        ),
        ("qwen", refused, &refused.replace("\"no\"", "\"aye: cannot rewrite\"")),
        (
            "copilot",
            r#"{"permissionDecision":"deny","permissionDecisionReason":"no"}"#,
            r#"{"modifiedArgs":{"a":1}}"#,
        ),
        ("opencode", r#"{"refuse":"no"}"#, r#"{"args":{"a":1}}"#),
    ] {
        let client = client(name).unwrap();
        let text = |answer| String::from_utf8((client.write)(client.before, &answer)).unwrap();
        assert_eq!(text(Answer::Refuse("no".into())), refuse);
        assert_eq!(text(Answer::Rewrite(json!({"a": 1}))), rewrite);
        let nothing = if name == "opencode" { "{}" } else { "" };
        assert_eq!(text(Answer::Nothing), nothing);
    }
    let codex = |answer| String::from_utf8((codex::CLIENT.write)("Stop", &answer)).unwrap();
    assert_eq!(codex(Answer::Say("x".into())), "{}");
    assert_eq!((claude::CLIENT.write)("WorktreeCreate", &Answer::Tree("/t/x".into())), b"/t/x");
}

#[test]
fn what_cannot_be_judged_is_an_error_for_every_client() {
    for client in CLIENTS {
        for bytes in [&b""[..], b"{", b"[]", b"null", b"\xff\xfe", br#"{"session_id":"s"}"#, b"{}"]
        {
            for (event, _) in client.hooks {
                assert!((client.read)(event, bytes).is_err(), "{} {event}", client.name);
            }
        }
        assert!((client.read)("nothing", &before(client.name, "x", &json!({}))).is_err());
        // No tool, no session, no directory that is one.
        assert!(event(client.name, "", &json!({})).is_err(), "{}", client.name);
        let sent = String::from_utf8(before(client.name, "x", &json!({}))).unwrap();
        for (from, to) in [("\"/r\"", "\"r\""), ("\"s\"", "\"\""), ("\"s\"", "5")] {
            assert!((client.read)(client.before, sent.replacen(from, to, 1).as_bytes()).is_err());
        }
    }
}

#[test]
fn every_entry_is_recognised_as_ayes() {
    for client in CLIENTS {
        match client.settings {
            Settings::Entries(entry) => {
                for is_strict in [false, true] {
                    for &(event, tools) in client.hooks {
                        let program = "/o'h/a y/aye";
                        let entry = entry(&Hook { program, event, tools, is_strict });
                        assert!(is_entry_of(client.name, &entry), "{entry}");
                        assert_eq!(entry.get("matcher").and_then(Value::as_str), tools);
                        assert_eq!(entry.to_string().contains(STRICT), is_strict, "{entry}");
                    }
                }
            }
            Settings::File(file) => {
                let [plain, strict] = [false, true].map(|is_strict| file("/a\"b/aye", is_strict));
                assert!(plain.contains("agents") && plain != strict, "{}", client.name);
            }
        }
    }
    assert!(!is_entry_of("codex", &json!({"hooks": [{"command": "x agents hook"}]})));
    assert!(!is_entry_of("codex", &json!(5)));
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        for client in CLIENTS {
            let _ = (client.read)(client.before, &bytes);
        }
    }
}

#[test]
fn what_a_missing_program_means_depends_on_the_version() {
    for (version, closed) in [
        (None, false),
        (Some("2.1.197"), false),
        (Some("2.1.330"), true),
        (Some("2.10.0"), true),
        (Some("10.0.0-beta"), true),
        (Some("x"), false),
    ] {
        assert_eq!(claude::CLIENT.when_missing.is_closed(version), closed, "{version:?}");
    }
    assert!(!codex::CLIENT.when_missing.is_closed(Some("9.9.9")));
}

#[test]
fn codex_trusts_a_hook_where_its_settings_say_so() {
    let entry = |command: &str| json!({ "hooks": [{ "type": "command", "command": command }] });
    let hooks = json!({ "hooks": {
        "PreToolUse": [entry("theirs"), entry("'/aye' agents hook codex PreToolUse")],
    }});
    let hooks = hooks.to_string();
    // As recorded from 0.169.0.
    let config = |key: &str, more: &str| {
        format!("[hooks.state]\n\n[hooks.state.\"/h/hooks.json:{key}\"]\n{more}\n")
    };
    let hash = "trusted_hash = \"sha256:88\"";
    let is_trusted = |config: &str| codex::is_trusted(config, "/h/hooks.json", &hooks);
    assert!(is_trusted(&config("pre_tool_use:1:0", hash)));
    for other in [
        config("pre_tool_use:0:0", hash),
        config("stop:1:0", hash),
        config("pre_tool_use:1:0", ""),
        config("pre_tool_use:1:0", &format!("enabled = false\n{hash}")),
        String::new(),
        "hooks = 5".to_owned(),
        "[".to_owned(),
    ] {
        assert!(!is_trusted(&other), "{other}");
    }
    assert!(!codex::is_trusted(&config("pre_tool_use:1:0", hash), "/h/hooks.json", "{}"));
}
