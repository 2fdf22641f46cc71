//! `aye revise` with edits: on the files, or on what the proposal makes of them itself.

use serde_json::{Value, json};

use crate::support::record::{apply, propose, request_changes};
use crate::support::{Repo, Run};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "bee\n")];

fn revise(repo: &Repo, id: &str, edit: &[&str]) -> Run {
    repo.agent("codex", &[&["revise", id], edit].concat())
}

/// The proposed content of `path`.
fn proposed(repo: &Repo, id: &str, path: &str) -> String {
    let object = format!("refs/aye/pending/{id}:{path}");
    repo.program("git").args(&["cat-file", "blob", object.as_str()]).run().ok().out()
}

fn with_two_files(repo: &Repo) -> String {
    let edits = json!({ "edits": [
        { "file_path": "a.txt", "old_content": "one", "new_content": "ONE" },
        { "file_path": "new.txt", "content": "alpha\nbeta\n" },
    ]});
    let propose = repo.cmd(&["propose", "--from-json", "-", "-q", "-m", "why"]);
    propose.env("AYE_AGENT", "codex").stdin(edits.to_string()).run().ok().id()
}

#[test]
fn an_edit_of_what_the_proposal_itself_writes_keeps_the_rest_of_it() {
    let repo = Repo::with(FILES);
    let id = with_two_files(&repo);
    request_changes(&repo, &id, "BETA please");
    let run = revise(&repo, &id, &["new.txt", "--old", "beta", "--new", "BETA"]).ok();
    run.says("revision 2");
    assert_eq!(proposed(&repo, &id, "new.txt"), "alpha\nBETA\n");
    assert_eq!(proposed(&repo, &id, "a.txt"), "ONE\ntwo\nthree\n");
    // In a file that it changes, beside one that it does not.
    let edits = repo.edits(&[["a.txt", "ONE\ntwo", "Uno\ndue"], ["b.txt", "bee", "ape"]]);
    revise(&repo, &id, &["--from-json", &edits]).ok().lacks("@@");
    assert_eq!(proposed(&repo, &id, "a.txt"), "Uno\ndue\nthree\n");
    repo.aye(&["show", &id]).ok().says("-one\n-two\n+Uno\n+due\n").says("+ape").says("+BETA");
    // What it creates is deleted again.
    revise(&repo, &id, &["new.txt", "--delete"]).ok().lacks("a.txt");
    apply(&repo, &id);
    assert!(!repo.exists("new.txt"));
    assert_eq!(repo.text("a.txt"), "Uno\ndue\nthree\n");
}

#[test]
fn an_edit_of_the_file_replaces_the_proposal_and_says_what_is_gone() {
    let repo = Repo::with(FILES);
    let id = with_two_files(&repo);
    let run = revise(&repo, &id, &["a.txt", "--old", "three", "--new", "THREE"]).ok();
    run.says("a.txt @@ -1 +1 @@\n").says("new.txt\n");
    assert_eq!(proposed(&repo, &id, "a.txt"), "one\ntwo\nTHREE\n");
    // Another text for the same line takes its place.
    let run = revise(&repo, &id, &["a.txt", "--old", "three", "--new", "drei", "--json"]);
    assert_eq!(run.ok().json().get("dropped"), None);
    let json = revise(&repo, &id, &["b.txt", "--old", "bee", "--new", "ape", "--json"]);
    assert_eq!(json.ok().json()["dropped"], json!([{ "file_path": "a.txt" }]));
}

#[test]
fn edits_that_fit_neither_say_where_they_are_looked_for() {
    let repo = Repo::with(FILES);
    let id = with_two_files(&repo);
    // One is in the file alone, one in the proposal alone.
    let edits = repo.edits(&[["a.txt", "one", "1"], ["new.txt", "beta", "2"]]);
    let run = revise(&repo, &id, &["--from-json", &edits]).fails("old_content_not_found", 6);
    run.notes(&id);
    let twice = ["new.txt", "--old", "a", "--new", "A"];
    let run = revise(&repo, &id, &twice).fails("old_content_ambiguous", 6);
    assert!(!run.err().contains("--on"), "{run}");
    revise(&repo, &id, &["a.txt", "--old", "four", "--new", "4"]).fails("old_content_not_found", 6);
    revise(&repo, &id, &["c.txt", "--old", "four", "--new", "4"]).fails("file_not_found", 3);
}

#[test]
fn the_tool_makes_edits_on_the_proposal_too() {
    let repo = Repo::with(FILES);
    let id = with_two_files(&repo);
    let call = |edit: Value| {
        let arguments = json!({ "proposal_id": id, "edits": [edit] }).to_string();
        repo.agent("codex", &["call", "revise", &arguments]).ok().json()
    };
    let edit = |path: &str, old: &str, new: &str| json!({ "file_path": path, "old_content": old, "new_content": new });
    assert_eq!(call(edit("new.txt", "alpha", "ALPHA")).get("dropped"), None);
    assert_eq!(proposed(&repo, &id, "new.txt"), "ALPHA\nbeta\n");
    let dropped = json!([
        { "file_path": "a.txt", "hunks": ["@@ -1 +1 @@"] }, { "file_path": "new.txt" },
    ]);
    assert_eq!(call(edit("a.txt", "two", "TWO"))["dropped"], dropped);
}

#[test]
fn a_note_on_a_revision_leaves_the_description() {
    let repo = Repo::with(FILES);
    repo.let_flags_decide();
    let id = with_two_files(&repo);
    let edit = ["a.txt", "--old", "three", "--new", "drei"];
    revise(&repo, &id, &[&edit[..], &["-m", "As asked"]].concat()).ok();
    let item = repo.item(&id);
    assert_eq!([&item["description"], &item["note"]], ["why", "As asked"]);
    repo.aye(&["show", &id]).ok().says("As asked").says("why");
    let arguments = json!({ "proposal_id": id, "note": "Once more", "edits": [
        { "file_path": "a.txt", "old_content": "three", "new_content": "trois" } ]});
    repo.agent("codex", &["call", "revise", &arguments.to_string()]).ok();
    let item = repo.item(&id);
    assert_eq!([&item["description"], &item["note"]], ["why", "Once more"]);
    let notes = item["history"].as_array().expect("a list").iter();
    let notes: Vec<_> = notes.map(|revision| revision["note"].as_str()).collect();
    assert_eq!(notes, [None, Some("As asked"), Some("Once more")]);
    revise(&repo, &id, &["--description", "Say trois"]).ok();
    let item = repo.item(&id);
    assert_eq!((&item["description"], item.get("note")), (&json!("Say trois"), None));
    revise(&repo, &id, &["-m", "Nothing else"]).ok();
    repo.aye(&["apply", &repo.at_revision(&id), "--yes", "--commit"]).ok();
    assert_eq!(repo.git(&["log", "-1", "--format=%s"]).trim(), "Say trois");
}

#[test]
fn a_renamed_file_and_one_on_a_stack_are_edited_as_the_proposal_makes_them() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\nfour\nfive\n")]);
    let patch = "diff --git a/a.txt b/b.txt\nsimilarity index 80%\nrename from a.txt\nrename to b.txt\n\
                 --- a/a.txt\n+++ b/b.txt\n@@ -1,2 +1,2 @@\n-one\n+ONE\n two\n";
    let cmd = repo.cmd(&["propose", "--patch", "-", "-q"]).env("AYE_AGENT", "codex");
    let id = cmd.stdin(patch).run().ok().id();
    revise(&repo, &id, &["b.txt", "--old", "four", "--new", "FOUR"]).ok();
    repo.aye(&["diff", &id]).ok().says("+ONE").says("+FOUR");
    let repo = Repo::with(FILES);
    let lower = propose(&repo, "a.txt", "one", "ONE");
    let args = ["propose", "--on", &lower, "a.txt", "--old", "ONE\ntwo", "--new", "ONE\nTWO", "-q"];
    let upper = repo.agent("codex", &args).ok().id();
    revise(&repo, &upper, &["a.txt", "--old", "TWO", "--new", "Zwei"]).ok();
    let shown = repo.item(&upper);
    assert_eq!(shown["on"]["proposal"], lower);
    assert_eq!(proposed(&repo, &upper, "a.txt"), "ONE\nZwei\nthree\n");
}
