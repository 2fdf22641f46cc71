//! Looking at parts in a review: files that nobody reads line by line, more context, single lines.

use std::collections::BTreeSet;

use aye::changeset::hunks::{Choice, Diff, Hunk, LineSide, compose};
use proptest::prelude::*;

use crate::support::Repo;
use crate::support::terminal::Terminal;

fn lines(edit: impl Fn(usize) -> bool) -> String {
    (0..60).map(|n| if edit(n) { format!("new {n}\n") } else { format!("line {n}\n") }).collect()
}

/// A change of a lock file, of a generated file, and of one that people write.
fn scene() -> (Repo, String) {
    let repo = Repo::with(&[
        ("Cargo.lock", lines(|_| false)),
        ("api.rs", lines(|_| false)),
        ("src/main.rs", lines(|_| false)),
        (".gitattributes", "api.rs linguist-generated\n".to_owned()),
    ]);
    for path in ["Cargo.lock", "api.rs"] {
        repo.write(path, lines(|n| n % 20 == 5));
    }
    repo.write("src/main.rs", lines(|n| n == 30));
    let args = ["propose", "--worktree", ".", "-m", "Update", "-q"];
    let id = repo.agent("bot", &args).ok().id();
    (repo, id)
}

#[test]
fn what_nobody_reads_comes_last_as_one_decision() {
    let (repo, id) = scene();
    let mut t = Terminal::review(&repo, &[]);
    t.sees("1  src/main.rs").sees("2  Cargo.lock").sees("(1/3)").sees("]? ").types("y");
    t.sees("3 hunks").sees("(2/3)").sees("]? ").types("y");
    t.sees("3 hunks").sees("(3/3)").sees("]? ");
    t.types("o").sees("new 5").sees("(3/5)").sees("]? ").types("u").sees("undone");
    t.sees("(3/3)").sees("]? ").types("o").sees("(3/5)").sees("]? ").types("y").sees("(4/5)");
    t.sees("]? ").types("d").sees("write:").sees("new 30").sees("]? ").types("y");
    t.sees("partially");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("Cargo.lock"), lines(|n| n % 20 == 5));
    assert_eq!(repo.text("api.rs"), lines(|n| n == 5));
    let shown = repo.item(&id);
    assert_eq!(shown["status"], "applied");
    repo.aye(&["list", "--status", "all"]).ok().says("applied in part");
}

#[test]
fn what_was_opened_stays_open_over_quitting() {
    let (repo, _) = scene();
    let mut t = Terminal::review(&repo, &[]);
    t.sees("(1/3)").sees("]? ").types("j").sees("(2/3)").sees("]? ").types("o").sees("(2/5)");
    t.sees("]? ").types("n").sees("(3/5)").sees("]? ").types("qk").sees("kept");
    t.ends();
    let mut t = Terminal::review(&repo, &[]);
    t.sees("earlier").sees("(1/5)").sees("]? ").types("qk");
    assert_eq!(t.ends(), 0);
}

#[test]
fn enter_shows_the_hunk_again_and_plus_more_around_it() {
    let repo = Repo::with(&[("a.txt", lines(|_| false))]);
    let changed = lines(|n| n == 30);
    let args = ["propose", "a.txt", "--content-file", "-", "-q"];
    repo.cmd(&args).env("AYE_AGENT", "bot").stdin(&changed).run().ok();
    let mut t = Terminal::review(&repo, &[]);
    // The numbers by which a comment names a line.
    t.sees("@@ -28,7 +28,7 @@").sees("31 +new 30").sees("]? ").types("\r");
    t.sees("@@ -28,7 +28,7 @@").sees("]? ").types("+").sees("@@ -25,13 +25,13 @@");
    t.sees("]? ").types("-").sees("@@ -28,7 +28,7 @@").sees("]? ").types("-");
    t.sees("@@ -31 +31 @@").sees("]? ").types("y").sees("write").sees("]? ").types("y");
    t.sees("applied, 1 file");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), changed);
}

#[test]
fn single_lines_of_a_hunk_are_taken() {
    let repo = Repo::with(&[("a.txt", "1\n2\n3\n4\n5\n")]);
    let args = ["propose", "a.txt", "--content-file", "-", "-q"];
    let new = "1\ntwo\nand more\n3\nfour\n5\n";
    repo.cmd(&args).env("AYE_AGENT", "bot").stdin(new).run().ok();
    let mut t = Terminal::review(&repo, &[]);
    t.sees("]? ").types("l").sees("1 -2").sees("5 +four");
    t.sees("Lines")
        .types("9\r")
        .sees("not among")
        .sees("Lines")
        .types("1-2,5\r")
        .sees("[edited]")
        .sees("]? ")
        .types("y");
    t.sees("applied");
    assert_eq!(t.ends(), 0);
    assert_eq!(repo.text("a.txt"), "1\ntwo\n3\n4\nfour\n5\n");
}

/// The patch that takes the lines of `chosen` alone, as `git add -e` makes it.
fn patch(diff: &Diff<'_>, hunk: &Hunk, chosen: &BTreeSet<usize>) -> String {
    let (mut body, mut number, mut old, mut new) = (String::new(), 0, 0, 0);
    for line in diff.lines(hunk) {
        let text = String::from_utf8_lossy(line.bytes);
        let is_chosen = line.side != LineSide::Context && {
            number += 1;
            chosen.contains(&(number - 1))
        };
        match line.side {
            LineSide::Added if !is_chosen => continue,
            LineSide::Added => new += 1,
            LineSide::Removed if is_chosen => old += 1,
            _ => (old, new) = (old + 1, new + 1),
        }
        let sign = if is_chosen { line.side.sign() } else { ' ' };
        body += &format!("{sign}{text}");
    }
    let start = |count: usize| if count == 0 { hunk.before.start } else { hunk.before.start + 1 };
    let head = format!("@@ -{},{old} +{},{new} @@\n", start(old), start(new));
    format!("diff --git a/f b/f\n--- a/f\n+++ b/f\n{head}{body}")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Single lines are composed to the bytes that `git apply` of the same selection gives.
    #[test]
    fn single_lines_are_composed_as_git_applies_them(
        old in prop::collection::vec(0..6_u8, 1..14),
        new in prop::collection::vec(0..6_u8, 1..14),
        bits in any::<u64>(),
        at in 0..8_usize,
    ) {
        let text = |lines: &[u8]| -> String { lines.iter().map(|n| format!("{n}\n")).collect() };
        let (old, new) = (text(&old), text(&new));
        let diff = Diff::new(old.as_bytes(), new.as_bytes());
        let hunks = diff.hunks(3);
        prop_assume!(!hunks.is_empty());
        let hunk = &hunks[at % hunks.len()];
        let count = diff.lines(hunk).filter(|line| line.side != LineSide::Context).count();
        let chosen: BTreeSet<usize> = (0..count).filter(|n| bits >> (n % 64) & 1 == 1).collect();
        let region = diff.editable(hunk).0;
        let bytes = diff.with_lines(hunk, &chosen);
        let composed = compose(&diff, [(hunk, Choice::Replace { before: &region, bytes: &bytes })]);
        if chosen.is_empty() {
            prop_assert_eq!(String::from_utf8(composed).unwrap(), old);
            return Ok(());
        }
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("f"), &old).unwrap();
        std::fs::write(directory.path().join("p"), patch(&diff, hunk, &chosen)).unwrap();
        let git = std::process::Command::new("git").args(["apply", "p"]).current_dir(directory.path())
            .env("GIT_CEILING_DIRECTORIES", directory.path().parent().unwrap()).output().unwrap();
        prop_assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
        let applied = std::fs::read_to_string(directory.path().join("f")).unwrap_or_default();
        prop_assert_eq!(String::from_utf8(composed).unwrap(), applied);
    }
}
