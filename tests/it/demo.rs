//! `aye demo`: the whole main job, in a scratch repository, and nothing else is touched.

use crate::support::{self, Repo};

/// A run in a terminal-less place, the scratch directory at `play` beside the work directory.
fn demo(repo: &Repo, extra: &[&str]) -> support::Run {
    let play = repo.outer().join("play");
    repo.cmd(&["demo", "--dir"]).args(&[play]).args(extra).run()
}

fn statuses(repo: &Repo) -> Vec<String> {
    let shop = repo.outer().join("play/shop");
    let list = repo.cmd(&["list", "--status", "all", "--json"]).dir(shop).run().ok().json();
    let items = list["proposals"].as_array().expect("a list").iter();
    let mut all: Vec<String> =
        items.map(|item| item["status"].as_str().expect("a status").to_owned()).collect();
    all.sort();
    all
}

#[test]
fn without_a_terminal_the_story_fits_a_screen() {
    let repo = Repo::outside();
    let run = demo(&repo, &[]).ok();
    for said in [
        "An easy yes",
        "human_approval_required",
        "rejected by",
        "error[conflict]",
        "undone",
        "$ aye log",
        "cd ",
        "review",
    ] {
        assert!(run.out().contains(said), "{said}\n{run}");
    }
    let lines = run.out().lines().count();
    assert!(lines <= 50, "{lines} lines:\n{run}");
    let shop = repo.outer().join("play/shop");
    let git = |args: &[&str]| repo.program("git").args(args).dir(&shop).run().ok().out();
    git(&["fsck", "--strict"]);
    assert!(git(&["log", "--oneline"]).lines().count() >= 2, "it has a history");
    let pending = ["pending"; 5];
    assert_eq!(statuses(&repo), [&["applied"][..], &pending, &["rejected"]].concat());
}

/// What is left over can be applied, and every command that is named exists.
#[test]
fn what_is_left_waits_for_a_review() {
    let repo = Repo::outside();
    demo(&repo, &[]).ok();
    let shop = repo.outer().join("play/shop");
    let list = repo.cmd(&["list", "--json"]).dir(&shop).run().ok().json();
    let items = list["proposals"].as_array().expect("a list");
    let statuses = items.iter().map(|item| {
        let id = item["proposal_id"].as_str().expect("an id");
        repo.cmd(&["apply", id, "--dry-run"]).dir(&shop).run().status
    });
    let statuses: Vec<i32> = statuses.collect();
    // One does not fit any more.
    assert_eq!(statuses.iter().filter(|status| **status == 5).count(), 1, "{statuses:?}");
    assert!(statuses.iter().all(|status| [0, 5].contains(status)), "{statuses:?}");
    assert!(items.iter().any(|item| crate::marks::words(item) == ["build"]));
    // Not on PATH, so its path is what there is to type.
    let repo = Repo::outside();
    let path = std::env::var_os("PATH").expect("a PATH");
    let others = std::env::split_paths(&path).filter(|directory| !directory.join("aye").exists());
    let path = std::env::join_paths(others).expect("a PATH");
    let play = repo.outer().join("play");
    let run = repo.cmd(&["demo", "--dir"]).args(&[play]).env("PATH", path).run().ok();
    run.says("/aye review\n");
}

/// Neither what it is started in nor the home directory, and no identity is asked for.
#[test]
fn nothing_else_is_touched_and_no_identity_needed() {
    let repo = Repo::with(&[("README.md", "# A project\n\nIt does this and that.\n")]);
    repo.git(&["config", "--unset", "user.name"]);
    repo.git(&["config", "--unset", "user.email"]);
    let home = || {
        let list = repo.program("find").args(&[repo.outer().join("home")]).run().ok();
        let temporary =
            repo.program("sh").args(&["-c", "ls -A $TMPDIR"]).env("TMPDIR", repo.outer());
        (list.out(), temporary.run().ok().out().replace("play\n", ""))
    };
    let before = (repo.snapshot(), repo.git(&["for-each-ref"]), home());
    demo(&repo, &[]).ok();
    assert_eq!(before, (repo.snapshot(), repo.git(&["for-each-ref"]), home()));
}

mod at_a_terminal {
    use super::*;
    use crate::support::terminal::Terminal;

    fn start(repo: &Repo) -> Terminal {
        let play = repo.outer().join("play");
        Terminal::dumb(repo.cmd(&["demo", "--dir"]).args(&[play]))
    }

    /// Presses `keys` at the next question of the review, once it listens.
    fn answers(t: &mut Terminal, question: &str, keys: &str) {
        t.sees(question).listens().types(keys);
    }

    #[test]
    fn it_is_the_review_in_three_screens() {
        let repo = Repo::outside();
        let mut t = start(&repo);
        t.sees("1 of 3");
        answers(&mut t, "Take", "y");
        answers(&mut t, "Write", "y");
        t.sees(": applied");
        answers(&mut t, "Go on", "y");
        t.sees("2 of 3").sees("! build: .github/workflows/ci.yml");
        answers(&mut t, "Take", "R");
        answers(&mut t, "): ", "no scripts from the network\r");
        answers(&mut t, "Write", "y");
        t.sees(": rejected");
        t.sees("\"reason\": \"no scripts from the network\"");
        answers(&mut t, "Go on", "y");
        t.sees("3 of 3");
        answers(&mut t, "Take", "y");
        answers(&mut t, "Take", "q");
        answers(&mut t, "drop", "k");
        answers(&mut t, "Go on", "y");
        t.sees("undone");
        // Two decisions in one go, unless this machine was slow in between.
        t.sees("n,?]").listens();
        let asks_which = t.screen().contains("[a,l,n,?]");
        t.types(if asks_which { "l" } else { "y" });
        t.sees("log");
        t.sees("wait");
        assert_eq!(t.ends(), 0);
        let all = statuses(&repo);
        assert_eq!(all.iter().filter(|status| *status == "pending").count(), 6, "{all:?}");
    }

    #[test]
    fn whoever_has_seen_enough_may_go() {
        let repo = Repo::outside();
        let mut t = start(&repo);
        answers(&mut t, "Take", "q");
        t.sees(": pending");
        answers(&mut t, "Go on", "q");
        t.sees("wait");
        assert_eq!(t.ends(), 0);
        assert_eq!(statuses(&repo), ["pending"; 4]);
    }
}

#[test]
fn a_build_machine_sees_the_same_and_an_agent_up_to_the_first_decision() {
    let repo = Repo::outside();
    let play = |name: &str| repo.cmd(&["demo", "--dir"]).args(&[repo.outer().join(name)]);
    play("ci").env("CI", "1").run().ok().says("human_approval_required");
    let run = play("agent").env("CLAUDECODE", "1").env("CI", "1").run().ok();
    run.says("An easy yes").says("ask your user to run").lacks("aye apply");
}

#[test]
fn a_directory_that_holds_something_is_refused() {
    let repo = Repo::outside();
    std::fs::create_dir(repo.outer().join("play")).unwrap();
    std::fs::write(repo.outer().join("play/mine.txt"), "precious").unwrap();
    demo(&repo, &[]).fails("invalid_argument", 6);
    assert_eq!(std::fs::read(repo.outer().join("play/mine.txt")).unwrap(), b"precious");
}
