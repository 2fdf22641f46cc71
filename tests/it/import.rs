//! `aye try --import`: results of `aye try` that were written elsewhere become checks.

use crate::support::clones::{exchange, thread, tip};
use crate::support::forger::Forged;
use crate::support::record::{proposal, propose, reject};
use crate::support::{self, Repo};
use serde_json::{Value, json};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n"), ("b.txt", "three\n")];

/// A clone of `repo` as a build machine has it: the threads as another clone's.
fn build(repo: &Repo) -> Repo {
    let build = Repo::outside();
    let url = repo.root().to_str().expect("UTF-8");
    build.git(&["clone", "-q", url, "."]);
    exchange(&build, repo);
    build
}

/// Runs `command` on `id` on a build machine; the path of the result.
fn result(repo: &Repo, id: &str, command: &str) -> String {
    let build = build(repo);
    let file = repo.outer().join("try.json");
    let file = file.to_str().expect("UTF-8").to_owned();
    let args = ["try", id, "--result", &file, "--", "sh", "-c", command];
    let run = build.cmd(&args).env("CI", "true").env("GIT_COMMITTER_NAME", "build");
    assert!(run.env("GIT_COMMITTER_EMAIL", "ci@example.com").run().status < 100);
    file
}

fn checks(repo: &Repo, id: &str) -> Vec<Value> {
    let show = repo.item(id);
    show["checks"].as_array().expect("a list").clone()
}

#[test]
fn a_result_from_ci_becomes_a_check_that_says_so() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let file = result(&repo, &id, "grep -q eins a.txt");
    repo.aye(&["try", "--import", &file]).ok().says("recorded");
    let check = proposal(&repo, &id).checks.pop().expect("a check");
    // The importer's event, and nobody's own run.
    assert_eq!(check.by.name, support::NAME);
    let imported = check.check.imported.as_ref().expect("an import");
    assert_eq!((imported.by.name.as_str(), imported.by.kind.as_str()), ("build", "ci"));
    let event = Forged::read(&repo, &tip(&repo, &thread(&repo, &id))).event;
    assert_eq!((&event["kind"], &event["v"]), (&"check".into(), &2.into()));
    assert_eq!(event["actor"]["kind"], "human");
    assert_eq!(event["data"]["imported"]["by"]["kind"], "ci");
    let found = checks(&repo, &id).pop().expect("a check");
    assert_eq!((&found["kind"], &found["imported"]["kind"]), (&"human".into(), &"ci".into()));
    assert_eq!((&found["current"], &found["exit_code"]), (&true.into(), &0.into()));
    repo.aye(&["show", &id]).ok().says("build, imported").says(support::NAME);
    repo.aye(&["log", &id]).ok().says("build");
    repo.aye(&["list"]).ok().says("✓");
    assert_eq!(checks(&repo, &id), [found]);
    repo.aye(&["doctor"]).ok();
}

#[test]
fn the_same_result_is_recorded_once() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let file = result(&repo, &id, "exit 5");
    repo.aye(&["try", "--import", &file, &file]).ok();
    assert_eq!(checks(&repo, &id).len(), 1);
    repo.aye(&["try", "--import", &file]).ok().says("exit 5");
    // The same in another spelling, from standard input.
    let value: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).expect("JSON");
    let pretty = serde_json::to_string_pretty(&value).expect("JSON");
    repo.aye_stdin(&["try", "--import", "-"], &pretty).ok();
    assert_eq!(checks(&repo, &id).len(), 1);
    // A later run is another one; somebody else's import does not stand in the way of one's own.
    let file = result(&repo, &id, "exit 5");
    repo.agent("codex", &["try", "--import", &file]).ok().says("recorded");
    repo.aye(&["try", "--import", &file]).ok().says("recorded");
    assert_eq!(checks(&repo, &id).len(), 3);
}

#[test]
fn what_an_agent_ran_or_imports_gets_no_tick() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let file = result(&repo, &id, "true");
    repo.agent("codex", &["try", "--import", &file]).ok();
    repo.aye(&["list"]).ok().lacks("✓");
    let found = checks(&repo, &id).pop().expect("a check");
    assert_eq!((&found["kind"], &found["imported"]["kind"]), (&"agent".into(), &"ci".into()));
    let other = propose(&repo, "b.txt", "three", "drei");
    let file = repo.path("own.json");
    let file = file.to_str().expect("UTF-8");
    let args = ["try", &other, "--no-record", "--result", file, "--", "true"];
    repo.agent("codex", &args).ok();
    repo.aye(&["try", "--import", file]).ok().says("codex");
    repo.aye(&["list"]).ok().lacks("✓");
    repo.aye(&["show", &other]).ok().says("codex, imported");
}

#[test]
fn what_is_not_known_here_is_not_recorded() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let file = result(&repo, &id, "true");
    let other = Repo::with(FILES);
    other.aye(&["try", "--import", &file]).fails("proposal_not_found", 3).notes("aye sync --fetch");
    let good: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).expect("JSON");
    let import = |value: &Value| repo.aye_stdin(&["try", "--import", "-"], value.to_string());
    let with = |key: &str, value: Value| {
        let mut bad = good.clone();
        bad[key] = value;
        bad
    };
    let unknown = "0123456789".repeat(4);
    import(&with("proposal", json!(unknown))).fails("proposal_not_found", 3);
    import(&with("revision", json!(unknown)))
        .fails("revision_not_found", 3)
        .notes("aye sync --fetch");
    import(&with("status", json!("applied"))).fails("try_result_invalid", 6);
    import(&with("format", json!("aye-try-result@2"))).fails("try_result_invalid", 6);
    import(&json!([good])).fails("try_result_invalid", 6);
    let twice = good.to_string().replacen('{', "{\"exit_code\":1,", 1);
    repo.aye_stdin(&["try", "--import", "-"], twice).fails("try_result_invalid", 6);
    let large = with("command", json!(["x".repeat(70_000)]));
    import(&large).fails("size_limit_exceeded", 6);
    repo.aye(&["try", "--import", "none.json"]).fails("file_not_found", 3);
    repo.aye(&["try", "--import"]).exits(2);
    // All of them or none.
    repo.write("bad.json", "{}");
    repo.aye(&["try", "--import", &file, "bad.json"])
        .fails("try_result_invalid", 6)
        .notes("bad.json");
    assert!(checks(&repo, &id).is_empty());
    // A repository that has a name of its own.
    repo.write(".agent-memory/policy.toml", format!("repository = \"{}\"\n", "0".repeat(32)));
    repo.git(&["add", "-f", ".agent-memory/policy.toml"]);
    repo.git(&["commit", "-q", "-m", "Name it"]);
    import(&with("repository", json!("1".repeat(32)))).fails("try_result_invalid", 6);
    import(&with("repository", json!("0".repeat(32)))).ok();
}

#[test]
fn a_result_of_an_earlier_revision_says_nothing_about_this_one() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let file = result(&repo, &id, "true");
    repo.agent("codex", &["revise", &id, "a.txt", "--old", "one", "--new", "uno"]).ok();
    repo.aye(&["try", "--import", &file]).ok().says("recorded");
    repo.aye(&["list"]).ok().lacks("✓");
    repo.aye(&["show", &id]).ok().says("revision 1");
    assert_eq!(checks(&repo, &id)[0]["current"], false);
    // A decided one keeps its results, too.
    let file = result(&repo, &id, "true");
    reject(&repo, &id, "no");
    repo.aye(&["try", "--import", &file]).ok();
    assert_eq!(checks(&repo, &id).len(), 2);
}

#[test]
fn without_a_name_of_the_clone_nothing_is_imported() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let file = result(&repo, &id, "true");
    repo.cmd(&["try", "--import", &file]).env("CI", "true").run().fails("ci_has_no_clone", 4);
    assert!(checks(&repo, &id).is_empty());
    repo.cmd(&["try", "--import", &file]).in_ci("c1c1c1c1c1c1c1c1").run().ok();
    assert_eq!(checks(&repo, &id).len(), 1);
}

#[test]
fn names_in_a_result_are_escaped() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let file = result(&repo, &id, "true");
    let mut value: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).expect("JSON");
    value["actor"]["name"] = json!("\u{1b}[31mroot\u{202e}");
    value["command"] = json!(["\u{1b}]0;x\u{7}", "\r\n"]);
    repo.aye_stdin(&["try", "--import", "-"], value.to_string()).ok().plain();
    for args in [&["show", &id][..], &["log", &id], &["list"], &["review", &id]] {
        repo.aye(args).plain();
    }
}
