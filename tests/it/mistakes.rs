//! Mistakes that models make when they call a tool: the answer to the first call has all that the second needs.

use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::record::propose;

/// `call` with the values of `fill` in place of its own.
fn filled(mut call: Value, fill: &Value) -> Value {
    for (name, value) in fill.as_object().into_iter().flatten() {
        call[name] = value.clone();
    }
    call
}

#[test]
fn the_second_call_is_right() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n"), ("b.txt", "bee\n")]);
    let id = propose(&repo, "b.txt", "bee", "wasp");
    let own = repo.agent("codex", &["propose", "b.txt", "--old", "bee", "--new", "ant", "-q"]);
    let own = own.ok().id();
    let patch = "*** Begin Patch\n*** Update File: a.txt\n@@\n-two\n+TWO\n*** End Patch\n";
    let edit = json!({ "path": "b.txt", "old_str": "bee", "new_str": "fly" });
    // The tool, the first call, what the model has to add to the call that it is told.
    let mistakes = [
        (
            "changes",
            json!({ "action": "create", "path": "a.txt", "old": "two", "new": "TWO" }),
            json!({}),
        ),
        (
            "changes",
            json!({ "action": "propose", "file_path": "a.txt" }),
            json!({ "old_content": "one", "new_content": "1" }),
        ),
        (
            "changes",
            json!({ "file": "a.txt", "old_string": "two", "new_string": "zwei" }),
            json!({}),
        ),
        ("changes", json!({ "action": "list", "limit": "5" }), json!({})),
        (
            "apply_patch",
            json!({ "diff": patch, "propose": "yes" }),
            json!({ "propose": true, "patch": patch }),
        ),
        ("readonly_shell", json!({ "cmd": "cat a.txt" }), json!({})),
        (
            "readonly_shell",
            json!({ "command": ["cat", "a.txt"] }),
            json!({ "command": "cat a.txt" }),
        ),
        ("update_plan", json!({ "steps": [{ "title": "Look", "status": "pending" }] }), json!({})),
        ("update_plan", json!({ "plan": { "step": "Look", "status": "pending" } }), json!({})),
        ("revise", json!({ "id": own, "edits": edit }), json!({})),
        (
            "revise",
            json!({ "proposal": own, "edits": [{ "file": "b.txt", "content": "c" }] }),
            json!({}),
        ),
        ("changes", json!({ "action": "reject", "id": own }), json!({})),
        ("comment", json!({ "proposal": id, "text": "Why?" }), json!({})),
        ("show", json!({ "id": id }), json!({})),
        ("wait", json!({ "id": id, "timeout_s": 0 }), json!({})),
        ("memory_search", json!({ "q": "tabs" }), json!({})),
    ];
    repo.aye(&["init"]).ok();
    for (tool, first, fill) in mistakes {
        let call = |arguments: &Value| {
            repo.agent("codex", &["call", tool, &arguments.to_string(), "--json"])
        };
        let failed = call(&first).exits(6).json();
        let error = failed.get("error").unwrap_or(&failed);
        let told = error["details"]["call"].clone();
        call(&filled(told, &fill)).ok();
    }
}

#[test]
fn the_parameters_of_a_tool_are_printed() {
    let repo = Repo::outside();
    let help = repo.aye(&["call", "changes", "--help"]).ok();
    for name in ["action", "file_path", "old_content", "proposal_id"] {
        help.clone().says(name);
    }
    repo.aye(&["call", "--help"]).ok().says("readonly_shell");
    repo.aye(&["call"]).exits(2);
}

#[test]
fn a_near_name_and_another_encoding_are_named() {
    let (twin, name) = ("cafe\u{301}.txt", "caf\u{e9}.txt");
    let gbk = b"x\n# \xd6\xd0\n".to_vec();
    let files = [(twin, b"1\n".to_vec()), ("docs/README.md", b"1\n".to_vec()), ("gbk.c", gbk)];
    let repo = Repo::with(&files);
    let near = |path: &str| {
        let args = ["propose", path, "--old", "1", "--new", "2", "--json"];
        let error = repo.agent("codex", &args).fails("file_not_found", 3).json();
        error["error"]["details"]["did_you_mean"].clone()
    };
    assert_eq!(near(name), twin);
    assert_eq!(near("Docs/Readme.md"), "docs/README.md");
    assert_eq!(near("other"), serde_json::Value::Null);
    let patch = "--- a/docs/readme.md\n+++ b/docs/readme.md\n@@ -1 +1 @@\n-1\n+2\n";
    let json = repo.aye_stdin(&["propose", "--patch", "-", "--json"], patch).json();
    assert_eq!(json["error"]["details"]["did_you_mean"], "docs/README.md", "{json}");
    let args = ["propose", "--worktree", "Gbk.c", "--json"];
    let json = repo.aye(&args).fails("file_not_found", 3).json();
    assert_eq!(json["error"]["details"]["did_you_mean"], "gbk.c");
    let args = ["propose", "gbk.c", "--old", "# \u{4e2d}", "--new", "# x", "--json"];
    let json = repo.agent("codex", &args).fails("old_content_not_found", 6).json();
    assert_eq!(json["error"]["details"]["not_utf8_at_line"], 2, "{json}");
}
