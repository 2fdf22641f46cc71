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
    assert_eq!(statuses, ["applied", "pending", "rejected"]);
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
