//! Several proposals decided in one answer: named by filters, shown, and bound to what was shown.

use serde_json::{Value, json};

use crate::support::Repo;

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

fn group(repo: &Repo, args: &[&str]) -> String {
    let json = repo.aye(args).exits(if args[0] == "apply" { 5 } else { 0 }).json();
    json["group"].as_str().expect("a digest").to_owned()
}

/// The data of the last events, newest first.
fn data(repo: &Repo, count: usize) -> Vec<Value> {
    let lane = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
    let lane = lane.trim();
    let tree = |back: usize| format!("{lane}~{back}:event.json");
    let event =
        |back| serde_json::from_str::<Value>(&repo.git(&["show", &tree(back)])).expect("JSON");
    (0..count).map(|back| event(back)["data"].clone()).collect()
}

#[test]
fn a_group_is_applied_by_the_digest_of_what_was_shown() {
    let (repo, ids) = scene();
    let digest = group(&repo, &["apply", "--by", "bot", "--dry-run", "--json"]);
    let text = repo.aye(&["apply", "--by", "bot", "--dry-run"]).exits(5).out();
    let line = format!(
        "3 proposals by bot, +3 −3 in 3 files; exactly these: aye apply --by bot --yes={}\n",
        &digest[..12]
    );
    assert!(text.ends_with(&line), "{text}");
    repo.aye(&["apply", "--by", "bot", "--yes"]).fails("revision_required", 4);
    repo.aye(&["apply", "--by", "bot", "--yes=zz"]).fails("revision_required", 4);
    let yes = format!("--yes={}", &digest[..4]);
    let run = repo.aye(&["apply", "--by", "bot", &yes, "--json"]).exits(5).json();
    let failed: Vec<&str> = run["failed"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|failed| failed["proposal_id"].as_str())
        .collect();
    assert_eq!(failed, [&ids[3]]);
    assert_eq!(run["failed"][0]["code"], "conflict");
    assert_eq!(run["proposals"].as_array().expect("a list").len(), 3);
    assert_eq!(
        ["a", "b", "c", "d"].map(|path| repo.text(path)),
        ["1\ntwo\n3\n", "1\ntwo\n3\n", "1\ntwo\n3\n", "1\n2\n3\n"]
    );
    assert!(data(&repo, 3).iter().all(|data| data["group"] == digest.as_str()));
}

/// The command that a dry run prints at its end.
fn printed(run: &crate::support::Run) -> Vec<String> {
    let out = run.out();
    let (_, command) = out.rsplit_once("exactly these: aye ").expect("a command");
    command.split_whitespace().map(str::to_owned).collect()
}

#[test]
fn what_a_dry_run_prints_decides_just_that() {
    for (filter, flag) in [(true, "--with-lower"), (true, "--alone"), (false, "--alone")] {
        let repo = Repo::with(&[("a", &(1..=40).map(|at| format!("{at}\n")).collect::<String>())]);
        let lower =
            repo.agent("claude", &["propose", "a", "--old", "\n5\n", "--new", "\nV\n"]).id();
        let upper = ["propose", "--on", &lower, "a", "--old", "\n25\n", "--new", "\nXXV\n"];
        let upper = repo.agent("codex", &upper).id();
        let other =
            repo.agent("codex", &["propose", "a", "--old", "\n35\n", "--new", "\nXXXV\n"]).id();
        let named = if filter { vec!["--by", "codex"] } else { vec![upper.as_str(), &other] };
        let args = [&["apply"][..], &named, &[flag, "--index", "--dry-run"]].concat();
        let mut run = repo.aye(&args).ok();
        if flag == "--with-lower" {
            run = run.says("3 proposals by codex with what they stand on, +3 −3 in 1 file; ");
        }
        let command = printed(&run);
        repo.aye(&command.iter().map(String::as_str).collect::<Vec<_>>()).ok();
        let found = repo.text("a");
        assert_eq!(found.contains("\nV\n"), flag == "--with-lower", "{found}");
        assert!(found.contains("\nXXV\n") && found.contains("\nXXXV\n"), "{found}");
        assert_eq!(repo.git(&["diff", "--cached", "--name-only"]).trim(), "a");
    }
}

/// `--take-residue` approves more than was shown without it.
#[test]
fn a_digest_is_of_foreign_changes_too() {
    let (repo, ids) = scene();
    repo.write("a", "1\n2\n3\nmine\n");
    let apply = |more: &[&str]| repo.aye(&[&["apply", &ids[0], &ids[1]], more].concat());
    let plain = printed(&apply(&["--dry-run"]).ok());
    let taking = printed(&apply(&["--take-residue", "--dry-run"]).ok());
    assert!(taking.contains(&"--take-residue".to_owned()), "{taking:?}");
    let (plain, taking) = (plain.last().expect("a digest"), taking.last().expect("a digest"));
    apply(&[taking]).fails("changed_since_shown", 5);
    apply(&["--take-residue", plain]).fails("changed_since_shown", 5);
    apply(&["--take-residue", taking]).ok();
    let group = data(&repo, 1)[0]["group"].as_str().expect("a digest").to_owned();
    assert!(group.starts_with(taking.trim_start_matches("--yes=")), "{group} {taking}");
}

#[test]
fn what_is_not_what_was_shown_is_refused_whole() {
    let changes: [fn(&Repo, &[String]); 3] = [
        // Another proposal, another revision, another file below.
        |repo, _| {
            let late = ["propose", "e", "--old", "2\n", "--new", "late\n", "-q"];
            repo.agent("bot", &late).ok();
        },
        |repo, ids| {
            let revise = ["revise", &ids[0], "a", "--old", "2\n", "--new", "TWO\n"];
            repo.agent("bot", &revise).ok();
        },
        |repo, _| repo.write("b", "1\n2\n3\n4\n"),
    ];
    for change in changes {
        let (repo, ids) = scene();
        let digest = group(&repo, &["apply", "--by", "bot", "--dry-run", "--json"]);
        change(&repo, &ids);
        let yes = format!("--yes={digest}");
        repo.aye(&["apply", "--by", "bot", &yes]).fails("changed_since_shown", 5);
        assert_eq!(repo.text("a"), "1\n2\n3\n");
    }
}

#[test]
fn a_group_is_rejected_by_its_digest() {
    let (repo, ids) = scene();
    let digest = group(&repo, &["reject", "--by", "bot", "--dry-run", "--json"]);
    let yes = format!("--yes={}", &digest[..12]);
    repo.aye(&["reject", "--by", "other", &yes, "--reason", "no"]).fails("changed_since_shown", 5);
    repo.aye(&["reject", "--by", "bot", &yes, "--reason", "no"]).ok().says(&ids[3]);
    let list = repo.aye(&["list", "--json"]).ok().json();
    assert_eq!(list["count"], 1);
    let lane = repo.git(&["for-each-ref", "--format=%(refname)", "refs/aye/log"]);
    let names = repo.git(&["ls-tree", "-r", "--name-only", lane.trim()]);
    assert_eq!(names.lines().filter(|name| name.starts_with("events/")).count(), 4, "{names}");
    let event = repo.git(&["show", &format!("{}:events/0001.json", lane.trim())]);
    assert!(event.contains(&digest), "{event}");
}

#[test]
fn small_ones_are_meant_by_their_lines() {
    let (repo, ids) = scene();
    let long: String = (0..30).map(|n| format!("{n}\n")).collect();
    let args = ["propose", "long", "--content-file", "-", "-q"];
    let big = repo.cmd(&args).env("AYE_AGENT", "bot").stdin(&long).run().ok().id();
    let list = |most: &str| {
        let json = repo.aye(&["list", "--max-lines", most, "--json"]).ok().json();
        json["count"].as_u64()
    };
    assert_eq!([list("1"), list("2"), list("30")], [Some(0), Some(5), Some(6)]);
    let dry = repo.aye(&["apply", "--max-lines", "2", "--dry-run"]).exits(5).says(&ids[4]).out();
    assert!(!dry.contains(&big), "{dry}");
    assert!(dry.contains("of at most 2 lines") && dry.contains("aye apply --max-lines 2 --yes="));
}

/// What is not counted is shown as that, and no filter takes it for small.
#[test]
fn what_lines_do_not_measure_is_never_small() {
    let (repo, _) = scene();
    let propose = |name: &str, content: &[u8]| {
        let args = ["propose", name, "--content-file", "-", "-q"];
        repo.cmd(&args).env("AYE_AGENT", "padder").stdin(content).run().ok().id()
    };
    let padded = "x = 1\n".repeat(800_000);
    let large = propose("large", padded.as_bytes());
    let binary = propose("binary", b"#!/bin/sh\0\nrm -r x\n");
    let list = repo.aye(&["list", "--by", "padder", "--json"]).ok().json();
    for item in list["proposals"].as_array().unwrap() {
        assert_eq!([&item["added"], &item["removed"]], [&json!(null), &json!(null)], "{item:#}");
    }
    repo.aye(&["list", "--by", "padder"]).ok().says("+? −?");
    let small = repo.aye(&["list", "--max-lines", "1000000", "--json"]).ok().json();
    assert!(!small.to_string().contains(&large) && !small.to_string().contains(&binary));
    repo.aye(&["apply", "--by", "padder", "--max-lines", "3", "--dry-run"]).exits(3);
    let overview = repo.aye(&["review", "--overview"]).exits(4).out();
    assert!(overview.contains("2 not counted"), "{overview}");
    // A file of 2 MB is counted.
    let lines: String = (0..200_000).map(|n| format!("line {n}\n")).collect();
    propose("lines", lines.as_bytes());
    repo.aye(&["list", "--by", "padder"]).ok().says("+200000 −0");
}
