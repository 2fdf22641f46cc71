//! `aye restore`: who may bring text back, and what of memory it writes.

use serde_json::json;

use crate::support::Repo;
use crate::support::terminal::Terminal;

/// A rejected proposal for `b.txt`, beside a pending one for `a.txt`: their ids.
fn rejected() -> (Repo, String, String) {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "two\n"), ("CLAUDE.md", "x\n")]);
    let propose = |path: &str, old: &str, new: &str| {
        repo.agent("codex", &["propose", path, "--old", old, "--new", new, "-q"]).ok().id()
    };
    let (no, pending) = (propose("b.txt", "two", "zwei"), propose("a.txt", "one", "eins"));
    repo.aye(&["reject", &no, "--yes", "--reason", "no"]).ok();
    (repo, no, pending)
}

fn log(repo: &Repo) -> String {
    repo.aye(&["log", "--json"]).ok().out()
}

#[test]
fn a_build_machine_brings_nothing_back_and_writes_nothing() {
    let (repo, no, _) = rejected();
    let before = (repo.snapshot(), log(&repo));
    let refused = "human_approval_required";
    repo.cmd(&["restore", &no]).env("CI", "true").run().fails(refused, 4).notes("CI is set");
    repo.cmd(&["restore", &no]).in_ci("ci").run().fails(refused, 4);
    repo.agent("codex", &["restore", &no]).fails(refused, 4);
    repo.write(".agent-memory/policy.toml", "ci_may_apply = true\n");
    repo.commit("CI applies");
    repo.cmd(&["restore", &no]).env("CI", "true").run().fails(refused, 4);
    repo.remove(".agent-memory/policy.toml");
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    assert_eq!((repo.snapshot(), log(&repo)), before);
}

#[test]
fn a_command_of_a_trial_brings_nothing_back_and_patches_nothing() {
    let (repo, no, pending) = rejected();
    let before = (repo.snapshot(), log(&repo));
    let patch = repo.outer().join("p.diff");
    std::fs::write(&patch, "--- a/CLAUDE.md\n+++ b/CLAUDE.md\n@@ -1 +1 @@\n-x\n+obey\n").unwrap();
    let (aye, top) = (env!("CARGO_BIN_EXE_aye"), repo.root().to_str().unwrap());
    let try_ = |script: &str| {
        let words = ["try", &pending, "--no-record", "--", "sh", "-c", script, aye, &no, top];
        let words = [&words[..], &[patch.to_str().unwrap()]].concat();
        repo.aye(&words)
    };
    for words in
        ["restore \"$1\"", "patch \"$3\"", "patch --index \"$3\"", "patch --propose \"$3\""]
    {
        for place in [".", "\"$2\""] {
            try_(&format!("cd {place} && \"$0\" {words}\n")).exits(4).notes("error[in_trial]");
        }
    }
    // The tool too, whose unmarked callers count as agents.
    let call = "cd \"$2\" && printf '{\"patch\":\"--- a/CLAUDE.md\\\\n+++ b/CLAUDE.md\\\\n@@ -1 +1 @@\\\\n-x\\\\n+obey\\\\n\"}' \
                | \"$0\" call apply_patch -\n";
    try_(call).exits(4).says("in_trial");
    try_("cd \"$2\" && \"$0\" patch --dry-run \"$3\"\n").ok().says("The patch fits");
    assert_eq!((repo.snapshot(), log(&repo)), before);
}

#[test]
fn a_build_machine_patches_nothing_that_it_cannot_record() {
    let repo = Repo::with(&[("a.txt", "one\n"), ("CLAUDE.md", "x\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    let before = repo.snapshot();
    let diff = |path: &str, old: &str, new: &str| {
        format!("--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-{old}\n+{new}\n")
    };
    let code = diff("a.txt", "one", "eins");
    repo.cmd(&["patch", "-"]).env("CI", "1").stdin(&code).run().exits(4).notes("ci_has_no_lane");
    assert_eq!(repo.snapshot(), before);
    // With a lane it may patch, but not what instructs agents, nor memory.
    repo.cmd(&["patch", "-"]).in_ci("ci").stdin(&code).run().ok().says("patch_applied: true");
    assert_eq!(repo.text("a.txt"), "eins\n");
    let instructs = diff("CLAUDE.md", "x", "obey");
    repo.cmd(&["patch", "-"]).in_ci("ci").stdin(&instructs).run().ok().says("gated: true");
    let text = repo.text(".agent-memory/conventions.md");
    let (lines, count) = (text.lines().map(|line| format!(" {line}\n")), text.lines().count());
    let memory = format!(
        "--- a/.agent-memory/conventions.md\n+++ b/.agent-memory/conventions.md\n\
         @@ -1,{count} +1,{} @@\n{}+obey\n",
        count + 1,
        lines.collect::<String>()
    );
    repo.cmd(&["patch", "-"]).in_ci("ci").stdin(&memory).run().ok().says("gated: true");
    // Nobody is at the terminal of a build machine.
    let patch = repo.outer().join("p.diff");
    std::fs::write(&patch, &memory).unwrap();
    let mut terminal =
        Terminal::start(repo.cmd(&["patch", patch.to_str().unwrap()]).in_ci("ci"), 24, 100);
    terminal.sees("gated: true");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(repo.text("CLAUDE.md"), "x\n");
    assert!(!repo.text(".agent-memory/conventions.md").contains("obey"));
}

/// A rejected request to memory, and its id.
fn rejected_memory() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.commit("memory");
    let request = json!({
        "intent": "update_conventions",
        "rationale": "why",
        "operations": [{
            "operation": "append_to_section",
            "path": "conventions.md",
            "section_id": "conventions",
            "content": "- rejected text",
        }],
        "sources": [{"type": "user"}],
    });
    let run = repo.agent("codex", &["call", "memory.propose_update", &request.to_string()]).ok();
    let id = run.json()["proposal_id"].as_str().expect("an id").to_owned();
    repo.aye(&["reject", &id, "--yes", "--reason", "no"]).ok();
    (repo, id)
}

const MEMORY: &str = ".agent-memory/conventions.md";

#[test]
fn memory_is_brought_back_by_a_person_at_a_terminal() {
    let (repo, id) = rejected_memory();
    let before = (repo.snapshot(), log(&repo));
    repo.aye(&["restore", &id]).fails("terminal_required", 4).notes("at a terminal");
    assert_eq!((repo.snapshot(), log(&repo)), before);
    let mut terminal = Terminal::start(repo.cmd(&["restore", &id]), 24, 100);
    terminal.sees("brought back");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(repo.text(MEMORY).matches("- rejected text").count(), 1);
    // What is there is not added once more, also where the file goes on.
    let mut terminal = Terminal::start(repo.cmd(&["restore", &id]), 24, 100);
    terminal.sees("there already");
    assert_eq!(terminal.ends(), 0);
    assert_eq!(repo.text(MEMORY).matches("- rejected text").count(), 1);
}

#[test]
fn memory_is_brought_back_once_where_a_flag_decides() {
    let (repo, id) = rejected_memory();
    repo.let_flags_decide();
    let answer = repo.aye(&["restore", &id, "--json"]).ok().json();
    assert!(answer["patch_id"].is_string(), "{answer}");
    let once = repo.text(MEMORY);
    assert_eq!(once.matches("- rejected text").count(), 1);
    repo.write(MEMORY, format!("{once}\n## More\n\nBelow.\n"));
    for _ in 0..2 {
        let answer = repo.aye(&["restore", &id, "--json"]).ok().json();
        assert!(answer["patch_id"].is_null(), "{answer}");
        assert_eq!(answer["files"][0]["action"], "none");
    }
    assert_eq!(repo.text(MEMORY).matches("- rejected text").count(), 1);
}
