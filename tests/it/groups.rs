//! Several proposals decided in one answer: named by filters at a terminal, by ids without a question.

use serde_json::{Value, json};

use crate::support::Repo;
use crate::support::forger;
use crate::support::terminal::Terminal;

/// Five files; four proposals of one agent, one of another; two of the four on one line.
fn scene() -> (Repo, Vec<String>) {
    let files = ["a", "b", "c", "d", "e"].map(|name| (name, "1\n2\n3\n"));
    let repo = Repo::with(&files);
    let propose = |agent: &str, path: &str, new: &str| {
        repo.agent(agent, &["propose", path, "--old", "2\n", "--new", new, "-q"]).ok().id()
    };
    let ids = vec![
        propose("bot", "a", "two\n"),
        propose("bot", "b", "two\n"),
        propose("bot", "c", "two\n"),
        propose("bot", "c", "deux\n"),
        propose("other", "d", "two\n"),
    ];
    (repo, ids)
}

/// `group` in the statement of each proposal that was decided.
fn groups(repo: &Repo) -> Vec<Value> {
    let decided = forger::decisions(repo).into_iter();
    decided.map(|decided| decided.statement.expect("a statement")["group"].clone()).collect()
}

fn terminal(repo: &Repo, args: &[&str]) -> Terminal {
    Terminal::dumb(repo.cmd(args))
}

#[test]
fn a_group_is_applied_at_a_terminal_and_named_in_each_event() {
    let (repo, ids) = scene();
    let mut t = terminal(&repo, &["apply", "--by", "bot"]);
    t.sees(&ids[3]).sees("Apply 3").types("y");
    assert_eq!(t.ends(), 0);
    assert_eq!(
        ["a", "b", "c", "d"].map(|path| repo.text(path)),
        ["1\ntwo\n3\n", "1\ntwo\n3\n", "1\ntwo\n3\n", "1\n2\n3\n"]
    );
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 2);
    let groups = groups(&repo);
    assert_eq!((groups.len(), &groups[0], &groups[1]), (3, &groups[1], &groups[2]));
    assert_eq!(groups[0].as_str().map(str::len), Some(64));
}

#[test]
fn a_group_is_rejected_at_a_terminal() {
    let (repo, _) = scene();
    let mut t = terminal(&repo, &["reject", "--by", "bot"]);
    t.sees("Reject 4").types("y").sees("because").types("no\r");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.aye(&["list", "--json"]).ok().json()["count"], 1);
    let groups = groups(&repo);
    assert!(groups.len() == 4 && groups.iter().all(|group| *group == groups[0]), "{groups:?}");
}

#[test]
fn without_a_question_each_is_named() {
    let (repo, ids) = scene();
    let before = repo.snapshot();
    for verb in ["apply", "reject"] {
        let refused = repo.aye(&[verb, "--by", "bot", "--yes", "--json"]).exits(4).json();
        assert_eq!(refused["error"]["code"], "revision_required");
        let named = refused["error"]["details"]["proposals"].as_array().expect("a list").clone();
        assert_eq!(named.len(), 4);
        assert!(named[0].as_str().expect("text").starts_with(&format!("{}@", ids[0])));
        repo.aye(&[verb, "--by", "bot"]).fails("confirmation_required", 4);
    }
    repo.aye(&["apply", "--by", "bot", "--dry-run"]).fails("usage", 2);
    assert_eq!(repo.snapshot(), before);
    let [first, second] = [&ids[0], &ids[1]];
    repo.aye(&["apply", first, second, "--yes"]).ok();
    let groups = groups(&repo);
    assert!(groups.len() == 2 && groups[0].is_string() && groups[0] == groups[1], "{groups:?}");
}

#[test]
fn lines_of_large_and_binary_files_are_not_counted() {
    let (repo, _) = scene();
    let propose = |name: &str, content: &[u8]| {
        let args = ["propose", name, "--content-file", "-", "-q"];
        repo.cmd(&args).env("AYE_AGENT", "padder").stdin(content).run().ok().id()
    };
    let padded = "x = 1\n".repeat(800_000);
    propose("large", padded.as_bytes());
    propose("binary", b"#!/bin/sh\0\nrm -r x\n");
    let list = repo.aye(&["list", "--by", "padder", "--json"]).ok().json();
    for item in list["proposals"].as_array().unwrap() {
        assert_eq!([&item["added"], &item["removed"]], [&json!(null), &json!(null)], "{item:#}");
    }
    repo.aye(&["list", "--by", "padder"]).ok().says("+? −?");
    // A file of 2 MB is counted.
    let lines: String = (0..200_000).map(|n| format!("line {n}\n")).collect();
    propose("lines", lines.as_bytes());
    repo.aye(&["list", "--by", "padder"]).ok().says("+200000 −0");
}
