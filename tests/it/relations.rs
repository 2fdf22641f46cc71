//! Proposals that stand on others, and proposals for the same lines, as `list`, `check` and `status` show
//! them.

use crate::support::Repo;
use serde_json::{Value, json};

fn scene() -> Repo {
    let lines: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    Repo::with(&[("f", lines.as_str()), ("g", "g\n")])
}

fn propose(repo: &Repo, old: &str, new: &str) -> String {
    repo.agent("codex", &["propose", "f", "--old", old, "--new", new, "-q"]).ok().id()
}

/// Two commits of a branch as two proposals: the second starts from what the first makes.
fn stack(repo: &Repo) -> [String; 2] {
    repo.git(&["switch", "-q", "-c", "topic"]);
    for (old, new) in [("line 5", "LINE 5"), ("LINE 5", "LINE FIVE")] {
        let text = repo.text("f").replace(old, new);
        repo.write("f", text);
        repo.commit(new);
    }
    repo.git(&["switch", "-q", "main"]);
    ["topic~1", "topic"]
        .map(|rev| repo.agent("codex", &["propose", "--commit", rev, "-q"]).ok().id())
}

#[track_caller]
fn item(repo: &Repo, id: &str) -> Value {
    let list = repo.aye(&["list", "--json"]).ok().json();
    let all = list["proposals"].as_array().expect("a list");
    all.iter().find(|item| item["proposal_id"] == id).expect("listed").clone()
}

#[test]
fn a_proposal_on_top_of_another_is_no_conflict() {
    let repo = scene();
    let [lower, upper] = stack(&repo);
    assert_eq!(item(&repo, &upper)["stands_on"], json!([lower]));
    assert!(item(&repo, &lower).get("stands_on").is_none());
    assert!(item(&repo, &upper).get("same_lines").is_none());
    let short = &lower["prop_".len()..][..4];
    repo.aye(&["list"]).ok().says(&format!("↳ {short}"));
    let found = repo.aye(&["check"]).exits(1);
    found.clone().lacks("error[conflict]").says(&format!("stands on {lower}"));
    repo.aye(&["status"]).ok().says("2 pending\n");
    // In order they apply, and what is there stands on nothing any more.
    repo.aye(&["apply", &lower, "--yes"]).ok();
    assert!(item(&repo, &upper).get("stands_on").is_none());
    repo.aye(&["apply", &upper, "--yes"]).ok();
    assert!(repo.text("f").contains("LINE FIVE"));
}

#[test]
fn a_change_and_its_revert_do_not_stand_on_each_other() {
    let repo = scene();
    let there = propose(&repo, "line 5\n", "five\n");
    repo.aye(&["apply", &there, "--yes"]).ok();
    repo.commit("five");
    let back = propose(&repo, "five\n", "line 5\n");
    assert!(item(&repo, &back).get("stands_on").is_none());
}

#[test]
fn a_proposal_on_an_earlier_revision_says_so() {
    let repo = scene();
    let [lower, upper] = stack(&repo);
    let args = ["revise", &lower, "f", "--old", "line 5", "--new", "Line 5!"];
    repo.agent("codex", &args).ok();
    assert_eq!(item(&repo, &upper)["stands_on"], json!([lower]));
    repo.aye(&["check"]).exits(1).says(&format!("stands on {lower} (an earlier revision)"));
}

#[test]
fn those_for_the_same_lines_are_named_on_both() {
    let repo = scene();
    let one = propose(&repo, "line 5\n", "one\n");
    let two = propose(&repo, "line 5\n", "two\n");
    let far = propose(&repo, "line 8\n", "eight\n");
    assert_eq!(item(&repo, &one)["same_lines"], json!([two]));
    assert_eq!(item(&repo, &two)["same_lines"], json!([one]));
    assert!(item(&repo, &far).get("same_lines").is_none());
    repo.aye(&["list"]).ok().says("⇄ ");
    // Warm and cold.
    let warm = repo.aye(&["list", "--json"]).ok().json();
    std::fs::remove_file(repo.path(".git/aye/cache.sqlite")).expect("a cache");
    assert_eq!(repo.aye(&["list", "--json"]).ok().json(), warm);
    // What is decided is in nobody's way.
    repo.aye(&["reject", &two, "--yes"]).ok();
    assert!(item(&repo, &one).get("same_lines").is_none());
}
