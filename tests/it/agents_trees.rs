//! Work trees that a client asks for by a name of its own, for itself or for a part of its agent.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] = &[("src/a.txt", "one\ntwo\n"), ("b.txt", "bee\n")];

fn hook(repo: &Repo, directory: &Path, event: &str, more: Value) -> Run {
    let mut call = json!({"session_id": "s", "cwd": directory, "hook_event_name": event});
    call.as_object_mut().expect("object").extend(more.as_object().cloned().unwrap_or_default());
    repo.cmd(&["agents", "hook", "claude-code", event])
        .stdin(call.to_string().as_bytes())
        .run()
        .ok()
}

fn edit(repo: &Repo, directory: &Path, file: &Path) -> Run {
    let input = json!({ "file_path": file, "old_string": "bee", "new_string": "wasp" });
    hook(repo, directory, "PreToolUse", json!({ "tool_name": "Edit", "tool_input": input }))
}

fn make(repo: &Repo, name: &str) -> PathBuf {
    PathBuf::from(hook(repo, repo.root(), "WorktreeCreate", json!({ "name": name })).out())
}

fn stop(repo: &Repo, directory: &Path, event: &str) -> Run {
    hook(repo, directory, event, json!({ "stop_hook_active": false, "background_tasks": [] }))
}

fn count(repo: &Repo) -> Value {
    repo.aye(&["list", "--json"]).ok().json()["count"].clone()
}

fn write(tree: &Path, file: &str) {
    std::fs::write(tree.join(file), "wasp\n").expect("write");
}

/// As `claude -w feature` does, and each subagent with `isolation: worktree`.
#[test]
fn the_tree_that_a_client_asks_for_by_name_is_edited_and_proposed() {
    for event in ["Stop", "SubagentStop", "SessionEnd"] {
        let repo = Repo::with(FILES);
        let tree = make(&repo, "feature");
        assert_eq!(edit(&repo, &tree, &tree.join("b.txt")).out(), "");
        assert_eq!(edit(&repo, &tree, Path::new("new/deep.txt")).out(), "");
        let command = json!({ "tool_name": "Bash", "tool_input": { "command": "make" } });
        assert_eq!(hook(&repo, &tree, "PreToolUse", command).out(), "");
        write(&tree, "b.txt");
        stop(&repo, &tree, event).says("aye review prop_");
        assert_eq!(count(&repo), 1, "{event}");
        assert_eq!(
            repo.aye(&["session", "list", "--json"]).ok().json()["sessions"][1],
            Value::Null
        );
    }
}

/// What is in it is proposed with the end of the turn, also where that is reported from the checkout.
#[test]
fn each_tree_of_a_session_is_proposed_when_the_agent_is_done() {
    for event in ["Stop", "SessionEnd"] {
        let repo = Repo::with(FILES);
        let (one, two) = (make(&repo, "agent-1"), make(&repo, "agent-2"));
        let own = make(&repo, "aye");
        // From the checkout, and from one tree into another of the same session.
        for (directory, tree) in [(repo.root(), &one), (&one, &two), (&two, &own)] {
            assert_eq!(edit(&repo, directory, &tree.join("b.txt")).out(), "");
        }
        // Of the tree that the agent itself works in nothing is complete yet.
        write(&own, "own.txt");
        assert_eq!(stop(&repo, &own, "SubagentStop").out(), "");
        write(&one, "b.txt");
        write(&two, "src/a.txt");
        stop(&repo, repo.root(), event);
        assert_eq!(count(&repo), 3, "{event}");
        // Each has its own, which is revised.
        write(&one, "src/a.txt");
        stop(&repo, &one, event);
        assert_eq!(count(&repo), 3, "{event}");
    }
}

/// By its path alone, without the client's having gone there, it stays the other's.
#[test]
fn the_tree_of_another_session_is_not_edited_from_elsewhere() {
    let repo = Repo::with(FILES);
    repo.aye(&["run", "--keep", "--name", "dark", "--", "true"]).ok();
    let dark = repo.aye(&["session", "path", "dark"]).ok().out();
    let dark = PathBuf::from(dark.trim_end());
    let refusal = edit(&repo, repo.root(), &dark.join("b.txt")).json();
    assert_eq!(refusal["hookSpecificOutput"]["permissionDecision"], "deny", "{refusal}");
    // A client that is started in a tree that was kept works there.
    assert_eq!(edit(&repo, &dark, &dark.join("b.txt")).out(), "");
    write(&dark, "b.txt");
    stop(&repo, &dark, "Stop");
    assert_eq!(count(&repo), 1);
}
