//! `aye demo`: the whole main job, in a scratch repository, without touching the real one.

use crate::support::{self, Repo};

/// A run in a terminal-less place, the scratch repository at `play` beside the work folder.
fn demo(repo: &Repo, extra: &[&str]) -> support::Run {
    let play = repo.outer().join("play");
    repo.cmd(&["demo", "--dir"]).args(&[play]).args(extra).run()
}

#[test]
fn outside_of_a_repository_it_generates_one() {
    let repo = Repo::outside();
    let run = demo(&repo, &[]).ok().plain();
    for said in ["a small generated repository", "$ aye list", "$ aye diff", "cd "] {
        assert!(run.out().contains(said), "{said}\n{run}");
    }
    let play = repo.outer().join("play");
    let git = |args: &[&str]| repo.program("git").args(args).dir(&play).run().ok().out();
    git(&["fsck", "--strict"]);
    assert!(git(&["log", "--oneline"]).lines().count() >= 3, "it has a history");
    let list = repo.cmd(&["list", "--status", "all", "--json"]).dir(&play).run().ok().json();
    let mut statuses: Vec<String> = list["proposals"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["status"].as_str().unwrap().to_owned())
        .collect();
    statuses.sort();
    assert_eq!(statuses, ["applied", "pending", "pending", "pending", "pending", "rejected"]);
}

/// What is left over can be applied, and every command that is named exists.
#[test]
fn what_is_left_waits_for_a_review() {
    for repo in
        [Repo::outside(), Repo::with(&[("a.md", "# Title of it\n"), ("b.md", "Some words\n")])]
    {
        let run = demo(&repo, &["--json"]).ok().json();
        let play = repo.outer().join("play");
        for id in run["waiting"].as_array().expect("a list") {
            let id = id.as_str().expect("an id");
            repo.cmd(&["apply", id, "--yes", "--dry-run"]).dir(&play).run().ok();
        }
        let hunks = run["waiting"][0].as_str().expect("an id");
        let diff = repo.cmd(&["diff", hunks]).dir(&play).run().ok().out();
        assert!(diff.contains("@@"), "{diff}");
        let last = run["waiting"][2].as_str().expect("an id");
        let list = repo.cmd(&["list", "--json"]).dir(&play).run().ok().json();
        let items = list["proposals"].as_array().expect("a list");
        let risky = items.iter().find(|item| item["proposal_id"] == last).expect("it");
        assert_eq!(risky["risks"], serde_json::json!(["sensitive"]));
    }
    // Not on PATH, so its path is what there is to type.
    let repo = Repo::outside();
    let path = std::env::var_os("PATH").expect("a PATH");
    let others = std::env::split_paths(&path).filter(|directory| !directory.join("aye").exists());
    let path = std::env::join_paths(others).expect("a PATH");
    let play = repo.outer().join("play");
    let run = repo.cmd(&["demo", "--dir"]).args(&[play]).env("PATH", path).run().ok();
    run.says("/aye review ").lacks("  aye review ");
}

#[cfg(unix)]
#[test]
fn at_a_terminal_the_review_begins_at_once() {
    let repo = Repo::outside();
    let play = repo.outer().join("play");
    let start = || {
        let cmd =
            repo.cmd(&["demo", "--dir"]).args(std::slice::from_ref(&play)).env("TERM", "dumb");
        support::terminal::Terminal::start(cmd, 50, 100)
    };
    let mut t = start();
    t.sees("Enter: review them now")
        .types("\r")
        .sees("4 pending")
        .sees("]? ")
        .types("\r")
        .sees("(1/4)")
        .sees("! .github/workflows/agents.yml");
    t.types("y").sees("(2/4)").types("q").sees("kept").sees("Go on there");
    assert_eq!(t.ends(), 0);
    std::fs::remove_dir_all(&play).expect("removed");
    let mut t = start();
    t.sees("Enter: review them now").types("\x1b").sees("Go on there");
    assert_eq!(t.ends(), 0);
}

#[test]
fn inside_a_repository_it_clones_and_leaves_the_original_alone() {
    let repo = Repo::with(&[
        ("README.md", "# A project\n\nIt does this and that.\n"),
        ("src/main.rs", "fn main() {\n    println!(\"hello\");\n}\n"),
    ]);
    let before = (repo.snapshot(), repo.git(&["for-each-ref"]), repo.git(&["count-objects"]));
    let run = demo(&repo, &["--json"]).ok();
    let json = run.json();
    assert!(json["origin"].as_str().unwrap().starts_with("a clone of "), "{run}");
    assert_eq!(json["schema"], "aye/demo@1");
    let after = (repo.snapshot(), repo.git(&["for-each-ref"]), repo.git(&["count-objects"]));
    assert_eq!(before, after);
    let stale = json["stale"].as_str().unwrap();
    let play = repo.outer().join("play");
    repo.cmd(&["apply", stale, "--yes"]).dir(&play).run().fails("conflict", 5);
    assert!(repo.program("git").args(&["remote"]).dir(&play).run().ok().out().is_empty());
}

#[test]
fn a_repository_with_nothing_to_edit_gets_the_generated_one() {
    let repo = Repo::with(&[("a.bin", b"\0\x01\x02".as_slice())]);
    demo(&repo, &[]).ok().says("a small generated repository");
    demo(&Repo::new(), &[]).ok().says("a small generated repository");
}

#[test]
fn an_agent_or_a_build_machine_sees_the_same() {
    let repo = Repo::outside();
    let play = repo.outer().join("play");
    let run =
        repo.cmd(&["demo", "--dir"]).args(&[play]).env("CLAUDECODE", "1").env("CI", "1").run();
    run.ok().says("human_approval_required");
}

#[test]
fn a_folder_that_holds_something_is_refused() {
    let repo = Repo::outside();
    std::fs::create_dir(repo.outer().join("play")).unwrap();
    std::fs::write(repo.outer().join("play/mine.txt"), "precious").unwrap();
    demo(&repo, &[]).fails("invalid_argument", 6).notes("not empty");
    assert_eq!(std::fs::read(repo.outer().join("play/mine.txt")).unwrap(), b"precious");
}
