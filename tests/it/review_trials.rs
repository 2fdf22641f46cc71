//! `t` in a review: what is tried is what is on the screen, or it is said that it is not.

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

fn checks(repo: &Repo, id: &str) -> usize {
    let shown = repo.item(id);
    shown["checks"].as_array().map_or(0, Vec::len)
}

#[test]
fn a_revision_that_came_meanwhile_is_not_tried_in_its_place() {
    let repo = Repo::with(&[("a.txt", lines(|_| None))]);
    let id = propose(&repo, &["--old", "5\n6", "--new", "five\n6"]);
    let mut t = review(&repo, "echo ran");
    repo.agent("bot", &["revise", &id, "a.txt", "--old", "5\n6", "--new", "cinq\n6"]).ok();
    t.types("t").sees(&id).sees("+cinq").sees("]? ");
    assert_eq!(checks(&repo, &id), 0);
    t.types("t").sees("ran").sees("]? ");
    repo.agent("bot", &["reject", &id]).ok();
    t.types("t").sees("meanwhile");
    assert_eq!(t.ends(), 0);
    assert_eq!(checks(&repo, &id), 1);
}

#[test]
fn what_stands_on_something_that_is_not_applied_is_not_tried() {
    let repo = Repo::with(&[("a.txt", lines(|_| None))]);
    let lower = propose(&repo, &["--old", "5\n6", "--new", "five\n6"]);
    let upper = propose(&repo, &["--on", &lower, "--old", "five\n6", "--new", "FIVE\n6"]);
    let mut t = review(&repo, "echo ran");
    t.types("y").sees(&lower).sees("]? ").types("t").sees(&lower).sees("--as-proposed");
    t.sees("]? ").types("qk").sees("kept");
    t.ends();
    // Applied, and not committed: HEAD, which a trial is made on, does not have it.
    repo.aye(&["apply", &lower, "--yes"]).ok();
    let mut t = review(&repo, "echo ran");
    t.types("t").sees("tried: ").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);
    assert_eq!(checks(&repo, &upper), 0);
    repo.commit("Five");
    let mut t = review(&repo, "grep -q FIVE a.txt && echo ran");
    t.types("t").sees("ran").sees(&upper).sees("]? ").types("q");
    t.ends();
    assert_eq!(checks(&repo, &upper), 1);
}

#[test]
fn what_is_left_out_is_tried_all_the_same_and_that_is_said() {
    let repo = Repo::with(&[("a.txt", lines(|_| None))]);
    let new =
        lines(|n| [(5, "five"), (30, "thirty")].iter().find(|(at, _)| *at == n).map(|it| it.1));
    let args = ["propose", "a.txt", "--content-file", "-", "-q"];
    repo.cmd(&args).env("AYE_AGENT", "bot").stdin(&new).run().ok();
    let mut t = review(&repo, "grep -c '[a-z]' a.txt; false");
    t.types("t").sees("2\n").sees("recorded").sees("]? ");
    t.types("n").sees("(2/2)").sees("]? ").types("t").sees("2\n").sees("whole").sees("]? ");
    t.types("qk");
    t.ends();
}
