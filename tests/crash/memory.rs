//! The program is stopped at every write step of a memory proposal that applies, of one that is
//! staged, and of `apply` of several files. The next command finds all old or all new, and
//! nothing lost that had been acknowledged.

use crate::support::steps::STORE;
use crate::support::{self, Repo};
use serde_json::{Value, json};

/// Every step at which files are written.
const FILES: &[&str] = &[
    "journal.write", "journal.half", "journal.written", "worktree.create", "worktree.rename",
    "journal.commit", "journal.committed", "worktree.clean", "journal.remove",
];

const FIELDS: &str = "Date: 2026-01-02\nStatus: active\nConfidence: confirmed\n";

fn store() -> Repo {
    let repo = Repo::with(&[("src/db.rs", "// db\n")]);
    repo.aye(&["memory", "init"]).ok();
    repo.let_flags_decide();
    repo.write(
        ".agent-memory/decisions.md",
        format!("# Decisions\n<!-- @id: decisions -->\n\n## A\n<!-- @id: a -->\n\n{FIELDS}\nold\n"),
    );
    repo.commit("memory");
    // Acknowledged before, so never to be lost.
    propose(&repo, &append("- acknowledged")).ok().says("\"applied\"");
    repo
}

fn append(content: &str) -> Value {
    json!({"intent": "add_pitfall", "operations": [{"operation": "append_to_section",
        "path": "pitfalls.md", "section_id": "pitfalls", "content": content}]})
}

/// Three files at once: a section goes to the archive, another one comes, and the page follows.
fn several() -> Value {
    json!({"intent": "record_decision", "sources": [{"type": "user"}], "operations": [
        {"operation": "append_section", "path": "decisions.md", "heading": "B", "heading_level": 2,
         "content": format!("## B\n\n{FIELDS}")},
        {"operation": "remove_section", "path": "decisions.md", "section_id": "a",
         "archive_path": "archive/a.md"},
    ]})
}

fn propose(repo: &Repo, request: &Value) -> support::Run {
    repo.agent("bot", &["call", "memory.propose_update", &request.to_string()])
}

/// The store's own files, without what git ignores.
fn files(repo: &Repo) -> Vec<(String, Vec<u8>)> {
    let mut files = repo.snapshot();
    let ignored = ["/staging/", "/proposals/", "/meta/lock"];
    files.retain(|(name, _)| !ignored.iter().any(|part| name.contains(part)));
    files
}

/// How many memory proposals have been applied; the command settles what was left over.
fn applied(repo: &Repo) -> usize {
    let log = repo.aye(&["list", "--status", "applied", "--json"]).ok().json();
    log["proposals"].as_array().expect("a list").len()
}

fn pending(repo: &Repo) -> usize {
    let status = repo.aye(&["memory", "status", "--json"]).ok().json();
    status["staged_updates"].as_array().expect("a list").len()
}

/// Runs `args` with the process stopped the nth time it reaches `point`; false if it never did.
fn stopped(repo: &Repo, args: &[&str], point: &str, hit: usize) -> bool {
    let run = repo.cmd(args).env("FAILPOINTS", format!("{point}={hit}*off->return")).run();
    if run.status == 0 {
        return false;
    }
    // SIGABRT; anything else is a failure that should not be.
    run.exits(128 + 6);
    true
}

fn assert_sound(repo: &Repo, what: &str) {
    repo.aye(&["doctor", "--repair"]).ok();
    let left: Vec<String> = repo
        .snapshot()
        .into_iter()
        .map(|(name, _)| name)
        .filter(|name| name.contains(".aye-"))
        .collect();
    assert!(left.is_empty(), "{what}: {left:?}");
    let lint = repo.aye(&["memory", "lint"]).ok().out();
    assert!(!lint.contains("memory_index"), "{what}: {lint}");
    assert!(repo.text(".agent-memory/pitfalls.md").contains("acknowledged"), "{what}");
    repo.git(&["fsck", "--strict", "--no-dangling"]);
}

/// Stops `args` at every one of `points`; files are then `old` or `new`, as the store says.
fn every_step(points: &[&str], args: &dyn Fn(&Repo) -> Vec<String>) {
    let start = store();
    let args = args(&start);
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let before = applied(&start);
    let (old, new) = {
        let repo = start.copy();
        let old = files(&repo);
        repo.aye(&args).ok();
        (old, files(&repo))
    };
    assert_ne!(old, new);
    for point in points {
        for hit in 0.. {
            let repo = start.copy();
            let what = format!("{point} {hit}");
            if !stopped(&repo, &args, point, hit) {
                assert!(hit > 0, "{point} is never reached");
                break;
            }
            let done = applied(&repo) > before;
            let expected = if done { &new } else { &old };
            assert!(files(&repo) == *expected, "{what}: recorded {done}, and the files differ");
            if !done {
                repo.aye(&args).ok();
                assert!(files(&repo) == new, "{what}: again");
                assert_eq!(applied(&repo), before + 1, "{what}");
            }
            assert_sound(&repo, &what);
        }
    }
}

#[test]
fn a_proposal_that_applies_stopped_at_every_step() {
    let points: Vec<&str> = STORE.iter().chain(FILES).chain(&["apply.event"]).copied().collect();
    let call = |_: &Repo| {
        let request = append("- new").to_string();
        ["call", "memory.propose_update", &request].map(str::to_owned).to_vec()
    };
    every_step(&points, &call);
}

#[test]
fn an_apply_of_several_files_stopped_at_every_step() {
    let points: Vec<&str> =
        STORE.iter().chain(FILES).chain(&["worktree.mkdir", "apply.event"]).copied().collect();
    let apply = |repo: &Repo| {
        let answer = propose(repo, &several()).ok().json();
        let id = answer["staging_id"].as_str().expect("staged").to_owned();
        ["apply", &id, "--yes"].map(str::to_owned).to_vec()
    };
    every_step(&points, &apply);
}

#[test]
fn an_undo_of_several_files_stopped_at_every_step() {
    let points: Vec<&str> =
        STORE.iter().chain(FILES).chain(&["worktree.remove", "undo.event"]).copied().collect();
    let start = store();
    let old = files(&start);
    let answer = propose(&start, &several()).ok().json();
    let id = answer["proposal_id"].as_str().expect("an id").to_owned();
    start.aye(&["apply", &id, "--yes"]).ok();
    let new = files(&start);
    for point in points {
        for hit in 0.. {
            let repo = start.copy();
            let what = format!("{point} {hit}");
            let args = ["undo", &id, "--yes"];
            if !stopped(&repo, &args, point, hit) {
                assert!(hit > 0, "{point} is never reached");
                break;
            }
            let undone = pending(&repo) == 1;
            assert!(files(&repo) == *if undone { &old } else { &new }, "{what}: {undone}");
            if !undone {
                repo.aye(&args).ok();
                assert!(files(&repo) == old, "{what}: again");
            }
            assert_sound(&repo, &what);
        }
    }
}

#[test]
fn a_proposal_that_is_staged_stopped_at_every_step() {
    let request = several();
    let start = store();
    for point in STORE.iter().chain(&["worktree.create", "worktree.rename", "worktree.mkdir"]) {
        for hit in 0.. {
            let repo = start.copy();
            let before = files(&repo);
            let args = ["call", "memory.propose_update", &request.to_string()];
            let what = format!("{point} {hit}");
            if !stopped(&repo, &args, point, hit) {
                assert!(hit > 0, "{point} is never reached");
                break;
            }
            assert!(pending(&repo) <= 1, "{what}");
            assert!(files(&repo) == before, "{what}: staging writes no file of the store");
            // An agent that saw no answer asks again, and there is one proposal in the end.
            let again = propose(&repo, &request).ok().json();
            assert_eq!(again["status"], "staged", "{what}: {again:#}");
            assert_eq!(pending(&repo), 1, "{what}");
            assert_sound(&repo, &what);
            repo.aye(&["apply", "--latest", "--yes"]).ok();
            assert!(repo.exists(".agent-memory/archive/a.md"), "{what}");
        }
    }
}
