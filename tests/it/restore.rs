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

/// What a trial runs may be the proposal's own work.
#[test]
fn a_command_of_a_trial_brings_nothing_back() {
    let (repo, no, pending) = rejected();
    let before = (repo.snapshot(), log(&repo));
    let (aye, top) = (env!("CARGO_BIN_EXE_aye"), repo.root().to_str().unwrap());
    for place in [".", "\"$2\""] {
        let script = format!("cd {place} && \"$0\" restore \"$1\"\n");
        let words = ["try", &pending, "--no-record", "--", "sh", "-c", &script, aye, &no, top];
        repo.aye(&words).exits(4).notes("error[in_trial]");
    }
    assert_eq!((repo.snapshot(), log(&repo)), before);
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
