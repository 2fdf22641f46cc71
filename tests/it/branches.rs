//! The branch that a proposal was made for: recorded, shown, and asked about where another one is checked out.

use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::terminal::Terminal;

const FEATURE: &str = "refs/heads/feature";

fn propose(repo: &Repo, path: &str, old: &str, new: &str) -> String {
    repo.agent("codex", &["propose", path, "--old", old, "--new", new, "-q"]).ok().id()
}

/// A repository with a proposal that was made on `feature`, and `main` checked out.
fn scene() -> (Repo, String) {
    let repo = Repo::with(&[("a.txt", "one\n"), ("b.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    repo.git(&["switch", "-q", "-c", "feature"]);
    let id = propose(&repo, "a.txt", "one", "eins");
    repo.git(&["switch", "-q", "main"]);
    (repo, id)
}

fn target(repo: &Repo, id: &str) -> Value {
    repo.aye(&["show", id, "--json"]).ok().json()["target"].clone()
}

#[test]
fn another_branch_is_refused_with_yes_and_the_hint_works() {
    let (repo, id) = scene();
    let head = repo.git(&["rev-parse", "HEAD"]);
    assert_eq!(target(&repo, &id), json!({ "commit": head.trim(), "ref": FEATURE }));
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["proposals"][0]["target_ref"], FEATURE);
    repo.aye(&["show", &id]).ok().says("feature  (main is checked out)");
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
    let apply = || Terminal::start(repo.cmd(&["apply", &id]).env("TERM", "dumb"), 40, 120);
    let mut t = apply();
    t.sees("made for feature, and main is checked out").sees("(marks: other_branch)?");
    t.types("n\n").sees("nothing applied");
    assert_eq!(t.ends(), 1);
    assert_eq!(repo.text("a.txt"), "one\n");
    let mut t = apply();
    t.sees("(marks: other_branch)?").types("y\n").sees("applied");
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
    repo.aye(&["list"]).ok().says("branch feature");
    let mut t = Terminal::start(repo.cmd(&["review", &id]).env("TERM", "dumb"), 60, 120);
    t.sees("made for feature, and main is checked out").sees("Take this hunk").types("y");
    t.sees("will write").sees("made for feature").sees("Write these decisions").types("y");
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

/// What stands on it, and what a decision leaves of it, stay for their branch.
#[test]
fn the_rest_and_what_stands_on_it_stay_for_their_branch() {
    let (repo, _) = scene();
    repo.git(&["switch", "-q", "feature"]);
    let edit = |new: &str| repo.text("b.txt").replace('1', new).replace('9', "neun");
    repo.write("b.txt", edit("eins"));
    let args = ["propose", "--worktree", "b.txt", "--keep", "-q"];
    let id = repo.aye(&args).ok().id();
    repo.git(&["checkout", "-q", "b.txt"]);
    repo.git(&["switch", "-q", "main"]);
    let part = ["apply", &id, "--hunks", "1", "--split-rest", "--yes", "--any-branch", "--json"];
    let rest = repo.aye(&part).ok().json()["proposals"][0]["rest"].clone();
    assert_eq!(target(&repo, rest.as_str().expect("the rest"))["ref"], FEATURE);
}

#[test]
fn an_apply_is_undone_on_the_branch_that_it_was_on() {
    let (repo, id) = scene();
    repo.git(&["switch", "-q", "feature"]);
    repo.aye(&["apply", &id, "--yes", "--commit"]).ok();
    repo.git(&["switch", "-q", "main"]);
    let status = || repo.aye(&["show", &id, "--json"]).ok().json()["status"].clone();
    repo.aye(&["undo", &id, "--yes"]).fails("other_branch", 4).notes("--any-branch");
    let mut t = Terminal::start(repo.cmd(&["undo", &id]).env("TERM", "dumb"), 40, 120);
    t.sees("applied on feature, on main?").types("n\n").sees("nothing undone");
    assert_eq!(t.ends(), 1);
    assert_eq!(status(), "applied");
    repo.agent("codex", &["undo", &id, "--yes"]).fails("human_approval_required", 4);
    repo.aye(&["undo", &id, "--yes", "--any-branch"]).ok();
    assert_eq!(status(), "pending");
}

/// Wherever the checkout is when it ends.
#[test]
fn a_session_proposes_for_the_branch_that_it_was_started_on() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    let script = format!("git -C '{}' switch -q -c other; echo two >>a.txt", repo.root().display());
    repo.agent("codex", &["run", "--keep", "--name", "x", "--", "sh", "-c", &script]).ok();
    assert_eq!(repo.git(&["branch", "--show-current"]).trim(), "other");
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["proposals"][0]["target_ref"], "refs/heads/main");
    let id = list["proposals"][0]["proposal_id"].as_str().expect("an id").to_owned();
    repo.aye(&["apply", &id, "--yes"]).fails("other_branch", 4);
    // Its tree follows the checkout, and what it proposes is for that.
    repo.aye(&["session", "sync", "x"]).ok();
    let tree = repo.aye(&["session", "path", "x"]).ok().out();
    std::fs::write(std::path::Path::new(tree.trim_end()).join("a.txt"), "one\n2\n").expect("write");
    repo.agent("codex", &["session", "submit", "x"]).ok();
    assert_eq!(target(&repo, &id)["ref"], "refs/heads/other");
}

#[test]
fn a_request_to_memory_has_a_branch_too() {
    let repo = Repo::with(&[("a.txt", "one\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.let_flags_decide();
    repo.commit("memory");
    repo.git(&["switch", "-q", "-c", "feature"]);
    let request = json!({
        "intent": "update_conventions",
        "rationale": "why",
        "operations": [{
            "operation": "append_to_section",
            "path": "conventions.md",
            "section_id": "conventions",
            "content": "- as on feature",
        }],
        "sources": [{"type": "user"}],
    });
    let run = repo.agent("codex", &["call", "memory.propose_update", &request.to_string()]).ok();
    let id = run.json()["proposal_id"].as_str().expect("an id").to_owned();
    repo.git(&["switch", "-q", "main"]);
    repo.aye(&["apply", &id, "--yes"]).fails("other_branch", 4);
    assert!(!repo.text(".agent-memory/conventions.md").contains("feature"));
    repo.aye(&["apply", &id, "--yes", "--any-branch"]).ok();
    assert!(repo.text(".agent-memory/conventions.md").contains("feature"));
}
