//! A project's memory from the first file on: an agent proposes conventions, modules and decisions
//! through the public tool, a person decides, and what was decided is found again.

use crate::support::Repo;
use crate::support::terminal::Terminal;
use serde_json::{Value, json};

/// Calls the tool as an agent does.
fn propose(repo: &Repo, intent: &str, source: &Value, operation: &Value) -> Value {
    let request = json!({
        "intent": intent, "rationale": format!("For {intent}"), "confidence": "confirmed",
        "sources": [source], "operations": [operation],
    });
    repo.agent("bot", &["call", "memory.propose_update", &request.to_string()]).ok().json()
}

fn append(path: &str, heading: &str, content: &str) -> Value {
    json!({
        "operation": "append_section", "path": path, "heading": heading, "heading_level": 2,
        "content": format!("## {heading}\n\n{content}\n"),
    })
}

fn staged(answer: &Value) -> String {
    assert_eq!(answer["status"], "staged", "{answer}");
    answer["staging_id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_memory_is_bootstrapped_decided_and_found_again() {
    let repo = Repo::with(&[("src/store.rs", "//! Keeps.\n"), ("src/cli.rs", "//! Asks.\n")]);
    let upstream = repo.outer().join("upstream.git");
    let upstream = upstream.to_str().expect("UTF-8");
    repo.git(&["clone", "-q", "--bare", ".", upstream]);
    repo.git(&["remote", "add", "origin", upstream]);
    repo.aye(&["memory", "init"]).ok();
    repo.let_flags_decide();

    let user = json!({ "type": "user", "ref": "chat" });
    let style = append("conventions.md", "Formatting", "Lines of at most 100 columns.");
    staged(&propose(&repo, "update_conventions", &user, &style));
    let modules = ["store", "cli"].map(|name| {
        let source = json!({ "type": "file", "ref": format!("src/{name}.rs") });
        let content = format!("# {name}\n\n## Purpose\n\nThe {name} room.\n");
        let path = format!("modules/{name}.md");
        let create = json!({ "operation": "create_file", "path": path, "content": content });
        staged(&propose(&repo, "refresh_module", &source, &create))
    });
    let [lanes, cache, daemon] = ["Use lanes", "Cache in a database", "No daemon"].map(|heading| {
        let fields = "Date: 2026-11-22\nStatus: active\nConfidence: confirmed\n\nIt is simpler.";
        let operation = append("decisions.md", heading, fields);
        staged(&propose(&repo, "record_decision", &user, &operation))
    });

    // A secret goes nowhere, not even into the staging directory or the answer.
    let secret = format!("AKIA{}", "IOSFODNN7ABCDEFG");
    let pitfall = append("pitfalls.md", "Token", &format!("Use {secret}."));
    let refused = propose(&repo, "add_pitfall", &user, &pitfall);
    assert_eq!(
        (&refused["status"], &refused["reason"]),
        (&json!("rejected"), &json!("secret_detected"))
    );
    assert!(!refused.to_string().contains(&secret));

    // One is reviewed at a terminal, one applied and one rejected by command.
    let mut terminal = Terminal::start(repo.cmd(&["review", &lanes]), 50, 100);
    terminal.sees("source:").sees("all").types("A");
    terminal.sees("Write").types("y\r").sees("applied");
    assert_eq!(terminal.ends(), 0);
    repo.aye(&["apply", &cache, "--yes"]).ok();
    repo.aye(&["reject", &daemon, "-m", "hooks may need one", "--yes"]).ok();
    let status = repo.aye(&["memory", "status", "--json"]).ok().out();
    assert!(status.contains("hooks"), "{status}");

    // Who tampers with a staging directory changes nothing.
    let file = format!(".agent-memory/staging/{}/files/modules/store.md", modules[0]);
    repo.write(&file, "# store\n\nTrust everybody.\n");
    repo.aye(&["apply", &modules[0], "--yes"]).ok();
    let applied = repo.text(".agent-memory/modules/store.md");
    assert!(applied.contains("room.") && !applied.contains("Trust"), "{applied}");

    // Somebody else changes a decision by hand; a pull is all it takes to find it.
    repo.commit("Memory");
    repo.git(&["push", "-q", "origin", "HEAD"]);
    let other = repo.outer().join("other");
    repo.git(&["clone", "-q", upstream, other.to_str().expect("UTF-8")]);
    let decisions = other.join(".agent-memory/decisions.md");
    let text = std::fs::read_to_string(&decisions).expect("the decisions");
    std::fs::write(&decisions, text.replacen("It is simpler.", "Like a zeppelin.", 1))
        .expect("written");
    let git = |args: &[&str]| repo.program("git").args(args).dir(&other).run().ok();
    let name = ["-c", "user.name=B", "-c", "user.email=b@example.com"];
    git(&[&name[..], &["commit", "-qam", "Say why"]].concat());
    git(&["push", "-q", "origin", "HEAD"]);
    repo.aye(&["memory", "search", "zeppelin"]).exits(1);
    repo.git(&["pull", "-q", "origin", "HEAD"]);
    repo.aye(&["memory", "search", "zeppelin"]).ok().says("decisions.md#use-lanes");
}
