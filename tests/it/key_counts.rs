//! How many keys the daily steps of a review take. All nine of one agent out of 26 are counted in
//! `review_overview.rs`.

use crate::support::Repo;
use crate::support::record::propose;
use crate::support::terminal::Terminal;

fn review(repo: &Repo, editor: &str) -> Terminal {
    let cmd = repo.cmd(&["review"]).env("TERM", "dumb").env("PAGER", "cat").env("EDITOR", editor);
    Terminal::start(cmd, 60, 100)
}

#[test]
fn the_fifth_file_of_ten_takes_three_keys_and_decides_nothing() {
    let names: Vec<String> = (0..10).map(|n| format!("src/f{n}.txt")).collect();
    let files: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), "1\n2\n")).collect();
    let repo = Repo::with(&files);
    for name in &names {
        repo.write(name, "1\ntwo\n");
    }
    repo.agent("bot", &["propose", "--worktree", ".", "-m", "Words", "-q"]).ok();
    let mut t = review(&repo, "true");
    let keys = ["f", "5", "\r"];
    t.sees("(1/10)").sees("]? ").types(keys[0]).sees("stay): ").types(keys[1]).types(keys[2]);
    t.sees("src/f4.txt").sees("(5/10)").sees("]? ");
    assert!(keys.len() <= 3);
    t.types("q").sees("Nothing was decided");
    assert_eq!(t.ends(), 0);
}

#[test]
fn a_conflict_takes_e_a_saved_file_and_y() {
    let repo = Repo::with(&[("a.txt", "1\n2\n3\n")]);
    let id = propose(&repo, "a.txt", "2", "two");
    repo.write("a.txt", "1\nzwei\n3\n");
    repo.commit("Count in German");
    let mut t = review(&repo, "sed -i -e '/^[<|=>]/d' -e '/^2$/d' -e '/^zwei$/d'");
    let keys = ["e", "y"];
    t.sees("Settle this conflict").sees("]? ").types(keys[0]).sees("Write these decisions");
    t.sees("]? ").types(keys[1]).sees("applied as you edited it");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), "1\ntwo\n3\n");
    assert_eq!(repo.aye(&["show", &id, "--json"]).ok().json()["status"], "applied");
}

#[test]
fn a_wrong_reject_is_taken_back_by_one_command() {
    let repo = Repo::with(&[("a.txt", "1\n2\n3\n")]);
    let id = propose(&repo, "a.txt", "2", "two");
    let mut t = review(&repo, "true");
    t.sees("]? ").types("R").sees("do not): ").types("not now\r").sees("]? ").types("y");
    t.sees("rejected");
    assert_eq!(t.ends(), 0);
    let mut t = Terminal::start(repo.cmd(&["undo"]), 24, 100);
    t.sees(&id).sees("[y/n]").types("y\r").sees("pending again");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.aye(&["show", &id, "--json"]).ok().json()["status"], "pending");
}
