//! Where the trees of sessions lie: what a client remembers by path holds.

use serde_json::json;

use crate::support::agents::{Client, FILES, write};
use crate::support::sessions::{kept, no_session_is_left, nothing_pending, script, tree};
use crate::support::{Repo, Run};

fn place(repo: &Repo, options: &[&str]) -> String {
    let run = repo.aye(&[&["run"], options, &["--", "pwd"]].concat()).ok();
    run.out().trim().to_owned()
}

#[test]
fn a_run_has_the_lowest_free_tree() {
    let repo = Repo::with(FILES);
    let first = place(&repo, &[]);
    assert!(first.ends_with("/1"), "{first}");
    assert_eq!(place(&repo, &[]), first);
    kept(&repo, "true").ok();
    assert!(place(&repo, &[]).ends_with("/2"));
    repo.aye(&["session", "end", "x"]).ok();
    assert_eq!(place(&repo, &[]), first);
    no_session_is_left(&repo);
}

/// A program named as the client.
fn claude(repo: &Repo, options: &[&str], args: &[&str], text: &str) -> Run {
    let program = repo.outer().join("claude");
    write(&program, &format!("#!/bin/sh\n{text}\n"));
    repo.program("chmod").args(&["+x", &program.to_string_lossy()]).run().ok();
    let program = program.to_string_lossy().into_owned();
    repo.aye(&[&["run"], options, &["--", &program], args].concat()).ok()
}

#[test]
fn a_client_goes_on_in_the_tree_of_its_last_conversation() {
    let repo = Repo::with(FILES);
    kept(&repo, "true").ok();
    let second = claude(&repo, &[], &[], "pwd").out();
    assert!(second.ends_with("/2\n"), "{second}");
    repo.aye(&["session", "end", "x"]).ok();
    let resumed = claude(&repo, &[], &["--continue"], "pwd");
    assert_eq!(resumed.out(), second);
    // Another session has it now.
    claude(&repo, &["--keep", "--name", "dark"], &["--continue"], "pwd");
    claude(&repo, &[], &["-c"], "pwd").notes("aye run --name dark --").says("/1\n");
    assert!(claude(&repo, &[], &[], "pwd").out().ends_with("/1\n"));
}

#[test]
fn the_persons_own_settings_of_the_client_come_along_and_are_no_work() {
    let repo = Repo::with(FILES);
    repo.write(".gitignore", ".claude/settings.local.json\nCLAUDE.local.md\n");
    repo.commit("Ignore");
    repo.write(".claude/settings.local.json", "{}");
    repo.write("CLAUDE.local.md", "mine");
    let edit = "cat CLAUDE.local.md; echo '{\"a\":1}' >.claude/settings.local.json";
    claude(&repo, &[], &[], edit).says("mine");
    nothing_pending(&repo);
    no_session_is_left(&repo);
    // Another client's are not brought.
    script(&repo, &[], "test ! -e CLAUDE.local.md").run().ok();
}

#[test]
fn a_client_in_its_tree_is_not_sent_there() {
    let repo = Repo::with(FILES);
    let claude = Client::new(&repo, "claude-code");
    let tree = claude.enter();
    let begun = claude.at(&tree).hook("SessionStart", json!({ "source": "resume" }));
    begun.lacks("EnterWorktree").says("You are in the work tree").says("/1");
    let refused = claude.at(&tree).edit(repo.path("b.txt")).refused();
    assert!(refused.contains("You are in") && !refused.contains("EnterWorktree"), "{refused}");
}

#[test]
fn a_subagent_edits_the_tree_by_its_path_and_is_not_started_outside_twice() {
    let repo = Repo::with(FILES);
    let claude = Client::new(&repo, "claude-code");
    let explore = json!({ "subagent_type": "Explore", "prompt": "look" });
    let worker = json!({ "subagent_type": "general-purpose", "prompt": "edit" });
    assert!(claude.tool("Agent", &explore).is_nothing());
    assert!(claude.tool("Agent", &worker).refused().contains("EnterWorktree"));
    assert!(claude.tool("Agent", &worker).is_nothing());
    let call =
        claude.tool_call("Write", &json!({ "file_path": repo.path("b.txt"), "content": "x" }));
    let mut call: serde_json::Value = serde_json::from_str(&call).expect("JSON");
    call["agent_id"] = "a1".into();
    let refused = claude.cmd("PreToolUse").stdin(call.to_string()).run().ok();
    let tree = crate::support::agents::trees(&repo).remove(0);
    refused.lacks("EnterWorktree").says(&tree.to_string_lossy());
    assert!(claude.edit(tree.join("b.txt")).is_nothing());
    // The installed settings allow it.
    repo.aye(&["agents", "install", "claude-code"]).ok();
    let settings = std::fs::read_to_string(repo.outer().join("home/.claude/settings.json"));
    let settings: serde_json::Value =
        serde_json::from_str(&settings.expect("settings")).expect("JSON");
    let allowed = settings["permissions"]["additionalDirectories"][0].as_str().expect("a path");
    assert!(tree.starts_with(allowed), "{allowed}");
}

#[test]
fn a_command_that_only_reads_needs_no_tree() {
    let repo = Repo::with(FILES);
    for name in ["claude-code", "qwen", "gemini"] {
        let client = Client::new(&repo, name);
        for reads in ["cat b.txt", "ls -la && git status | head -3", "grep -rn one src 2>/dev/null"]
        {
            assert!(client.shell(reads).is_nothing(), "{name}: {reads}");
        }
        assert_eq!(crate::support::agents::trees(&repo).len(), 0);
    }
    let client = Client::new(&repo, "gemini");
    for writes in
        ["cat b.txt >c.txt", "sed -i s/a/b/ b.txt", "find . -delete", "awk 1 b.txt", "make"]
    {
        client.shell(writes).command();
        let tree = tree(
            &repo,
            repo.aye(&["session", "--json"]).ok().json()["sessions"][0]["name"]
                .as_str()
                .expect("a name"),
        );
        // With a tree, its files are the ones to read.
        assert!(client.shell("cat b.txt").command().contains(&*tree.to_string_lossy()));
        repo.aye(&[
            "session",
            "end",
            repo.aye(&["session", "--json"]).ok().json()["sessions"][0]["name"]
                .as_str()
                .expect("a name"),
        ])
        .ok();
    }
}
