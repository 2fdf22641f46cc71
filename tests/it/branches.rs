//! The branch that a proposal was made for: recorded, shown, and asked about where another one is checked out.

use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::record::propose;
use crate::support::terminal::Terminal;

const FEATURE: &str = "refs/heads/feature";

/// A repository with a proposal that was made on `feature`, and `main` checked out.
fn scene() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    repo.git(&["switch", "-q", "-c", "feature"]);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.git(&["switch", "-q", "main"]);
    (repo, id)
}

fn target(repo: &Repo, id: &str) -> Value {
    repo.item(id)["target"].clone()
}

#[test]
fn another_branch_is_refused_with_yes_and_the_hint_works() {
    let (repo, id) = scene();
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(target(&repo, &id), json!({ "commit": head.trim(), "ref": FEATURE }));
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["proposals"][0]["target_ref"], FEATURE);
    repo.aye(&["show", &id]).ok().says("(main ");
    let before = repo.snapshot();
    for flags in [&[][..], &["--commit"], &["--index"]] {
        let args = [&["apply", id.as_str(), "--yes", "--json"], flags].concat();
        let error = repo.aye(&args).exits(4).json()["error"].clone();
        assert_eq!(error["code"], "other_branch", "{error:#}");
        assert_eq!(error["details"]["branch"], "feature");
        assert_eq!(repo.snapshot(), before);
    }
    // The decision alone writes nothing here.
    let copy = repo.copy();
    copy.aye(&["apply", &id, "--yes", "--mark-only"]).ok();
    let error = repo.aye(&["apply", &id, "--yes", "--json"]).exits(4).json()["error"].clone();
    let hint = error["hint"].as_str().expect("a hint");
    let command = &hint[hint.find("aye apply").expect("a command")..];
    let words: Vec<&str> = command.split(' ').skip(1).collect();
    repo.aye(&words).ok();
    assert_eq!(repo.text("a.txt"), "eins\n");
    // On its own branch nobody asks.
    let (repo, id) = scene();
    repo.git(&["switch", "-q", "feature"]);
    repo.aye(&["apply", &id, "--yes"]).ok();
}

#[test]
fn several_are_refused_together() {
    let (repo, other) = scene();
    let own = propose(&repo, "b.txt", "1\n2", "1\nzwei");
    repo.aye(&["apply", &own, &other, "--yes"]).fails("other_branch", 4);
    assert_eq!(repo.git(&["status", "--short"]), "");
    repo.aye(&["apply", &own, &other, "--yes", "--any-branch"]).ok();
    assert_eq!(repo.text("a.txt"), "eins\n");
}

#[test]
fn a_person_at_a_terminal_is_asked() {
    let (repo, id) = scene();
    let apply = || Terminal::dumb(repo.cmd(&["apply", &id]));
    let mut t = apply();
    t.sees("feature").sees("(marks: other_branch) [").listens().types("n").sees("nothing");
    assert_eq!(t.ends(), 1);
    assert_eq!(repo.text("a.txt"), "one\n");
    let mut t = apply();
    t.sees("(marks: other_branch) [").listens().types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), "eins\n");
}

/// Where it is listed, at its head, and where it is written.
#[test]
fn a_review_says_so_before_anything_is_written() {
    let (repo, id) = scene();
    let marks = |of: &Repo| {
        let item = of.aye(&["list", "--json"]).ok().json()["proposals"][0].clone();
        let marks = item["marks"].as_array().expect("a list").clone();
        marks.iter().map(|mark| mark["mark"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(marks(&repo), ["other_branch"]);
    repo.aye(&["list"]).ok().says("feature");
    let mut t = Terminal::dumb(repo.cmd(&["review", &id]));
    t.sees("feature").sees("Take").types("y");
    t.sees("write").sees("feature").sees("Write").types("y");
    t.sees("applied");
    assert_eq!(t.ends(), 0);
    // What was found of its content is remembered, and the branch is not.
    let (repo, _) = scene();
    assert_eq!(marks(&repo), ["other_branch"]);
    repo.git(&["switch", "-q", "feature"]);
    assert!(marks(&repo).is_empty());
    repo.git(&["switch", "-q", "main"]);
    assert_eq!(marks(&repo), ["other_branch"]);
}

/// No branch is not another one.
#[test]
fn detached_and_unborn_heads_are_no_branch() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    repo.git(&["switch", "-q", "--detach"]);
    let id = propose(&repo, "a.txt", "one", "eins");
    assert_eq!(target(&repo, &id)["ref"], Value::Null);
    repo.git(&["switch", "-q", "main"]);
    repo.aye(&["apply", &id, "--yes"]).ok();
    repo.git(&["reset", "-q", "--hard"]);
    let id = propose(&repo, "a.txt", "one", "ein");
    repo.git(&["switch", "-q", "--detach"]);
    repo.aye(&["apply", &id, "--yes"]).ok();
    let repo = Repo::new();
    repo.write("a.txt", "one\n");
    let id = propose(&repo, "a.txt", "one", "eins");
    assert_eq!(target(&repo, &id), Value::Null);
    repo.git(&["add", "a.txt"]);
    repo.git(&["commit", "-qm", "First"]);
    repo.git(&["switch", "-q", "-c", "feature"]);
    repo.aye(&["apply", &id, "--yes"]).ok();
}

#[test]
fn a_linked_work_tree_decides_by_its_own_head() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let linked = repo.outer().join("linked");
    repo.git(&["worktree", "add", "-q", "-b", "feature", "../linked"]);
    let there =
        |args: &[&str], agent: &str| repo.cmd(args).env("AYE_AGENT", agent).dir(&linked).run();
    let propose = ["propose", "a.txt", "--old", "one", "--new", "eins", "-q"];
    let id = there(&propose, "codex").ok().id();
    assert_eq!(target(&repo, &id)["ref"], FEATURE);
    repo.aye(&["apply", &id, "--yes"]).fails("other_branch", 4);
    there(&["apply", &id, "--yes"], "").ok();
    assert_eq!(repo.text("a.txt"), "one\n");
    assert_eq!(std::fs::read(linked.join("a.txt")).expect("the file"), b"eins\n");
}

/// Whoever gives it new content says for which branch that is.
#[test]
fn a_revision_is_for_the_branch_that_it_is_made_on() {
    let (repo, id) = scene();
    repo.agent("codex", &["revise", &id, "a.txt", "--old", "one", "--new", "uno"]).ok();
    assert_eq!(target(&repo, &id)["ref"], "refs/heads/main");
    let at = repo.at_revision(&id);
    repo.aye(&["apply", &at, "--yes"]).ok();
}

#[test]
fn an_apply_is_undone_on_the_branch_that_it_was_on() {
    let (repo, id) = scene();
    repo.git(&["switch", "-q", "feature"]);
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    repo.git(&["switch", "-q", "main"]);
    let status = || repo.item(&id)["status"].clone();
    repo.aye(&["undo", &id, "--yes"]).fails("other_branch", 4).notes("--any-branch");
    let mut t = Terminal::dumb(repo.cmd(&["undo", &id]));
    t.sees("feature").sees("[y,n,?]").listens().types("n").sees("nothing");
    assert_eq!(t.ends(), 1);
    assert_eq!(status(), "applied");
    repo.agent("codex", &["undo", &id, "--yes"]).fails("human_approval_required", 4);
    repo.aye(&["undo", &id, "--yes", "--any-branch"]).ok();
    assert_eq!(status(), "pending");
}
