//! What memory knows of its own past and present: history through renames, sections that nobody
//! touched, what a branch is about.

use crate::support::Repo;
use serde_json::{Value, json};

const MANIFEST: &str = ".agent-memory/meta/manifest.yaml";

fn store() -> Repo {
    let repo = Repo::with(&[("src/lexer.rs", "// lexer\n"), ("src/printer.rs", "// printer\n")]);
    repo.aye(&["memory", "init", "--name", "shop"]).ok();
    repo.let_flags_decide();
    repo.commit("memory");
    repo
}

/// Proposes one operation by `name` and applies it.
fn apply(repo: &Repo, name: &str, operation: &str, path: &str, further: &Value) {
    let mut op = json!({"operation": operation, "path": path});
    for (key, value) in further.as_object().expect("an object") {
        op[key] = value.clone();
    }
    let request =
        json!({"intent": "refresh_module", "sources": [{"type": "user"}], "operations": [op]});
    let run = repo.agent(name, &["call", "memory.propose_update", &request.to_string()]);
    let answer = run.ok().json();
    let id = answer["staging_id"].as_str().unwrap_or_else(|| panic!("{answer:#}"));
    repo.aye(&["apply", id, "--yes"]).ok();
}

/// A module with two sections, proposed by `ann`; `bob` adds a line to the first.
fn module(repo: &Repo) {
    let content = "# Lexer\n\n## Rules\n\nLongest match wins.\n\n## Errors\n\nThey carry a span.\n";
    apply(repo, "ann", "create_file", "modules/lexer.md", &json!({"content": content}));
    let line = json!({"section_id": "rules", "content": "Ties go to the first."});
    apply(repo, "bob", "append_to_section", "modules/lexer.md", &line);
    repo.commit("module");
}

/// Who proposed what the log tells of `target`, newest first.
fn log(repo: &Repo, target: &str) -> Vec<String> {
    let log = repo.aye(&["memory", "log", target, "--json"]).ok().json();
    let changes = log["changes"].as_array().expect("changes");
    changes.iter().map(|c| c["proposed_by"].as_str().expect("a name").to_owned()).collect()
}

/// Section and who wrote it as it is, or `commit`, or `-`.
fn blame(repo: &Repo, path: &str) -> Vec<(String, String)> {
    let blame = repo.aye(&["memory", "blame", path, "--json"]).ok().json();
    let sections = blame["sections"].as_array().expect("sections");
    let who = |s: &Value| match (s["change"]["proposed_by"].as_str(), s["commit"].as_str()) {
        (Some(name), _) => name.to_owned(),
        (None, Some(_)) => "commit".to_owned(),
        (None, None) => "-".to_owned(),
    };
    let text = |s: &Value| s["section_id"].as_str().expect("an id").to_owned();
    sections.iter().map(|s| (text(s), who(s))).collect()
}

fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
    list.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
}

#[test]
fn history_follows_a_renamed_file() {
    let repo = store();
    module(&repo);
    let known = pairs(&[("lexer", "ann"), ("rules", "bob"), ("errors", "ann")]);
    assert_eq!(blame(&repo, "modules/lexer.md"), known);
    assert_eq!(log(&repo, "modules/lexer.md"), ["bob", "ann"]);
    // Moved and not committed yet, then committed, then moved again.
    repo.git(&["mv", ".agent-memory/modules/lexer.md", ".agent-memory/modules/scanner.md"]);
    assert_eq!(log(&repo, "modules/scanner.md"), ["bob", "ann"]);
    assert_eq!(blame(&repo, "modules/scanner.md"), known);
    repo.commit("rename");
    let line = json!({"section_id": "errors", "content": "And a hint."});
    apply(&repo, "eve", "append_to_section", "modules/scanner.md", &line);
    repo.commit("hint");
    repo.git(&["mv", ".agent-memory/modules/scanner.md", ".agent-memory/modules/words.md"]);
    repo.commit("rename again");
    assert_eq!(log(&repo, "modules/words.md"), ["eve", "bob", "ann"]);
    assert_eq!(log(&repo, "modules/words.md#rules"), ["bob", "ann"]);
    let now = pairs(&[("lexer", "ann"), ("rules", "bob"), ("errors", "eve")]);
    assert_eq!(blame(&repo, "modules/words.md"), now);
    // What was never there has no history, and is not an error of the log.
    assert!(log(&repo, "modules/none.md").is_empty());
    repo.aye(&["memory", "blame", "modules/none.md"]).fails("file_not_found", 3);
}

#[test]
fn history_follows_a_section_with_another_heading_or_id() {
    let repo = store();
    module(&repo);
    let path = ".agent-memory/modules/lexer.md";
    let heading = json!({"section_id": "rules", "new_heading": "Precedence"});
    apply(&repo, "eve", "rename_heading", "modules/lexer.md", &heading);
    repo.commit("heading");
    assert_eq!(log(&repo, "modules/lexer.md#rules"), ["eve", "bob", "ann"]);
    let named = pairs(&[("lexer", "ann"), ("rules", "eve"), ("errors", "ann")]);
    assert_eq!(blame(&repo, "modules/lexer.md"), named);
    // By hand: the heading counts as a change of its own, the section keeps its history.
    let text = repo.text(path);
    repo.write(path, text.replace("@id: rules", "@id: precedence").replace("# Errors", "# Faults"));
    assert_eq!(log(&repo, "modules/lexer.md#precedence"), ["eve", "bob", "ann"]);
    assert_eq!(log(&repo, "modules/lexer.md#errors"), ["ann"]);
    let edited = pairs(&[("lexer", "ann"), ("precedence", "-"), ("errors", "-")]);
    assert_eq!(blame(&repo, "modules/lexer.md"), edited);
    repo.commit("by hand");
    let edited = pairs(&[("lexer", "ann"), ("precedence", "commit"), ("errors", "commit")]);
    assert_eq!(blame(&repo, "modules/lexer.md"), edited);
}

#[test]
fn blame_names_commits_in_repositories_of_either_hash() {
    for repo in [Repo::new(), Repo::sha256()] {
        repo.aye(&["memory", "init"]).ok();
        repo.let_flags_decide();
        repo.commit("by hand");
        assert_eq!(blame(&repo, "pitfalls.md"), pairs(&[("pitfalls", "commit")]));
    }
}

#[test]
fn only_sections_that_nobody_touched_are_stale() {
    let repo = store();
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
fn what_the_branch_changes_comes_first() {
    let repo = store();
    let section = |name: &str| {
        format!("## Buffers of the {name}\n\nBuffers are reused; see src/{name}.rs for {name}.\n")
    };
    for name in ["lexer", "printer"] {
        let content = format!("# {name}\n\n{}", section(name));
        let path = format!("modules/{name}.md");
        apply(&repo, "ann", "create_file", &path, &json!({"content": content}));
    }
    repo.commit("modules");
    let first = || {
        let found = repo.aye(&["memory", "search", "buffers", "reused", "--json"]).ok().json();
        found["results"][0]["path"].as_str().expect("a path").to_owned()
    };
    assert_eq!(first(), "modules/lexer.md", "by name, where all else is the same");
    repo.git(&["switch", "-q", "-c", "print"]);
    repo.write("src/printer.rs", "// printer, faster\n");
    assert_eq!(first(), "modules/printer.md", "changed and not committed");
    repo.commit("faster");
    assert_eq!(first(), "modules/printer.md", "changed on this branch");
    let pack = repo.aye(&["memory", "context", "buffers", "reused", "--json"]).ok().json();
    assert_eq!(pack["included_files"][0]["path"], "modules/printer.md");
    repo.git(&["switch", "-q", "main"]);
    assert_eq!(first(), "modules/lexer.md", "the other branch's business");
    let scoped = ["memory", "context", "buffers", "--scope", "src/printer.rs", "--json"];
    let pack = repo.aye(&scoped).ok().json();
    assert_eq!(pack["included_files"][0]["path"], "modules/printer.md", "asked for");
}
