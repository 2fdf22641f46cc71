//! What `--json` prints is what its published schema says, where it is stable.

use std::collections::BTreeSet;

use crate::support::sessions::tree;
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
        self.repo.aye(&["memory", "init"]).ok();
        let content = "## Use tabs\n\nTabs, not blanks.\n";
        self.aye(&[
            "memory", "propose", "--intent", "update_conventions", "--operation", "append_section",
            "--path", "conventions.md", "--heading", "Use tabs", "--heading-level", "2",
            "--content", content, "--source", "user", "-m", "Agreed in the meeting",
        ]);
        self.aye(&["memory", "status"]);
        self.aye(&["memory", "search", "tabs"]);
        self.aye(&["memory", "context", "tabs"]);
    }

    fn findings_and_plans(&mut self) {
        self.repo.write("key.txt", "password = \"hunter2-hunter2-hunter2\"\n");
        let id = self.id(&["propose", "b.txt", "--old", "bee", "--new", "B"]);
        self.aye(&["check"]);
        self.aye(&["scan", "."]);
        self.aye(&["reject", &id, "--yes", "-m", "no"]);
        self.aye(&["wait", &id]);
        self.aye(&["wait", "--any", "--timeout", "0"]);
        let steps = r#"{"plan": [{"step": "Look", "status": "in_progress"}], "explanation": "x"}"#;
        self.repo.aye(&["call", "update_plan", steps]).ok();
        self.aye(&["plan"]);
    }

    /// A proposal within the session `s`, where the git directory cannot be written.
    fn spooled(&mut self) {
        let tree = tree(&self.repo, "s");
        let script = format!(
            "mount --bind {git} {git} && mount -o remount,ro,bind {git} && cd {tree} &&
             exec {aye} propose x.txt --old x --new y --json",
            git = self.repo.path(".git").display(),
            tree = tree.display(),
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
fn stable_answers_keep_to_their_schemas() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "bee\n")]);
    let mut check = Checker { repo, seen: BTreeSet::new() };
    let first = check.id(&["propose", "a.txt", "--old", "two", "--new", "2", "-m", "count"]);
    let second = check.id(&["propose", "b.txt", "--old", "bee", "--new", "B", "--domain", "x"]);
    check.aye(&["list"]);
    check.aye(&["show", &first]);
    check.aye(&["diff", &first]);
    check.aye(&["comment", &first, "-m", "why?"]);
    check.repo.aye(&["run", "--keep", "--name", "s", "--", "sh", "-c", "echo x >x.txt"]).ok();
    check.spooled();
    check.aye(&["session", "list"]);
    check.aye(&["revise", &first, "a.txt", "--old", "two", "--new", "II"]);
    let run = check.repo.aye(&["try", &first, "--json", "--", "true"]);
    check.check(run);
    check.aye(&["show", &first]);
    check.aye(&["apply", &first, "--dry-run"]);
    let named = check.repo.at_revision(&first);
    check.aye(&["approve", &named, "--yes", "-m", "read"]);
    check.aye(&["show", &first]);
    check.aye(&["list"]);
    check.aye(&["apply", &named, "--yes"]);
    check.aye(&["undo", &first, "--yes"]);
    check.aye(&["reject", &second, "--yes", "-m", "no"]);
    check.aye(&["log", "--stats", "--by", "agent"]);
    check.aye(&["show", &second]);
    check.findings_and_plans();
    check.aye(&["list", "--status", "all"]);
    check.aye(&["log"]);
    check.aye(&["doctor"]);
    check.repo.write("c.txt", "see\n");
    check.repo.commit("See");
    check.aye(&["propose", "--range", "HEAD~1..HEAD", "--stack"]);
    check.repo.git(&["init", "-q", "--bare", "../origin"]);
    check.repo.git(&["remote", "add", "origin", "../origin"]);
    check.aye(&["sync", "--enable", "origin", "--yes"]);
    check.memory();
    let unknown = check.repo.aye(&["show", "prop_none0none", "--json"]).exits(3).json();
    check.holds("aye/error@1", &unknown);

    // An answer that this test does not print is not held to its schema.
    let published = check.repo.aye(&["util", "schema"]).ok().out();
    for schema in published.lines().map(|line| line.split(' ').next().unwrap()) {
        // `tests/it/tools.rs` holds calls of tools to what is published of their arguments.
        let elsewhere = schema.contains("-input@");
        assert!(elsewhere || check.seen.contains(schema), "{schema} is not printed here");
    }
}

#[test]
fn an_unknown_schema_is_told() {
    let repo = Repo::outside();
    repo.aye(&["util", "schema", "nope"]).fails("unknown_schema", 3).notes("aye util schema");
}
