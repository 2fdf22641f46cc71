//! `aye restore`: who may bring text back.

use crate::support::Repo;

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
