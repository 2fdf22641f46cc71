//! The lock of whoever writes memory, and other files that lie in the way.

use serde_json::{Value, json};

use crate::support::memory::{self, MANIFEST, ask, decision, request, section, set, staged};
use crate::support::{Repo, until};

fn store() -> Repo {
    let repo = memory::store(&[]);
    set(&repo, MANIFEST, "wait_timeout_seconds: 10", "wait_timeout_seconds: 0");
    repo.commit("nobody waits");
    repo
}

fn note(repo: &Repo, text: &str) -> Value {
    let more = json!({"if_exists": "append", "content": format!("- {text}\n")});
    let request = request("session_log", "create_file", "_", more).to_string();
    repo.agent("bot", &["call", "memory.propose_update", &request]).json()
}

fn logged(repo: &Repo) -> String {
    let dir = repo.path(".agent-memory/sessions");
    let files = std::fs::read_dir(dir).into_iter().flatten().flatten();
    files.map(|file| std::fs::read_to_string(file.path()).expect("text")).collect()
}

#[test]
fn a_held_lock_is_waited_for_and_then_reported() {
    let repo = store();
    note(&repo, "one");
    assert_eq!(repo.git(&["status", "--porcelain"]), "", "git ignores the lock");
    let file = std::fs::File::open(repo.path(".agent-memory/meta/lock")).unwrap();
    file.lock().unwrap();
    repo.write(".agent-memory/meta/lock.info", "owner: peer\n");
    let answer = note(&repo, "two");
    assert_eq!((&answer["status"], &answer["reason"]), (&json!("rejected"), &json!("lock_held")));
    assert!(!logged(&repo).contains("two"));
    // Staging writes no memory file, applying does.
    let id = staged(&repo, &decision("Use X"));
    repo.aye(&["apply", &id, "--yes"]).fails("lock_held", 7);
    drop(file);
    // A program that another test starts has the file open until it runs.
    until("the lock is free", || note(&repo, "three")["status"] != "rejected");
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
    assert_eq!(note(&repo, "one")["error"]["code"], "lock_unusable");
    assert_eq!(logged(&repo), "");
    std::fs::remove_dir(repo.path(".agent-memory/meta/lock")).unwrap();
    repo.write("outside", "kept\n");
    repo.symlink("../../outside", ".agent-memory/meta/lock");
    assert_eq!(note(&repo, "one")["error"]["code"], "lock_unusable");
    assert_eq!(repo.text("outside"), "kept\n");
    // Reading needs no lock.
    repo.aye(&["memory", "search", "x"]).exits(1);
    repo.aye(&["memory", "status"]).ok();
}

#[test]
fn a_store_that_is_corrupt_or_huge_gives_clear_errors_and_loses_nothing() {
    let repo = store();
    let good = repo.text(MANIFEST);
    for bad in ["version: [", "\0\u{1}\u{2}", "- a\n- b\n", "budgets: 3\n"] {
        repo.write(MANIFEST, bad);
        for args in [&["memory", "search", "x"][..], &["memory", "status"], &["memory", "context"]]
        {
            repo.aye(args).fails("memory_config_invalid", 6);
        }
        assert_eq!(note(&repo, "one")["error"]["code"], "memory_config_invalid");
    }
    repo.write(MANIFEST, &good);
    // 50 MB: too large to be read, and nothing of it changes; the rest works.
    let huge = format!("# Pitfalls\n\n{}", "all of it is one line of text ".repeat(1_700_000));
    repo.write(".agent-memory/pitfalls.md", &huge);
    repo.aye(&["memory", "search", "line"]).exits(1);
    repo.aye(&["memory", "lint"]).exits(1).says("pitfalls.md");
    let add = section("add_pitfall", "pitfalls.md", "X", "Text.");
    assert_eq!(ask(&repo, &add)["status"], "rejected");
    assert_eq!(repo.text(".agent-memory/pitfalls.md").len(), huge.len());
    assert_eq!(note(&repo, "one")["status"], "applied");
}
