//! What `--json` prints is what its published schema says.

use std::collections::BTreeSet;

use crate::support::{Repo, Run};
use serde_json::Value;

struct Checker {
    repo: Repo,
    seen: BTreeSet<String>,
}

impl Checker {
    /// Holds a document to the schema that it names.
    #[track_caller]
    fn check(&mut self, run: Run) -> Value {
        let document = run.json();
        let name = document["schema"].as_str().unwrap_or_else(|| panic!("no schema\n{run}"));
        self.holds(name, &document);
        document
    }

    /// Holds a document to the schema `name`: answers of tools name none.
    #[track_caller]
    fn holds(&mut self, name: &str, document: &Value) {
        let schema = self.repo.aye(&["util", "schema", name]).ok().json();
        let validator = jsonschema::validator_for(&schema).expect("a schema");
        let errors: Vec<String> = validator
            .iter_errors(document)
            .map(|e| format!("{}: {e}", e.instance_path()))
            .collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}\n{document:#}");
        self.seen.insert(name.to_owned());
    }

    #[track_caller]
    fn aye(&mut self, args: &[&str]) -> Value {
        let run = self.repo.aye(&[args, &["--json"]].concat());
        self.check(run)
    }

    fn memory(&mut self) {
        self.aye(&["memory", "init"]);
        let content = "## Use tabs\n\nTabs, not blanks.\n";
        let propose = [
            "memory", "propose", "--intent", "update_conventions", "--operation", "append_section",
            "--path", "conventions.md", "--heading", "Use tabs", "--heading-level", "2",
            "--content", content, "--source", "user", "-m", "Agreed in the meeting",
            "--confidence", "confirmed",
        ];
        let staged = self.aye(&propose)["proposal_id"].as_str().expect("an id").to_owned();
        self.aye(&["memory", "status"]);
        self.aye(&["memory", "show", "--latest"]);
        self.aye(&["memory", "rebase", "--latest"]);
        self.repo.let_flags_decide();
        let named = self.repo.at_revision(&staged);
        self.aye(&["memory", "apply", &named, "--yes"]);
        self.aye(&["memory", "log"]);
        self.aye(&["memory", "blame", "conventions.md"]);
        self.aye(&["memory", "search", "tabs"]);
        self.aye(&["memory", "context", "tabs"]);
        self.aye(&["memory", "sweep"]);
        self.aye(&["memory", "lint"]);
        self.repo.write("CLAUDE.md", "# Shop\n\n## Build\n\nRun make.\n");
        self.aye(&["memory", "import", "CLAUDE.md", "--dry-run"]);
        self.aye(&["memory", "undo", &staged, "--yes"]);
        self.aye(&propose);
        self.aye(&["memory", "reject", "--latest", "--yes", "--reason", "no"]);
        // The store of this very repository, as another one.
        self.repo.git(&["add", "-f", ".agent-memory/meta", ".agent-memory/conventions.md"]);
        let commit = self.repo.commit("Memory");
        let manifest = ".agent-memory/meta/manifest.yaml";
        let stores = format!("stores: [{{name: own, source: ., revision: {commit}}}]\n");
        self.repo.write(manifest, self.repo.text(manifest) + &stores);
        self.repo.commit("Name it");
        self.aye(&["memory", "show", "own:conventions.md"]);
    }

    fn findings_and_plans(&mut self) {
        self.repo.write("key.txt", "password = \"hunter2-hunter2-hunter2\"\n");
        let id = self.id(&["propose", "b.txt", "--old", "bee", "--new", "B"]);
        self.aye(&["check"]);
        self.aye(&["scan", "."]);
        self.aye(&["hooks", "install"]);
        self.aye(&["hooks", "status"]);
        self.aye(&["hooks", "uninstall"]);
        self.repo.write("b.txt", "first\nbee\n");
        self.aye(&["rebase", &id]);
        self.aye(&["reject", &id, "--yes", "--reason", "no"]);
        self.aye(&["wait", &id]);
        self.aye(&["wait", "--any", "--timeout", "0"]);
        let steps = r#"{"plan": [{"step": "Look", "status": "in_progress"}], "explanation": "x"}"#;
        let answer = self.repo.aye(&["call", "update_plan", steps, "--json"]).ok().json();
        self.holds("aye/update_plan@1", &answer);
        self.aye(&["plan"]);
        self.aye(&["plan", "log"]);
        self.aye(&["blame", "b.txt"]);
        for (patch, status) in [
            ("--- a/b.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n-first\n+1st\n bee\n", 0),
            ("--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-nothing like it\n+x\n", 5),
        ] {
            let run = self.repo.aye_stdin(&["patch", "--json"], patch).exits(status);
            self.holds("aye/apply_patch@1", &run.json());
        }
    }

    /// A proposal within the session `s`, where the git directory cannot be written.
    fn spooled(&mut self) {
        let tree = self.repo.aye(&["session", "path", "s"]).ok().out();
        let script = format!(
            "mount --bind {git} {git} && mount -o remount,ro,bind {git} && cd {tree} &&
             exec {aye} propose x.txt --old x --new y --json",
            git = self.repo.path(".git").display(),
            tree = tree.trim_end(),
            aye = env!("CARGO_BIN_EXE_aye"),
        );
        let run = self.repo.program("unshare").args(&["-rm", "sh", "-c", &script]).run();
        if run.status == 0 {
            self.check(run);
        } else {
            assert!(std::env::var_os("AYE_REQUIRE_SANDBOX").is_none(), "namespaces are needed");
            self.seen.insert("aye/spooled@1".to_owned());
        }
    }

    #[track_caller]
    fn id(&mut self, args: &[&str]) -> String {
        self.aye(args)["proposal_id"].as_str().expect("an id").to_owned()
    }
}

#[test]
fn documents_keep_to_their_schemas() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "bee\n")]);
    let mut check = Checker { repo, seen: BTreeSet::new() };
    let first = check.id(&["propose", "a.txt", "--old", "two", "--new", "2", "-m", "count"]);
    let second = check.id(&["propose", "b.txt", "--old", "bee", "--new", "B", "--domain", "x"]);
    check.aye(&["list"]);
    check.aye(&["status", "--long"]);
    check.aye(&["review"]);
    check.aye(&["show", &first]);
    check.aye(&["diff", &first]);
    check.aye(&["comment", &first, "-m", "why?"]);
    check.repo.aye(&["run", "--keep", "--name", "s", "--", "sh", "-c", "echo x >x.txt"]).ok();
    check.spooled();
    check.aye(&["agents", "show"]);
    check.aye(&["session", "list"]);
    check.aye(&["session", "show", "s"]);
    check.aye(&["session", "submit", "s"]);
    check.aye(&["session", "sync", "s"]);
    check.aye(&["session", "end", "s"]);
    check.aye(&["revise", &first, "a.txt", "--old", "two", "--new", "II"]);
    #[cfg(unix)]
    {
        let result = check.repo.outer().join("try.json");
        let result = result.to_str().expect("UTF-8");
        let args = ["try", &first, "--no-record", "--result", result, "--json", "--", "true"];
        let run = check.repo.aye(&args);
        check.check(run);
        check.aye(&["import", result]);
    }
    check.aye(&["show", &first]);
    check.aye(&["apply", &first, "--dry-run"]);
    let named = check.repo.at_revision(&first);
    check.aye(&["approve", &named, "--yes", "--reason", "read"]);
    check.aye(&["show", &first]);
    check.aye(&["list"]);
    check.aye(&["apply", &named, "--yes"]);
    check.aye(&["undo", &first, "--yes"]);
    check.aye(&["reject", &second, "--yes", "--reason", "no"]);
    check.aye(&["show", &second]);
    check.aye(&["reopen", &second, "--yes"]);
    check.aye(&["withdraw", &second]);
    check.aye(&["propose", "a.txt", "--old", "three", "--new", "3", "--private"]);
    let list = check.repo.aye(&["list", "--json"]).ok().json();
    let mut items = list["proposals"].as_array().expect("a list").iter();
    let private = items.find(|item| item["audience"] == "private").expect("it");
    let private = private["proposal_id"].as_str().expect("an id").to_owned();
    check.aye(&["publish", &private, "--yes"]);
    check.aye(&["purge", &private, "--reason", "r", "--dry-run"]);
    check.aye(&["purge", &private, "--reason", "r", "--yes"]);
    check.findings_and_plans();
    check.aye(&["list", "--status", "all"]);
    check.aye(&["util", "rules"]);
    check.aye(&["list", "--status", "all"]);
    check.aye(&["log"]);
    check.aye(&["doctor"]);
    check.aye(&["gc", "--dry-run"]);
    check.aye(&["deinit", "--dry-run"]);
    check.aye(&["restore", &second]);
    check.aye(&["init"]);
    check.memory();
    check.aye(&["util", "codes"]);
    check.aye(&["util", "schema"]);
    check.aye(&["util", "mangen", "man"]);
    let play = check.repo.outer().join("play");
    check.aye(&["demo", "--dir", play.to_str().unwrap()]);

    #[cfg(unix)]
    for words in [
        &["shell", "cat a.txt"][..],
        &["shell", "rm a.txt"],
        &["shell", "--explain", "ls *.txt | wc -l"],
        &["shell", "--explain", "rm a.txt"],
        &["shell", "--programs", "git log"],
    ] {
        check.aye(words);
    }

    let unknown = check.repo.aye(&["show", "prop_none0none", "--json"]).exits(3).json();
    check.holds("aye/error@1", &unknown);

    // An output that this test does not print is not held to its schema.
    let published = check.aye(&["util", "schema"]);
    let published = published["schemas"].as_array().unwrap();
    for schema in published.iter().map(|row| row["id"].as_str().unwrap()) {
        // `tests/it/tools.rs` holds calls of tools, and their answers, to what is published of them.
        let of_tools = schema.contains("-input@") || schema.contains("-output@");
        let elsewhere = of_tools || (cfg!(not(unix)) && schema == "aye/try@1");
        assert!(elsewhere || check.seen.contains(schema), "{schema} is not printed here");
    }
}

/// A document that names a schema which nobody can ask for.
#[test]
fn every_document_has_a_published_schema() {
    let repo = Repo::outside();
    let published = repo.aye(&["util", "schema", "--json"]).ok().json();
    let published: BTreeSet<&str> = published["schemas"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["id"].as_str().unwrap())
        .collect();
    let named = regex::Regex::new(r#""(aye/[a-z_-]+@[0-9]+)""#).unwrap();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
    for entry in walkdir::WalkDir::new(source) {
        let entry = entry.unwrap();
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.ends_with(".rs") || name == "tests.rs" {
            continue;
        }
        let text = std::fs::read_to_string(entry.path()).unwrap();
        for found in named.captures_iter(&text) {
            let id = &found[1];
            assert!(
                published.contains(id) || INTERNAL.contains(&id),
                "{id} of {:?} is not in PUBLISHED",
                entry.path()
            );
        }
    }
}

/// Written and read by the program alone.
const INTERNAL: &[&str] = &["aye/plans@1", "aye/review-staged@1", "aye/session-record@1"];

#[test]
fn an_unknown_schema_is_told() {
    let repo = Repo::outside();
    repo.aye(&["util", "schema", "nope"]).fails("unknown_schema", 3).notes("aye util schema");
}
