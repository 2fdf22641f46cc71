//! `aye wait`: an agent gets its answer.

use std::time::{Duration, Instant};

use crate::support::clones::exchange;
use crate::support::record::{apply, comment, propose, reject, request_changes, rewrite};
use crate::support::{Repo, Running};

const FILES: &[(&str, &str)] = &[("a.txt", "one\ntwo\n")];

/// Starts waiting, and comes back once it really waits.
fn waiting(repo: &Repo, args: &[&str]) -> Running {
    let mut all = vec!["wait"];
    all.extend(args);
    let running = repo.cmd(&all).spawn();
    running.pauses();
    running
}

#[test]
fn it_ends_with_the_decision() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let running = waiting(&repo, &[&id, "--timeout", "5m"]);
    comment(&repo, &id, "looking");
    apply(&repo, &id);
    running.wait().ok().says("looking");
    // Decided already: at once.
    repo.aye(&["wait", &id]).ok();

    let id = propose(&repo, "a.txt", "two", "zwei");
    let running = waiting(&repo, &[&id, "--json"]);
    reject(&repo, &id, "not now\u{1b}[2J");
    let run = running.wait().exits(1);
    assert!(!run.out().contains('\u{1b}'));
    let json = run.json();
    assert_eq!(json["schema"], "aye/wait@1");
    assert_eq!(json["status"], "rejected");
    assert_eq!(json["reason"], "not now\u{1b}[2J");
    assert_eq!(json["by"], "Ada Reviewer");
    assert_eq!(json["timed_out"], false);
}

#[test]
fn a_request_for_changes_is_exit_4_with_the_comments() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let running = waiting(&repo, &[&id]);
    comment(&repo, &id, "mind the case");
    request_changes(&repo, &id, "in capitals, please");
    let run = running.wait().exits(4);
    let run = run.says("in capitals, please");
    run.says("mind the case");
    let json = repo.aye(&["wait", &id, "--json"]).exits(4).json();
    assert_eq!(json["status"], "pending");
    assert_eq!(json["changes_requested"], true);
    assert_eq!(json["comments"][0]["body"], "mind the case");
}

#[test]
fn the_time_may_be_over_first() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let started = Instant::now();
    repo.aye(&["wait", &id, "--timeout", "1s"]).exits(124);
    assert!(started.elapsed() >= Duration::from_secs(1));
    let json = repo.aye(&["wait", &id, "--timeout", "1s", "--json"]).exits(124).json();
    assert_eq!(json["timed_out"], true);
    repo.aye(&["wait", &id, "--timeout", "soon"]).fails("usage", 2);
    for none in ["0", "0s"] {
        repo.aye(&["wait", &id, "--timeout", none]).exits(124);
    }
    repo.aye(&["wait", "prop_zzzzzzzzzz"]).fails("proposal_not_found", 3);
}

#[test]
fn expiry_ends_the_wait() {
    let repo = Repo::with(FILES);
    let args = ["propose", "a.txt", "--old", "one", "--new", "x", "--expires-in", "2s", "--json"];
    let json = repo.agent("codex", &args).ok().json();
    let id = json["proposal_id"].as_str().unwrap();
    repo.aye(&["wait", id]).exits(1).says("expired");
}

#[test]
fn a_decision_that_comes_by_fetch_is_noticed() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let other = Repo::with(FILES);
    exchange(&other, &repo);
    let running = waiting(&repo, &[&id]);
    apply(&other, &id);
    exchange(&repo, &other);
    running.wait().ok().says("applied");
}

#[test]
fn waiting_costs_next_to_nothing() {
    let repo = Repo::with(FILES);
    let id = propose(&repo, "a.txt", "one", "eins");
    let running = waiting(&repo, &[&id, "--timeout", "3s"]);
    let stat = format!("/proc/{}/stat", running.child.id());
    // This is what it costs while nothing happens: time passes, and nothing else.
    std::thread::sleep(Duration::from_millis(2000));
    if let Ok(stat) = std::fs::read_to_string(stat) {
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap().split_whitespace().collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        // A hundredth of a second each: a loop without pauses would have used two hundred.
        assert!(ticks < 50, "{ticks} ticks");
    }
    running.wait().exits(124);
}

#[test]
fn a_partial_apply_shows_its_changes_to_the_proposal() {
    let lines =
        |two: &str, nine: &str| format!("{two}\n3\n4\n5\n6\n7\n8\n{}{nine}\n", "-\n".repeat(9));
    let repo = Repo::with(&[("a.txt", lines("2", "9"))]);
    let id = rewrite(&repo, "a.txt", &lines("two", "nine"), "Say it in words");
    repo.let_flags_decide();
    repo.aye(&["apply", &id, "--hunks", "1", "--yes"]).ok();
    let run = repo.aye(&["wait", &id]).ok().shown("wait_partial");
    assert!(run.out().contains("-nine\n+9\n"), "{run}");
}
