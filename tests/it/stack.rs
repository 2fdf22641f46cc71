//! Proposals on top of others: `propose --on`, what an agent's own session stacks by itself, and what
//! follows when the lower one is revised.

use crate::support::{Repo, Run};
use serde_json::{Value, json};

fn scene() -> Repo {
    let lines: String = (1..=9).map(|n| format!("line {n}\n")).collect();
    Repo::with(&[("f", lines.as_str()), ("g", "g\n")])
}

/// As an agent in the session `session`.
fn within(repo: &Repo, session: &str, args: &[&str]) -> Run {
    repo.cmd(args).env("AYE_AGENT", "codex").env("AYE_SESSION", session).run()
}

fn edit(repo: &Repo, session: &str, old: &str, new: &str) -> Run {
    within(repo, session, &["propose", "f", "--old", old, "--new", new, "--json"])
}

fn id(run: Run) -> String {
    run.ok().id()
}

fn shown(repo: &Repo, id: &str) -> Value {
    repo.item(id)
}

/// What the pending commit of `id` changes against its first parent.
fn diff(repo: &Repo, id: &str) -> String {
    let commit = format!("refs/aye/pending/{id}");
    repo.git(&["diff-tree", "-p", "-U0", "--no-commit-id", &format!("{commit}^1"), &commit])
}

#[test]
fn an_edit_on_a_proposal_is_matched_in_its_result() {
    let repo = scene();
    let lower = id(edit(&repo, "s", "line 5\n", "five\n"));
    let args = ["propose", "--on", &lower, "f", "--old", "five\n", "--new", "FIVE\n"];
    let upper = repo.agent("claude", &args).ok().id();
    let document = shown(&repo, &upper);
    let revision = shown(&repo, &lower)["revision"].clone();
    assert_eq!(document["on"], json!({ "proposal": lower, "revision": revision }));
    // Only its own change is proposed, on the commit of the lower one.
    let own = diff(&repo, &upper);
    assert!(own.contains("-five") && own.contains("+FIVE") && !own.contains("line 5"), "{own}");
    let parent = repo.git(&["rev-parse", &format!("refs/aye/pending/{upper}^1")]);
    assert_eq!(parent, repo.git(&["rev-parse", &format!("refs/aye/pending/{lower}")]));
    repo.aye(&["doctor"]).ok();
    repo.aye(&["apply", &upper, "--yes"]).fails("stands_on", 5);
    repo.aye(&["apply", &upper, "--with-lower", "--yes"]).ok();
    assert!(repo.text("f").contains("FIVE"));
}

#[test]
fn a_patch_and_another_file_go_on_top_too() {
    let repo = scene();
    let lower = id(edit(&repo, "s", "line 5\n", "five\n"));
    let patch = "--- a/f\n+++ b/f\n@@ -5 +5 @@\n-five\n+FIVE\n";
    let cmd = repo.cmd(&["propose", "--on", &lower, "--patch", "-", "--unidiff-zero", "-q"]);
    let upper = cmd.env("AYE_AGENT", "codex").stdin(patch).run().ok().id();
    assert_eq!(shown(&repo, &upper)["on"]["proposal"], lower);
    // Another file: nothing but the record says so.
    let args = ["propose", "--on", &upper, "g", "--old", "g\n", "--new", "G\n", "-q"];
    let top = repo.agent("codex", &args).ok().id();
    let list = repo.aye(&["list", "--json"]).ok().json();
    let all = list["proposals"].as_array().expect("a list");
    let item = all.iter().find(|item| item["proposal_id"] == top.as_str()).expect("listed");
    assert_eq!(item["stands_on"], json!([upper]));
    let run = repo.aye(&["apply", &top, "--yes"]).fails("stands_on", 5);
    run.notes(&upper);
    let args = ["propose", "--on", &lower, "--commit", "HEAD"];
    repo.agent("codex", &args).exits(2);
}

#[test]
fn a_session_goes_on_from_its_own_proposal() {
    let repo = scene();
    let lower = id(edit(&repo, "s", "line 5\n", "five\n"));
    let run = edit(&repo, "s", "five\n", "FIVE\n").ok().json();
    assert_eq!(run["stands_on"], lower.as_str());
    let upper = run["proposal_id"].as_str().expect("an id").to_owned();
    // Both hold "line 4" and neither what only a third makes; the highest of the stack is taken.
    let top = edit(&repo, "s", "line 4\nFIVE\n", "4\n5\n").ok().json();
    assert_eq!(top["stands_on"], upper.as_str());
    // What fits the files is on the files.
    assert!(edit(&repo, "s", "line 9\n", "nine\n").ok().json().get("stands_on").is_none());
}

#[test]
fn nothing_is_stacked_without_the_same_session() {
    let repo = scene();
    let lower = id(edit(&repo, "s", "line 5\n", "five\n"));
    edit(&repo, "t", "five\n", "FIVE\n").fails("old_content_not_found", 6).json();
    let again = ["propose", "f", "--old", "five\n", "--new", "FIVE\n"];
    let run = repo.agent("codex", &again).fails("old_content_not_found", 6);
    run.notes(&format!("aye propose --on {lower}"));
    let other = repo.cmd(&again).env("AYE_AGENT", "claude").env("AYE_SESSION", "s").run();
    other.fails("old_content_not_found", 6);
}

#[test]
fn what_a_reviewer_spoke_about_is_revised_first() {
    let repo = scene();
    let lower = id(edit(&repo, "s", "line 5\n", "five\n"));
    repo.aye(&["comment", &lower, "-m", "why five?"]).ok();
    let args = ["propose", "f", "--old", "five\n", "--new", "FIVE\n"];
    let run = within(&repo, "s", &args).fails("old_content_not_found", 6);
    run.notes(&format!("aye revise {lower}"));
    let revise = ["revise", &lower, "f", "--old", "line 5\n", "--new", "five!\n"];
    within(&repo, "s", &revise).ok();
    assert_eq!(edit(&repo, "s", "five!\n", "FIVE\n").ok().json()["stands_on"], lower.as_str());
    repo.aye(&["comment", &lower, "--request-changes", "-m", "no"]).ok();
    let args = ["propose", "f", "--old", "five!\n", "--new", "5\n"];
    within(&repo, "s", &args).fails("old_content_not_found", 6);
}

#[test]
fn what_does_not_fit_the_revision_stays() {
    let repo = scene();
    let lower = id(edit(&repo, "s", "line 5\n", "five\n"));
    let upper = id(edit(&repo, "s", "five\nline 6\n", "five\nsix\n"));
    let top = id(edit(&repo, "s", "six\n", "SIX\n"));
    let revise = ["revise", &lower, "f", "--old", "line 2\n", "--new", "two\n", "--json"];
    let answer = within(&repo, "s", &revise).ok().json();
    // `upper` replaces the line that is no longer there; what stands on it stays with it.
    assert_eq!(answer.get("rebased"), None);
    assert_eq!(answer["not_rebased"], json!([upper, top]));
    repo.aye(&["doctor"]).ok();
}

#[test]
fn a_stack_that_fits_is_rebased_and_applies_in_order() {
    let repo = scene();
    let lower = id(edit(&repo, "s", "line 5\n", "five\n"));
    let upper = id(edit(&repo, "s", "five\nline 6\n", "five\nsix\n"));
    let top = id(edit(&repo, "s", "six\n", "SIX\n"));
    let args = ["propose", "--on", &lower, "f", "--old", "line 8\n", "--new", "8\n", "-q"];
    let foreign = repo.agent("claude", &args).ok().id();
    let edits = repo.edits(&[["f", "line 5\n", "five\n"], ["f", "line 2\n", "two\n"]]);
    let both = ["revise", &lower, "--from-json", &edits, "--json"];
    let answer = within(&repo, "s", &both).ok().json();
    assert_eq!(answer["rebased"], json!([upper, top]));
    assert_eq!(answer["not_rebased"], json!([foreign]));
    for upper in [&upper, &top] {
        let own = diff(&repo, upper);
        assert!(!own.contains("two") && own.matches("\n@@ ").count() == 1, "{own}");
    }
    let list = repo.aye(&["list", "--json"]).ok().json();
    let all = list["proposals"].as_array().expect("a list").iter();
    let revised: Vec<&Value> = all.filter(|item| item.get("lower_revised").is_some()).collect();
    assert_eq!(revised.len(), 1);
    assert_eq!(revised[0]["proposal_id"], foreign.as_str());
    repo.aye(&["doctor"]).ok();
    let named: Vec<String> = [&lower, &upper, &top]
        .iter()
        .map(|id| format!("{id}@{}", &shown(&repo, id)["revision"].as_str().expect("one")[..12]))
        .collect();
    let words = [&["apply", "--yes"][..], &named.iter().map(String::as_str).collect::<Vec<_>>()];
    repo.aye(&words.concat()).ok();
    assert_eq!(repo.text("f"), "line 1\ntwo\nline 3\nline 4\nfive\nSIX\nline 7\nline 8\nline 9\n");
    // The other agent's is merged when it is shown.
    repo.aye(&["apply", &foreign, "--yes"]).ok();
    assert!(repo.text("f").contains("\n8\n"));
}

#[test]
fn a_revision_of_an_upper_one_is_made_on_the_lower() {
    let repo = scene();
    let lower = id(edit(&repo, "s", "line 5\n", "five\n"));
    let upper = id(edit(&repo, "s", "five\n", "FIVE\n"));
    let revise = ["revise", &upper, "f", "--old", "five\n", "--new", "Five\n"];
    within(&repo, "s", &revise).ok();
    assert_eq!(shown(&repo, &upper)["on"]["proposal"], lower);
    within(&repo, "s", &["revise", &upper, "-m", "why"]).ok();
    assert_eq!(shown(&repo, &upper)["on"]["proposal"], lower);
}

#[test]
fn tools_say_what_a_proposal_stands_on() {
    let repo = scene();
    let lower = id(edit(&repo, "s", "line 5\n", "five\n"));
    let call = |tool: &str, arguments: Value| {
        let text = arguments.to_string();
        let cmd = repo.cmd(&["call", tool, &text]).env("AYE_AGENT", "codex");
        cmd.env("AYE_SESSION", "s").run().ok().json()
    };
    let change = json!({ "action": "propose", "file_path": "f", "old_content": "five\n",
                         "new_content": "FIVE\n" });
    let upper = call("changes", change);
    assert_eq!(upper["stands_on"], lower.as_str());
}
