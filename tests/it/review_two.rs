//! Answers that are not written: kept until the next review, dropped, and those of two reviews at once.

use crate::support::Repo;
use crate::support::terminal::Terminal;

/// Two proposals, in the order of review.
fn scene() -> (Repo, Vec<String>) {
    let repo = Repo::with(&[("a.txt", "1\n2\n3\n"), ("b.txt", "1\n2\n3\n")]);
    let propose = |path: &str| {
        let args = ["propose", path, "--old", "2", "--new", "two", "-m", path, "-q"];
        repo.agent("bot", &args).ok().id()
    };
    let ids = vec![propose("a.txt"), propose("b.txt")];
    (repo, ids)
}

fn started(repo: &Repo) -> Terminal {
    let cmd = repo.cmd(&["review"]).env("TERM", "xterm-256color").env("NO_COLOR", "1");
    Terminal::start(cmd, 40, 200)
}

fn review(repo: &Repo) -> Terminal {
    let mut t = started(repo);
    t.sees("]? ");
    t
}

fn saved(repo: &Repo) -> bool {
    repo.path(".git/aye/answers").exists()
}

/// The line of `id` that `args` prints.
fn row(repo: &Repo, args: &[&str], id: &str) -> String {
    let out = repo.cmd(args).run().out();
    let short = &id["prop_".len()..][..4];
    out.lines().find(|line| line.contains(short)).expect("a row").to_owned()
}

#[test]
fn quitting_asks_and_the_answer_is_written_kept_or_dropped() {
    let (repo, ids) = scene();
    let mut t = review(&repo);
    t.types("y").sees("(2/2)").sees("]? ").types("q").sees("drop").sees("]? ").types("<");
    t.sees("(1/1)").sees("]? ").types("q").sees("]? ").types("d").sees("dropped");
    assert_eq!(t.ends(), 0);
    assert!(!row(&repo, &["list"], &ids[0]).contains("[to apply]"));
    let mut t = review(&repo);
    t.types("y").sees("(2/2)").sees("]? ").types("q").sees("]? ").types("k");
    t.sees("kept");
    assert_eq!(t.ends(), 0);
    let mut t = started(&repo);
    t.sees("[to apply]").sees("(2/2)").sees("]? ").types("q").sees("]? ").types("w");
    t.sees("will write").sees("Write").sees("]? ").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.item(&ids[0])["status"], "applied");
    assert_eq!(repo.text("a.txt"), "1\ntwo\n3\n");
}

#[test]
fn lists_show_what_was_answered_about_that_revision() {
    let (repo, ids) = scene();
    let mut t = review(&repo);
    t.types("y").sees("(2/2)").sees("]? ").types("c").sees("none): ").types("why\r");
    t.sees("comment").sees("]? ");
    // The terminal goes, and with it the session.
    drop(t);
    for args in [&["list"][..], &[], &["review", "--overview"]] {
        assert!(row(&repo, args, &ids[0]).contains("[to apply]"), "{args:?}");
        assert!(row(&repo, args, &ids[1]).contains("[begun]"), "{args:?}");
    }
    repo.agent("bot", &["revise", &ids[0], "a.txt", "--old", "2", "--new", "deux"]).ok();
    assert!(!row(&repo, &["list"], &ids[0]).contains("[to apply]"));
    let mut t = started(&repo);
    t.sees("deux").sees("(1/1)").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
    repo.aye(&["reject", &ids[1], "--yes", "-m", "no"]).ok();
    let mut t = review(&repo);
    t.types("q");
    assert_eq!(t.ends(), 0);
    assert!(!saved(&repo) || !repo.text(".git/aye/answers").contains("prop_"));
}

#[test]
fn what_was_sent_back_is_asked_again() {
    let (repo, ids) = scene();
    let mut t = review(&repo);
    t.types("x").sees("): ").types("why\r").sees("(2/2)").sees("]? ").types("qw");
    t.sees("Decided:").sees("Write").sees("]? ").types("y").sees("sent");
    assert_eq!(t.ends(), 0);
    repo.agent("bot", &["revise", &ids[0], "a.txt", "--old", "2", "--new", "deux"]).ok();
    let cmd = repo.cmd(&["review", &ids[0]]).env("TERM", "dumb");
    let mut t = Terminal::start(cmd, 40, 200);
    t.sees("changed since the revision you saw").sees("-two").sees("+deux").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
}

#[test]
fn two_reviews_keep_what_each_has_answered() {
    let (repo, ids) = scene();
    let (mut one, mut two) = (review(&repo), review(&repo));
    one.types("y").sees("(2/2)").sees("]? ");
    two.types(">").sees("(2/2)").sees("]? ").types("R").sees("because").types("no\r");
    two.sees("Write").sees("]? ").types("n").sees("kept");
    assert_eq!(two.ends(), 0);
    one.types("qk").sees("kept");
    assert_eq!(one.ends(), 0);
    assert!(row(&repo, &["list"], &ids[0]).contains("[to apply]"));
    assert!(row(&repo, &["list"], &ids[1]).contains("[to reject]"));
}
