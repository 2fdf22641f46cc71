//! `.agent-memory/policy.toml`: read strictly, from HEAD, and only tightened by the work tree.

use crate::support::memory::{MANIFEST, ask, pitfall};
use crate::support::{Repo, Run};
use serde_json::Value;

const POLICY: &str = ".agent-memory/policy.toml";
const PATCH: &str = "--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n";

fn repo() -> Repo {
    Repo::with(&[("f", "a\n")])
}

fn commit(repo: &Repo, policy: &str) {
    repo.write(POLICY, policy);
    repo.git(&["add", "--force", "--all"]);
    repo.git(&["commit", "--quiet", "-m", "Policy"]);
}

fn patch(repo: &Repo) -> Run {
    repo.aye_stdin(&["patch", "--json"], PATCH)
}

/// True if the patch became a proposal; it is rejected and the file put back, so that it can be
/// tried again.
#[track_caller]
fn gated(repo: &Repo) -> bool {
    let answer = patch(repo).ok().json();
    let gated = answer["gated"] == true;
    assert_eq!(repo.text("f"), if gated { "a\n" } else { "b\n" }, "{answer:#}");
    match answer["proposal_id"].as_str() {
        Some(id) => drop(repo.aye(&["reject", id, "--yes"]).ok()),
        None => repo.write("f", "a\n"),
    }
    gated
}

#[test]
fn an_unknown_key_closes_the_gate_and_names_the_nearest() {
    for (policy, key, hint) in [
        ("gates = true\n", "unknown key 'gates'", "did you mean 'gate'?"),
        ("[policy]\ngate = true\n", "unknown key 'policy'", "'gate' stands at the top"),
        ("agent_may_mark = \"own\"\n", "unknown key 'agent_may_mark'", "'agents_may_mark'?"),
        ("[evidence]\nmemroy = \"flag\"\n", "unknown key 'evidence.memroy'", "'evidence.memory'?"),
        (
            "agents_may_mark = \"all\"\n",
            "agents_may_mark is \"all\", not \"none\" or \"own\"",
            "commit a corrected one; for example: agents_may_mark = \"own\"",
        ),
        ("gate = 1\n", "gate is 1, not true or false", "gate = true"),
        ("purge_persons = \"2\"\n", "purge_persons is \"2\", not 1 or 2", "purge_persons = 2"),
        ("repository = \"x\"\n", "32 hexadecimal digits", "repository = "),
    ] {
        let repo = repo();
        commit(&repo, policy);
        let error = patch(&repo).exits(6).json();
        assert_eq!(error["code"], "invalid_policy", "{policy}: {error:#}");
        assert!(error["message"].as_str().is_some_and(|text| text.contains(key)), "{error:#}");
        assert!(error["hint"].as_str().is_some_and(|text| text.contains(hint)), "{error:#}");
        assert_eq!(repo.text("f"), "a\n");
        // Both that look after the repository report it.
        let doctor = repo.aye(&["doctor", "--json"]).exits(1).json();
        assert_eq!(doctor["sound"], false);
        assert_eq!(doctor["problems"][0]["code"], "invalid_policy", "{doctor:#}");
        let check = || repo.aye(&["check", "--json"]).exits(1).json();
        let finding = |check: Value| check["findings"][0].clone();
        assert_eq!(finding(check())["rule"], "policy_invalid", "{:#}", check());
        assert_eq!(finding(check())["level"], "error");
        repo.aye(&["check", "--range", "HEAD~1..HEAD"]).exits(1).says("policy_invalid");
        // Where a check has noted that nothing is pending, too.
        commit(&repo, "gate = false\n");
        repo.aye(&["check"]).ok();
        repo.aye(&["check"]).ok();
        commit(&repo, policy);
        repo.aye(&["check"]).exits(1).says("policy_invalid");
        repo.program(env!("CARGO_BIN_EXE_aye"))
            .args(&["check"])
            .dir(repo.path(".agent-memory"))
            .run()
            .exits(1);
        // A person mends it in the work tree, and with a commit.
        commit(&repo, "gate = false\n");
        repo.aye(&["doctor"]).ok();
        repo.aye(&["check"]).ok();
        assert!(!gated(&repo));
    }
}

#[test]
fn the_work_tree_tightens_and_does_not_loosen() {
    let repo = repo();
    assert!(!gated(&repo));
    repo.write(POLICY, "gate = true\n");
    assert!(gated(&repo), "a gate in the work tree holds at once");
    repo.write(POLICY, "gates = true\n");
    patch(&repo).exits(6).says("policy");
    repo.remove(POLICY);
    commit(&repo, "gate = true\n");
    repo.write(POLICY, "gate = false\n");
    assert!(gated(&repo), "the committed gate holds");
    repo.remove(POLICY);
    assert!(gated(&repo), "without the file, too");
    commit(&repo, "gate = false\n");
    assert!(!gated(&repo));
}

/// An agent that opens it in all places but one has not opened it.
#[test]
fn the_gate_is_shut_by_each_of_four_places() {
    for shut in ["HEAD", "index", "work tree", "configuration", ""] {
        let repo = repo();
        let policy = |place: &str| format!("gate = {}\n", place == shut);
        commit(&repo, &policy("HEAD"));
        repo.write(POLICY, policy("index"));
        repo.git(&["add", "--force", POLICY]);
        repo.write(POLICY, policy("work tree"));
        repo.git(&["config", "aye.gate", if shut == "configuration" { "true" } else { "false" }]);
        assert_eq!(gated(&repo), !shut.is_empty(), "{shut}");
    }
}

#[test]
fn an_unborn_branch_keeps_the_gate_of_work_tree_or_index() {
    let repo = repo();
    commit(&repo, "gate = true\n");
    repo.git(&["checkout", "--quiet", "--orphan", "x"]);
    assert!(gated(&repo));
    repo.write(POLICY, "gate = false\n");
    assert!(gated(&repo), "the index has it");
    repo.remove(POLICY);
    assert!(gated(&repo), "the index has it");
    repo.git(&["rm", "--quiet", "--cached", POLICY]);
    assert!(!gated(&repo));
    repo.write(POLICY, "gate = true\n");
    assert!(gated(&repo), "the work tree has it");
    repo.write(POLICY, "gates = true\n");
    patch(&repo).exits(6).says("invalid_policy");
    // The same before the first commit.
    let repo = Repo::new();
    repo.write("f", "a\n");
    assert!(!gated(&repo));
    repo.write(POLICY, "gate = true\n");
    assert!(gated(&repo));
}

#[test]
fn init_names_the_repository_once() {
    let name = |repo: &Repo| {
        let table: toml::Table = repo.text(POLICY).parse().expect("TOML");
        table["repository"].as_str().expect("a name").to_owned()
    };
    let first = repo();
    first.aye(&["init"]).ok().says(POLICY);
    let text = first.text(POLICY);
    assert_eq!(name(&first).len(), 32);
    first.commit("Start aye");
    first.aye(&["init"]).ok();
    assert_eq!(first.text(POLICY), text);
    first.aye(&["doctor"]).ok();
    first.aye(&["check"]).ok();
    first.git(&["config", "--unset", "aye.gate"]);
    assert!(gated(&first), "the file of init by itself shuts the gate");
    let second = repo();
    second.aye(&["init"]).ok();
    assert_ne!(name(&first), name(&second));
    // One that is there stays as it is; the line to add is printed.
    let third = repo();
    commit(&third, "gate = true\n");
    third.aye(&["init"]).ok().says("repository = \"");
    assert_eq!(third.text(POLICY), "gate = true\n");
}

#[test]
fn an_unknown_key_of_the_committed_manifest_closes_memory_and_is_reported() {
    let repo = repo();
    repo.aye(&["init"]).ok();
    repo.commit("Start aye");
    let good = repo.text(MANIFEST);
    repo.write(MANIFEST, format!("{good}securty: {{}}\n"));
    repo.commit("Break it");
    repo.write(MANIFEST, &good);
    let doctor = repo.aye(&["doctor", "--json"]).exits(1).json();
    let problem = &doctor["problems"][0];
    assert_eq!(problem["code"], "memory_config_invalid", "{doctor:#}");
    assert_eq!(problem["hint"], "did you mean 'security'?");
    assert!(problem["message"].as_str().is_some_and(|text| text.contains("'securty'")));
    repo.aye(&["check"]).exits(1).says("policy_invalid");
    // What the defaults apply at once waits for a person.
    assert_eq!(ask(&repo, &pitfall("- a"))["status"], "staged");
    repo.commit("Mend it");
    repo.aye(&["doctor"]).ok();
    assert_eq!(ask(&repo, &pitfall("- b"))["status"], "applied");
}
