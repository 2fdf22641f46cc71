//! A whole session of an agent, through the public tools alone: it looks around in this crate's own
//! sources, keeps a plan, proposes changes that belong to its steps; a person sees it all.

use std::path::Path;

use crate::support::Repo;
use serde_json::{Value, json};

/// A repository with this crate's sources and a little history.
fn sources() -> Repo {
    let crate_root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let repo = Repo::outside().init(&[]);
    repo.let_flags_decide();
    let copy = |from: &Path| {
        let name = from.strip_prefix(crate_root).expect("a file of the crate");
        repo.write(name.to_str().expect("UTF-8"), std::fs::read(from).expect("a source file"));
    };
    copy(&crate_root.join("Cargo.toml"));
    copy(&crate_root.join("README.md"));
    repo.commit("Start");
    for entry in walkdir::WalkDir::new(crate_root.join("src")) {
        let entry = entry.expect("the sources");
        if entry.file_type().is_file() {
            copy(entry.path());
        }
    }
    repo.commit("Add the sources");
    repo.write("README.md", format!("{}\nMore to come.\n", repo.text("README.md")));
    repo
}

/// Calls a tool as an agent does: JSON in, the contract's YAML out.
fn call(repo: &Repo, tool: &str, arguments: &Value) -> Value {
    let run = repo.agent("codex", &["call", tool, &arguments.to_string()]).ok();
    serde_yaml::from_str(&run.out()).expect("YAML")
}

const LOOKING: &[&str] = &[
    "pwd",
    "ls -la",
    "ls src | wc -l",
    "cat Cargo.toml",
    "head -n 5 README.md",
    "tail -n 3 README.md",
    "sed -n 1,20p src/main.rs",
    "wc -l src/*.rs | sort -n | tail -3",
    "find src -name '*.rs' -size +1k | sort | head -5",
    "find . -maxdepth 2 -type d -not -path './.git*'",
    "grep -rn 'fn main' src",
    "grep -rlE 'pub (struct|enum)' src | head",
    "grep -c '^use' src/lib.rs || true",
    "awk '/^\\[/ {n++} END {print n}' Cargo.toml",
    "cut -d= -f1 Cargo.toml | sort | uniq -c | sort -rn | head -3",
    "git status --short",
    "git log --oneline",
    "git log --stat -1 | tail -2",
    "git diff",
    "git diff --stat HEAD",
    "git show HEAD:Cargo.toml | head -2",
    "git show --name-only HEAD | head",
    "git blame -L 1,3 README.md",
    "git grep -n 'mod ' -- src/lib.rs",
    "git ls-files | cut -d/ -f1 | sort -u",
    "git rev-parse --abbrev-ref HEAD",
    "cd src && ls *.rs && cd .. && pwd",
    "test -f Cargo.toml && echo yes || echo no",
    "stat -c '%n %s' README.md",
    "diff README.md Cargo.toml > /dev/null; echo done",
    "tr a-z A-Z < Cargo.toml | head -1",
    "sha256sum Cargo.toml | cut -c1-8",
    "! grep -q no-such-text README.md",
];

#[test]
fn an_agent_looks_plans_and_proposes_and_a_person_sees_it() {
    let repo = sources();
    // The contract's own examples, as printed.
    let listed = call(&repo, "readonly_shell", &json!({ "command": "ls -la" }));
    assert_eq!((listed["status"].as_str(), listed["exit_code"].as_i64()), (Some("ok"), Some(0)));
    let planned = call(
        &repo,
        "update_plan",
        &json!({
            "explanation": "Today's Tasks",
            "plan": [
                { "step": "Complete code review", "status": "in_progress" },
                { "step": "Fix bug", "status": "pending" },
                { "step": "Write documentation", "status": "pending" },
            ],
        }),
    );
    assert_eq!(planned["status"], "ok");
    assert_eq!(planned["plan"][2]["step"], "Write documentation");

    let before = repo.snapshot();
    for command in LOOKING {
        let seen = call(&repo, "readonly_shell", &json!({ "command": command }));
        assert_eq!(seen["status"], "ok", "{command}: {seen}");
        assert_eq!(seen["exit_code"], 0, "{command}: {seen}");
        assert!(seen["executed_at"].is_string(), "{command}");
    }
    assert_eq!(repo.snapshot(), before, "looking changed something");

    let propose = |path: &str, old: &str, new: &str, task: &str| {
        let args =
            ["propose", path, "--old", old, "--new", new, "--task", task, "-m", "As planned"];
        repo.agent("codex", &args).ok().id()
    };
    let fix = propose("Cargo.toml", "edition = \"2024\"", "edition = \"2021\"", "plan:2");
    let text = propose("README.md", "More to come.", "All there is.", "plan:3");
    let further = json!([
        { "step": "Complete code review", "status": "completed" },
        { "step": "Fix bug", "status": "in_progress" },
        { "step": "Write documentation", "status": "pending" },
    ]);
    repo.agent("codex", &["plan", "update", &further.to_string()]).ok();

    let plan = repo.aye(&["plan", "--json"]).ok().json();
    assert_eq!(plan["progress"], json!({ "completed": 1, "in_progress": 1, "pending": 1 }));
    assert_eq!(plan["plan"][1]["proposals"][0]["proposal_id"], json!(fix));
    assert_eq!(plan["plan"][2]["proposals"][0]["status"], "pending");
    let screen = repo.aye(&["plan"]).ok();
    screen.says("Cargo.toml").says("README.md");
    repo.aye(&["list"]).ok().says("Cargo.toml").says("README.md");
    repo.aye(&["list", "--task", "plan:2"]).ok().says("Cargo.toml").lacks("README.md");
    repo.aye(&["apply", &fix, "--yes"]).ok();
    repo.aye(&["reject", &text, "-m", "not yet", "--yes"]).ok();
    let plan = repo.aye(&["plan", "--json"]).ok().json();
    assert_eq!(plan["plan"][1]["proposals"][0]["status"], "applied");
    assert_eq!(plan["plan"][2]["proposals"][0]["status"], "rejected");
}
