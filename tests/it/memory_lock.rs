//! The lock of whoever writes memory, and other files that lie in the way.

use serde_json::json;

use crate::support::{Repo, until};

fn store() -> Repo {
    let repo = Repo::new();
    repo.aye(&["memory", "init"]).ok();
    let manifest = repo.text(".agent-memory/meta/manifest.yaml");
    repo.write(
        ".agent-memory/meta/manifest.yaml",
        manifest.replace("wait_timeout_seconds: 10", "wait_timeout_seconds: 0"),
    );
    repo.commit("memory");
    repo.let_flags_decide();
    repo
}

fn note(text: &str) -> String {
    json!({"intent": "session_log", "operations": [
        {"operation": "create_file", "path": "_", "if_exists": "append", "content": format!("- {text}\n")}
    ]})
    .to_string()
}

fn logged(repo: &Repo) -> String {
    let dir = repo.path(".agent-memory/sessions");
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    files.map(|file| std::fs::read_to_string(file.path()).expect("text")).collect()
}

#[test]
fn a_held_lock_is_waited_for_and_then_reported() {
    let repo = store();
    repo.agent("bot", &["call", "memory.propose_update", &note("one")]).ok();
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "git ignores the lock");
    let file = std::fs::File::open(repo.path(".agent-memory/meta/lock")).unwrap();
    file.lock().unwrap();
    repo.write(".agent-memory/meta/lock.info", "owner: peer\n");
    let answer = repo.agent("bot", &["call", "memory.propose_update", &note("two")]).ok().json();
    assert_eq!((&answer["status"], &answer["reason"]), (&json!("rejected"), &json!("lock_held")));
    assert!(!logged(&repo).contains("two"));
    // Staging writes no memory file, applying does.
    let decision = json!({"intent": "record_decision", "sources": [{"type": "user"}], "operations": [
        {"operation": "append_section", "path": "decisions.md", "heading": "Use X", "heading_level": 2,
         "content": "## Use X\n\nDate: 2026-01-01\nStatus: active\nConfidence: confirmed\n\nText.\n"}
    ]});
    let staged = repo.agent("bot", &["call", "memory.propose_update", &decision.to_string()]).ok();
    let id = staged.json()["proposal_id"].as_str().unwrap().to_owned();
    repo.aye(&["apply", &id, "--yes"]).fails("lock_held", 7);
    drop(file);
    // A program that another test starts has the file open until it runs.
    until("the lock is free", || {
        let answer = repo.agent("bot", &["call", "memory.propose_update", &note("three")]).ok();
        answer.json()["status"] != "rejected"
    });
    assert!(logged(&repo).contains("- three"));
    let info = repo.text(".agent-memory/meta/lock.info");
    assert!(info.contains("\"owner\":\"bot\"") && info.contains("\"pid\":"), "{info}");
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.aye(&["undo", &id, "--yes"]).ok();
}

#[test]
fn a_lock_that_is_a_directory_or_leads_elsewhere_is_an_error() {
    let repo = store();
    std::fs::create_dir(repo.path(".agent-memory/meta/lock")).unwrap();
    repo.agent("bot", &["call", "memory.propose_update", &note("one")]).says("lock_unusable");
    assert_eq!(logged(&repo), "");
    std::fs::remove_dir(repo.path(".agent-memory/meta/lock")).unwrap();
    repo.write("outside", "kept\n");
    repo.symlink("../../outside", ".agent-memory/meta/lock");
    repo.agent("bot", &["call", "memory.propose_update", &note("one")]).says("lock_unusable");
    assert_eq!(repo.text("outside"), "kept\n");
    // Reading needs no lock.
    repo.aye(&["memory", "search", "x"]).exits(1);
    repo.aye(&["memory", "status"]).ok();
}

#[test]
fn a_store_that_is_corrupt_or_huge_gives_clear_errors_and_loses_nothing() {
    let repo = store();
    let good = repo.text(".agent-memory/meta/manifest.yaml");
    for bad in ["version: [", "\0\u{1}\u{2}", "- a\n- b\n", "budgets: 3\n"] {
        repo.write(".agent-memory/meta/manifest.yaml", bad);
        for args in [&["memory", "search", "x"][..], &["memory", "status"], &["memory", "context"]]
        {
            repo.aye(args).fails("memory_config_invalid", 6);
        }
        repo.agent("bot", &["call", "memory.propose_update", &note("one")])
            .says("memory_config_invalid");
    }
    repo.write(".agent-memory/meta/manifest.yaml", &good);
    // 50 MB: too large to be read, and nothing of it changes; the rest works.
    let huge = format!("# Pitfalls\n\n{}", "all of it is one line of text ".repeat(1_700_000));
    repo.write(".agent-memory/pitfalls.md", &huge);
    repo.aye(&["memory", "search", "line"]).exits(1);
    repo.aye(&["memory", "lint"]).exits(1).says("pitfalls.md");
    let add = json!({"intent": "add_pitfall", "sources": [{"type": "user"}], "operations": [
        {"operation": "append_section", "path": "pitfalls.md", "heading": "X", "heading_level": 2, "content": "## X\n\nText.\n"}
    ]});
    repo.agent("bot", &["call", "memory.propose_update", &add.to_string()]).says("rejected");
    assert_eq!(repo.text(".agent-memory/pitfalls.md").len(), huge.len());
    repo.agent("bot", &["call", "memory.propose_update", &note("one")]).ok().says("applied");
}
