//! `t` in a review runs the reviewer's command on exactly what is taken so far.

use crate::support::Repo;
use crate::support::terminal::Terminal;

fn lines(edit: impl Fn(usize) -> Option<&'static str>) -> String {
    (0..40).map(|n| format!("{}\n", edit(n).map_or(n.to_string(), str::to_owned))).collect()
}

fn propose(repo: &Repo, more: &[&str]) -> String {
    let args = [&["propose", "a.txt", "-q"], more].concat();
    repo.agent("bot", &args).ok().id()
}

fn review(repo: &Repo, command: &str) -> Terminal {
    let own = repo.user_config(&[("aye.tryCommand", command)]);
    let cmd = repo.cmd(&["review"]).env("TERM", "xterm-256color").env("NO_COLOR", "1");
    let mut t = Terminal::start(cmd.env("GIT_CONFIG_GLOBAL", own), 40, 200);
    t.sees("]? ");
    t
}

#[test]
fn nothing_taken_is_not_tried() {
    let repo = Repo::with(&[("a.txt", lines(|_| None))]);
    propose(&repo, &["--old", "5\n6", "--new", "five\n6"]);
    let mut t = review(&repo, "echo ran");
    t.types("t").sees("nothing is taken").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
    assert!(!t.text().contains("ran"));
}

#[test]
fn exactly_what_is_taken_so_far_is_tried_on_the_files_as_they_are() {
    let repo = Repo::with(&[("a.txt", lines(|_| None)), ("b.txt", "b\n".into())]);
    let new =
        lines(|n| [(5, "five"), (30, "thirty")].iter().find(|(at, _)| *at == n).map(|it| it.1));
    let args = ["propose", "a.txt", "--content-file", "-", "-q"];
    repo.cmd(&args).env("AYE_AGENT", "bot").stdin(&new).run().ok();
    let second = ["propose", "new.txt", "--content", "n", "-q"];
    repo.agent("bot", &second).ok();
    // Not committed, and not tracked.
    repo.write("b.txt", "changed\n");
    repo.write("mine.txt", "mine\n");
    let mut t = review(&repo, "grep [a-z] a.txt; cat b.txt mine.txt new.txt 2>&1; pwd; false");
    t.types("n").sees("(2/2)").sees("]? ").types("y").sees("(2/2) prop_").sees("]? ");
    t.types("t").sees("thirty").sees("changed").sees("mine").sees("new.txt: No such");
    t.sees("exit status 1").sees("1 proposal").sees("]? ");
    assert!(!t.text().split("thirty").last().is_some_and(|text| text.contains("five")));
    // The last screen has the result, and that it is about less than what is decided.
    t.types("y").sees("Decided").sees("exit status 1").sees("since").sees("]? ");
    t.types("t").sees("mine\nn").sees("2 proposals").sees("]? ").types("<").sees("]? ");
    t.types("y").sees("Decided").sees("2 proposals\n").sees("]? ").types("qk");
    t.ends();
    // Nothing is written, and nothing is left.
    assert_eq!(repo.text("a.txt"), lines(|_| None));
    assert_eq!(repo.git(&["worktree", "list"]).lines().count(), 1);
}

#[test]
fn a_revision_that_came_meanwhile_is_not_tried_in_its_place() {
    let repo = Repo::with(&[("a.txt", lines(|_| None)), ("b.txt", "b\n".into())]);
    let id = propose(&repo, &["--old", "5\n6", "--new", "five\n6"]);
    repo.agent("bot", &["propose", "b.txt", "--old", "b", "--new", "B", "-q"]).ok();
    let mut t = review(&repo, "echo ran");
    t.types("y").sees("(2/2) prop_").sees("]? ");
    repo.agent("bot", &["revise", &id, "a.txt", "--old", "5\n6", "--new", "cinq\n6"]).ok();
    t.types("t").sees("not tried").sees("]? ").types("qk");
    t.ends();
    assert!(!t.text().contains("ran"));
}
