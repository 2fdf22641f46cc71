//! Two reviews that are open at once: what one has said to be kept, the other leaves alone.

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

fn review(repo: &Repo) -> Terminal {
    let cmd = repo.cmd(&["review"]).env("TERM", "xterm-256color").env("NO_COLOR", "1");
    let mut t = Terminal::start(cmd, 40, 200);
    t.sees("]? ");
    t
}

#[test]
fn a_review_that_only_looks_on_leaves_what_another_has_kept() {
    let (repo, _) = scene();
    let (mut one, mut two) = (review(&repo), review(&repo));
    one.types("y").sees("(2/2)").sees("]? ").types("c").sees("none): ").types("why\r");
    one.sees("comment").sees("]? ").types("q").sees("kept");
    one.ends();
    two.types(">").sees("(2/2)").sees("]? ").types("q");
    assert_eq!(two.ends(), 0);
    let mut three = review(&repo);
    three.types("q").sees("1 comment");
    three.ends();
}

#[test]
fn decisions_on_the_same_proposal_are_kept_once_and_the_other_review_says_so() {
    let (repo, ids) = scene();
    let (mut one, mut two) = (review(&repo), review(&repo));
    one.types("y").sees("(2/2)").sees("]? ").types("q").sees("kept");
    one.ends();
    two.types("R").sees("because").types("not mine\r");
    two.sees(&ids[0]).sees("]? ").types("q").sees(&ids[0]);
    assert_eq!(two.ends(), 0);
    let mut three = review(&repo);
    // What was decided here is said to be kept, though another has not read it.
    three.types("y").sees("Write").sees("]? ").types("n");
    three.sees("kept");
    three.ends();
}

#[test]
fn what_is_not_kept_can_still_be_written() {
    let (repo, ids) = scene();
    let (mut one, mut two) = (review(&repo), review(&repo));
    one.types("y").sees("(2/2)").sees("]? ").types("q").sees("kept");
    one.ends();
    two.types("R").sees("because").types("not mine\r").sees("another").sees("]? ");
    two.types("W").sees("Write").sees("]? ").types("y").sees("rejected");
    assert_eq!(two.ends(), 0);
    assert_eq!(repo.aye(&["show", &ids[0], "--json"]).ok().json()["status"], "rejected");
    let mut three = review(&repo);
    three.types("q").sees("Nothing");
    three.ends();
}

#[test]
fn what_a_review_has_taken_back_makes_room_for_another() {
    let (repo, _) = scene();
    let (mut one, mut two) = (review(&repo), review(&repo));
    one.types("y").sees("(2/2)").sees("]? ");
    two.types("n").sees("another").sees("because").types("\u{1b}").sees("]? ");
    one.types("u").sees("undone").sees("]? ").types("q").sees("Nothing");
    one.ends();
    two.types("q").sees("kept");
    two.ends();
}
