//! Answers that are not written: kept until the next review, dropped, and those of two reviews at once.

use crate::support::Repo;
use crate::support::record::rewrite;
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

/// Thirty numbered lines, some replaced.
fn lines(edits: &[(usize, &str)]) -> String {
    let edit = |n: &usize| edits.iter().find(|(at, _)| at == n).map(|(_, text)| (*text).to_owned());
    (1..=30).map(|n| format!("{}\n", edit(&n).unwrap_or(format!("line {n}")))).collect()
}

/// Two proposals of two agents in one file of 30 lines: `five` in line 5, `late` in line 25.
fn one_file() -> (Repo, String, String) {
    let repo = Repo::with(&[("f.txt", lines(&[]))]);
    repo.let_flags_decide();
    let early = rewrite(&repo, "f.txt", &lines(&[(5, "five")]), "early");
    let args = ["propose", "f.txt", "--old", "line 25\n", "--new", "late\n", "-m", "late", "-q"];
    let late = repo.agent("bot", &args).ok().id();
    (repo, early, late)
}

/// A review whose editor runs the shell commands `script` on the file `$1`.
fn edits(repo: &Repo, args: &[&str], script: &str) -> Terminal {
    let cmd = repo.cmd(&[&["review"], args].concat()).env("GIT_EDITOR", repo.editor(script));
    Terminal::dumb(cmd)
}

#[test]
fn answers_survive_a_change_elsewhere_in_the_file() {
    let (repo, early, late) = one_file();
    let mut t = edits(&repo, &[&early], "sed -i s/five/mine/ \"$1\"");
    t.sees("(1/1)").sees("]? ").types("e").sees("+mine").sees("Write").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    repo.aye(&["apply", &late, "--yes"]).ok();
    // A saved edit is not a decision: an editor shows it first.
    let mut t = edits(&repo, &["--overview"], "true");
    t.sees("[edited]").sees("]? ").types("W").sees("edited earlier").sees("There is nothing");
    t.sees("[edited]").sees("]? ").types("1\r");
    t.sees("edited earlier").sees("(1/1)").sees("]? ").types("e").sees("+mine").sees("Write");
    t.sees("]? ").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("f.txt"), lines(&[(5, "mine"), (25, "late")]));

    let (repo, early, late) = one_file();
    let mut t = edits(&repo, &[&early], "true");
    t.sees("(1/1)").sees("]? ").types("y").sees("Write").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    repo.aye(&["apply", &late, "--yes"]).ok();
    let mut t = edits(&repo, &["--overview"], "true");
    t.sees("[to apply]").sees("]? ").types("W").sees("+five").sees("Write").sees("]? ");
    t.types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("f.txt"), lines(&[(5, "five"), (25, "late")]));
}

#[test]
fn an_answer_about_other_lines_is_dropped_and_an_edit_of_them_is_a_draft() {
    let (repo, early, _) = one_file();
    let mut t = edits(&repo, &[&early], "true");
    t.sees("(1/1)").sees("]? ").types("y").sees("Write").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    repo.write("f.txt", lines(&[(3, "three")]));
    let mut t = edits(&repo, &["--overview"], "true");
    t.sees("2 pending").sees("]? ");
    assert!(!t.text().contains("[to apply]"), "{}", t.text());
    t.types("W").sees("does nothing here").sees("]? ").types("1\r");
    t.sees("dropped").sees("(1/1)").sees("]? ").types("q");
    assert_eq!(t.ends(), 0);

    let (repo, early, _) = one_file();
    let mut t = edits(&repo, &[&early], "sed -i s/five/mine/ \"$1\"");
    t.sees("(1/1)").sees("]? ").types("e").sees("+mine").sees("Write").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    repo.write("f.txt", lines(&[(3, "three")]));
    let mut t = edits(&repo, &["--overview"], "true");
    t.sees("[edited]").sees("]? ").types("1\r");
    t.sees("edited earlier").sees("+five").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    assert!(repo.text(".git/aye/answers").contains("mine"));
    let mut t = edits(&repo, &[&early], "true");
    t.sees("edited earlier").sees("]? ").types("e").sees("+mine").sees("Write").sees("]? ");
    t.types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("f.txt"), lines(&[(3, "three"), (5, "mine")]));
}

#[test]
fn an_edit_whose_hunk_is_revised_or_gone_stays_on_the_disk() {
    let (repo, early, _) = one_file();
    let revise = |path: &str, old: &str, new: &str| {
        repo.agent("codex", &["revise", &early, path, "--old", old, "--new", new]).ok();
    };
    let mut t = edits(&repo, &["--overview"], "sed -i s/five/mine/ \"$1\"");
    t.sees("]? ").types("1\r").sees("early").sees("]? ").types("e").sees("+mine").sees("]? ");
    t.types("<").sees("Take your edit").sees("]? ");
    revise("f.txt", "line 5\n", "cinq\n");
    t.types("L").sees("]? ").types("1\r").sees("edited earlier").sees("+cinq");
    t.sees("]? ").types("e").sees("+mine").sees("]? ").types("<").sees("]? ");
    revise("other.txt", "", "other\n");
    t.types("L").sees("]? ").types("1\r").sees("hunks that are gone").sees("+other");
    t.sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    assert!(repo.text(".git/aye/answers").contains("mine"));
    let mut t = edits(&repo, &["--overview"], "true");
    t.sees("[edited]").sees("]? ").types("1\r").sees("hunks that are gone").sees("]? ");
    t.types("y").sees("]? ").types("qw").sees("Write these").sees("]? ").types("y").sees("applied");
    assert_eq!(t.ends(), 0);
    assert!(!repo.text(".git/aye/answers").contains("mine"));
}

#[test]
fn a_settled_conflict_survives_a_group_that_changes_another_line() {
    let (repo, early, late) = one_file();
    repo.write("f.txt", lines(&[(5, "changed")]));
    repo.commit("change");
    let settle = "sed -i -e '/^<<<<<<</,/^>>>>>>>/c\\mine' \"$1\"";
    let mut t = edits(&repo, &["--overview"], settle);
    t.sees("conflict").sees("]? ").types("/early\r").sees("1 of 2").sees("]? ").types("\r");
    t.sees("Settle this conflict").sees("]? ").types("e").sees("+mine").sees("]? ").types("L");
    t.sees("[to apply]").sees("]? ").types("/late\r").sees("1 of 2").sees("]? ").types("A");
    t.sees("apply [").sees("]? ").types("y").sees("applied").sees("1 pending").sees("]? ");
    t.types("/\r").sees("[to apply]").sees("]? ").types("1\r").sees("Take your edit");
    t.sees("]? ").types("y").sees("-changed").sees("+mine").sees("Write").sees("]? ").types("y");
    t.sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("f.txt"), lines(&[(5, "mine"), (25, "late")]));
    assert_eq!(repo.item(&early)["status"], "applied");
    assert_eq!(repo.item(&late)["status"], "applied");
}

#[test]
fn a_proposal_left_pending_is_not_asked_about_again_until_it_is_revised() {
    let (repo, ids) = scene();
    let mut t = Terminal::review(&repo, &["--overview"]);
    t.sees("2 pending").sees("]? ").types("1\r").sees("(1/2)");
    t.sees("]? ").types("n").sees("(2/2)").sees("]? ").types("n").sees("reject it [y,n,<,q,?]? ");
    // Back to the review, and to the question about unwritten answers.
    t.types("<").sees("[not taken]").sees("]? ").types("qw").sees("reject it [");
    t.sees("]? ").types("q").sees("Write, keep or drop").sees("]? ").types("w");
    t.sees("reject it [").sees("]? ").types("n").sees("reject it [").sees("]? ").types("n");
    t.sees("There is nothing to write").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    for id in &ids {
        assert!(row(&repo, &["list"], id).contains("[left]"));
    }
    let mut t = Terminal::review(&repo, &["--overview"]);
    t.sees("[left]").sees("]? ").types("W").sees("nothing of it is taken");
    t.sees("There is nothing to write").sees("2 pending").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
    assert!(!t.text().contains("reject it ["), "{}", t.text());
    // The walk skips it, and comes back to it.
    let mut t = Terminal::review(&repo, &[&ids[0]]);
    t.sees("[left]").sees("There is nothing to write").sees("]? ").types("<").sees("[not taken]");
    t.sees("]? ").types("q").sees("]? ").types("k");
    assert_eq!(t.ends(), 0);
    repo.agent("bot", &["revise", &ids[0], "a.txt", "--old", "2", "--new", "deux"]).ok();
    let mut t = Terminal::review(&repo, &[&ids[0]]);
    t.sees("+deux").sees("(1/1)").sees("]? ").types("n").sees("reject it [").types("n");
    t.sees("There is nothing").sees("]? ").types("qd");
    assert_eq!(t.ends(), 0);
}

#[test]
fn the_last_screen_names_a_proposal_decided_in_part() {
    let (repo, ids) = scene();
    let three = "one\n2\n3\n4\n5\n6\n7\n8\n9\n10\neleven\n";
    repo.write("c.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n");
    repo.commit("more");
    let part = rewrite(&repo, "c.txt", three, "part");
    let mut t = Terminal::review(&repo, &["--overview"]);
    t.sees("3 pending").sees("]? ").types("/part\r").sees("1 of 3").sees("]? ").types("\r");
    t.sees("(1/2)").sees("]? ").types("y").sees("(2/2)").sees("]? ").types("L").sees("[begun]");
    t.sees("]? ").types("W").sees("Decided:");
    t.sees(&part).sees("stays pending, 1 of 2 hunks decided").sees(&ids[0]).sees(&ids[1]);
    t.sees("There is nothing to write").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
}
