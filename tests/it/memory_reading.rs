//! Reading memory where something is in the way, or nothing was said.

use crate::support::Repo;
use crate::support::memory::{ask, decision, store};
use serde_json::{Value, json};

const FILES: &[(&str, &str)] = &[("@scope/db.rs", "// a\n// b\n")];

#[test]
fn a_request_that_is_none_is_refused() {
    let repo = store(FILES);
    repo.aye(&["memory", "propose", "--from-json", ".agent-memory"]).fails("is_a_directory", 6);
    repo.aye(&["memory", "propose", "--from-json", "gone"]).fails("file_not_found", 3);
    repo.aye_stdin(&["call", "memory.propose_update"], "").fails("invalid_json", 6);
}

#[test]
fn what_cannot_be_read_is_told_and_the_rest_is_read() {
    let repo = store(FILES);
    let file = ".agent-memory/decisions.md";
    let directory = ".agent-memory/modules";
    std::fs::create_dir(repo.outer().join("outside")).expect("a directory");
    type Obstacle = fn(&Repo);
    let in_the_way: [Obstacle; 4] = [
        |repo| repo.symlink("pitfalls.md", ".agent-memory/decisions.md"),
        |repo| repo.write(".agent-memory/decisions.md/x", "x"),
        |repo| repo.write(".agent-memory/decisions.md", vec![b'x'; 5 << 20]),
        |repo| repo.write(".agent-memory/decisions.md", b"# D\n\xff\n"),
    ];
    for obstruct in in_the_way {
        repo.remove(file);
        obstruct(&repo);
        for args in
            [&["memory", "status"][..], &["memory", "context"], &["memory", "search", "done"]]
        {
            repo.aye(args).ok();
        }
        repo.aye(&["memory", "context"]).ok().says("## conventions.md").says("- pitfalls.md");
        repo.aye(&["memory", "lint"]).exits(1).says("memory_unreadable").says("decisions.md");
        if repo.path(file).is_dir() {
            std::fs::remove_dir_all(repo.path(file)).expect("remove");
            repo.write(file, "");
        }
    }
    repo.write(file, "# Decisions\n");
    repo.symlink("../../outside", directory);
    repo.aye(&["memory", "search", "done"]).ok();
    repo.aye(&["memory", "status"]).ok();
    repo.aye(&["memory", "context"]).ok();
    repo.aye(&["memory", "lint"]).exits(1).says("memory_unreadable").says(".agent-memory/modules");
    repo.remove(directory);
    // What belongs into the pack and is missing there is said in the pack.
    repo.remove(".agent-memory/conventions.md");
    repo.symlink("pitfalls.md", ".agent-memory/conventions.md");
    let pack = repo.aye(&["memory", "context", "--json"]).ok().json();
    let warnings = pack["context_metadata"]["stale_warnings"].to_string();
    assert!(warnings.contains("conventions.md"), "{pack:#}");
}

#[test]
fn a_cited_file_is_looked_up_at_its_revision_and_line() {
    let repo = store(FILES);
    let cite = |reference: &str| -> Value {
        let mut request = decision("A");
        request["sources"] = json!([{"type": "file", "ref": reference}]);
        ask(&repo, &request)
    };
    repo.git(&["tag", "v1"]);
    repo.git(&["mv", "@scope/db.rs", "@scope/store.rs"]);
    for good in [
        "@scope/store.rs", "@scope/store.rs:2", "@scope/store.rs:1-2", "@scope/db.rs@v1",
        "@scope/db.rs@v1:2", "@scope/db.rs:1-2@v1", "@scope/db.rs@main@{0}",
    ] {
        assert_eq!(cite(good)["status"], "staged", "{good}: {:#}", cite(good));
    }
    for bad in [
        "@scope/db.rs", "@scope/store.rs:3", "@scope/store.rs:0", "@scope/store.rs:2-1",
        "@scope/store.rs@v1", "@scope/db.rs@v1:3", "@scope/db.rs:3@v1", "@scope/db.rs@v2",
        "../db.rs", "/etc/passwd", ".git/config", "../db.rs@v1",
    ] {
        assert_eq!(cite(bad)["reason"], "provenance_violation", "{bad}");
    }
}

#[test]
fn the_context_is_the_same_each_time_and_says_what_it_left_out() {
    let repo = store(FILES);
    let text: String = (0..60)
        .map(|i| {
            format!(
                "## Rule {i}\n<!-- @id: rule-{i} -->\n\nThe needle of rule {i} is {}.\n\n",
                "long ".repeat(30)
            )
        })
        .collect();
    repo.write(
        ".agent-memory/conventions.md",
        format!("# Conventions\n<!-- @id: conventions -->\n\n{text}"),
    );
    for args in [
        &["memory", "context", "--budget", "1500", "--json"][..],
        &["memory", "context", "needle", "--budget", "1500", "--json"],
    ] {
        let first = repo.aye(args).ok().out();
        assert_eq!(first, repo.aye(args).ok().out(), "{args:?}");
        let pack: serde_json::Value = serde_json::from_str(&first).unwrap();
        let length = pack["context"].as_str().unwrap().chars().count();
        assert!(length <= 1500, "{length}");
        assert!(!pack["omitted"].as_array().unwrap().is_empty(), "{pack:#}");
    }
}
