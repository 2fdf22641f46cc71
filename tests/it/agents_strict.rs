//! `aye agents install --mode strict`: edits of the checkout are refused, and commands run in it.

use serde_json::{Value, json};

use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("c.txt", "sea\n")];

/// A hook of Codex, as it is installed.
fn hook(repo: &Repo, event: &str, more: Value) -> Run {
    let mut value = json!({"session_id": "s", "cwd": repo.root(), "hook_event_name": event});
    value.as_object_mut().expect("object").extend(more.as_object().cloned().unwrap_or_default());
    let cmd = repo.cmd(&["agents", "hook", "codex", event, "--strict"]);
    cmd.stdin(value.to_string().as_bytes()).run().ok()
}

fn list(repo: &Repo, what: &[&str]) -> Value {
    repo.aye(&[what, &["list", "--json"]].concat()).ok().json()
}

#[test]
fn an_edit_is_refused_and_nothing_is_made_for_it() {
    let repo = Repo::with(FILES);
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+1\n*** End Patch\n";
    let edit = json!({ "tool_name": "apply_patch", "tool_input": { "command": patch } });
    let output = hook(&repo, "PreToolUse", edit).json()["hookSpecificOutput"].clone();
    assert_eq!(output["permissionDecision"], "deny");
    assert!(output.to_string().contains("aye propose PATH"), "{output}");
    assert_eq!(list(&repo, &["session"])["sessions"], json!([]));
    // It proposes by itself, and that is all that is proposed.
    repo.agent("codex", &["propose", "a.txt", "--old", "one", "--new", "1", "-m", "count"]).ok();
    hook(&repo, "Stop", json!({}));
    assert_eq!(list(&repo, &[])["count"], 1);
}

#[test]
fn a_command_runs_in_the_checkout_and_what_it_writes_stays() {
    let repo = Repo::with(FILES);
    let command = format!("echo wasp >>{}", repo.path("c.txt").display());
    for directory in [repo.root().to_owned(), repo.outer().to_owned()] {
        let input = json!({ "command": command });
        let call = json!({ "tool_name": "Bash", "tool_input": input, "cwd": directory });
        assert_eq!(hook(&repo, "PreToolUse", call).out(), "");
    }
    repo.program("sh").args(&["-c", &command]).run().ok();
    hook(&repo, "Stop", json!({}));
    assert_eq!(repo.text("c.txt"), "sea\nwasp\n");
    assert_eq!(list(&repo, &["session"])["sessions"], json!([]));
    assert_eq!(list(&repo, &[])["count"], 0);
}
