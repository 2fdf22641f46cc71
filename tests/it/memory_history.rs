//! The log of memory, sections that nobody touched, and a scope.

use crate::support::Repo;
use crate::support::memory::{MANIFEST, decision, request, staged, store};
use serde_json::{Value, json};

/// Proposes one operation by `name` and applies it.
fn apply(repo: &Repo, name: &str, operation: &str, path: &str, more: Value) {
    let request = request("refresh_module", operation, path, more).to_string();
    let id = repo.agent(name, &["call", "memory.propose_update", &request]).ok().id();
    repo.aye(&["apply", &id, "--yes"]).ok();
}

/// A module with two sections, proposed by `ann`; `bob` adds a line to the first.
fn module(repo: &Repo) {
    let content = "# Lexer\n\n## Rules\n\nLongest match wins.\n\n## Errors\n\nThey carry a span.\n";
    apply(repo, "ann", "create_file", "modules/lexer.md", json!({"content": content}));
    let line = json!({"section_id": "rules", "content": "Ties go to the first."});
    apply(repo, "bob", "append_to_section", "modules/lexer.md", line);
    repo.commit("module");
}

#[test]
fn log_and_blame_take_files_of_memory() {
    let repo = store(&[("src/lexer.rs", "// lexer\n"), ("src/printer.rs", "// printer\n")]);
    let decided = ["A", "B"].map(|heading| {
        let id = staged(&repo, &decision(heading));
        repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
        id
    });
    let events = |args: &[&str]| -> Vec<(String, String)> {
        let log = repo.aye(&[&["log", "--json"], args].concat()).ok().json();
        let text = |event: &Value, key: &str| event[key].as_str().expect("text").to_owned();
        let events = log["events"].as_array().expect("events");
        events.iter().map(|event| (text(event, "kind"), text(event, "proposal_id"))).collect()
    };
    let path = ".agent-memory/decisions.md";
    let all = events(&["--", path]);
    let applied = |id: &String| all.contains(&("apply".to_owned(), id.clone()));
    assert!(all[0].1 == decided[1] && decided.iter().all(applied), "{all:?}");
    assert_eq!(events(&["-n", "1", "--", path]), all[..1]);
    assert_eq!(events(&["--", ".agent-memory"]), all);
    assert_eq!(events(&["--", ".agent-memory/pitfalls.md"]), []);
    let blame = repo.aye(&["blame", path]).ok().out();
    assert!(decided.iter().all(|id| blame.contains(id)), "{blame}");
}

#[test]
fn only_sections_that_nobody_touched_are_stale() {
    let repo = store(&[("src/lexer.rs", "// lexer\n"), ("src/printer.rs", "// printer\n")]);
    module(&repo);
    let manifest = repo.text(MANIFEST);
    repo.write(MANIFEST, manifest.replace("stale_threshold_days: 60", "stale_threshold_days: 1"));
    repo.commit("a day");
    let stale = || -> Vec<(String, u64)> {
        let report = repo.aye(&["memory", "lint", "--json"]).json();
        let findings = report["findings"].as_array().expect("findings").clone();
        let mut found: Vec<_> = findings
            .iter()
            .filter(|f| {
                f["rule"] == "memory_stale" && f["file_path"] == ".agent-memory/modules/lexer.md"
            })
            .map(|f| (f["message"].as_str().expect("text").to_owned(), f["start_line"].as_u64()))
            .map(|(text, line)| (text, line.unwrap_or_default()))
            .collect();
        found.sort();
        found
    };
    // Commits of these tests are of January 2026: by now both sections are old.
    let all = stale();
    assert!(all.len() == 1 && all[0].0.contains("these 2 section(s)"), "{all:?}");
    // One is touched, the other is not; line endings and another heading above touch nothing.
    let path = ".agent-memory/modules/lexer.md";
    let text = repo.text(path);
    repo.write(path, text.replace("a span", "a place"));
    let one = stale();
    assert!(one.len() == 1 && one[0].0.contains("'rules'"), "{one:?}");
    repo.write(path, text.replace("a span", "a place").replace('\n', "\r\n"));
    assert_eq!(stale(), one);
    // A change that is taken back counts as none; a threshold of 0 asks for nothing.
    repo.write(path, &text);
    assert_eq!(stale(), all);
    repo.write(MANIFEST, manifest.replace("stale_threshold_days: 60", "stale_threshold_days: 0"));
    assert_eq!(stale(), []);
}

#[test]
fn what_is_asked_for_by_scope_comes_first() {
    let repo = store(&[("src/lexer.rs", "// lexer\n"), ("src/printer.rs", "// printer\n")]);
    for name in ["lexer", "printer"] {
        let content = format!(
            "# {name}\n\n## Buffers of the {name}\n\nBuffers are reused; see src/{name}.rs for {name}.\n"
        );
        let path = format!("modules/{name}.md");
        apply(&repo, "ann", "create_file", &path, json!({"content": content}));
    }
    let first = |scope: &str| {
        let scoped = ["memory", "context", "buffers", "--scope", scope, "--json"];
        let pack = repo.aye(&scoped).ok().json();
        pack["included_files"][0]["path"].as_str().expect("a path").to_owned()
    };
    assert_eq!(first("src/lexer.rs"), "modules/lexer.md");
    assert_eq!(first("src/printer.rs"), "modules/printer.md");
}
